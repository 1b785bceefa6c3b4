"""What joints of models with closed loops transmit in OpenSim, for a process of its own.

STATES.npz holds q_K, u_K (frames, coordinates), names_K and tension_K (frames, muscles) of each model by its number K;
OUT.npz gets udot_K, joints_K, and loads_K (frames, joints, 6): moment and force on the child, in ground.
"""

from __future__ import annotations

import os

import numpy as np

from support.opensim_numbers import Numbers, vec3


def main(states: str, target: str, *paths: str) -> None:
    given, target = np.load(os.path.abspath(states)), os.path.abspath(target)
    out = {}
    for k, path in enumerate(map(os.path.abspath, paths)):
        numbers = Numbers(path)
        model, state = numbers.model, numbers.state
        order = [list(given[f"names_{k}"]).index(name) for name in numbers.names]
        back = np.argsort(order)
        muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
        for muscle in muscles:
            muscle.setAppliesForce(state, True)
            muscle.overrideActuation(state, True)
        joints = [model.getJointSet().get(i) for i in range(model.getJointSet().getSize())]
        udot, loads = [], []
        for q, u, tension in zip(given[f"q_{k}"], given[f"u_{k}"], given[f"tension_{k}"], strict=True):
            numbers.set_q(q[order])
            state.setU(numbers.vector(u[order]))
            for muscle, value in zip(muscles, tension, strict=True):
                muscle.setOverrideActuation(state, float(value))
            model.realizeAcceleration(state)
            udot.append(state.getUDot().to_numpy()[back].copy())
            found = (joint.calcReactionOnChildExpressedInGround(state) for joint in joints)
            loads.append([[*vec3(x.get(0)), *vec3(x.get(1))] for x in found])
        out[f"udot_{k}"], out[f"loads_{k}"] = np.array(udot), np.array(loads)
        out[f"joints_{k}"] = np.array([joint.getName() for joint in joints])
    np.savez(target, **out)
