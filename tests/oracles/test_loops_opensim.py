"""Closed loops of every kind against live OpenSim, and the multipliers of the frozen tables."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import Model, write_osim
from musculo.model import PointOnLineConstraint
from support import opensim_loops
from support.dynamics_models import assert_close, random_q, random_tree
from support.mechanisms import andrews_squeezer, chain, closing, five_bar, four_bar
from support.opensim_server import in_opensim
from support.recorded_data import DATA, NO_DATA, recorded
from support.simbody_terms import simbody_excess

# OpenSim's constraints hold to 1e-12 where the states are ours; its factors of repeated equations lose some digits.
AGREEMENT = 1e-8

TABLES = recorded("oracle/*.npz")
# Of models in which something is constrained.
CONSTRAINED = [path for path in TABLES if np.load(path)["G"].shape[1]]
needs_opensim = pytest.mark.skipif(importlib.util.find_spec("opensim") is None, reason="needs opensim (extra: oracles)")


def slider_crank() -> Model:
    rail = PointOnLineConstraint("rail", True, (), "ground", "bar1", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    return chain("slider-crank", (0.2, 0.5), 0.0, (0.9, -1.2)).replace(constraints=(rail,))


def tied(kind: str, twice: bool = False) -> Model:
    """A spatial chain tied to ground at its default pose."""
    rng = np.random.default_rng(12)
    model = random_tree(rng, ("pin", "universal", "gimbal", "slider", "cylindrical", "planar"), backwards=0, depth=1)
    q = random_q(model, rng)
    for name, value in zip(model.coordinate_names, q, strict=True):
        model = model.with_coordinate(name, default_value=value)
    last = max(model.body_names, key=lambda name: int(name[-1]))
    tie = closing(model, q, kind, "ground", last, rng)
    return model.replace(constraints=(tie, replace(tie, name="again")) if twice else (tie,))


MODELS = {
    "four-bar": four_bar,
    "five-bar": five_bar,
    "squeezer": andrews_squeezer,
    "slider-crank": slider_crank,
    "point": lambda: tied("point"),
    "line": lambda: tied("line"),
    "distance": lambda: tied("distance"),
    "weld": lambda: tied("weld"),
    "weld twice": lambda: tied("weld", twice=True),
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """(model, q, u, OpenSim's udot and constraint forces) by name."""
    folder = tmp_path_factory.mktemp("loops")
    states, models, files = {}, {}, []
    for k, (name, make) in enumerate(MODELS.items()):
        file = folder / f"{k}.osim"
        write_osim(make(), file)
        model = musculo.read_osim(file)
        e = musculo.embedding_of(model)
        rng = np.random.default_rng(k)
        z = e.independent(e.branch) + rng.uniform(-0.1, 0.1, (5, len(e.coordinate_names)))
        motion = e.motion(z, rng.normal(size=(5, len(e.speed_names))))
        models[name] = (model, motion.q, motion.u)
        states |= {f"q_{k}": motion.q, f"u_{k}": motion.u, f"names_{k}": np.array(model.coordinate_names)}
        files.append(str(file))
    np.savez(folder / "states.npz", **states)
    in_opensim(opensim_loops.main, str(folder / "states.npz"), str(folder / "out.npz"), *files, folder=folder)
    out = np.load(folder / "out.npz")
    return {
        name: (*models[name], out[f"udot_{k}"], out[f"force_{k}"], float(out[f"microseconds_{k}"]))
        for k, name in enumerate(MODELS)
    }


@needs_opensim
@pytest.mark.parametrize("name", MODELS)
def test_accelerations_and_constraint_forces_are_those_of_opensim(compared, name):
    model, q, u, udot, force, _ = compared[name]
    still = np.zeros_like(u)
    constrained = musculo.constrained_acceleration(model, q, u, still)
    assert_close(constrained.udot, udot, AGREEMENT, "constrained udot")
    assert_close(musculo.forward_dynamics(model, q, u, still), udot, AGREEMENT, "embedded udot")
    assert_close(-constrained.generalized, force, AGREEMENT, "G^T lambda")


@pytest.mark.skipif(not TABLES, reason=NO_DATA)
@pytest.mark.parametrize("path", CONSTRAINED, ids=[path.stem for path in CONSTRAINED])
def test_multipliers_of_the_tables(path):
    """udot and G^T lambda with locks, couplers and loops as equations, at the states of the tables."""
    facts = json.loads(path.with_suffix(".json").read_text())
    model = musculo.read_osim(DATA / facts["model"], opensim_rounding=True)
    order = [facts["coordinates"].index(name) for name in model.coordinate_names]
    stored = np.load(path)
    e = musculo.embedding_of(model)
    q = stored["q"][:, order]
    motion = e.motion(e.independent(q), e.independent_speeds(q, stored["u"][:, order]), guess=q)
    excess = simbody_excess(model, motion.q, motion.u)
    found = musculo.constrained_acceleration(model, motion.q, motion.u, -excess)
    assert_close(found.udot, stored["udot_fd"][:, order], AGREEMENT, "udot")
    force = np.einsum("fmu,fm->fu", stored["G"][:, :, order], stored["multipliers"])
    assert_close(-found.generalized, force, AGREEMENT, "G^T lambda")
    assert np.abs(found.position_error).max() < 1e-12
