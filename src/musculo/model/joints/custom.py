"""A joint from six functions: three rotations in a row, three translations along axes of the parent frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput, MusculoWarning, Unsupported
from musculo.functions.elementary_functions import Linear
from musculo.functions.sampled import SampledSpline
from musculo.model.body import Placement, Vec3
from musculo.model.coordinate import Coordinate
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, Axis, FunctionMotion, Joint, Motion

# The names under which measured motion is handed in, in the order of the six elementary motions.
MOTION_NAMES = ("rx", "ry", "rz", "tx", "ty", "tz")
_STILL = (Axis(X_AXIS), Axis(Y_AXIS), Axis(Z_AXIS))


@dataclass(frozen=True)
class CustomJoint(Joint):
    """R = R(a1, f1) R(a2, f2) R(a3, f3), p = f4 a4 + f5 a5 + f6 a6; speeds are q-dot (Seth2010 eq. 18-35)."""

    rotations: tuple[Axis, ...] = field(default=_STILL)
    translations: tuple[Axis, ...] = field(default=_STILL)

    kind: ClassVar[str] = "CustomJoint"

    def motions(self) -> tuple[Motion, ...]:
        return (FunctionMotion(self.rotations, self.translations),)

    def scaled(self, parent: Vec3, child: Vec3) -> CustomJoint:
        return replace(self, translations=tuple(axis.scaled(parent) for axis in self.translations))

    @classmethod
    def of(cls, joint: Joint) -> CustomJoint:
        """The same joint, whatever its kind, as a CustomJoint: what OpenSim reads of a kind that it does not have.

        Raises:
            Unsupported: the joint is not up to three rotations and then up to three translations.
        """
        match joint.motions():
            case (FunctionMotion(rotations, translations),):
                return cls(
                    joint.name,
                    joint.parent,
                    joint.child,
                    joint.coordinates,
                    joint.carried,
                    rotations,
                    translations,
                )
        raise Unsupported(
            f"joint {joint.name!r} is a {joint.kind}, which is not a sequence of rotations and translations by "
            "functions, and so not a CustomJoint; replace it by joints that are"
        )

    @classmethod
    def from_samples(
        cls,
        name: str,
        parent: str | Placement,
        child: str | Placement,
        samples: Mapping[str, ArrayLike],
        coordinate: str | None = None,
    ) -> CustomJoint:
        """A one-coordinate joint through measured poses.

        Args:
            name: the joint's name.
            parent, child: body names or placements of F and M.
            samples: measured values (n,) under any of rx, ry, rz [rad] (body-fixed x, y, z angles) and tx, ty, tz [m]
                (in F), and under the coordinate's own name its value at each sample. What is missing stays zero.
            coordinate: the key in `samples` that holds the coordinate; by default the only key that is not a motion.
                If it names one of the six motions, that motion equals the coordinate.

        The coordinate rises or falls from sample to sample. Its range is that of the samples, and its motion beyond it
        an extrapolation (parabolas that go on smoothly); `simulate` says where a motion goes there.

        Example: `CustomJoint.from_samples("knee", "femur", "tibia", {"rz": angle, "tx": x, "ty": y}, coordinate="rz")`.
        """
        extra = [key for key in samples if key not in MOTION_NAMES]
        if coordinate is None:
            if len(extra) != 1:
                raise InvalidInput(
                    f"joint {name!r}: samples {sorted(samples)} do not say which is the coordinate; pass coordinate=..."
                )
            coordinate = extra[0]
        unknown = [key for key in extra if key != coordinate]
        if unknown or coordinate not in samples:
            raise InvalidInput(
                f"joint {name!r}: samples may be {', '.join(MOTION_NAMES)} and the coordinate {coordinate!r}; "
                f"got {sorted(samples)}"
            )
        for key, values in samples.items():
            cls._check_samples(name, key, np.asarray(values, dtype=float))
        knots = np.asarray(samples[coordinate], dtype=float)
        ways = np.sign(np.diff(knots)) if knots.ndim == 1 else np.zeros(0)
        turned = np.flatnonzero(ways != ways[:1]) if ways.size and ways[0] else np.flatnonzero(ways == 0.0)
        if turned.size:
            k = int(turned[0])
            raise InvalidInput(
                f"joint {name!r}: the coordinate {coordinate!r} goes from {knots[k]:.6g} to {knots[k + 1]:.6g} at "
                f"sample {k + 1}, and neither rises nor falls throughout; a joint has one pose at each value: take one "
                "way of the motion, or average both"
            )
        label = f"{name}_{coordinate}" if coordinate in MOTION_NAMES else coordinate
        motions: Sequence[Axis] = [
            cls._sampled_axis(name, label, key, axis, coordinate, knots, samples)
            for key, axis in zip(MOTION_NAMES, (X_AXIS, Y_AXIS, Z_AXIS) * 2, strict=True)
        ]
        value_range = (float(knots.min()), float(knots.max()))
        start = min(max(0.0, value_range[0]), value_range[1])
        return cls(
            name,
            parent if isinstance(parent, Placement) else Placement(parent),
            child if isinstance(child, Placement) else Placement(child),
            (Coordinate(label, default_value=start, range=value_range),),
            rotations=tuple(motions[:3]),
            translations=tuple(motions[3:]),
        )

    @staticmethod
    def _check_samples(joint: str, key: str, values: np.ndarray) -> None:
        """Refuse gaps, and warn of angles that look like degrees."""
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise InvalidInput(
                f"joint {joint!r}: {key} is {values.flat[bad[0]]} at sample {bad[0]}; drop samples with gaps"
            )
        if key not in MOTION_NAMES[3:] and values.size and np.ptp(values) > 2.0 * np.pi:
            warnings.warn(
                f"joint {joint!r}: {key} goes from {values.min():.4g} to {values.max():.4g}, more than one turn in "
                "radians: are these degrees? Then pass np.radians of them",
                MusculoWarning,
                stacklevel=3,
            )

    @staticmethod
    def _sampled_axis(
        joint: str,
        label: str,
        key: str,
        direction: tuple[float, float, float],
        coordinate: str,
        knots: np.ndarray,
        samples: Mapping[str, ArrayLike],
    ) -> Axis:
        if key == coordinate:
            return Axis(direction, Linear(1.0, 0.0), (label,))
        if key not in samples:
            return Axis(direction)
        values = np.asarray(samples[key], dtype=float)
        if values.shape != knots.shape:
            raise InvalidInput(f"joint {joint!r}: {key} has shape {values.shape}, its coordinate {knots.shape}")
        return Axis(direction, SampledSpline.through(knots, values), (label,))
