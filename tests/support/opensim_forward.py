"""Muscle-driven forward simulations of live OpenSim: its own integrators, single right-hand sides, and what they cost.

A job is a dictionary that fits into JSON:

    model       the path of the model
    start       values of states by OpenSim's names; what is not named keeps its default
    equilibrium whether fibers are brought into equilibrium first
    controls    {actuator: value} or {actuator: [times, values]}, linear between nodes
    span        (start, end) [s]
    accuracy    of the integrator
    method      "merson" (OpenSim's default), "cpodes", or another of `_METHODS`
    max_step    longest step, if any
    gravity     False for none
"""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

import numpy as np

_METHODS = {"merson": "RungeKuttaMerson", "cpodes": "CPodes", "feldberg": "RungeKuttaFeldberg", "rk3": "RungeKutta3"}
_ACCELERATION = 8  # SimTK::Stage::Acceleration
# Of an integration that must not end before its time.
_MOST_STEPS = 10_000_000


class _Counter:
    """SimTK's own counts, which the bindings do not show."""

    def __init__(self, opensim: Any, model: Any, manager: Any) -> None:
        folder = Path(opensim.__file__).parent
        self._system, self._integrator = int(model.getSystem()), int(manager.getIntegrator())
        self._common = ctypes.CDLL(str(next(folder.glob("libSimTKcommon.so*"))))
        self._math = ctypes.CDLL(str(next(folder.glob("libSimTKmath.so*"))))

    def right_hand_sides(self) -> int:
        """How often the accelerations were computed."""
        call = self._common._ZNK5SimTK6System29getNumRealizationsOfThisStageENS_5StageE
        call.argtypes, call.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_int
        return int(call(self._system, _ACCELERATION))

    def steps(self) -> int:
        call = self._math._ZNK5SimTK10Integrator16getNumStepsTakenEv
        call.argtypes, call.restype = (ctypes.c_void_p,), ctypes.c_int
        return int(call(self._integrator))


def forward(job: dict) -> dict[str, Any]:
    """The states at the steps of OpenSim's integrator, and what it took."""
    import opensim

    model, state = _started(opensim, job)
    manager = opensim.Manager(model)
    manager.setIntegratorMethod(getattr(opensim.Manager, f"IntegratorMethod_{_METHODS[job.get('method', 'merson')]}"))
    manager.setIntegratorAccuracy(job.get("accuracy", 1e-5))
    manager.setIntegratorInternalStepLimit(_MOST_STEPS)
    if job.get("max_step"):
        manager.setIntegratorMaximumStepSize(job["max_step"])
    manager.setPerformAnalyses(False)
    manager.setWriteToStorage(job.get("keep", True))
    manager.initialize(state)
    count = _Counter(opensim, model, manager)
    before, began = count.right_hand_sides(), time.process_time()
    state = manager.integrate(job["span"][1])
    seconds = time.process_time() - began
    found = {
        "names": _names(model),
        "right_hand_sides": count.right_hand_sides() - before,
        "steps": count.steps(),
        "seconds": seconds,
        "end": _values(model, state),
    }
    if job.get("keep", True):
        table = manager.getStatesTable()
        found["names"] = list(table.getColumnLabels())
        found["time"] = np.array(table.getIndependentColumn())
        found["states"] = table.getMatrix().to_numpy().copy()
    return found


def rates(job: dict) -> dict[str, Any]:
    """Derivatives of all states at the start of a job, and what muscles do there."""
    import opensim

    model, state = _started(opensim, job)
    model.realizeAcceleration(state)
    muscles = [model.getMuscles().get(k) for k in range(model.getMuscles().getSize())]
    return {
        "names": _names(model),
        "states": _values(model, state),
        "rates": _rates(model, state),
        "muscles": [m.getName() for m in muscles],
        "tension": np.array([m.getActuation(state) for m in muscles]),
        "length": np.array([m.getLength(state) for m in muscles]),
        "speed": np.array([m.getLengtheningSpeed(state) for m in muscles]),
        "fiber_velocity": np.array([m.getFiberVelocity(state) for m in muscles]),
    }


def ran(setup: str) -> dict[str, Any]:
    """OpenSim's tool itself on a set-up of the folder that it stands in: whether it ran, and why not."""
    import opensim

    try:
        return {"ran": bool(opensim.ForwardTool(setup).run()), "why": ""}
    except RuntimeError as error:
        return {"ran": False, "why": str(error)}


def _started(opensim: Any, job: dict) -> tuple[Any, Any]:
    opensim.Logger.setLevelString("off")
    model = opensim.Model(job["model"])
    if job.get("gravity") is False:
        model.setGravity(opensim.Vec3(0.0))
    controller = opensim.PrescribedController()
    for name, given in job.get("controls", {}).items():
        actuator = opensim.Actuator.safeDownCast(model.updForceSet().get(name))
        controller.addActuator(actuator)
        controller.prescribeControlForActuator(name, _function(opensim, given))
    if job.get("controls"):
        model.addController(controller)
    state = model.initSystem()
    state.setTime(job["span"][0])
    for name, value in job.get("start", {}).items():
        model.setStateVariableValue(state, name, value)
    if job.get("equilibrium"):
        model.equilibrateMuscles(state)
    return model, state


def _function(opensim: Any, given: Any) -> Any:
    if isinstance(given, int | float):
        return opensim.Constant(float(given))
    function = opensim.PiecewiseLinearFunction()
    for t, value in zip(*given, strict=True):
        function.addPoint(float(t), float(value))
    return function


def _names(model: Any) -> list[str]:
    names = model.getStateVariableNames()
    return [names.get(k) for k in range(names.getSize())]


def _values(model: Any, state: Any) -> np.ndarray:
    return model.getStateVariableValues(state).to_numpy().copy()


def _rates(model: Any, state: Any) -> np.ndarray:
    model.computeStateVariableDerivatives(state)
    return np.array([model.getStateVariableDerivativeValue(state, name) for name in _names(model)])
