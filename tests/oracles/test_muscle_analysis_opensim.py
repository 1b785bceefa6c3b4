"""Muscle analysis against OpenSim's own tool, run live on given states: the same files, columns and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import embedding_of
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.functions import MultivariatePolynomial
from musculo.model import CoordinateCoupler
from support.muscle_analysis_tool import muscle_analysis_files

pytest.importorskip("opensim", reason="OpenSim is not installed; pip install 'musculo[oracles]'")

FRAMES = 4
# OpenSim ends its search for equilibrium at 1e-8 of the maximum force; velocities and powers are compared with what
# the whole motion has, since that of Millard's fibres is zero but for this error.
EQUILIBRIUM = 1e-6
# With the lengths of the fibres given nothing is searched for but the velocity of the fibre: to 1e-8 of the force.
STATES = 1e-8
# Moment arms and path lengths are closed formulas on both sides; OpenSim assembles a coupled coordinate to 1e-10.
GEOMETRY = 1e-9

# file, how the fibres are found, by how much independent coordinates leave the default pose [rad, m]
CASES = {
    "arm26": ("arm26/arm26.osim", "equilibrium", 0.15),
    "millard": ("gait10dof18musc/subject01.osim", "equilibrium", 0.15),
    "millard, fibers given": ("gait10dof18musc/subject01.osim", "given", 0.15),
    "thelen, fibers given": ("arm26/arm26.osim", "given", 0.15),
    "dgf, tensions given": ("gait10dof18musc/subject01_DGF.osim", "tensions", 0.15),
    "dgf": ("gait10dof18musc/subject01_DGF.osim", "equilibrium", 0.15),
    "coupled patella": ("leg6dof9musc/leg6dof9musc.osim", "equilibrium", 0.1),
    "locked": ("gait2392/subject01_simbody.osim", "equilibrium", 0.05),
    "coupled to two": ("leg6dof9musc/leg6dof9musc.osim", "equilibrium", 0.1),
}


def _locked(model, tmp_path):
    """The same with a lock, written by musculo."""
    locked = model.with_coordinate("subtalar_angle_r", locked=True)
    musculo.write_osim(locked, tmp_path / "locked.osim")
    return tmp_path / "locked.osim", locked


def _coupled_to_two(model, tmp_path):
    """The same with a patella that follows the hip, too: OpenSim's arms are not slopes of lengths then."""
    (first, *_) = [c for c in model.constraints if isinstance(c, CoordinateCoupler)]
    hip = next(name for name in embedding_of(model).coordinate_names if name.startswith("hip_flexion"))
    both = MultivariatePolynomial(2, 1, (0.02, 0.01, -0.015))
    tied = model.with_constraint(replace(first, independents=(*first.independents, hip), function=both))
    musculo.write_osim(tied, tmp_path / "tied.osim")
    return tmp_path / "tied.osim", tied


@pytest.mark.parametrize("name", CASES)
def test_same_files_columns_and_numbers(data_folder, tmp_path, name):
    path, fibers, spread = CASES[name]
    file = data_folder / path
    model = musculo.read_osim(file)
    if name == "locked":
        file, model = _locked(model, tmp_path)
    if name == "coupled to two":
        file, model = _coupled_to_two(model, tmp_path)
    e = musculo.embedding_of(model)
    rng = np.random.default_rng(4)
    z = e.independent(np.array([c.default_value for c in model.coordinates]))
    q = e.coordinates(z + spread * rng.uniform(0.1, 1.0, (FRAMES, len(z))))
    u = np.einsum("fuz,fz->fu", e.jacobian(q), rng.normal(size=(FRAMES, len(e.speed_names))))
    a = rng.uniform(0.05, 0.9, (FRAMES, len(model.muscles)))
    given = {"like": "opensim"}
    states = {"q": q, "u": u, "activation": a}
    if fibers == "given":
        states["fiber_length"] = muscle_analysis(model, q, u, a, **given).fiber_length * rng.uniform(
            0.98, 1.02, a.shape
        )
        given["fiber_length"] = states["fiber_length"]
    elif fibers == "tensions":
        given["tendon_force"] = muscle_analysis(model, q, u, a, **given).tendon_force * rng.uniform(0.9, 1.1, a.shape)
        strongest = [m.max_isometric_force for m in model.muscles]
        states["normalized_tendon_force"] = given["tendon_force"] / strongest
    names = {"coordinates": np.array(model.coordinate_names), "muscles": np.array(model.muscle_names)}
    folder = muscle_analysis_files(file, tmp_path / "peer", fibers == "equilibrium", **states, **names)

    ours = muscle_analysis(model, q, u, a, **given)
    tables = ours.tables(np.arange(FRAMES) / 100.0)
    theirs = {p.stem.removeprefix("run_MuscleAnalysis_"): musculo.read_storage(p) for p in folder.glob("*.sto")}
    assert set(tables) == set(theirs)
    assert all(theirs[title].names == table.names for title, table in tables.items())
    assert all(theirs[title].name == table.name == title for title, table in tables.items())

    tolerance = EQUILIBRIUM if fibers == "equilibrium" else STATES
    speed, power = np.abs(ours.speed).max(), np.abs(ours.muscle_power).max()
    scales = dict.fromkeys(("FiberActivePower", "FiberPassivePower", "TendonPower", "MuscleActuatorPower"), power)
    shortest = min(m.optimal_fiber_length * m.max_contraction_velocity for m in model.muscles)
    scales |= {"FiberVelocity": speed, "NormFiberVelocity": speed / shortest}
    scales |= {"PennationAngularVelocity": speed / ours.fiber_length.min()}
    largest_arm = np.abs(ours.moment_arm[:, :, [n in e.speed_names for n in ours.coordinates]]).max()
    for title, table in tables.items():
        peer = theirs[title].values
        if title.startswith("MomentArm_"):
            scale, allowed = max(largest_arm, np.abs(peer).max()), GEOMETRY
        elif title.startswith("Moment_"):
            scale, allowed = max(largest_arm * np.abs(ours.tendon_force).max(), np.abs(peer).max()), tolerance
        else:
            scale, allowed = max(scales.get(title, 0.0), np.abs(peer).max()), tolerance
        error = np.abs(table.values - peer).max() / scale
        assert error < (GEOMETRY if title == "Length" else allowed), (title, error)


def test_without_activation_the_models_own_is_taken(data_folder):
    """As OpenSim does where only coordinates are known."""
    model = musculo.read_osim(data_folder / "arm26/arm26.osim")
    assert np.array_equal(muscle_analysis(model, [0.1, 0.8], [0.0, 1.0]).activation, np.full(6, 0.05))
