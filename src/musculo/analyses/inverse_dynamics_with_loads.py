"""Which generalized forces a motion needs, under loads as they were measured."""

from __future__ import annotations

from numpy.typing import ArrayLike

from musculo.analyses.acting_loads import acting_loads, frame_times
from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics import inverse
from musculo.dynamics.inverse import Device
from musculo.dynamics.loads.external import Loads
from musculo.model.model import Model
from musculo.results.table import Table


def inverse_dynamics(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    *,
    threads: int | None = None,
    device: Device = "cpu",
    acting: ArrayLike | None = None,
    time: ArrayLike | None = None,
    to_device: bool = False,
) -> FloatArray:
    """Generalized forces tau = M(q) udot + C(q, u) + g(q) - J^T loads - acting, on the tree before any embedding.

    This is what OpenSim's inverse dynamics prints: one force per speed, coupled and locked ones included. Pull them
    back to the independent coordinates with `embedding_of(model)`. Forces of the model are ignored; OpenSim's tool
    takes off those that are not excluded, as `acting=model_forces(model, q, u).tau` does.

    Loads that seem to act on the wrong foot, in millimeters, or beyond the times at which they were measured give a
    `MusculoWarning`.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and their derivatives, all of the file in its order; arrays
            [rad, m], or tables and labeled arrays, which state their units.
        loads: from outside, for instance ground reactions: one or several at these frames, or `read_external_loads` of
            a file, which need times.
        threads: the number of threads; all cores by default.
        device: `gpu` needs the extra of that name and a CUDA device; the same kernel runs there. Arrays of CuPy,
            PyTorch and Numba on the device are used in place; whether their numbers can be meant is not checked.
        acting: (frames, n_u) or (n_u,) generalized forces that act already, and are no part of what is asked for.
        time: (frames,) when the frames are, for loads over time [s]; by default what a table or an xarray `q` states.
        to_device: leave the result on the GPU, unchecked, as an array with `__cuda_array_interface__`.

    Returns:
        (frames, n_u) or (n_u,) [N m for rotations, N for translations].

    Raises:
        InvalidInput: arrays that do not fit, loads over time without times of the frames.
    """
    if isinstance(loads, list | tuple) and not loads:
        return inverse.inverse_dynamics(model, q, u, udot, (), threads, device, acting, to_device)
    if inverse.check_device(device, to_device, q=q, u=u, udot=udot):
        q, u, udot = map(inverse.on_host, (q, u, udot))  # loads are placed and checked there
    Q, U, A, single = motion_in(model, q, u, udot)
    outside, _ = acting_loads(model, Q, loads, frame_times(time, q, len(Q)))
    tau = inverse.inverse_dynamics(model, Q, U, A, outside, threads, device, acting, to_device)
    return tau[0] if single else tau
