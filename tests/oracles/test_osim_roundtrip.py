"""Real models: what `read_osim` reads is what OpenSim reads, and what `write_osim` writes is the same model to OpenSim.

OpenSim runs in a fresh process for each file, because the `<defaults>` of one model leak into the next.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest

DATA = Path(os.environ.get("MUSCULO_DATA", Path(__file__).parents[3] / "shared" / "data"))
FILES = sorted(DATA.glob("**/*.osim")) if DATA.is_dir() else []
IDS = [str(f.relative_to(DATA)) for f in FILES]

# Numbers pass through text with 17 digits and OpenSim's frames through one rotation matrix: rounding only.
ROUNDING = 1e-12
# OpenSim prints properties with six digits: half a unit of the last is at most 5e-6 of the number.
PRINTED = 5.1e-6

pytestmark = pytest.mark.skipif(not FILES, reason=f"no OpenSim models in {DATA}; set MUSCULO_DATA")


# --- the OpenSim side, run as a script -------------------------------------------------------------------------------
def opensim_facts(path: str) -> dict:
    """What OpenSim makes of a file, in the default pose that initSystem assembles."""
    import opensim

    opensim.Logger.setLevelString("off")
    model = opensim.Model(path)
    state = model.initSystem()

    def vec(v, n=3):
        return [v.get(i) for i in range(n)]

    def pose(X):
        R = X.R()
        return [R.get(i, j) for i in range(3) for j in range(3)] + vec(X.p())

    def members(group):
        return [group.get(i) for i in range(group.getSize())]

    facts: dict = {"gravity": vec(model.getGravity()), "total_mass": model.getTotalMass(state)}
    facts["bodies"] = {
        b.getName(): [b.getMass(), vec(b.getMassCenter()), vec(b.get_inertia(), 6), pose(b.getTransformInGround(state))]
        for b in members(model.getBodySet())
    }
    facts["joints"] = {
        j.getName(): [
            j.getConcreteClassName(),
            j.getParentFrame().findBaseFrame().getName(),
            j.getChildFrame().findBaseFrame().getName(),
            pose(j.getParentFrame().findTransformInBaseFrame()),
            pose(j.getChildFrame().findTransformInBaseFrame()),
            [j.get_coordinates(i).getName() for i in range(j.numCoordinates())],
        ]
        for j in members(model.getJointSet())
    }
    facts["coordinates"] = {
        c.getName(): [
            c.getDefaultValue(),
            c.getDefaultSpeedValue(),
            c.getRangeMin(),
            c.getRangeMax(),
            c.getDefaultClamped(),
            c.getDefaultLocked(),
            c.get_prescribed(),
            c.get_is_free_to_satisfy_constraints(),
            c.getMotionType(),
            c.getValue(state),
        ]
        for c in members(model.getCoordinateSet())
    }
    facts["muscles"] = {
        m.getName(): [
            m.getConcreteClassName(),
            m.getMaxIsometricForce(),
            m.getOptimalFiberLength(),
            m.getTendonSlackLength(),
            m.getPennationAngleAtOptimalFiberLength(),
            m.getMaxContractionVelocity(),
            m.get_ignore_tendon_compliance(),
            m.get_ignore_activation_dynamics(),
            m.getMinControl(),
            m.getMaxControl(),
            m.get_appliesForce(),
            m.getLength(state),
        ]
        for m in members(model.getMuscles())
    }
    facts["markers"] = {
        m.getName(): [m.getParentFrame().getAbsolutePathString(), vec(m.get_location()), m.get_fixed()]
        for m in members(model.getMarkerSet())
    }
    facts["constraints"] = {
        c.getName(): [c.getConcreteClassName(), c.get_isEnforced()] for c in members(model.getConstraintSet())
    }
    for key, group in (
        ("controllers", model.getControllerSet()),
        ("forces", model.getForceSet()),
        ("probes", model.getProbeSet()),
        ("contact", model.getContactGeometrySet()),
    ):
        facts[key] = {m.getName(): m.getConcreteClassName() for m in members(group)}
    facts["components"] = {c.getAbsolutePathString(): _properties(c) for c in model.getComponentsList()}
    return facts


def _properties(component) -> list:
    """A component's class, its plain properties as OpenSim prints them, and what its sockets hold."""
    plain = {}
    for index in range(component.getNumProperties()):
        entry = component.getPropertyByIndex(index)
        if not entry.isObjectProperty() and not entry.getName().startswith("socket_"):
            plain[entry.getName()] = entry.toString()
    return [component.getConcreteClassName(), plain]


# --- the tests -------------------------------------------------------------------------------------------------------
def _facts(path: Path) -> dict:
    done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return {"error": done.stderr[-2000:]}
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """OpenSim's view of every file and of its rewritten copy: {file: (original, written)}."""
    pytest.importorskip("opensim")
    from musculo.io import read_osim, write_osim

    folder = tmp_path_factory.mktemp("written")
    copies = []
    for file, name in zip(FILES, IDS, strict=True):
        copies.append(folder / name.replace("/", "__"))
        write_osim(read_osim(file, opensim_rounding=True), copies[-1])
    with ThreadPoolExecutor(max_workers=2) as pool:
        views = list(pool.map(_facts, [*FILES, *copies]))
    return {f: (views[i], views[i + len(FILES)]) for i, f in enumerate(FILES)}


def _differences(a, b, where: str, tolerance: float) -> list[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return [f"{where}: {sorted(set(a) ^ set(b))[:6] or 'order'}"]
        return [d for key in a for d in _differences(a[key], b[key], f"{where}/{key}", tolerance)]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [
            d for i, (x, y) in enumerate(zip(a, b, strict=True)) for d in _differences(x, y, f"{where}[{i}]", tolerance)
        ]
    if isinstance(a, float | int) and isinstance(b, float | int) and not isinstance(a, bool):
        same = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
        return [] if same else [f"{where}: {a!r} != {b!r}"]
    return [] if a == b else [f"{where}: {a!r} != {b!r}"]


def _printed(content: str):
    """A printed property: numbers as numbers, anything else as it is."""
    words = content.replace("(", " ").replace(")", " ").replace(",", " ").split()
    try:
        return [float(w) for w in words]
    except ValueError:
        return content


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_names_and_order_are_those_of_opensim(file, facts):
    from musculo.io import read_osim

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
    from musculo.io import read_osim

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
    differences = [d for key in precise for d in _differences(original[key], written[key], key, ROUNDING)]
    assert not differences, differences[:10]


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
            assert not _differences(a, b, f"{path}.{key}", PRINTED)


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_read_write_read_gives_the_same_model(file, tmp_path):
    from musculo.io import read_osim, write_osim

    first = read_osim(file)
    assert write_osim(first, tmp_path / "copy.osim") == ()
    second = read_osim(tmp_path / "copy.osim")
    for field in fields(first):
        if field.name not in ("source", "notes"):  # an upgrade leaves notes that its result no longer calls for
            assert getattr(first, field.name) == getattr(second, field.name), field.name


if __name__ == "__main__":
    print(json.dumps(opensim_facts(sys.argv[1])))
