"""The samples of a trial as the kernels of `kernels.cuda.cuda_chain` take them, and what these do not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from musculo.analyses.uncertainty.inputs import Changes, Step
from musculo.analyses.uncertainty.sample_chain import SampleChain
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.inverse import outboard_frames
from musculo.errors import Unsupported
from musculo.kernels.cuda.cuda_chain import ChainData, EffortData, LoadData, PullData, TrialData
from musculo.model.body import GROUND
from musculo.muscle.fibers.scaled_muscles import scaled_muscles
from musculo.muscle.path_loads.path_wrenches import WrenchLayout, layout_of_wrenches


def data_of_samples(chain: SampleChain, layout: WrenchLayout, changes: Sequence[Changes]) -> list[ChainData]:
    """What each sample knows: its own markers, inertias, muscles and loads, and the trial's arrays for all else."""
    frames = len(chain.time)
    c, joints = chain.c, compiled(chain.model, merged=False)
    stacked = Changes(*(np.stack([getattr(one, name) for one in changes]) for name in Changes._fields))
    location = chain.targets.location + np.einsum("mij,smj->smi", chain.axes, stacked.marker_shift)
    merged, apart = (part.rows(stacked.mass, stacked.center_shift) for part in (chain.merged, chain.joints))
    muscles = scaled_muscles(chain.muscles, *np.moveaxis(stacked.muscle, 1, 0)).muscles
    wide = {name for name, values in muscles._asdict().items() if values.ndim == 2}
    speeds = chain.model.speed_index
    names, zu = chain.embedding.coordinate_names, chain.embedding.speed_names
    trial = TrialData(
        np.ascontiguousarray(chain.start),
        np.ascontiguousarray(chain.recorded.markers),
        chain.smooth,
        chain.slope,
        chain.bend,
        np.array([chain.model.coordinate_index(name) for name in names], dtype=np.int64),
        np.array([speeds(name) for name in zu], dtype=np.int64),
    )
    loads = LoadData(
        _flat(frames, [load.force for load in chain.loads]),
        _flat(frames, [load.moment for load in chain.loads]),
        _flat(frames, [load.point for load in chain.loads]),
        np.array([c.body_node[load.body] for load in chain.loads], dtype=np.int64),
        np.array([joints.body_node[load.body] for load in chain.loads], dtype=np.int64),
        stacked.load[0],
        stacked.point_shift[0],
    )
    used = np.flatnonzero(chain.used)
    effort = EffortData(
        used.astype(np.int64),
        np.array([zu.index(motor.coordinate) for motor in chain.motors], dtype=np.int64),
        np.array([motor.optimal_force for motor in chain.motors], dtype=float),
        chain.low,
        chain.top,
        np.ones(len(chain.low)),
    )
    n_u = c.n_u
    width = n_u + 6 * layout.width
    body_nodes = np.array(list(joints.body_node.values()), dtype=np.int64)
    outboard = outboard_frames(chain.model)
    at = np.array([chain.model.joint_names.index(one.joint) for one in chain.wanted], dtype=np.int64)
    pulls = PullData(
        np.ascontiguousarray(layout.row_path, dtype=np.int64),
        body_nodes[layout.row_body],
        np.asarray(layout.row_path * width + n_u + 6 * layout.row_slot, dtype=np.int64),
        outboard.node[at],
        outboard.offset[at],
    )
    t = chain.tables
    first = ChainData(
        c.tree,
        c.table,
        joints.tree,
        joints.table,
        t.couplings,
        t.table,
        chain.targets,
        chain.unknowns,
        chain.muscles.muscles,
        chain.muscles.curves,
        trial,
        loads,
        effort,
        pulls,
    )
    return [
        first._replace(
            tree=c.tree._replace(inertia=merged[k]),
            joints=joints.tree._replace(inertia=apart[k]),
            targets=chain.targets._replace(location=location[k]),
            muscles=muscles._replace(**{name: getattr(muscles, name)[k] for name in wide}),
            loads=loads._replace(factor=stacked.load[k], shift=stacked.point_shift[k]),
        )
        for k in range(len(changes))
    ]


def _flat(frames: int, vectors: Sequence[Any]) -> FloatArray:
    whole = [np.broadcast_to(np.asarray(one, dtype=float), (frames, 3)) for one in vectors]
    return np.ascontiguousarray(np.concatenate(whole, axis=1)) if whole else np.zeros((frames, 1))


def refuse_unknown(chain: SampleChain) -> None:
    """Refuse what the device does not do.

    Raises:
        Unsupported: says what it is.
    """
    why = ""
    if chain.embedding.freely_turning or chain.embedding.partly_turning:
        why = "joints whose speeds are angular velocities"
    elif any(load.force_in != GROUND or load.point_in != GROUND for load in chain.loads):
        why = "external loads in other frames than ground"
    elif chain.acts and chain.last >= Step.MUSCLES:
        why = "limits, bushings and contacts of the model"
    elif chain.options.power != 2.0:
        why = "powers of activations other than 2"
    elif any(motor.coordinate not in chain.embedding.speed_names for motor in chain.motors):
        why = "actuators at coordinates that follow others"
    elif chain.model.muscles and layout_of_wrenches(chain.model).paths.functions.members:
        why = "paths that are functions of coordinates"
    elif any(one.frame != GROUND or one.side != "child" for one in chain.wanted) or any(
        compiled(chain.model, merged=False).joint_reversed[one.joint] for one in chain.wanted
    ):
        why = 'joint loads other than on="child" and frame="ground", or of reversed joints'
    elif _moving(chain):
        why = "prescribed coordinates that move"
    if why:
        raise Unsupported(f"uncertainty on a GPU does not know {why}; use device='cpu'")


def _moving(chain: SampleChain) -> bool:
    given = [chain.model.coordinate_index(rule.dependent) for rule in chain.embedding.rules if not rule.inputs]
    return bool((chain.start[:, given] != chain.start[:1, given]).any())
