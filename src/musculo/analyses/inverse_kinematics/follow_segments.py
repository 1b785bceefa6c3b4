"""Inverse kinematics of markerless recordings: the poses of a model nearest to measured poses of segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from musculo.analyses.inverse_kinematics.first_pose import Ranges
from musculo.analyses.inverse_kinematics.follow_recording import Progress, inverse_kinematics
from musculo.analyses.inverse_kinematics.tracked_poses import InverseKinematics
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import Marker
from musculo.model.model import Model
from musculo.results.orientations import Orientations
from musculo.results.segment_poses import SegmentPoses

# What markerless systems call a segment, the bodies that have its orientation, and those whose origin is the joint
# center that is the segment's origin; the first that the model has is used, behind it the side: femur_r, thigh_r.
_SEGMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pelvis": (("pelvis",), ()),
    "thigh": (("femur", "thigh"), ("femur", "thigh")),
    "shank": (("tibia", "shank"), ("tibia", "shank")),
    "foot": (("calcn", "foot"), ("talus", "foot")),
    "toes": (("toes",), ("toes",)),
    "torso": (("torso", "thorax", "trunk"), ()),
    "uarm": (("humerus", "upperarm"), ("humerus", "upperarm")),
    "larm": (("radius", "forearm"), ("ulna", "forearm")),
    "hand": (("hand",), ("hand",)),
    "head": (("head",), ()),
}
# Segments have x to the right, y ahead and z up in the neutral pose; OpenSim's bodies x ahead, y up, z to the right.
_R_SB = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_ENDING = "_4x4"


class Followed(NamedTuple):
    """What the model has of one segment."""

    body: str  # that has its orientation
    origin: str  # the body at whose origin the segment's lies, or on which it lies; empty for none
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the segment's origin on that body [m]


def segment_bodies(
    model: Model, names: tuple[str, ...], bodies: Mapping[str, str] | None = None
) -> dict[str, Followed]:
    """Which bodies of the model are which segments, by their names (`l_thigh_4X4` is femur_l); others are absent.

    Args:
        model: the model.
        names: of the segments.
        bodies: those of segments with other names; an empty name leaves a segment out.
    """
    found: dict[str, Followed] = {}
    for name, body in (bodies or {}).items():
        if name not in names:
            raise UnknownName("segment", name, names)
        if body:
            model.body(body)
            found[name] = Followed(body, "")
    for name in names:
        if name in (bodies or {}):
            continue
        side, part = _parts(name)
        turned, placed = _SEGMENTS.get(part, ((), ()))
        body, origin = (_first(model, stems, side) for stems in (turned, placed))
        if body and part == "pelvis":
            hips = _hips(model, body)
            found[name] = Followed(body, body if hips is not None else "", hips or (0.0, 0.0, 0.0))
        elif body:
            found[name] = Followed(body, origin)
    return found


def follow_segments(
    model: Model,
    segments: SegmentPoses,
    *,
    bodies: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    respect_ranges: Ranges = "clamped",
    threads: int | None = None,
    progress: Progress | None = None,
) -> InverseKinematics:
    """The pose of every frame that is nearest to the poses of segments.

    The objective is that of `inverse_kinematics`: squared angles between segments and bodies, and squared distances
    of joint centers (hips, knees, ankles, shoulders, elbows, wrists, and the middle of the hips), each as a mean over
    what is known in the frame. A model of another size follows the angles; the distances say how far it is off.

    Segments have x to the right, y ahead and z up while the subject stands upright, as Theia writes them, and their
    origins lie at the joint nearer to the trunk. Rotations of the forearm depend on how elbow and hand are defined.

    Args:
        model: the subject, scaled.
        segments: `read_c3d(path).segments`.
        bodies: the body of each segment whose name does not tell it; these follow the orientation alone.
        weights: of segments by name, 1 for those not named; zero leaves one out.
        respect_ranges, threads, progress: as in `inverse_kinematics`.

    Raises:
        InvalidInput: no segment is a body of the model.
        UnknownName: a segment or body that does not exist.
    """
    given = dict(weights or {})
    for name in given:
        if name not in segments.names:
            raise UnknownName("segment", name, segments.names, segments.source)
    known = segment_bodies(model, segments.names, bodies)
    used = {name: one for name, one in known.items() if given.get(name, 1.0) > 0.0}
    if not used:
        raise InvalidInput(
            f"{segments.source or 'the recording'}: none of the segments {', '.join(segments.names)} is a body of the "
            f"model ({', '.join(model.body_names)}); say which is which (bodies=)"
        )
    picked = _known_span(segments.pick(used))
    turned = Orientations.from_rotations(picked.time, picked.names, picked.R @ _R_SB)
    places = {name: one for name, one in used.items() if one.origin}
    markers = picked.pick(places).origins() if places else None
    subject = model.replace(markers=tuple(Marker(name, one.origin, one.point) for name, one in places.items()))
    return inverse_kinematics(
        subject,
        markers,
        weights={name: given.get(name, 1.0) for name in places} if places else None,
        orientations=turned,
        orientation_weights={name: given.get(name, 1.0) for name in used},
        sensor_frames={name: one.body for name, one in used.items()},
        respect_ranges=respect_ranges,
        threads=threads,
        progress=progress,
    )


def _known_span(segments: SegmentPoses) -> SegmentPoses:
    """Without the frames at both ends in which nobody is seen."""
    seen = np.flatnonzero(np.isfinite(segments.origin).all(axis=2).any(axis=-1))
    if not seen.size:
        raise InvalidInput(f"{segments.source or 'the recording'}: no pose of {', '.join(segments.names)} is known")
    return segments.between(segments.time[seen[0]], segments.time[seen[-1]])


def _parts(name: str) -> tuple[str, str]:
    """Side and part: `l_thigh_4X4` is l and thigh."""
    plain = name.rpartition(":")[2].lower().removesuffix(_ENDING)
    if plain[:2] in ("l_", "r_"):
        return plain[0], plain[2:]
    return "", plain


def _first(model: Model, stems: tuple[str, ...], side: str) -> str:
    lower = {name.lower(): name for name in model.body_names}
    for stem in stems:
        for wanted in (f"{stem}_{side}", f"{side}_{stem}", f"{stem}{side}") if side else (stem,):
            if wanted in lower:
                return lower[wanted]
    return ""


def _hips(model: Model, pelvis: str) -> tuple[float, float, float] | None:
    """The middle of the hip joints in the pelvis [m]; None where there are not two."""
    thighs = {_first(model, _SEGMENTS["thigh"][0], side) for side in "rl"} - {""}
    places: list[FloatArray] = [
        np.asarray(joint.parent.translation)
        for joint in model.joints
        if joint.child.body in thighs and joint.parent.body == pelvis
    ]
    if len(places) != 2:
        return None
    x, y, z = np.mean(places, axis=0).tolist()
    return x, y, z
