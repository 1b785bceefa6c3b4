"""What everyday commands import: each start waits for it, so nothing that takes long and is not needed may be there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import musculo
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion

# A tenth of a second or more each, or what only plots, labelled arrays and parallel runs need.
HEAVY = (
    "IPython",
    "asyncio",
    "matplotlib",
    "pandas",
    "plotly.graph_objects",
    "plotly.io",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.stats",
    "sksundae",
    "urllib.request",
    "xarray",
)
# Not needed where compiled kernels are at hand.
COMPILER = ("numba", "scipy")
# What is looked for in every command.
REFUSED = HEAVY + COMPILER

# The modules that a program has at its end, after what it prints itself.
_RUN = """
import json, sys
try:
    {}
except SystemExit as end:
    assert not end.code, end.code
print()
print(json.dumps(sorted(sys.modules)))
"""
_COMMAND = "from musculo.cli.main import main; main()"
_PYTHON = {
    "inverse dynamics": "musculo.inverse_dynamics(musculo.read_osim(sys.argv[1]), [0.1, 0.2], [0.0] * 2, [0.0] * 2)",
    "simulation": "musculo.simulate(musculo.read_osim(sys.argv[1]), [0.1, 0.2], [0.0] * 2, [0.0, 0.1], method='rkf45')",
    "tables": "musculo.read_storage(sys.argv[2]).lowpass(6.0).derivative()",
}


def imported(code: str, *words: object) -> set[str]:
    command = [sys.executable, "-c", _RUN.format(code), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Markers of the flexion."""
    model, table = arm(), arm_flexion()
    at = musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names)
    path = tmp_path_factory.mktemp("trial") / "flexion.trc"
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "info MODEL",
        "convert MODEL FOLDER/again.osim",
        "scale MODEL --factors humerus=1.1 -o FOLDER/scaled.osim",
        "ik MODEL RECORDING -o FOLDER",
        "id MODEL MOTION --lowpass 6 -o FOLDER",
        "id MODEL MOTION --lowpass auto --like-opensim -o FOLDER",
        "so MODEL MOTION --lowpass 6 -o FOLDER",
        "jr MODEL MOTION -o FOLDER",
        "muscles MODEL MOTION -o FOLDER",
        "view MODEL MOTION --no-open -o FOLDER/view.html",
    ],
)
def test_a_command_imports_nothing_heavy(words, recording, tmp_path):
    files = {"MODEL": str(ARM_FILE), "MOTION": str(ARM_FLEXION_FILE), "RECORDING": str(recording)}
    there = [files.get(word, word).replace("FOLDER", str(tmp_path)) for word in words.split()]
    assert not imported(_COMMAND, *there) & set(REFUSED)


def test_a_report_of_a_folder_imports_nothing_heavy(tmp_path):
    imported(_COMMAND, "id", ARM_FILE, ARM_FLEXION_FILE, "-o", tmp_path, "--no-report")
    assert not imported(_COMMAND, "report", tmp_path) & set(REFUSED)


@pytest.mark.parametrize("what", _PYTHON)
def test_functions_import_nothing_heavy(what):
    assert not imported(f"import musculo; {_PYTHON[what]}", ARM_FILE, ARM_FLEXION_FILE) & set(REFUSED)


@pytest.mark.parametrize("command", ["info", "warmup"])
def test_to_look_what_is_compiled_needs_no_compiler(command):
    driver = "musculo.kernels.tree.tree_frames:rnea_frames"
    one = f"from musculo.kernels.compiler import canonical; one = canonical.of({driver!r})"
    assert not imported(f"{one}; canonical.listed = lambda: one; {_COMMAND}", command) & set(REFUSED)


def test_one_step_needs_no_pool_of_processes(tmp_path):
    found = imported(_COMMAND, "id", ARM_FILE, ARM_FLEXION_FILE, "-o", tmp_path)
    assert "concurrent.futures.process" not in found


def test_a_command_collects_no_garbage_before_its_modules_are_there(tmp_path):
    words = ("id", ARM_FILE, ARM_FLEXION_FILE, "-o", tmp_path)
    code = (
        "import gc, musculo.cli.main; found = []; "
        "gc.callbacks.append(lambda phase, _: found.append('musculo.opensim_tools.setup_runner' in sys.modules)); "
        "musculo.cli.main.main()"
    )
    ends = "finally:\n    assert all(found), found\n    assert gc.isenabled() and gc.get_freeze_count() > 0"
    source = f"import sys\ntry:\n    {code}\nexcept SystemExit as end:\n    assert not end.code\n{ends}"
    done = subprocess.run([sys.executable, "-c", source, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
