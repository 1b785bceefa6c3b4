"""The leg swing: a motion in, the moments about the joints out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.demo import MODEL_FILE, MOTION_FILE
from musculo.dynamics.inverse import bias_forces, inverse_dynamics, mass_matrix
from musculo.embedding.embedding import embedding_of
from musculo.embedding.rates import speeds_from_rates
from musculo.errors import InvalidInput
from musculo.functions.splines import SimmSpline
from musculo.io import read_osim
from musculo.io.storage import read_storage
from musculo.model.model import Model
from musculo.results.provenance import Provenance
from musculo.results.table import Table

FloatArray = NDArray[np.float64]


class Peak(NamedTuple):
    """What a table says about one moment [N m, s]."""

    coordinate: str
    peak: float  # the value of largest magnitude, with its sign
    time: float
    mean: float


@dataclass(frozen=True, eq=False)
class LegSwing:
    """The motion and what it takes. `q, u, udot` hold all coordinates of the model, over frames [rad, s]."""

    model: Model
    time: FloatArray  # (frames,)
    q: FloatArray
    u: FloatArray
    udot: FloatArray
    coordinate_names: tuple[str, ...]  # the independent ones: the columns of angles and moments
    angles: FloatArray  # (frames, independent) [rad]
    moments: FloatArray  # (frames, independent) [N m]
    residual: float  # largest |rnea - (M udot + b)| [N m]

    def peaks(self) -> tuple[Peak, ...]:
        """The largest and the mean moment of each independent coordinate."""
        rows = []
        for k, name in enumerate(self.coordinate_names):
            column = self.moments[:, k]
            at = int(np.argmax(np.abs(column)))
            rows.append(Peak(name, float(column[at]), float(self.time[at]), float(column.mean())))
        return tuple(rows)

    def table(self) -> Table:
        """The moments under the names that OpenSim's inverse dynamics gives them."""
        names = tuple(f"{name}_moment" for name in self.coordinate_names)
        made = Provenance.of("leg_swing", self.model, sources=(MOTION_FILE.name,))
        units = ("N m",) * len(names)
        return Table(self.time, names, self.moments, units=units, name="leg_swing_moments", provenance=made)


def _slopes(time: FloatArray, values: FloatArray) -> FloatArray:
    """Time derivatives of the columns, by splines; cubic ones are exact to the fourth order at their knots."""
    return np.column_stack([SimmSpline(tuple(time), tuple(column)).derivative(time) for column in values.T])


def leg_swing() -> LegSwing:
    """Inverse dynamics of the motion that ships with the package.

    The file holds the independent coordinates; the coupler gives the patella's. Splines differentiate them. The
    moments are found for every coordinate of the tree and pulled back to the independent ones: what the patella needs,
    the knee pays.
    """
    model = read_osim(MODEL_FILE)
    motion = read_storage(MOTION_FILE).in_radians(model)
    joints = embedding_of(model)
    if motion.names != joints.coordinate_names:
        raise InvalidInput(f"{MOTION_FILE} holds {motion.names}; the model moves by {joints.coordinate_names}")
    time, q = motion.time, joints.coordinates(motion.values)
    u = speeds_from_rates(model, q, _slopes(time, q))
    udot = _slopes(time, u)
    tau = inverse_dynamics(model, q, u, udot)
    again = np.einsum("fij,fj->fi", mass_matrix(model, q), udot) + bias_forces(model, q, u)
    return LegSwing(
        model,
        time,
        q,
        u,
        udot,
        joints.coordinate_names,
        motion.values,
        joints.pull_back(q, tau),
        float(np.abs(tau - again).max()),
    )
