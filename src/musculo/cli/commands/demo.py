"""`musculo demo`: the whole chain on the arm that ships, as a folder of results, a page and a table."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from rich.padding import Padding

from musculo.cli.commands.report import is_bad
from musculo.cli.console import printing, table
from musculo.cli.exit_codes import GOOD, INCOMPLETE, NOT_GOOD
from musculo.cli.starting import imports_end, tell_of_compiling
from musculo.demo.chain import ArmChain, arm_chain
from musculo.errors import InvalidInput
from musculo.kernels.compiler.workers import is_busy
from musculo.report import report_of_folder, write_report

PAGE = "report.html"
_COLUMNS = ("step", "what", "largest", "")
_WIDTHS = (19, 24, 8, None)  # known before all rows are: each step is printed when it is there
Row = tuple[str, str, str, str]


def run_demo(folder: Path, quiet: bool, as_json: bool = False, strict: bool = False) -> int:
    """Run the chain, write page and results into `folder`, and print the summary; gives the exit code."""
    imports_end()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}); choose another one with --output"
        ) from None
    compiles = is_busy()
    tell_of_compiling(quiet)
    start = time.perf_counter()
    chain = arm_chain()
    if not quiet and not as_json:
        _print_steps(chain)
    files = chain.write(folder)
    title = "An elbow flexes: from markers to muscles"
    report = report_of_folder(folder, chain.model, title)
    write_report(folder / PAGE, report)
    if as_json:
        print(json.dumps(_told(chain, folder, files), indent=2, ensure_ascii=False))
    elif not quiet:
        with printing() as out:
            out.print()
            out.print(f"page     {folder / PAGE}", soft_wrap=True)
            out.print(
                f"results  {len(files)} files in {folder} (.trc, .mot, .sto), which OpenSim reads", soft_wrap=True
            )
            once = ", most of it to compile for this machine, once" if compiles else ""
            out.print(f"time     {time.perf_counter() - start:.1f} s{once}")
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


def _print_steps(chain: ArmChain) -> None:
    """A table that grows: the rows of a step as soon as it is computed."""
    with printing() as out:
        out.print(
            f"An elbow flexes by 90 degrees in a second: {len(chain.markers)} frames of {len(chain.markers.names)} "
            f"markers with {1e3 * chain.noise:g} mm of noise, from a model of six muscles."
        )
        out.print()
    for k, rows_of in enumerate((_kinematics, _dynamics, _effort, _loads, _muscles)):
        grid = table(_COLUMNS, rows_of(chain), ("largest",), _WIDTHS)
        grid.show_header = k == 0
        with printing() as out:
            out.print(Padding(grid, (0, 0, 0, 2), expand=False))
        sys.stdout.flush()


def _kinematics(chain: ArmChain) -> list[Row]:
    error, angle_error = 1e3 * chain.kinematics.rms, np.degrees(np.abs(chain.motion.q - chain.truth.q))
    turned = np.degrees(np.ptp(chain.truth.q[:, 1]))
    return [
        (
            "inverse kinematics",
            "marker error, RMS",
            f"{np.sqrt((error**2).mean()):.2f} mm",
            f"{1e3 * chain.noise:g} mm noise",
        ),
        ("", "elbow, largest error", f"{angle_error[:, 1].max():.2f}°", f"of {turned:.0f}°"),
    ]


def _dynamics(chain: ArmChain) -> list[Row]:
    largest, off = np.abs(chain.moments).max(axis=0), np.abs(chain.moments - chain.true_moments).max(axis=0)
    return [
        (
            "inverse dynamics" if k == 0 else "",
            name.replace("_", " "),
            f"{largest[k]:.2f} N m",
            f"{off[k]:.2f} N m off by noise",
        )
        for k, name in enumerate(chain.model.coordinate_names)
    ]


def _effort(chain: ArmChain) -> list[Row]:
    effort = chain.effort
    strongest = int(effort.activation.max(axis=0).argmax())
    return [
        (
            "static optimization",
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
    ]


def _loads(chain: ArmChain) -> list[Row]:
    loads = np.linalg.norm(chain.loads.force, axis=2)
    return [
        (
            "joint loads" if k == 0 else "",
            name,
            f"{loads[:, k].max():.0f} N",
            f"at {chain.motion.time[loads[:, k].argmax()]:.2f} s",
        )
        for k, name in enumerate(chain.loads.joints)
    ]


def _muscles(chain: ArmChain) -> list[Row]:
    length = chain.muscles.normalized_fiber_length.max(axis=0)
    name = chain.muscles.muscles[int(length.argmax())].replace("_", " ")
    return [("muscle analysis", "longest fiber / optimum", f"{length.max():.2f}", name)]
