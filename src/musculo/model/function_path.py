"""A path that is known by its length alone: a function of coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field

from musculo.errors import InvalidModel
from musculo.functions.elementary_functions import Constant
from musculo.functions.function import Function
from musculo.model.model_path import Path


@dataclass(frozen=True)
class FunctionPath(Path):
    """A path without points, whose length is a function of coordinates (OpenSim's `FunctionBasedPath`).

        l = length_function(q_1, ..),   r_i = -dl/dq_i,   ldot = -sum_i r_i qdot_i

    It pulls on its coordinates alone, and on no body: joints do not feel it press on them. `fit_paths` makes such
    paths of others.

    Args:
        coordinates: names, in the order of the functions' arguments.
        length_function: of musculo.functions, for instance a `MultivariatePolynomial` [m].
        moment_arm_functions: one for each coordinate, or none. They count with like="opensim", as in OpenSim; moment
            arms are else slopes of the length.
        lengthening_speed_function: of all coordinates and then of their derivatives; likewise.
    """

    coordinates: tuple[str, ...] = ()
    length_function: Function = field(default_factory=Constant)
    moment_arm_functions: tuple[Function, ...] = ()
    lengthening_speed_function: Function | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"path {self.name!r}:"
        if self.points or self.wraps:
            raise InvalidModel(f"{where} its length is a function; it has no points and no wraps, make it a Path")
        if isinstance(self.coordinates, str) or not self.coordinates:
            raise InvalidModel(f"{where} its coordinates are {self.coordinates!r}; give a tuple of names")
        count = len(self.coordinates)
        if len(set(self.coordinates)) < count:
            raise InvalidModel(f"{where} a coordinate is named twice among {', '.join(self.coordinates)}; name it once")
        if self.moment_arm_functions and len(self.moment_arm_functions) != count:
            raise InvalidModel(
                f"{where} it has {len(self.moment_arm_functions)} moment arm functions and {count} coordinates; give "
                "one for each, or none"
            )
        functions = [("length", self.length_function, count)]
        for name, arm in zip(self.coordinates, self.moment_arm_functions or (), strict=False):
            functions.append((f"moment arm over {name!r}", arm, count))
        if self.lengthening_speed_function is not None:
            functions.append(("lengthening speed", self.lengthening_speed_function, 2 * count))
        for what, function, needed in functions:
            if not isinstance(function, Function):
                raise InvalidModel(f"{where} its {what} is {function!r}; give one of musculo.functions")
            if function.n_arguments not in (0, needed):
                raise InvalidModel(
                    f"{where} the function of its {what} takes {function.n_arguments} arguments; it needs {needed}"
                )
