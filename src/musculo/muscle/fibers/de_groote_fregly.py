"""Every muscle of a model as one whose equations are smooth, for optimization."""

from __future__ import annotations

from dataclasses import replace

from musculo.errors import Unsupported
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.model.muscle_parameters import PARAMETERS, Scalar

_KIND = "DeGrooteFregly2016Muscle"
# OpenSim's own converter sets this for Thelen's muscles, which have none.
_THELEN_DAMPING = 0.0


def with_de_groote_fregly_muscles(model: Model, *, passive: bool = True, active_width: float = 1.0) -> Model:
    """The model with every muscle as a DeGrooteFregly2016Muscle, whose curves and rates have no corners.

    Optimization of motions needs equations that are smooth. Strengths, lengths, angles, speeds, controls and paths
    stay. Strains at the maximum isometric force, time constants, damping and the default activation are those of the
    muscle; its other curves are replaced by those of De Groote and Fregly, which fit the same data.

    Source:     [DeGroote2016]; OpenSim 4.6, `DeGrooteFregly2016Muscle::replaceMuscles`, which Moco's tools call.
    Guarantees: what a muscle states carries over, so that a second call changes nothing.

    Args:
        model: the model; muscles of the kinds Millard2012Equilibrium, Thelen2003 and DeGrooteFregly2016.
        passive: whether fibers resist being stretched. Many models of whole legs have tendons too short for it.
        active_width: scales the width of the active force-length curve; 1.5 lets long and short fibers pull harder.

    Raises:
        Unsupported: a muscle of another kind.
    """
    forces = tuple(
        _converted(force, passive, active_width) if isinstance(force, Muscle) else force for force in model.forces
    )
    return model.replace(forces=forces)


def _converted(muscle: Muscle, passive: bool, active_width: float) -> Muscle:
    values: dict[str, Scalar] = dict(PARAMETERS[_KIND])
    if muscle.kind == "Millard2012EquilibriumMuscle":
        values |= {
            "fiber_damping": muscle.parameter("fiber_damping", 0.1),
            "passive_fiber_strain_at_one_norm_force": muscle.curve("FiberForceLengthCurve").parameter(
                "strain_at_one_norm_force", 0.7
            ),
            "tendon_strain_at_one_norm_force": muscle.curve("TendonForceLengthCurve").parameter(
                "strain_at_one_norm_force", 0.049
            ),
        }
    elif muscle.kind == "Thelen2003Muscle":
        values |= {
            "fiber_damping": _THELEN_DAMPING,
            "passive_fiber_strain_at_one_norm_force": muscle.parameter("FmaxMuscleStrain", 0.6),
            "tendon_strain_at_one_norm_force": muscle.parameter("FmaxTendonStrain", 0.04),
        }
    elif muscle.kind != _KIND:
        known = "Millard2012EquilibriumMuscle, Thelen2003Muscle, DeGrooteFregly2016Muscle"
        raise Unsupported(f"muscle {muscle.name!r} is a {muscle.kind}; kinds that are converted: {known}")
    for key in ("activation_time_constant", "deactivation_time_constant", "default_activation"):
        values[key] = muscle.parameter(key, PARAMETERS[muscle.kind][key])
    if muscle.kind == _KIND:
        values |= dict(muscle.parameters)
    if active_width != 1.0:
        values["active_force_width_scale"] = active_width * float(values["active_force_width_scale"])
    if not passive:
        values["ignore_passive_fiber_force"] = True
    return replace(muscle, kind=_KIND, parameters=tuple(values.items()), curves=(), functions=())
