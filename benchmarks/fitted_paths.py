"""Fitted paths beside exact ones and beside OpenSim's FunctionBasedPath, one thread, same run, in the poses of a walk.

python benchmarks/fitted_paths.py      needs the extra `oracles` and the data folder
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from muscle_geometry import MODELS, Peer, times_of, walking
from musculo import read_osim, write_osim
from musculo.kernels.paths.fitted_path_frames import fitted_path_frames
from musculo.model.model import Model
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import muscle_geometry
from timing import report, time_of
from trees import data_folder

# The default, and one degree for all paths whatever their errors.
FITS = {"tolerance 0.5 mm": {}, "degree 5 for all": {"degree": 5, "tolerance": 1.0}}
POSES = 200  # in OpenSim
CALLS = 2000


def one_pose(model: Model, q: np.ndarray) -> float:
    """Seconds for all polynomials of one pose, called again and again as a simulation does."""
    functions = compiled_paths(model, muscles_only=True).functions
    fitted, table = functions.exact
    length, arms = np.zeros((1, len(model.muscles))), np.zeros((1, len(model.muscles) * len(model.speed_names)))
    call = fitted_path_frames.bound(fitted, table, q[None], length, arms, 0, 1)

    def run() -> None:
        for _ in range(CALLS):
            call()

    return time_of(run, CALLS).middle


def main() -> None:
    folder = data_folder()
    if folder is None:
        print("skipped: the data folder is not there")
        return
    for title, (file, name) in MODELS.items():
        model = read_osim(folder / file)
        q = walking(folder, model, name)
        exact = time_of(lambda m=model, q=q: muscle_geometry(m, q, threads=1), len(q))
        for fit, options in FITS.items():
            found = fit_paths(model, motion=q, **options)
            own = found.degree >= 0
            rms, worst = 1e3 * found.length_rms[own], 1e3 * found.length_worst[own]
            arm_rms, arm_worst = 1e3 * found.arm_rms[own], 1e3 * found.arm_worst[own]
            print(
                f"{title}, {fit}: {own.sum()} of {len(own)} paths fitted, {found.terms.sum()} coefficients; mm: ",
                end="",
            )
            print(f"length {np.median(rms):.3f} rms in the median path, {worst.max():.2f} at worst; ", end="")
            print(f"moment arm {np.median(arm_rms):.3f} rms, {arm_worst.max():.2f} at worst")
            fast = time_of(lambda m=found.model, q=q: muscle_geometry(m, q, threads=1), len(q))
            report("  lengths and moment arms", fast, "exact paths", exact, "")
            print(f"  the polynomials of one pose {1e6 * one_pose(found.model, q[0]):.2f} us")
            with tempfile.TemporaryDirectory() as place:
                path = Path(place) / "fitted.osim"
                write_osim(found.model, path)
                lengths, arms = times_of(Peer(path, found.model), q[:POSES])
            report("  lengths", fast, "OpenSim", lengths, "")
            report("  lengths and moment arms", fast, "OpenSim", arms, "")


if __name__ == "__main__":
    main()
