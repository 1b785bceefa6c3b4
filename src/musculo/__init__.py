"""musculo: how bodies move, and which muscles move them.

    import musculo
    model = musculo.read_osim("arm26.osim")
    tau = musculo.inverse_dynamics(model, q, u, udot)

Arrays `q, u, udot` hold all coordinates of the file in its order, shape (frames, n) or (n,); SI units and radians.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names by the module that holds them; imported on first use, so that `musculo --help` need not wait.
_HOME = {
    "musculo.errors": (
        "InvalidFile",
        "InvalidInput",
        "InvalidModel",
        "MusculoError",
        "SingularSystem",
        "UnknownName",
        "Unsupported",
    ),
    "musculo.io": ("read_osim", "write_osim"),
    "musculo.model.model": ("Model",),
    "musculo.model.body": ("Body", "Marker", "Placement"),
    "musculo.model.coordinate": ("Coordinate",),
    "musculo.model.constraint": ("CoordinateCoupler",),
    "musculo.model.joints": (
        "Axis",
        "BallJoint",
        "CustomJoint",
        "CylindricalJoint",
        "EllipsoidJoint",
        "FreeJoint",
        "GimbalJoint",
        "Joint",
        "PinJoint",
        "PlanarJoint",
        "ScapulothoracicJoint",
        "ScrewJoint",
        "SliderJoint",
        "UniversalJoint",
        "WeldJoint",
    ),
    "musculo.embedding.embedding": ("embedding_of",),
    "musculo.embedding.quaternions": ("change_coordinates", "with_quaternions"),
    "musculo.embedding.rates": ("coordinate_rates", "speeds_from_rates"),
    "musculo.dynamics.poses": ("Kinematics", "kinematics"),
    "musculo.dynamics.external": ("ExternalLoad",),
    "musculo.dynamics.inverse": (
        "bias_forces",
        "gravity_forces",
        "inverse_dynamics",
        "joint_reactions",
        "mass_matrix",
    ),
    "musculo.dynamics.forward": ("forward_dynamics",),
    "musculo.muscle.activation": ("activation_rate",),
    "musculo.muscle.capacity": ("active_force_capacity",),
    "musculo.muscle.curves": ("muscle_curves",),
    "musculo.muscle.geometry": ("muscle_geometry", "path_geometry"),
    "musculo.muscle.equilibrium": ("muscle_equilibrium", "muscle_force"),
    "musculo.dynamics.energy": (
        "center_of_mass",
        "kinetic_energy",
        "momentum",
        "potential_energy",
        "total_mass",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Axis",
    "BallJoint",
    "Body",
    "Coordinate",
    "CoordinateCoupler",
    "CustomJoint",
    "CylindricalJoint",
    "EllipsoidJoint",
    "ExternalLoad",
    "FreeJoint",
    "GimbalJoint",
    "InvalidFile",
    "InvalidInput",
    "InvalidModel",
    "Joint",
    "Kinematics",
    "Marker",
    "Model",
    "MusculoError",
    "PinJoint",
    "Placement",
    "PlanarJoint",
    "ScapulothoracicJoint",
    "ScrewJoint",
    "SingularSystem",
    "SliderJoint",
    "UniversalJoint",
    "UnknownName",
    "Unsupported",
    "WeldJoint",
    "__version__",
    "activation_rate",
    "active_force_capacity",
    "bias_forces",
    "center_of_mass",
    "change_coordinates",
    "coordinate_rates",
    "embedding_of",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "joint_reactions",
    "kinematics",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "muscle_curves",
    "muscle_equilibrium",
    "muscle_force",
    "muscle_geometry",
    "path_geometry",
    "potential_energy",
    "read_osim",
    "speeds_from_rates",
    "total_mass",
    "with_quaternions",
    "write_osim",
]

if TYPE_CHECKING:
    from musculo.dynamics.energy import center_of_mass, kinetic_energy, momentum, potential_energy, total_mass
    from musculo.dynamics.external import ExternalLoad
    from musculo.dynamics.forward import forward_dynamics
    from musculo.dynamics.inverse import (
        bias_forces,
        gravity_forces,
        inverse_dynamics,
        joint_reactions,
        mass_matrix,
    )
    from musculo.dynamics.poses import Kinematics, kinematics
    from musculo.embedding.embedding import embedding_of
    from musculo.embedding.quaternions import change_coordinates, with_quaternions
    from musculo.embedding.rates import coordinate_rates, speeds_from_rates
    from musculo.errors import (
        InvalidFile,
        InvalidInput,
        InvalidModel,
        MusculoError,
        SingularSystem,
        UnknownName,
        Unsupported,
    )
    from musculo.io import read_osim, write_osim
    from musculo.model.body import Body, Marker, Placement
    from musculo.model.constraint import CoordinateCoupler
    from musculo.model.coordinate import Coordinate
    from musculo.model.joints import (
        Axis,
        BallJoint,
        CustomJoint,
        CylindricalJoint,
        EllipsoidJoint,
        FreeJoint,
        GimbalJoint,
        Joint,
        PinJoint,
        PlanarJoint,
        ScapulothoracicJoint,
        ScrewJoint,
        SliderJoint,
        UniversalJoint,
        WeldJoint,
    )
    from musculo.model.model import Model
    from musculo.muscle.activation import activation_rate
    from musculo.muscle.capacity import active_force_capacity
    from musculo.muscle.curves import muscle_curves
    from musculo.muscle.equilibrium import muscle_equilibrium, muscle_force
    from musculo.muscle.geometry import muscle_geometry, path_geometry


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'musculo' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
