"""Real models: `read_osim` reads what OpenSim reads, and what `write_osim` writes is the same model to OpenSim."""

from __future__ import annotations

from dataclasses import fields

import pytest

from musculo.io import read_osim, write_osim
from support.opensim_facts import ROUNDING, differences, opensim_facts
from support.recorded_data import NO_DATA, recorded, within

FILES = recorded("**/*.osim")
IDS = within(FILES)

# OpenSim prints properties with six digits: half a unit of the last is at most 5e-6 of the number.
PRINTED = 5.1e-6

pytestmark = pytest.mark.skipif(not FILES, reason=NO_DATA)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """OpenSim's view of every file and of its rewritten copy: {file: (original, written)}."""
    pytest.importorskip("opensim")
    folder = tmp_path_factory.mktemp("written")
    copies = []
    for file, name in zip(FILES, IDS, strict=True):
        copies.append(folder / name.replace("/", "__"))
        write_osim(read_osim(file, opensim_rounding=True), copies[-1])
    views = list(map(opensim_facts, [*FILES, *copies]))
    return {f: (views[i], views[i + len(FILES)]) for i, f in enumerate(FILES)}


def _printed(content: str):
    """A printed property: numbers as numbers, anything else as it is."""
    words = content.replace("(", " ").replace(")", " ").replace(",", " ").split()
    try:
        return [float(w) for w in words]
    except ValueError:
        return content


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_names_and_order_are_those_of_opensim(file, facts):
    original, _ = facts[file]
    assert "error" not in original, original
    model = read_osim(file)
    assert list(model.body_names) == list(original["bodies"])
    assert list(model.joint_names) == list(original["joints"])
    assert list(model.coordinate_names) == list(original["coordinates"])
    assert list(model.muscle_names) == list(original["muscles"])
    assert list(model.marker_names) == list(original["markers"])
    assert [f.name for f in model.forces] == list(original["forces"])
    assert [c.name for c in model.constraints] == list(original["constraints"])
    assert [g.name for g in model.contact_geometries] == list(original["contact"])
    assert [j.kind for j in model.joints] == [j[0] for j in original["joints"].values()]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_numbers_read_are_those_of_opensim(file, facts):
    original, _ = facts[file]
    model = read_osim(file, opensim_rounding=True)
    for body in model.bodies:
        mass, center, inertia, _ = original["bodies"][body.name]
        assert body.mass == mass
        assert list(body.mass_center) == center
        assert list(body.inertia) == (inertia if mass else [0.0] * 6)
    for c in model.coordinates:
        low, high = c.range
        seen = original["coordinates"][c.name]
        assert [c.default_speed, low, high, c.clamped, c.locked, c.prescribed] == seen[1:7]
    for m in model.muscles:
        assert [
            m.kind,
            m.max_isometric_force,
            m.optimal_fiber_length,
            m.tendon_slack_length,
            m.pennation_angle_at_optimal,
            m.max_contraction_velocity,
            m.ignore_tendon_compliance,
            m.ignore_activation_dynamics,
            m.min_control,
            m.max_control,
            m.applies_force,
        ] == original["muscles"][m.name][:-1]
        stated = original["components"][f"/forceset/{m.name}"][1]
        for key, value in m.parameters:
            if key in stated and not isinstance(value, str | bool):
                assert _printed(stated[key])[0] == pytest.approx(value, rel=PRINTED), (m.name, key)
    for marker in model.markers:
        assert list(marker.location) == original["markers"][marker.name][1]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_written_model_is_the_same_to_opensim(file, facts):
    original, written = facts[file]
    assert "error" not in written, written
    for view in (original, written):  # OpenSim treats the inertia of a body without mass as zero
        for name, body in view["bodies"].items():
            if body[0] == 0.0:
                body[2] = [0.0] * 6
                view["components"][f"/bodyset/{name}"][1].pop("inertia", None)
    precise = [key for key in original if key != "components"]
    found = [d for key in precise for d in differences(original[key], written[key], key, ROUNDING)]
    assert not found, found[:10]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_no_component_or_property_is_lost(file, facts):
    original, written = facts[file]
    before, after = original["components"], written["components"]
    assert sorted(before) == sorted(after)
    for path, (kind, plain) in before.items():
        assert after[path][0] == kind, path
        skipped = {"inertia"} if kind == "Body" and _printed(plain["mass"]) == [0.0] else set()
        for key in set(plain) - skipped:
            a, b = _printed(plain[key]), _printed(after[path][1][key])
            assert not differences(a, b, f"{path}.{key}", PRINTED)


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_read_write_read_gives_the_same_model(file, tmp_path):
    first = read_osim(file)
    assert write_osim(first, tmp_path / "copy.osim") == ()
    second = read_osim(tmp_path / "copy.osim")
    for field in fields(first):
        if field.name not in ("source", "notes"):  # an upgrade leaves notes that its result no longer calls for
            assert getattr(first, field.name) == getattr(second, field.name), field.name
