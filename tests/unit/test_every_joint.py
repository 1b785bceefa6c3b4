"""Every kind of joint has what a kind owes: a public name, tests of its mechanics, a form in files, and a size."""

from __future__ import annotations

import inspect
import pkgutil
import re
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.functions import Linear
from musculo.model import joints
from musculo.model.joints import Axis, CustomJoint, Joint, UnsupportedJoint
from musculo.model.joints.joint import FunctionMotion
from musculo.results.angle_columns import coordinate_units
from support.dynamics_models import JOINTS, assert_close, one_joint, random_placement, random_q

KINDS = [kind for kind in JOINTS if "quaternion" not in kind]
# OpenSim's files hold all digits; only rounding of the scaled functions remains.
ROUNDING = 1e3 * np.finfo(float).eps
ROOT = Path(__file__).parents[2]
FACTORS = {"parent": (1.3, 0.8, 1.7), "child": (0.9, 1.2, 0.6)}


# a kind that nobody exports yet is one, too
for _file in pkgutil.iter_modules(joints.__path__):
    import_module(f"{joints.__name__}.{_file.name}")


def classes(base: type[Joint] = Joint) -> set[type[Joint]]:
    found = {kind for sub in base.__subclasses__() for kind in (sub, *classes(sub))}
    return {kind for kind in found if kind.__module__.startswith("musculo.")}


def jointed(kind: str) -> Model:
    """Two bodies, `parent` and `child`, with this joint between them."""
    rng = np.random.default_rng(3)
    weld = joints.WeldJoint("base", Placement("ground"), Placement("parent"))
    joint = JOINTS[kind](rng, "j", random_placement(rng, "parent"), random_placement(rng, "child"))
    return Model(kind, (Body("parent", 1.0), Body("child", 1.0)), (weld, joint))


def poses(model: Model, like: Model | None = None) -> np.ndarray:
    """The pose of the last body in twenty poses of the model, rotation and position in one row.

    They are those of the model `like`: a file orders the coordinates of a CustomJoint by its axes.
    """
    q, own = np.zeros((20, len(model.coordinates))), like or model
    if own.coordinates:
        q[:, [model.coordinate_index(name) for name in own.coordinate_names]] = random_q(
            own, np.random.default_rng(4), 20
        )
    X_WB = musculo.kinematics(model, q).pose("child")
    return np.concatenate([X_WB.R.reshape(20, 9), X_WB.p], axis=1)


def test_every_kind_is_built_for_the_laws():
    """`support.dynamics_models.JOINTS` is what the tests of the mechanics go through."""
    tested = {type(one_joint(kind).joints[0]) for kind in JOINTS}
    missing = sorted(kind.__name__ for kind in classes() - {UnsupportedJoint} - tested)
    assert not missing, f"{missing}: no builder in JOINTS of tests/support/dynamics_models.py"


@pytest.mark.parametrize("kind", sorted(classes(), key=lambda kind: kind.__name__))
def test_kind_has_its_own_public_name(kind):
    name = kind.__name__
    assert kind.kind == name
    assert name in joints.__all__, f"{name} is not in model/joints/__init__.py"
    assert getattr(joints, name) is kind
    if kind is not UnsupportedJoint:
        assert name in dir(musculo.model), f"{name} has no line in src/musculo/model/__init__.pyi"
        assert getattr(musculo.model, name) is kind
        page = ROOT / "docs" / "reference" / "models.md"
        shown = re.search(rf"^::: musculo\.(model\.)?{name}$", page.read_text(), flags=re.M)
        assert shown, f"{name} has no line in docs/reference/models.md"


@pytest.mark.parametrize("kind", KINDS)
def test_written_and_read_it_moves_alike_and_nothing_is_left_over(kind, rewrite):
    model = jointed(kind)
    again, notes = rewrite(model)
    assert [note.why for note in notes if "differ by at most" not in note.why] == []
    assert again.notes == ()
    assert again.joint("j").carried == ()
    tolerance = 1e-3 if notes else ROUNDING  # notes: functions that OpenSim has not are sampled
    assert_close(poses(again, model), poses(model), tolerance, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_as_the_file_of_it_is(kind, rewrite):
    """Sizes grow as those of the joint in a file do, which is a CustomJoint where OpenSim has no such kind."""
    model = jointed(kind)
    again, notes = rewrite(model)
    tolerance = 1e-3 if notes else ROUNDING
    grown, grown_again = (musculo.scale_model(m, FACTORS) for m in (model, again))
    assert_close(poses(grown_again, grown), poses(grown), tolerance, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_as_its_custom_twin(kind):
    model = jointed(kind)
    joint = model.joint("j")
    match joint.motions():
        case (FunctionMotion(),):
            twin = CustomJoint.of(joint)
            custom = model.replace(joints=(model.joints[0], twin))
            assert_close(poses(custom), poses(model), ROUNDING, kind)
            grown = [poses(musculo.scale_model(m, FACTORS)) for m in (custom, model)]
            assert_close(*grown, ROUNDING, kind)
        case _:
            with pytest.raises(musculo.MusculoError, match="not a CustomJoint"):
                CustomJoint.of(joint)


@pytest.mark.parametrize("kind", sorted(classes() - {UnsupportedJoint}, key=lambda kind: kind.__name__))
def test_a_kind_with_lengths_of_its_own_says_how_they_grow(kind):
    """A class with fields of its own, but the choice of coordinates, overrides `scaled`."""
    common = {field.name for field in fields(Joint)} | {"quaternion"}
    own = {field.name for field in fields(kind)} - common
    says = inspect.unwrap(kind.scaled) is not Joint.scaled
    assert says or not own, f"{kind.__name__} has {sorted(own)} and no scaled(parent, child): how do they grow?"
    assert own or not says, f"{kind.__name__} has scaled(parent, child), but no lengths of its own"


def test_pitch_of_one_is_the_coordinate_itself():
    """OpenSim 4.6 leaves a translation that equals its coordinate, whatever the bones; so a pitch of 1 m/rad stays."""
    screw = jointed("screw").joint("j")
    assert replace(screw, pitch=1.0).scaled((2.0, 3.0, 5.0), (1.0, 1.0, 1.0)).pitch == 1.0
    assert replace(screw, pitch=0.25).scaled((2.0, 3.0, 5.0), (1.0, 1.0, 1.0)).pitch == 1.25


def test_coordinate_that_a_translation_equals_is_a_distance():
    """Whatever else it turns: a rod that is pushed by s and turns by a function of s."""
    rod = CustomJoint(
        "rod",
        Placement("ground"),
        Placement("b"),
        (Coordinate("s"),),
        rotations=(Axis((0, 0, 1), Linear(20.0, 0.0), ("s",)), Axis((1, 0, 0)), Axis((0, 1, 0))),
        translations=(Axis((0, 0, 1), Linear(1.0, 0.0), ("s",)), Axis((1, 0, 0)), Axis((0, 1, 0))),
    )
    assert coordinate_units(Model("m", (Body("b", 1.0),), (rod,))) == {"s": "m"}
