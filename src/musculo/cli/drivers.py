"""Which drivers each command calls: it begins to compile them as the first thing, before it imports and reads.

In the order of need. `tests/workflows/test_drivers_of_commands.py` keeps the table true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIKE_OPENSIM, CHECK = "--like-opensim", "--check"

# A spline through the frames of a motion, and its derivatives.
_SPLINE = (
    "functions.spline_frames:spline_rows",
    "scalar.banded_equations:solve_banded",
    "functions.spline_frames:spline_frames",
)
# A motion that is filtered first.
_MOTION = ("functions.filter_frames:recursion_frames", *_SPLINE)
_POSES, _TRACK, _MOMENTS = (
    "tree.tree_frames:kinematics_frames",
    "fit.pose_search:track_frames",
    "tree.tree_frames:rnea_frames",
)
_PATHS, _OPENSIM_PATHS = "paths.path_frames:geodesic_path_frames", "paths.path_frames:opensim_path_frames"
_CAPACITIES, _EQUILIBRIUM = "hill.hill_frames:capacity_frames", "hill.hill_frames:equilibrium_packs"
_STATES, _EFFORT = "hill.hill_frames:state_frames", "scalar.bounded_effort:effort_frames"
_COST = (_EQUILIBRIUM, "hill.metabolic_rate:metabolic_frames")
_LOADS = ("tree.transmitted_frames:pulled_frames", "tree.transmitted_frames:transmitted_frames")

# Limits, springs, bushings and contacts of a model, over frames and at one state; several forces at one state.
_FORCES = "forces.force_frames:force_frames"
_MODEL_FORCE, _IN_TURN = "integrate.forced_tree:model_force", "integrate.forced_tree:in_turn"
_TRACKED = "tracking.tracked_motion:tracked_nodes"

# Equations of motion, alone and with constraints, of many states and of one after the other.
_ACCELERATIONS, _MASSES, _CONSTRAINED = (
    "tree.tree_frames:aba_frames",
    "tree.tree_frames:crba_frames",
    "constraints.multipliers:constrained_frames",
)
_MOMENT_SLOPES = "tree.derivatives.torque_slope_frames:torque_slope_frames"
_CALLED_STATE = "integrate.called_state:called_state"
_OPEN_STATE, _CONSTRAINED_STATE = "integrate.open_state:open_state", "integrate.multiplier_state:constrained_state"
# Of a mechanism in independent coordinates and with constraints, to compare.
_FORMULATIONS = (_MASSES, _CONSTRAINED, _CONSTRAINED_STATE, _OPEN_STATE)
# States between the steps of a course, by which impacts are looked for.
_BETWEEN = "integrate.whole_course:states_between"
# Of a model that its muscles move.
_DRIVEN = ("integrate.muscle_drive:muscle_drive", _ACCELERATIONS, _OPEN_STATE, "integrate.states_beside:driven_state")
_LOOPS = ("constraints.body_loop_equations:body_rows_frames", "constraints.loop_frames:loop_frames")
_SECOND_PASS, _COUPLED = (
    "paths.second_pass_frames:second_pass_frames",
    "functions.function_values:evaluate_many_lanes",
)
# Linear equations of nonlinear programs.
_ELIMINATION = (
    "sparse.elimination:group",
    "sparse.elimination:fronts",
    "sparse.elimination:touch",
    "sparse.factors:equilibrate",
    "sparse.factors:factorize",
    "sparse.factors:substitute",
)
_FUNCTIONS, _TRANSMITTED = "functions.function_values:evaluate_lanes", "tree.transmitted_frames:transmitted_frames"

# Of each command, in `musculo.kernels`.
DRIVERS: dict[str, tuple[str, ...]] = {
    "demo": (
        *_SPLINE,
        _POSES,
        _TRACK,
        "functions.filter_frames:recursion_frames",
        _MOMENTS,
        _PATHS,
        _CAPACITIES,
        _EFFORT,
        *_LOADS,
        _EQUILIBRIUM,
    ),
    "scale": (_POSES, _PATHS, _TRACK),
    "walk": (_POSES, _TRACK, *_MOTION, _MOMENTS, _PATHS, _CAPACITIES, _EFFORT, _FORCES, *_COST, *_LOADS),
    "ik": (_POSES, _TRACK, *_MOTION),
    "id": (*_MOTION, _MOMENTS, _POSES),
    f"id {CHECK}": (*_MOTION, _MOMENTS, "absolute.absolute_frames:analysis_frames", _TRANSMITTED, _POSES),
    "rra": (*_MOTION, _TRACKED, _POSES),
    "so": (*_MOTION, _POSES, _PATHS, _MOMENTS, _CAPACITIES, _EFFORT, _FORCES, *_COST),
    "jr": (*_MOTION, _POSES, _PATHS, *_LOADS),
    "muscles": (*_MOTION, _POSES, _PATHS, _EQUILIBRIUM, _STATES),
    "forward": (
        _POSES,
        _PATHS,
        "hill.hill_frames:equilibrium_frames",
        "paths.paths_of_state:geodesic_paths",
        _FUNCTIONS,
        *_DRIVEN,
    ),
    "imu-place": (_POSES,),
    "imu-ik": (_TRACK, _POSES),
    f"scale {LIKE_OPENSIM}": (_POSES, _OPENSIM_PATHS, _TRACK),
    f"walk {LIKE_OPENSIM}": (
        _POSES,
        _TRACK,
        *_SPLINE,
        "functions.filter_frames:recursion_frames",
        _MOMENTS,
        _OPENSIM_PATHS,
        _CAPACITIES,
        _EFFORT,
        _FORCES,
        "tree.tree_frames:crba_frames",
        *_LOADS,
    ),
    f"ik {LIKE_OPENSIM}": (_POSES, _TRACK, *_MOTION),
    f"id {LIKE_OPENSIM}": (*_MOTION, _MOMENTS, _POSES),
    f"rra {LIKE_OPENSIM}": (*_SPLINE, _TRACKED, _POSES, "functions.filter_frames:recursion_frames"),
    f"so {LIKE_OPENSIM}": (*_MOTION, _MOMENTS, _POSES, _OPENSIM_PATHS, _CAPACITIES, _EFFORT, _FORCES),
    f"jr {LIKE_OPENSIM}": (*_MOTION, _POSES, _OPENSIM_PATHS, _MOMENTS, "tree.tree_frames:crba_frames", *_LOADS),
    f"muscles {LIKE_OPENSIM}": (
        *_MOTION,
        _POSES,
        _OPENSIM_PATHS,
        "hill.hill_frames:opensim_equilibrium_packs",
        _STATES,
    ),
    f"forward {LIKE_OPENSIM}": (
        _POSES,
        _OPENSIM_PATHS,
        "hill.hill_frames:opensim_equilibrium_frames",
        "paths.paths_of_state:opensim_paths",
        _FUNCTIONS,
        *_DRIVEN,
    ),
    f"imu-place {LIKE_OPENSIM}": (_POSES,),
    f"imu-ik {LIKE_OPENSIM}": (_TRACK, _POSES),
    "cmc": (
        *_MOTION,
        _POSES,
        _PATHS,
        _MOMENTS,
        _MASSES,
        "hill.hill_frames:equilibrium_frames",
        "tracking.muscle_node:resting_activations",
        _EFFORT,
        "tracking.muscle_node:node_reach",
        "tracking.muscle_node:node_activations",
        "tracking.muscle_node:node_excitations",
        "tracking.muscle_window:window_states",
        _STATES,
    ),
    f"cmc {LIKE_OPENSIM}": (
        *_SPLINE,
        _POSES,
        _OPENSIM_PATHS,
        "hill.hill_frames:opensim_equilibrium_frames",
        "tracking.muscle_window:window_states",
        _MOMENTS,
        _MASSES,
        _CAPACITIES,
        _EFFORT,
        "tracking.muscle_window:window_excitations",
        _STATES,
    ),
    "view": (_POSES, _PATHS),
    "report": (_POSES, *_MOTION),
    "info": (),
    "convert": (),
    "uncertainty": (
        _POSES,
        _TRACK,
        "functions.filter_frames:recursion_frames",
        *_SPLINE,
        "fit.known_starts:fit_from_starts",
        _MOMENTS,
        _PATHS,
        _CAPACITIES,
        _EFFORT,
        *_LOADS,
    ),
    "fit-paths": (*_SPLINE, _POSES, _PATHS, "paths.fitted_path_frames:fitted_path_frames"),
}

# Loops of equations that a user writes, or that Python evaluates for all frames at once.
_BRANCHES = "constraints.loop_frames:way_frames"
_EQUATIONS = (_BRANCHES, "constraints.loop_frames:least_squares_frames")

# What each study of `musculo reproduce` calls.
STUDIES: dict[str, tuple[str, ...]] = {
    "arm26": (
        *_SPLINE,
        _POSES,
        _PATHS,
        _EQUILIBRIUM,
        _OPENSIM_PATHS,
        "hill.hill_frames:opensim_equilibrium_packs",
        _STATES,
        _MOMENTS,
        _EFFORT,
        _CAPACITIES,
        *_LOADS,
        _ACCELERATIONS,
    ),
    "four-bar": (_POSES, *_EQUATIONS),
    "five-bar": (
        _POSES,
        *_LOOPS,
    ),
    "andrews": (
        _POSES,
        *_LOOPS,
        "integrate.known_forces:turning_spring",
        "constraints.closed_acceleration:closed_frames",
        "integrate.closed_state:closed_state",
        _MASSES,
        _CONSTRAINED_STATE,
        _CONSTRAINED,
        "constraints.embedded_acceleration:embedded_frames",
        _OPEN_STATE,
        _BETWEEN,
        *_SPLINE,
        "integrate.known_forces:spline_force",
        _ACCELERATIONS,
        _MOMENTS,
    ),
    # both with the model in the recorded data; without it they call nothing
    "shoulder-moment-arms": (
        _FUNCTIONS,
        "scalar.banded_equations:solve_banded",
        _POSES,
        _PATHS,
        _OPENSIM_PATHS,
        _SECOND_PASS,
        _COUPLED,
    ),
    "shoulder-tracking": (
        _FUNCTIONS,
        "scalar.banded_equations:solve_banded",
        _POSES,
        _COUPLED,
        "tracking.tracking_torque:tracking_torque",
        "constraints.coupler_frames:rule_frames",
        "constraints.embedded_acceleration:embedded_frames",
        _OPEN_STATE,
        _MASSES,
        _CONSTRAINED_STATE,
        _MOMENTS,
        _PATHS,
        _SECOND_PASS,
        _CAPACITIES,
        _EFFORT,
    ),
    "two-link": (_MOMENT_SLOPES, _MOMENTS, *_ELIMINATION, "functions.spline_frames:spline_frames"),
    "prismatic": (_MOMENT_SLOPES, _MOMENTS, *_ELIMINATION, "functions.spline_frames:spline_frames"),
    "gait": ("functions.spline_frames:spline_frames", _POSES, _MOMENTS, _MOMENT_SLOPES, *_ELIMINATION, _TRANSMITTED),
    "lifting": (
        _MOMENT_SLOPES,
        _POSES,
        "tree.derivatives.reaction_slope_frames:reaction_slope_frames",
        _MOMENTS,
        *_ELIMINATION,
    ),
    # these need recorded data, without which they call nothing; what they call compiles as it is called
    **dict.fromkeys(("moco-inverse", "moco-track", "moco-walk", "predicted-step"), ()),
    "drivers": ("absolute.absolute_frames:analysis_frames", _TRANSMITTED),
    "ellipsoid": (
        _POSES,
        _ACCELERATIONS,
        *_LOOPS,
        *_FORMULATIONS,
        _BETWEEN,
        _MOMENTS,
        _TRANSMITTED,
        _BRANCHES,
        _CALLED_STATE,
    ),
    "knee": (
        "scalar.banded_equations:solve_banded",
        _POSES,
        _ACCELERATIONS,
        _FUNCTIONS,
        *_FORMULATIONS,
        _MOMENTS,
        _BETWEEN,
    ),
    "screw": (
        _ACCELERATIONS,
        _FUNCTIONS,
        *_FORMULATIONS,
        _BETWEEN,
        _MOMENTS,
        _POSES,
    ),
    "manifold": (
        _POSES,
        _ACCELERATIONS,
        _BRANCHES,
        _MASSES,
        _CONSTRAINED,
        _OPEN_STATE,
        _BETWEEN,
        _CALLED_STATE,
        _MOMENTS,
        _TRANSMITTED,
    ),
    "push-up": (
        _POSES,
        _MOMENTS,
        _ACCELERATIONS,
        *_LOOPS,
        _MASSES,
        _CONSTRAINED,
        _TRANSMITTED,
        _MODEL_FORCE,
        _IN_TURN,
        _OPEN_STATE,
        _BETWEEN,
        _CONSTRAINED_STATE,
    ),
    "protein-hinge": (
        "constraints.coupler_frames:rule_frames",
        _ACCELERATIONS,
        _FUNCTIONS,
        _MOMENTS,
        _TRANSMITTED,
        _OPEN_STATE,
        _POSES,
        _MASSES,
        _CONSTRAINED,
        _CONSTRAINED_STATE,
    ),
}

# Steps that compute nothing else beside them, to compare.
_ALONE = ("cmc",)
# What `musculo run` does for an element of a set-up file.
_TOOLS = {
    "ScaleTool": "scale",
    "CMCTool": "cmc",
    "InverseKinematicsTool": "ik",
    "InverseDynamicsTool": "id",
    "RRATool": "rra",
    "StaticOptimization": "so",
    "JointReaction": "jr",
    "MuscleAnalysis": "muscles",
    "ForwardTool": "forward",
    "IMUPlacer": "imu-place",
    "IMUInverseKinematicsTool": "imu-ik",
}
_ELEMENT = re.compile(rf"<({'|'.join(_TOOLS)})[ >]")


def begin(command: str, given: Mapping[str, Any]) -> None:
    """Begin to compile what a command will call, as far as it is not there, in the background.

    Args:
        command: its name.
        given: its parameters.
    """
    drivers = tuple(dict.fromkeys(name for name in _drivers(command, given)))
    if not drivers:
        return
    from musculo.kernels.compiler.workers import ahead  # slow, and not before a command runs

    try:
        ahead(f"musculo.kernels.{name}" for name in drivers)
    except OSError:  # no process can be started: each is compiled when it is called
        return


def _drivers(command: str, given: Mapping[str, Any]) -> list[str]:
    """What a command calls."""
    if command == "reproduce":
        studies = () if given.get("listed") else given.get("studies") or ()
        wanted = STUDIES if "all" in studies else studies
        return [name for study in wanted for name in STUDIES.get(study, ())]
    return [name for key in _keys(command, given) for name in DRIVERS.get(key, ())]


def _keys(command: str, given: Mapping[str, Any]) -> list[str]:
    """What of the table a command needs."""
    if given.get("check"):
        return [f"{command} {CHECK}"]
    if command != "run":
        return [f"{command} {LIKE_OPENSIM}" if given.get("opensim") else command]
    found = []
    for setup in given["setups"]:
        try:
            text = Path(setup).read_text(encoding="utf-8", errors="replace")
        except OSError:  # said when it is read in earnest
            continue
        for element in dict.fromkeys(_ELEMENT.findall(text)):
            step = _TOOLS[element]
            found += [] if given["exact"] else [f"{step} {LIKE_OPENSIM}"]
            compared = step not in _ALONE and not given["no_compare"]
            found += [step] if given["exact"] or compared else []
    return found
