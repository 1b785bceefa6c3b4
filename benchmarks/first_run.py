"""What a fresh install costs: first and next process of each command and public function; memory of a long trial.

python benchmarks/first_run.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PREPARE = f"""
import sys, time
start = time.perf_counter()
sys.path[:0] = [{str(HERE)!r}]
import musculo
from trees import humanoid, random_motion
model = humanoid()
q, u, udot = random_motion(model, 8)
"""
CALLS = {
    "inverse_dynamics": "musculo.inverse_dynamics(model, q, u, udot)",
    "mass_matrix": "musculo.mass_matrix(model, q)",
    "forward_dynamics": "musculo.forward_dynamics(model, q, u, udot)",
    "kinematics and Jacobian": "musculo.kinematics(model, q, u, udot).point_jacobian('body36')",
    "joint_reactions": "musculo.joint_reactions(model, q, u, udot)",
    "kinetic_energy": "musculo.kinetic_energy(model, q, u)",
    "embedding": "musculo.embedding_of(model).coordinates(q)",
}
MEMORY = f"""
import resource, sys
sys.path[:0] = [{str(HERE)!r}]
import musculo
from trees import data_folder, random_motion
model = musculo.read_osim(data_folder() / "rajagopal_walk" / "subject_walk_scaled.osim")
motion = random_motion(model, 100_000)
musculo.inverse_dynamics(model, *motion)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(f"10^5 frames of Rajagopal inverse dynamics: peak {{peak:.2f}} GB")
"""


def seconds(command: list[str], cache: str) -> float:
    """Wall time of a process with its kernels kept in `cache`."""
    start = time.perf_counter()
    environment = os.environ | {"MUSCULO_CACHE_DIR": cache}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    shell = [sys.executable, "-c", "from musculo.cli.main import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        print(f"musculo --help: {seconds([*shell, '--help'], folder):.2f} s")
        model = Path(folder) / "leg.osim"
        locate = "import musculo.demo; print(musculo.demo.MODEL_FILE)"
        model = subprocess.run(
            [sys.executable, "-c", locate], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name, arguments in (("info", ["info", model]), ("demo", ["demo", "--quiet", "--output", folder + "/demo"])):
            cache = tempfile.mkdtemp(dir=folder)
            first, following = seconds([*shell, *arguments], cache), seconds([*shell, *arguments], cache)
            print(f"musculo {name}: first {first:.1f} s, next process {following:.1f} s")
        for name, call in CALLS.items():
            cache = tempfile.mkdtemp(dir=folder)
            script = [sys.executable, "-c", PREPARE + call]
            print(f"{name}: first {seconds(script, cache):.1f} s, next process {seconds(script, cache):.1f} s")
    subprocess.run([sys.executable, "-c", MEMORY], check=True)


if __name__ == "__main__":
    main()
