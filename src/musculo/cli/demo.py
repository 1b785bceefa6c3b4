"""`musculo demo`: the whole chain on the arm that ships, as a folder of results, a page and a table."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from rich.padding import Padding

from musculo.cli.compiling import tell_of_compiling
from musculo.cli.console import printing, table
from musculo.cli.exit_codes import GOOD, INCOMPLETE, NOT_GOOD
from musculo.cli.report import is_bad
from musculo.cli.starting import imports_end
from musculo.demo.chain import ArmChain, arm_chain
from musculo.errors import InvalidInput
from musculo.kernels.frames import rnea_frames
from musculo.kernels.hill_frames import equilibrium_packs
from musculo.kernels.inverse_kinematics import track_frames
from musculo.kernels.path_frames import geodesic_path_frames
from musculo.report import report_of_folder, write_report

PAGE = "report.html"
# What takes longest to compile: if one of them is not there yet, the first run is on.
_SLOW = (rnea_frames, track_frames, geodesic_path_frames, equilibrium_packs)


def run_demo(folder: Path, quiet: bool, as_json: bool = False, strict: bool = False) -> int:
    """Run the chain, write page and results into `folder`, and print the summary; gives the exit code."""
    imports_end()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}); choose another one with --output"
        ) from None
    compiles, silent, quiet = not all(driver.is_ready() for driver in _SLOW), quiet, quiet or as_json

    def say(text: str) -> None:
        if compiles and not silent:
            print(f"  {text} ...", file=sys.stderr, flush=True)

    tell_of_compiling(quiet=True)  # in more words than elsewhere, or not at all
    if compiles and not silent:
        print(
            "Compiling for this machine: once, three minutes of an idle core, five of a busy one. Steps:",
            file=sys.stderr,
            flush=True,
        )
    start = time.perf_counter()
    chain = arm_chain(say=say)
    seconds = time.perf_counter() - start
    files = chain.write(folder)
    title = "An elbow flexes: from markers to muscles"
    report = report_of_folder(folder, chain.model, title)
    write_report(folder / PAGE, report)
    if as_json:
        print(json.dumps(_told(chain, folder, files), indent=2, ensure_ascii=False))
    elif not quiet:
        _print_summary(chain, folder, len(files), 0.0 if compiles else seconds)
    bad = strict and is_bad(report.checks)
    if not chain.effort.solved:
        return INCOMPLETE
    return NOT_GOOD if bad else GOOD


def _told(chain: ArmChain, folder: Path, files: tuple[str, ...]) -> dict[str, object]:
    """What the summary says, for programs; SI units and radians."""
    most_active = chain.effort.activation.max(axis=0)
    peaks, loads = np.abs(chain.moments).max(axis=0), np.linalg.norm(chain.loads.force, axis=2).max(axis=0)
    return {
        "page": str(folder / PAGE),
        "files": [str(folder / name) for name in files],
        "frames": len(chain.markers),
        "marker_error_rms": float(np.sqrt((chain.kinematics.rms**2).mean())),
        "largest_angle_error": float(np.abs(chain.motion.q - chain.truth.q).max()),
        "largest_moment": dict(zip(chain.model.coordinate_names, peaks.tolist(), strict=True)),
        "largest_activation": dict(zip(chain.effort.muscles, most_active.tolist(), strict=True)),
        "largest_joint_load": dict(zip(chain.loads.joints, loads.tolist(), strict=True)),
        "solved": chain.effort.solved,
    }


def _print_summary(chain: ArmChain, folder: Path, files: int, seconds: float) -> None:
    error, angle_error = 1e3 * chain.kinematics.rms, np.degrees(np.abs(chain.motion.q - chain.truth.q))
    moment_error = np.abs(chain.moments - chain.true_moments)
    effort, loads = chain.effort, np.linalg.norm(chain.loads.force, axis=2)
    strongest = int(effort.activation.max(axis=0).argmax())
    took = f" It took {seconds:.1f} s." if seconds else ""
    rows = [
        (
            "inverse kinematics",
            "marker error, RMS",
            f"{np.sqrt((error**2).mean()):.2f} mm",
            f"{1e3 * chain.noise:g} mm noise",
        ),
        (
            "",
            "elbow, largest error",
            f"{angle_error[:, 1].max():.2f}°",
            f"of {np.degrees(np.ptp(chain.truth.q[:, 1])):.0f}°",
        ),
        *(
            (
                "inverse dynamics" if k == 0 else "",
                name.replace("_", " "),
                f"{np.abs(chain.moments[:, k]).max():.2f} N m",
                f"{moment_error[:, k].max():.2f} N m off by noise",
            )
            for k, name in enumerate(chain.model.coordinate_names)
        ),
        (
            "static optimisation",
            f"{effort.muscles[strongest].replace('_', ' ')}, most active",
            f"{effort.activation[:, strongest].max():.2f}",
            f"{effort.force[:, strongest].max():.0f} N",
        ),
        (
            "",
            "reserves, largest",
            f"{np.abs(effort.reserve).max():.2f} N m",
            "all frames solved" if effort.solved else "NOT ALL FRAMES SOLVED",
        ),
        *(
            (
                "joint loads" if k == 0 else "",
                name,
                f"{loads[:, k].max():.0f} N",
                f"at {chain.motion.time[loads[:, k].argmax()]:.2f} s",
            )
            for k, name in enumerate(chain.loads.joints)
        ),
        (
            "muscle analysis",
            "longest fibre over optimum",
            f"{chain.muscles.normalized_fiber_length.max():.2f}",
            chain.muscles.muscles[int(chain.muscles.normalized_fiber_length.max(axis=0).argmax())].replace("_", " "),
        ),
    ]
    with printing() as out:
        out.print(
            f"An elbow flexes by 90 degrees in a second: {len(chain.markers)} frames of {len(chain.markers.names)} "
            f"markers with {1e3 * chain.noise:g} mm of noise, from a model of six muscles.{took}"
        )
        out.print()
        out.print(Padding(table(("step", "what", "largest", ""), rows, ("largest",)), (0, 0, 0, 2), expand=False))
        out.print()
        out.print(f"page     {folder / PAGE}", soft_wrap=True)
        out.print(f"results  {files} files in {folder} (.trc, .mot, .sto), which OpenSim reads", soft_wrap=True)
