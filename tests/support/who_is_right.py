"""Two answers for the length of one path, and a judge: which of them is the length of a shortest path?

A path is right where it keeps out of every surface that acts on it and is no longer than the polyline that is pulled
tight from it. `judge` tells for one path in one pose, by `support.taut_polyline`, which shares nothing with the
kernels.

A polyline of ours may touch surfaces in turns, and the path shows one contact a surface: what is pulled tight from
these contacts is not the polyline. There, and where a polyline does not come to rest, the judge asks
`support.rule_lengths` for the shortest path of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from musculo import Model, path_geometry
from musculo.dynamics.poses import kinematics
from musculo.kernels.paths.path_points import CONDITIONAL, CYLINDER, ELLIPSOID, MOVING, RANGE_MARGIN, TORUS
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import STATUSES, PathGeometry
from support.path_lines import FINE, SAME, TOUCHES, Contact, Segment, path_line, pulled
from support.rule_lengths import end_penalty, inside_end, rule_length, turn_penalty
from support.taut_polyline import Solid, spaced, taut

KINDS = ("cylinder", "sphere", "ellipsoid", "torus")
# A reason is named after the part of the difference that is largest.
REASONS = (
    "inside",  # a point of the path lies inside a surface: OpenSim leaves it out, ours shrinks it
    "penalty",  # ours adds a penalty near the edge of a rule
    "through",  # OpenSim's path passes through a surface
    "end",  # a cylinder ends near the contact: one path touches it still, the other passes its end
    "other way",  # both are shortest, on two sides of a surface
    "miscounted",  # OpenSim's length is not that of its own path over one surface: the arc is counted wrong
    "stale",  # the same with several wraps: straight pieces end in contact points of an earlier pass
    "not shortest",  # OpenSim's path can be pulled tighter
    "ours wrong",
)


@dataclass(frozen=True)
class Verdict:
    """One path in one pose. Lengths [m]."""

    name: str
    frame: int
    ours: float
    opensim: float
    ours_taut: float  # the polyline pulled tight from our path, shrunk surfaces shrunk; where ours is one, the shortest
    opensim_taut: float  # the same from OpenSim's
    opensim_path: float  # OpenSim's own path, between its contact points the shortest way on the surface
    error: float  # of the two polylines
    clear: float  # as ours_taut, but over the surfaces, too, that our path passes through
    penalty: float  # penalties that the rules put on our path, which is no length of a path
    through_ours: float  # how deep the path passes through a surface that acts on it [m]
    through_opensim: float
    ended: float  # how deep our path passes through a cylinder that the rule about its end takes away [m]
    pierced: str  # the surface OpenSim passes through deepest
    pierced_by_ours: str
    settled: bool  # the polyline of ours came to rest
    opensim_settled: bool  # OpenSim's did
    inside: bool  # a path point lies inside a surface
    status: str  # of ours
    touched: tuple[str, ...]  # kinds of surfaces touched by either
    wraps: int  # of the path
    reason: str = ""
    right: str = ""  # ours, opensim, both, neither

    @property
    def difference(self) -> float:
        """OpenSim's length less ours [m]."""
        return self.opensim - self.ours

    @property
    def unexplained(self) -> float:
        """What our length has beyond the taut polyline and the penalties: zero, or ours is wrong [m]."""
        return self.ours - self.ours_taut - self.penalty


def _wrong(v: Verdict) -> bool:
    """Whether our path is none that our rules describe."""
    return abs(v.unexplained) > SAME or v.through_ours > TOUCHES


def _reason(v: Verdict) -> str:
    """The name of the largest part of the difference."""
    approximate, other = v.opensim - v.opensim_taut, v.opensim_taut - v.ours_taut
    if _wrong(v) and not v.inside:
        return "ours wrong"
    if max(abs(approximate), abs(other)) < abs(v.penalty):
        return "penalty"
    if abs(other) >= abs(approximate):
        if v.inside:
            return "inside"
        if v.ended > TOUCHES:
            return "end"
        return "through" if v.through_opensim > TOUCHES else "other way"
    misstated = v.opensim - v.opensim_path
    if abs(misstated) > 0.5 * abs(approximate) and (v.wraps > 1 or v.touched != ("ellipsoid",)):
        return "stale" if v.wraps > 1 else "miscounted"
    return "through" if v.through_opensim > TOUCHES else "not shortest"


def _right(v: Verdict) -> str:
    ours = v.settled and not (v.inside or _wrong(v)) and abs(v.penalty) < SAME and v.ended < TOUCHES
    tight = v.opensim_settled and abs(v.opensim - v.opensim_taut) < 10 * SAME
    opensim = tight and not v.inside and v.through_opensim < TOUCHES
    return {(True, True): "both", (True, False): "ours", (False, True): "opensim"}.get((ours, opensim), "neither")


class Court:
    """A model in some poses, by both methods."""

    def __init__(self, model: Model, q: np.ndarray) -> None:
        self.model, self.q = model, np.atleast_2d(q)
        self.compiled = compiled_paths(model, muscles_only=False)
        self.ours = path_geometry(model, self.q)
        self.opensim = path_geometry(model, self.q, like="opensim")
        paths = self.compiled.paths
        k = kinematics(model, self.q)
        R, p = k._R[:, paths.surface_node], k._motion[:, paths.surface_node, 0]
        self.R = R @ paths.surface_R.reshape(-1, 3, 3)
        self.p = p + np.einsum("fnij,nj->fni", R, paths.surface_p)

    def solid(self, frame: int, surface: int) -> Solid:
        """A surface at full size in a pose."""
        paths = self.compiled.paths
        kind, size = paths.surface_kind[surface], paths.surface_size[surface]
        count = {CYLINDER: 1, ELLIPSOID: 3, TORUS: 2}.get(int(kind), 1)
        half = 0.5 * size[1] if kind == CYLINDER else math.inf
        return Solid(
            KINDS[kind], tuple(map(float, size[:count])), self.R[frame, surface], self.p[frame, surface], float(half)
        )

    def segments(self, frame: int, k: int) -> list[Segment]:
        """The segments of path k, with the contacts of both methods."""
        paths = self.compiled.paths
        points = [i for i in range(paths.first_point[k], paths.first_point[k + 1]) if self._there(frame, i)]
        wraps = range(paths.first_wrap[k], paths.first_wrap[k + 1])
        places = {}
        contacts: dict[str, list[list[Contact]]] = {}
        for method, geometry in (("ours", self.ours), ("opensim", self.opensim)):
            x, owner = _entries(geometry, frame, k)
            contacts[method] = [[]]
            i = 1
            places[points[0]] = x[0]
            while i < len(x):
                if owner[i] < 0:
                    places[points[len(contacts[method])]] = x[i]
                    contacts[method].append([])
                    i += 1
                else:
                    contacts[method][-1].append(Contact(int(owner[i]), x[i], x[i + 1]))
                    i += 2
        found = []
        for i, (a, b) in enumerate(pairwise(points)):
            acting = {w: self.solid(frame, paths.wrap_surface[w]) for w in wraps if self._acts(k, w, a, b)}
            found.append(Segment(places[a], places[b], a, b, acting, contacts["ours"][i], contacts["opensim"][i]))
        return found

    def _there(self, frame: int, point: int) -> bool:
        paths = self.compiled.paths
        if paths.point_kind[point] != CONDITIONAL:
            return True
        row, (low, high) = paths.condition_row[point], paths.condition_range[point]
        return row >= 0 and low - RANGE_MARGIN <= self.q[frame, row] <= high + RANGE_MARGIN

    def _acts(self, k: int, wrap: int, a: int, b: int) -> bool:
        """Whether a surface is meant to act between two points: in range, neither fixed inside it (both agree)."""
        paths = self.compiled.paths
        surface = paths.wrap_surface[wrap]
        low, high = paths.wrap_range[wrap]
        if not paths.surface_active[surface] or a < low or b > high:
            return False
        for point in (a, b):
            rigid = paths.point_kind[point] != MOVING and paths.point_node[point] == paths.surface_node[surface]
            if rigid and paths.seen_inside[paths.first_seen[wrap] + point - paths.first_point[k]]:
                return False
        return True

    def left_out(self, wrap: int, s: Segment) -> bool:
        """Whether our rule about the ends of cylinders takes this one away."""
        return s.acting[wrap].kind == "cylinder" and inside_end(s.acting[wrap], s.P, s.Q, len(s.acting) == 1) <= 0.0

    def judge(self, name: str, frame: int = 0) -> Verdict:
        """Pull polylines tight from both paths and say who is right."""
        k = self.ours.names.index(name)
        paths = self.compiled.paths
        segments = self.segments(frame, k)
        ours, opensim = float(self.ours.length[frame, k]), float(self.opensim.length[frame, k])
        taut_ours = taut_opensim = path = penalty = error = ended = 0.0
        depths: dict[str, dict[int, float]] = {"ours": {}, "opensim": {}}
        broken: list[tuple[int, float]] = []
        inside, settled = False, {"ours": True, "opensim": True}
        for s in segments:
            shrunk = {w: s.acting[w].scaled(max(s.shrink(w), 1e-6)) for w in s.acting}
            full = {w: s.acting[w] for w in s.acting if s.shrink(w) >= 1.0 - 1e-9}
            gone = {w for w in s.acting if self.left_out(w, s)}
            inside = inside or any(w not in full and w not in gone for w in s.acting)
            for method, contacts in (("ours", s.ours), ("opensim", s.opensim)):
                line = path_line(s, contacts, shrunk)
                fine = spaced(line, FINE)
                for w, solid in full.items():
                    depth = solid.deepest(fine)
                    if method == "ours" and w in gone:
                        ended = max(ended, depth)
                    else:
                        depths[method][w] = max(depths[method].get(w, 0.0), depth)
                used = {w: solid for w, solid in shrunk.items() if method == "opensim" or w not in gone}
                polyline = pulled(contacts, used, line)
                error, settled[method] = max(error, polyline.error), settled[method] and polyline.settled
                if method == "ours":
                    taut_ours += polyline.length
                    broken += self.penalties(k, s, line).items()
                else:
                    taut_opensim += polyline.length
                    path += float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        # which of the penalties were paid shows in the length
        choices = [c for n in range(len(broken) + 1) for c in combinations(broken, n)]
        paid = min(choices, key=lambda c: abs(ours - taut_ours - penalty - sum(value for _, value in c)))
        penalty += sum(value for _, value in paid)
        excused = [w for w, _ in paid]
        through_ours, pierced_by_ours = self._deepest({w: d for w, d in depths["ours"].items() if w not in excused})
        through, pierced = self._deepest(depths["opensim"])
        status = STATUSES[self.ours.status[frame, k]]
        unsure = status == "overlapped" or not settled["ours"]
        shortest = rule_length(self, name, frame) if unsure else None
        if shortest is not None:
            settled["ours"] = True
            taut_ours, penalty = shortest.length - shortest.penalty, shortest.penalty
            through_ours, pierced_by_ours = 0.0, ""
        clear = taut_ours
        if through_ours > TOUCHES:
            clear = sum(self._cleared(s, excused) for s in segments)
        touched = {c.wrap for s in segments for c in (*s.ours, *s.opensim)}
        verdict = Verdict(
            name=name,
            frame=frame,
            ours=ours,
            opensim=opensim,
            ours_taut=taut_ours,
            opensim_taut=taut_opensim,
            opensim_path=path,
            error=error,
            clear=clear,
            penalty=penalty,
            through_ours=through_ours,
            through_opensim=through,
            ended=ended,
            pierced=pierced,
            pierced_by_ours=pierced_by_ours,
            settled=settled["ours"],
            opensim_settled=settled["opensim"],
            inside=inside,
            status=status,
            touched=tuple(sorted({KINDS[paths.surface_kind[paths.wrap_surface[w]]] for w in touched})),
            wraps=int(paths.first_wrap[k + 1] - paths.first_wrap[k]),
        )
        return replace(verdict, reason=_reason(verdict), right=_right(verdict))

    def _deepest(self, depths: dict[int, float]) -> tuple[float, str]:
        """The largest depth, and the name of the surface where it deserves one."""
        w = max(depths, key=lambda w: depths[w], default=-1)
        depth = depths.get(w, 0.0)
        return depth, self.compiled.wrap_names[w] if depth > TOUCHES else ""

    def _cleared(self, s: Segment, excused: list[int]) -> float:
        """Our segment pulled tight over everything in force there: what it would be if it passed through nothing."""
        force = {
            w: solid.scaled(max(s.shrink(w), 1e-6))
            for w, solid in s.acting.items()
            if w not in excused and not self.left_out(w, s)
        }
        line = path_line(s, s.ours, force)
        return taut(list(force.values()), line).length

    def penalties(self, k: int, s: Segment, line: np.ndarray) -> dict[int, float]:
        """What our rules may add to this segment, read off its path: a penalty by wrap that breaks a rule."""
        paths = self.compiled.paths
        broken: dict[int, float] = {}
        touched = {c.wrap for c in s.ours}
        fine = spaced(line, FINE)
        for w, solid in s.acting.items():
            surface = paths.wrap_surface[w]
            axis, sign = int(paths.surface_axis[surface]), float(paths.surface_sign[surface])
            if solid.kind == "cylinder" and not self.left_out(w, s):
                lone, held = len(s.acting) == 1, None
                if sign and axis < 2:
                    held = self.turn(k, w, s), self.reference(k, w, s)
                end = end_penalty(solid, s.P, s.Q, held, lone)
                kept = lone and held is not None and abs(held[0]) <= math.pi
                if w not in touched and solid.scaled(max(s.shrink(w), 1e-6)).deepest(fine) > SAME:
                    broken[w] = end
                elif held is not None and abs(solid.turn(line) - held[0]) > math.pi and not kept:
                    broken[w] = turn_penalty(solid, s.P, s.Q, *held, lone)
                    broken[w] = broken[w] if w in touched else min(end, broken[w])
        return broken

    def reference(self, k: int, w: int, s: Segment) -> float:
        """The turn about a cylinder's axis from one end of a segment to the other in the default pose [rad]."""
        paths = self.compiled.paths
        row = paths.first_seen[w] - paths.first_point[k]
        turn = math.remainder(paths.seen_azimuth[row + s.b] - paths.seen_azimuth[row + s.a], 2 * math.pi)
        if paths.seen_next[row + s.a] == s.b:
            turn += paths.seen_shift[row + s.a]
        return turn

    def turn(self, k: int, w: int, s: Segment) -> float:
        """The same in this pose, within half a turn of that: how the side is held."""
        reference = self.reference(k, w, s)
        P, Q = s.acting[w].own(s.P), s.acting[w].own(s.Q)
        straight = math.atan2(Q[1], Q[0]) - math.atan2(P[1], P[0])
        return reference + math.remainder(straight - reference, 2 * math.pi)


def _entries(geometry: PathGeometry, frame: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    points = geometry.path_points
    these = slice(points.first[k], points.first[k] + points.count[frame, k])
    return points.position[frame, these], points.wrap[frame, these]
