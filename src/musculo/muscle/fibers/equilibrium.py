"""Fibers and tendons in equilibrium, and the forces they carry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.inverse import on_gpu
from musculo.errors import InvalidInput
from musculo.kernels.hill import muscle_table as table
from musculo.kernels.hill.hill_frames import (
    FiberFrames,
    MuscleFrames,
    equilibrium_frames,
    equilibrium_packs,
    opensim_equilibrium_frames,
    opensim_equilibrium_packs,
    state_frames,
)
from musculo.kernels.tree.tree_frames import over_frames
from musculo.like import Like, Method, method_of
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import CompiledMuscles, compiled_muscles
from musculo.muscle.fibers.muscle_arrays import muscle_columns
from musculo.muscle.paths.labeled_paths import frame_labels, with_meanings
from musculo.results.labeled_arrays import labeled
from musculo.results.notebook_figures import series_html
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result, also

if TYPE_CHECKING:
    import xarray

# From so many frames on, eight at once take less time than one after the other.
_PACKED_FROM = 3
# No fiber and no tendon is so long and whole: filaments lose each other at 1.8 optimal lengths, and tendons tear at
# strains of about a tenth. Curves go on beyond what was measured.
LONGEST_FIBER = 2.0  # over the optimal length
LONGEST_TENDON = 1.15  # over the slack length
Tendon = Literal["as stated", "rigid"]


class MuscleStatus(IntEnum):
    """What the state of a fiber and its tendon assumes."""

    CONVERGED = table.CONVERGED
    """Fiber and tendon balance (or the tendon is rigid)."""
    TENDON_SLACK = table.TENDON_SLACK
    """The tendon carries nothing: the path is too short, or shortens faster than the fibers do without load."""
    FIBER_AT_MINIMUM = table.FIBER_AT_MINIMUM
    """The fiber has its least length and would shorten more: its stop carries what fiber and tendon differ by."""
    NOT_CONVERGED = table.NOT_CONVERGED
    """No balance was found: by OpenSim's rule for the speed of Thelen's muscles, or of forces too large for floats."""
    OVERSTRETCHED = table.NOT_CONVERGED + 1
    """Fiber and tendon balance where no muscle is whole, on curves beyond what was measured: the fiber is longer than
    two optimal lengths, or the tendon than 1.15 slack lengths. Are lengths in meters, and do they fit the path's?"""


Status = MuscleStatus

_FORCE_UNITS = {
    "fiber_length": "m",
    "fiber_velocity": "m/s",
    "pennation": "rad",
    "tendon_length": "m",
    "tendon_force": "N",
    "active_fiber_force": "N",
    "passive_fiber_force": "N",
    "fiber_force_along_tendon": "N",
    "stiffness": "N/m",
}


@dataclass(frozen=True, eq=False, repr=False)
class MuscleForces(Result):
    """Fibers and tendons of all muscles; arrays (frames, muscles), or (muscles,) for a single frame."""

    made_by: ClassVar[str] = "muscle_equilibrium"
    statuses: ClassVar[type[Enum]] = Status

    muscle_names: tuple[str, ...]
    fiber_length: FloatArray  # [m]
    fiber_velocity: FloatArray  # [m/s], shortening negative
    pennation: FloatArray  # [rad]
    tendon_length: FloatArray  # [m]
    tendon_force: FloatArray  # [N], the pull of the muscle
    active_fiber_force: FloatArray  # [N], along the fiber
    passive_fiber_force: FloatArray  # [N], along the fiber: elastic and damping
    fiber_force_along_tendon: FloatArray  # [N]
    stiffness: FloatArray  # [N/m], tendon force by path length at the same speed and activation
    status: NDArray[np.int64]  # `Status`

    muscles = also("muscle_names")

    def _frames(self) -> int | None:
        return len(self.status) if self.status.ndim == 2 else None

    def __repr__(self) -> str:
        frames = "one frame" if self.status.ndim == 1 else f"{len(self.status)} frames"
        counts = [f"{(self.status == one).sum()} {one.name}" for one in Status if (self.status == one).any()]
        return f"MuscleForces({frames} of {len(self.muscle_names)} muscles: {', '.join(counts)})"

    def _repr_html_(self) -> str:
        pull, solved = np.atleast_2d(self.tendon_force), "every muscle and frame" if self.converged else "NOT all"
        units = ("N",) * len(self.muscle_names)
        return series_html(
            "Pull of muscles by frame", None, self.muscle_names, pull, units, [("equilibrium found", solved)]
        )

    def to_xarray(self, time: ArrayLike | None = None, model: Model | None = None, **options: Any) -> xarray.Dataset:
        """Fibers and tendons by `time` (or `frame`) and `muscle`; `status` carries its meanings.

        Args:
            time: (frames,) [s]; without it frames are counted.
            model: whose muscles they are, for the attributes. options: what they were computed with, likewise.
        """
        import xarray

        labels = {**frame_labels(self.fiber_length, 1, time, "the result"), "muscle": self.muscle_names}
        parts = {name: labeled(name, getattr(self, name), labels, unit) for name, unit in _FORCE_UNITS.items()}
        parts["status"] = with_meanings("status", self.status, labels, {int(s): s.name.lower() for s in Status})
        return xarray.Dataset(parts, attrs=Provenance.of(self.made_by, model, **options).attributes())

    @property
    def converged(self) -> bool:
        """Whether every entry has an answer, with or without an assumption."""
        return bool((self.status != Status.NOT_CONVERGED).all())


def muscle_equilibrium(
    model: Model,
    length: ArrayLike,
    speed: ArrayLike,
    activation: ArrayLike,
    *,
    tendon: Tendon = "as stated",
    like: Like | None = None,
    method: Method | None = None,
    threads: int | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
) -> MuscleForces:
    """Fiber lengths at which fibers and tendons carry the same force, and those forces.

        f_T((L - l cos a) / l_S) = (act f_L(l) f_V(w) + beta w + f_PE(l)) cos a,   w = cos a Ldot / v_max

    The tendon keeps its length while the path moves (its force does not change), so the fiber takes all of the speed;
    where activation changes slowly and the tendon is stiff beside the fiber, this is what the muscle does.

    Source:     [Millard2013] eq. 6-12; [DeGroote2016] for the assumption on the speed. With `tendon="rigid"`:
                [Ruggiero2020] eq. 20-21 (eq. 20 as corrected: F = F0 (a f_L f_V + f_PE) cos a).
    Departs:    `like="opensim"` puts the fiber where OpenSim's computeEquilibrium does: Millard and the deprecated
                muscles as if the speed were zero, Thelen with the speed shared by stiffness.
                Delp's muscles have no mass here. Tendon forces are never negative. With `like="opensim"` the tendon
                of Thelen2003Muscle_Deprecated pulls a little when slack (0.001 of the maximum force), as it does there,
                and so does RigidTendonMuscle without pennation, with a fiber of no length; De Groote-Fregly's rigid
                tendons push where the fiber does. Other rigid tendons that are slack carry nothing; OpenSim's De
                Groote-Fregly fibers turn round there and push, with any force, which is not followed. OpenSim may end
                with a Delp fiber that is shorter than its width, on a tendon of several times the maximum force;
                here fiber and tendon carry the same.
    Guarantees: an answer for every length, speed and activation (with `like="opensim"` some of Thelen's muscles have
                none, there neither: NOT_CONVERGED): Newton's method in a bracket that shrinks (see
                `kernels/hill/fiber_equilibrium.py`). The equilibrium is stable. `status` says what was assumed where
                there
                is none (the tendon is slack, or the fiber stops at its least length), and where a muscle is longer
                than any intact one (OVERSTRETCHED). Forces are finite, for tendons of almost no length, too:
                curves are straight where only the search goes (`MuscleCurves`).

    A muscle that is switched off (`applies_force`) has the state and the force that it would have if it were on, as
    `getTendonForce` of OpenSim says; what it does on the coordinates is nothing (`path_generalized_forces`).

    Args:
        length: path length of every muscle [m]; (frames, muscles), (muscles,) or a number.
        speed: its rate [m/s], lengthening positive.
        activation: 0 to 1; raised to the muscle's least activation where it has one.
        tendon: "rigid" treats every tendon as one that does not stretch, not only those that say so.
        like: "opensim" for OpenSim's own definitions.
        method: another word for it: "exact" or "opensim".
        threads: the number of threads; all cores by default.
        device: `gpu` needs the extra of that name and a CUDA device; the same kernel runs there.
    """
    rigid, opensim = _choices(tendon, method_of(like, method))
    c = compiled_muscles(model, rigid)
    (L, v, a), single = muscle_columns(c, length=length, speed=speed, activation=activation)
    if on_gpu(device):
        from musculo.kernels.cuda.cuda_muscles import equilibrium_on_gpu

        return _result(c, equilibrium_on_gpu(*c.arrays, L, v, a, rigid, opensim), single)
    out = np.empty((table.OUTPUTS, *L.shape))
    if len(L) < _PACKED_FROM:
        run = opensim_equilibrium_frames if opensim else equilibrium_frames
    else:
        run = opensim_equilibrium_packs if opensim else equilibrium_packs
    over_frames(run, (*c.arrays, MuscleFrames(L, v, a), rigid, out), len(L), threads)
    return _result(c, out, single)


def muscle_force(
    model: Model,
    length: ArrayLike,
    speed: ArrayLike,
    activation: ArrayLike,
    fiber_length: ArrayLike,
    *,
    tendon: Tendon = "as stated",
    like: Like | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> MuscleForces:
    """Forces at given fiber lengths, and the fiber velocities at which fibers and tendons carry the same.

        act f_L f_V(w) + beta w = f_T / cos a - f_PE     solved for w

    This is the state equation of muscles whose state is the fiber length. Rigid tendons have no such state: their
    fibers follow from path length and speed, and `fiber_length` is not looked at.

    Departs:    `like="opensim"` neglects the damping of De Groote and Fregly's muscles, does not let Schutte's
                fibers shorten under negative load, and drops the fiber forces of Millard's at their least length.
    Guarantees: the left side increases with w, so w is unique. Fibers shorter than their least length are taken at
                it; those at it do not shorten (status FIBER_AT_MINIMUM).

    Args: as in `muscle_equilibrium`, and
        fiber_length: [m]; (frames, muscles), (muscles,) or a number.
    """
    rigid, opensim = _choices(tendon, method_of(like, method))
    c = compiled_muscles(model, rigid)
    (L, v, a, fiber), single = muscle_columns(
        c, length=length, speed=speed, activation=activation, fiber_length=fiber_length
    )
    out = np.empty((table.OUTPUTS, *L.shape))
    over_frames(state_frames, (*c.arrays, FiberFrames(L, v, a, fiber), rigid, opensim, out), len(L), threads)
    return _result(c, out, single)


def _choices(tendon: str, method: Method) -> tuple[bool, bool]:
    if tendon not in ("as stated", "rigid"):
        raise InvalidInput(f"tendon is 'as stated' or 'rigid', not {tendon!r}")
    return tendon == "rigid", method == "opensim"


def _result(c: CompiledMuscles, out: FloatArray, single: bool) -> MuscleForces:
    status = out[table.STATUS]
    over = out[table.FIBER_LENGTH] > LONGEST_FIBER * c.muscles.optimal_length
    over |= out[table.TENDON_LENGTH] > LONGEST_TENDON * c.muscles.slack_length
    out[table.STATUS] = np.where(over & (status == Status.CONVERGED), Status.OVERSTRETCHED, status)
    if single:
        out = out[:, 0]
    return MuscleForces(c.names, *out[: table.STATUS], out[table.STATUS].astype(np.int64))  # type: ignore[call-arg]
