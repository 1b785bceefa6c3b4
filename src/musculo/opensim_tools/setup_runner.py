"""`run_setup`: an OpenSim tool from its set-up file."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from musculo.errors import unwarned
from musculo.io.setup import CMCSetup, ForwardSetup, IMUPlacerSetup, RRASetup, Setup, read_setup
from musculo.io.text import PathLike, hashes_of_reads
from musculo.like import Like, like_opensim
from musculo.opensim_tools.records.named_files import (
    UNNAMED,
    own_forces_file,
    record_of,
    refuse_one_name,
    refuse_overwriting_of,
    results_folder,
    with_own_forces,
)
from musculo.opensim_tools.records.record import refuse_replacing_of_others, unchanged, write_record
from musculo.opensim_tools.records.result import Status, ToolResult
from musculo.opensim_tools.tasks import (
    AnalyzeTask,
    InverseDynamicsTask,
    InverseKinematicsTask,
    ScaleTask,
    Task,
    task_of,
)
from musculo.opensim_tools.work import Progress, Work, check_folder

Run = Callable[[Any, Work], None]
# What `run_setup` does, by OpenSim's names.
TOOLS = (
    "ScaleTool",
    "InverseKinematicsTool",
    "InverseDynamicsTool",
    "AnalyzeTool",
    "ForwardTool",
    "RRATool",
    "CMCTool",
    "IMUPlacer",
    "IMUInverseKinematicsTool",
)


def _tool(task: Task) -> tuple[str, Run]:
    """OpenSim's name of the tool that does a task, and the function; a step imports what it alone needs."""
    match task:
        case ScaleTask():
            from musculo.opensim_tools.tools.scale_tool import run_scale

            return "ScaleTool", run_scale
        case InverseKinematicsTask():
            from musculo.opensim_tools.tools.inverse_kinematics_tool import run_inverse_kinematics

            return "InverseKinematicsTool", run_inverse_kinematics
        case InverseDynamicsTask():
            from musculo.opensim_tools.tools.inverse_dynamics_tool import run_inverse_dynamics

            return "InverseDynamicsTool", run_inverse_dynamics
        case AnalyzeTask():
            from musculo.opensim_tools.analyze_tool.analyze import run_analyze

            return "AnalyzeTool", run_analyze
        case ForwardSetup():
            from musculo.opensim_tools.tools.forward_tool import run_forward

            return "ForwardTool", run_forward
        case RRASetup():
            from musculo.opensim_tools.tools.rra_tool import run_rra

            return "RRATool", run_rra
        case CMCSetup():
            from musculo.opensim_tools.tools.cmc_tool import run_cmc

            return "CMCTool", run_cmc
        case IMUPlacerSetup():
            from musculo.opensim_tools.tools.imu import run_imu_placer

            return "IMUPlacer", run_imu_placer
    from musculo.opensim_tools.tools.imu import run_imu_inverse_kinematics

    return "IMUInverseKinematicsTool", run_imu_inverse_kinematics


def run_setup(
    setup: Setup | PathLike,
    *,
    like: Like | None = "opensim",
    exact: bool = False,
    output: PathLike | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    compare: bool = True,
    force: bool = True,
    overwrite: bool = False,
) -> ToolResult:
    """Do what a set-up file of an OpenSim tool asks for, and write the files that OpenSim would.

    Names, folders, columns, rows and numbers are OpenSim's, and so are the methods, known faults included: `notes` say
    what the exact methods give instead and by how much that differs. The page that commands make at the end is made by
    `musculo.report`: `write_report("report.html", report_of_folder(result.folder))`.

    Args:
        setup: the path of a set-up file, or what `read_setup` made of it.
        like: None for the exact methods: those of the functions of this package by default.
        exact: true is another word for like=None, as `--exact` of `musculo run` is.
        output: a folder for all results, whatever the set-up says.
        progress: is called with what is being done and which part of the work is behind, 0 to 1.
        threads: the number of threads; all cores by default.
        compare: compute the exact method beside OpenSim's, to say by how much they differ.
        force: run even if an earlier run left a record of the same inputs, options and results.
        overwrite: let results take the place of files that the set-up reads, and the record that of any file.

    Raises:
        MusculoError: files that are missing or cannot be read, names that do not fit the model.
    """
    exact = exact or not like_opensim(like)
    known = with_own_forces(setup if isinstance(setup, Setup) else read_setup(setup), output, exact)
    task = task_of(known)
    tool, run = _tool(task)
    source = known.source or UNNAMED
    refuse_one_name(known, output)
    work = Work(source, results_folder(known, output), exact, output is not None, compare, threads)
    if progress is not None:
        work.report = progress
    if not force:
        earlier = unchanged(work.folder, known, work, tool)
        if earlier is not None:
            return earlier
    if not overwrite:
        refuse_overwriting_of(known, output)
        refuse_replacing_of_others(record_of(known, output))
    work.overwrite = overwrite
    work.results += own_forces_file(known, output)
    work.notes += known.notes
    check_folder(work.folder)
    began = time.perf_counter()
    with unwarned(), hashes_of_reads() as work.hashes:  # what warnings say in Python stands in notes here
        run(task, work)
    work.report("done", 1.0)
    status = Status.INCOMPLETE if work.troubles else Status.DONE
    seconds = time.perf_counter() - began
    files, notes = tuple(work.files), tuple(dict.fromkeys(n for n in work.notes if n not in work.troubles))
    result = ToolResult(source, tool, known.name, status, work.folder, files, notes, tuple(work.troubles), seconds)
    write_record(work.folder, known, work, result)
    return result
