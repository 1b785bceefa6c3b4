"""Lengths with a penalty are told of: in the notes of a geometry, in what it prints, in the advice of an optimum."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from musculo import (
    Body,
    Coordinate,
    Model,
    MusculoWarning,
    Placement,
    joint_loads,
    muscle_geometry,
    path_wrenches,
    static_optimization,
)
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapSphere
from musculo.muscle.paths.geometry import STATUSES
from musculo.muscle.wrapping.penalties import inside_in_words, not_converged_in_words, penalties_in_words

TURN = np.linspace(-1.5, 1.5, 31)[:, None]


@pytest.fixture(scope="module")
def model() -> Model:
    """A muscle near the end of a cylinder, which it leaves where that saves much, beside two that are straight."""
    ends = PathPoint("a", "ground", (-0.3, 0.01, 0.0)), PathPoint("b", "arm", (0.3, 0.01, 0.0))
    wraps = {"plain": (), "bent": (PathWrap("w", "knuckle"),), "other": ()}
    forces = [
        Muscle(name, "Thelen2003Muscle", path=Path(ends, wrap), tendon_slack_length=0.5) for name, wrap in wraps.items()
    ]
    knuckle = WrapCylinder("knuckle", "ground", (0.0, 0.0, 0.11), radius=0.05, length=0.2, quadrant="y")
    joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
    return Model("hinge", (Body("arm", 1.0),), (joint,), wrap_objects=(knuckle,), forces=tuple(forces))


def sentence(penalty, what: str) -> str:
    """What is said of penalties (frames,) of the muscle that has them."""
    return (
        f"1 of 3 {what} has lengths with a penalty in {(penalty > 0.0).sum()} of {len(penalty)} frames, 'bent' "
        f"{1e3 * penalty.max():.3g} mm at most: moment arms there include its slope and may be far too large, "
        "or of the other sign"
    )


def test_a_geometry_notes_its_penalties(model):
    g = muscle_geometry(model, TURN)
    assert 0 < (g.penalty[:, 1] > 0.0).sum() < 31
    assert g.model_notes == ()
    assert g.notes == (sentence(g.penalty[:, 1], "paths"),)
    free = TURN[g.penalty[:, 1] == 0.0]
    assert muscle_geometry(model, free).notes == ()
    assert muscle_geometry(model, TURN, like="opensim").notes == ()


def test_a_single_pose_has_no_frames(model):
    g = muscle_geometry(model, TURN)
    worst = int(g.penalty[:, 1].argmax())
    (note,) = muscle_geometry(model, TURN[worst]).notes
    assert note.startswith(
        f"1 of 3 paths has lengths with a penalty, 'bent' {1e3 * g.penalty[worst, 1]:.3g} mm at most: "
    )


def test_penalties_that_would_take_work_are_not_noted(model):
    """As after work on a GPU, which leaves no paths."""
    g = replace(muscle_geometry(model, TURN), _points=None)
    assert g.notes == ()
    assert not g.has_penalty
    assert g.penalty.any()
    assert len(g.notes) == 1


def test_several_penalties_name_the_largest():
    penalty = np.zeros((4, 3))
    penalty[1, 0], penalty[1:3, 2] = 1e-3, 0.0125
    assert penalties_in_words(("a", "b", "c"), penalty).startswith(
        "2 of 3 paths have lengths with a penalty in 2 of 4 frames, 'c' 12.5 mm at most: "
    )
    assert penalties_in_words((), np.zeros((4, 0))) == penalties_in_words(("a",), np.zeros((0, 1))) == ""


def test_points_inside_are_noted(model):
    """The end comes into a ball that it is not inside in every pose."""
    ball = WrapSphere("knuckle", "ground", (0.3, 0.0, 0.0), radius=0.05)
    g = muscle_geometry(model.replace(wrap_objects=(ball,)), TURN)
    frames = int((g.status[:, 1] == STATUSES.index("inside")).sum())
    assert 0 < frames < 31
    (note,) = g.notes
    assert note.startswith(f"1 of 3 paths has a point inside a surface, 'bent' in {frames} of 31 frames: the surface")
    assert inside_in_words(("a", "b"), np.array([False, True])).startswith(
        "1 of 2 paths has a point inside a surface, 'b': the"
    )
    assert inside_in_words(("a",), np.zeros((3, 1), dtype=bool)) == ""


def test_paths_that_are_not_taut_are_noted(model):
    g = muscle_geometry(model, TURN)
    loose = g.status.copy()
    loose[3:5, 1], loose[4, 0] = STATUSES.index("not converged"), STATUSES.index("ignored")
    told = [note for note in replace(g, status=loose).notes if note not in g.notes]
    assert told[0].startswith(
        "2 of 3 paths have no taut solution (not converged), 'bent' in 2 of 31 frames: lengths there may"
    )
    assert not_converged_in_words(("a",), np.array([False])) == ""


@pytest.mark.parametrize("of", [muscle_geometry, path_wrenches])
def test_statuses_other_than_converged_are_printed(model, of):
    g = of(model, TURN)
    found = {word: int((g.status == code).sum()) for code, word in enumerate(STATUSES)}
    counts = {word: count for word, count in found.items() if count and word != "converged"}
    assert counts["other side"] > 0
    assert repr(g).startswith(f"{type(g).__name__}(wrapping='geodesic', paths: 3, length (31, 3)")
    assert repr(g).endswith(f", statuses={counts})")
    free = TURN[(g.status == 0).all(axis=1)]
    assert "statuses" not in repr(of(model, free))


def test_an_optimum_advises_of_penalties(model):
    still = np.zeros_like(TURN)
    found = static_optimization(model, TURN, still, tau=still, reserves=10.0)
    assert found.advice == sentence(found.penalty[:, 1], "muscles")
    assert "lengths with a penalty" in found._repr_html_()
    free = TURN[found.penalty[:, 1] == 0.0]
    assert static_optimization(model, free, 0.0 * free, tau=0.0 * free, reserves=10.0).advice == ""


def test_joint_loads_warn_of_doubtful_pulls(model):
    """Of paths that pull, unless the geometry is given, which tells by itself."""
    g = path_wrenches(model, TURN)
    still, frames = np.zeros_like(TURN), int((g.status[:, 1] == STATUSES.index("other side")).sum())
    with pytest.warns(MusculoWarning, match=f"frames of 31: 'bent' in {frames}; what they do to bodies"):
        joint_loads(model, TURN, still, still, muscle_forces=np.ones((31, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joint_loads(model, TURN, still, still, muscle_forces=[1.0, 0.0, 1.0] * np.ones((31, 3)))
        joint_loads(model, TURN, still, still, muscle_forces=np.ones((31, 3)), geometry=g)
        joint_loads(model, TURN, still, still, muscle_forces=np.ones((31, 3)), wrapping="opensim")
