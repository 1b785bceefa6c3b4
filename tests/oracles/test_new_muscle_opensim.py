"""Muscles made in Python are those that OpenSim makes where nothing is said, and OpenSim takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from musculo import Body, Coordinate, Model, Muscle, PinJoint, write_osim
from musculo.model import Path as MusclePath
from musculo.model import PathPoint
from support.doc_pages import blocks_of
from support.muscle_rig import KINDS

opensim = pytest.importorskip("opensim", reason="OpenSim is not installed; pip install 'musculo[oracles]'")

PAGE = Path(__file__).parents[2] / "docs" / "questions" / "new_muscle.md"


def test_opensim_takes_the_model_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks_of(PAGE):
        if block.kind == "python":
            exec(compile(block.text, str(PAGE), "exec"), names)
    opensim.Logger.setLevelString("off")
    peer = opensim.Model("elbow.osim")
    state = peer.initSystem()
    peer.equilibrateMuscles(state)
    assert [m.getName() for m in peer.getMuscles()] == ["flexor", "extensor"]


def test_what_is_left_out_has_the_value_of_opensim(tmp_path):
    """Each kind, with everything left out, written and opened; and OpenSim's own of that kind."""
    points = PathPoint("a", "ground", (0.0, 0.2, 0.0)), PathPoint("b", "b", (0.05, -0.1, 0.0))
    muscles = tuple(Muscle(kind, kind, path=MusclePath(points)) for kind in KINDS)
    joint = PinJoint("j", "ground", "b", (Coordinate("c"),))
    body = Body("b", 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    write_osim(Model("m", (body,), (joint,), forces=muscles), tmp_path / "m.osim")
    opensim.Logger.setLevelString("off")
    peer = opensim.Model(str(tmp_path / "m.osim"))
    peer.initSystem()
    compared = 0
    for muscle in muscles:
        make = getattr(opensim, muscle.kind, None)
        if make is None:  # the deprecated kinds cannot be made from Python
            assert muscle.min_control == 0.0
            continue
        usual = make()
        compared += 1
        found = peer.getMuscles().get(muscle.name)
        for key in (
            *("max_isometric_force", "optimal_fiber_length", "tendon_slack_length", "pennation_angle_at_optimal"),
            *("max_contraction_velocity", "min_control", "max_control", "ignore_tendon_compliance"),
        ):
            stated = usual.getPropertyByName(key).toString()
            assert found.getPropertyByName(key).toString() == stated, (muscle.kind, key)
    assert compared == 4
