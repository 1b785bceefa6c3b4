"""The length that the rules of docs/wrapping.md give a path, by `support.global_path`: the shortest of all paths that
keep the rules or pay for breaking some.

The poses of points and surfaces, which surface acts where and the sides held in the default pose are the package's;
shrinking, penalties and every length are worked out here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from support.global_path import GlobalPath, Obstacle, shortest_path
from support.taut_polyline import Solid

if TYPE_CHECKING:
    from support.path_lines import Segment
    from support.who_is_right import Court

# What penalties of the geodesic rules are made of; the kernel cylinder_penalty says more.
END_RATE, TURN_RATE, END_REACH, TURN_REACH = 2.0, 4.0, 0.25, 1.0
# Nothing is left of a surface that is shrunk below this.
_GONE = 1e-6


@dataclass(frozen=True)
class Option:
    """What a surface may do on a segment: what is in the way (None: nothing), what that costs [m], in words."""

    obstacle: Obstacle | None
    penalty: float = 0.0
    rule: str = "kept"


@dataclass(frozen=True)
class RuleLength:
    """A path's length by the rules [m], what of it is penalty, the paths of its segments, which rules are broken."""

    length: float
    penalty: float
    paths: tuple[GlobalPath, ...]
    broken: tuple[str, ...]
    error: float


def rule_length(court: Court, name: str, frame: int = 0) -> RuleLength | None:
    """The length of a path by the rules; None where no path is found."""
    k = court.ours.names.index(name)
    parts = []
    for s in court.segments(frame, k):
        part = segment_length(court, k, s)
        if part is None:
            return None
        parts.append(part)
    return RuleLength(
        sum(p.length for p in parts),
        sum(p.penalty for p in parts),
        tuple(x for p in parts for x in p.paths),
        tuple(x for p in parts for x in p.broken),
        sum(p.error for p in parts),
    )


def segment_length(court: Court, k: int, s: Segment) -> RuleLength | None:
    """The same for one segment of path k."""
    choices = [_options(court, k, w, s) for w in s.acting]
    names = [court.compiled.wrap_names[w] for w in s.acting]
    straight = float(np.linalg.norm(s.Q - s.P))
    best: RuleLength | None = None
    for options in sorted(product(*choices), key=lambda c: sum(o.penalty for o in c)):
        penalty = sum(o.penalty for o in options)
        if best is not None and penalty + straight >= best.length:
            break
        path = shortest_path(s.P, s.Q, [o.obstacle for o in options if o.obstacle is not None])
        if path is not None and (best is None or path.length + penalty < best.length):
            broken = tuple(f"{n}: {o.rule}" for n, o in zip(names, options, strict=True) if o.penalty > 0.0)
            best = RuleLength(path.length + penalty, penalty, (path,), broken, path.error)
    return best


def _options(court: Court, k: int, w: int, s: Segment) -> list[Option]:
    """What surface w may do: keep its rules, break the one about its side, be left out."""
    paths, solid = court.compiled.paths, s.acting[w]
    surface = paths.wrap_surface[w]
    factor = s.shrink(w)
    if factor < _GONE or court.left_out(w, s):
        return [Option(None)]
    small = solid.scaled(factor)
    free = Obstacle(small.kind, small.size, small.R, small.p)
    if solid.kind == "torus":
        return [Option(Obstacle(small.kind, small.size, small.R, small.p, through=True))]
    if solid.kind != "cylinder":
        return [Option(free)]
    options, held, lone = [Option(free)], None, len(s.acting) == 1
    if paths.surface_sign[surface] and paths.surface_axis[surface] < 2:
        held = court.turn(k, w, s), court.reference(k, w, s)
        options = [Option(Obstacle(small.kind, small.size, small.R, small.p, turn=held[0]))]
        if abs(held[0]) > math.pi or not lone:
            options.append(Option(free, turn_penalty(solid, s.P, s.Q, *held, lone), "the other way"))
    return _affordable(*options, Option(None, end_penalty(solid, s.P, s.Q, held, lone), "left out"))


def _affordable(*options: Option) -> list[Option]:
    """Those of which the penalty is finite."""
    return [option for option in options if math.isfinite(option.penalty)]


def inside_end(solid: Solid, P: np.ndarray, Q: np.ndarray, lone: bool) -> float:
    """How far inside the point from which on a cylinder does not count the straight line passes its axis [m]."""
    p, q = solid.own(P), solid.own(Q)
    d_p, d_q = math.hypot(p[0], p[1]), math.hypot(q[0], q[1])
    far = (1.0 + 0.5 * END_REACH) * solid.half if lone else solid.half
    return max(0.0, far - abs(p[2] * d_q + q[2] * d_p) / (d_p + d_q))


def end_penalty(solid: Solid, P: np.ndarray, Q: np.ndarray, held: tuple[float, float] | None, lone: bool) -> float:
    """What leaving a cylinder out costs; zero beyond its end [m]. held: the turn that is held, and the reference."""
    p, q = solid.own(P), solid.own(Q)
    if held is None:
        kept = _over(solid, p, q, _short_turn(p, q))
    else:
        other = _over(solid, p, q, 2 * math.pi - abs(held[0])) + turn_penalty(solid, P, Q, *held, lone)
        kept = min(_over(solid, p, q, abs(held[0])), other)
    return _due(END_RATE, inside_end(solid, P, Q, lone), kept - math.dist(p, q), END_REACH * solid.half, lone)


def turn_penalty(solid: Solid, P: np.ndarray, Q: np.ndarray, turn: float, reference: float, lone: bool) -> float:
    """What passing a cylinder the shorter way instead of the one that is held costs [m]."""
    p, q, r = solid.own(P), solid.own(Q), solid.size[0]
    saved = _over(solid, p, q, abs(turn)) - _over(solid, p, q, 2 * math.pi - abs(turn))
    return _due(r * TURN_RATE, math.pi - abs(turn - reference), saved, TURN_REACH, lone)


def _short_turn(p: np.ndarray, q: np.ndarray) -> float:
    """The angle between two points, seen from the z axis."""
    return abs(math.remainder(math.atan2(q[1], q[0]) - math.atan2(p[1], p[0]), 2 * math.pi))


def _over(solid: Solid, p: np.ndarray, q: np.ndarray, turn: float) -> float:
    """Length of the taut path over an endless cylinder that goes so far round it, by its unrolled surface."""
    d = [math.hypot(x[0], x[1]) for x in (p, q)]
    r = min(solid.size[0], *d)
    if r == 0.0:
        return math.dist(p, q)
    leans = [math.acos(min(1.0, r / x)) for x in d]
    flat = sum(r * math.tan(lean) for lean in leans) + r * (turn - sum(leans))
    return math.hypot(flat, q[2] - p[2]) if turn > sum(leans) else math.dist(p, q)


def _due(rate: float, x: float, saved: float, reach: float, lone: bool) -> float:
    """The penalty of a rule about a cylinder: what breaking it saves, falling evenly to nothing at the rule's edge, or
    so much a metre; among other surfaces more, without end towards the reach."""
    if x >= reach:
        return math.inf
    penalty = max(rate, saved / reach) * x
    return penalty if lone else penalty + rate * x * x / (reach - x)
