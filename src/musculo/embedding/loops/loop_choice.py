"""Which constraints form a loop together, and which of its coordinates are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Rule
from musculo.embedding.loops.closed_loop import CLOSED, Loop
from musculo.embedding.loops.equations.body_equations import BodyEquation, tree_poses
from musculo.embedding.loops.equations.loop_equations import Equation, EquationSet
from musculo.embedding.loops.loop_assembly import CLOSE, assemble, closed_from, descended, gaps, usual_rank
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, InvalidModel
from musculo.model.model import Model

# Columns of dependents shall stand out by this part of the longest; by less only if nothing else is left.
_LEAST = 1e-6
_FIRM = (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, _LEAST)
# Values that differ by less from the file's have not moved [rad, units of the mechanism's size].
_MOVED = 1e-6


def choose_loops(
    model: Model, rules: Sequence[Rule], equations: Sequence[Equation], named: Sequence[str], pose: FloatArray
) -> list[tuple[Loop, FloatArray, tuple[str, ...]]]:
    """The loops of a model, each with a closed pose (n_y,) of its own coordinates near `pose` (n,), and notes on it.

    A loop gathers all constraints that share free coordinates. As many of these depend on the others as there are
    independent equations: from the end of the file, those that the others can hold firmly; never a named one, and
    quaternions last. The closed pose keeps the values of coordinates that are first in the file where it can.

    Args:
        model: the model.
        rules: couplers, locks and prescribed motions, sorted.
        equations: of the constraints that close loops.
        named: coordinates that shall be independent.
        pose: a guess of all coordinates.

    Raises:
        InvalidModel: a loop that no pose closes. SingularSystem: a start in a singular position.
        InvalidInput: named coordinates that cannot all be independent.
    """
    by_name = {rule.dependent: rule for rule in rules}
    felt = [_free_coordinates(model, equation, by_name) for equation in equations]
    loops = []
    for members in _connected([free for free, _, _ in felt]):
        free = sorted({name for k in members for name in felt[k][0]}, key=model.coordinate_index)
        given = sorted({name for k in members for name in felt[k][1]}, key=model.coordinate_index)
        raw = _raw_loop(model, rules, [equations[k] for k in members], free, given)
        locked = sorted({name for k in members for name in felt[k][2]}, key=model.coordinate_index)
        loops.append(_chosen(raw, len(given), [n for n in named if n in free], pose, locked))
    return [found for found in loops if found is not None]


def _free_coordinates(
    model: Model, equation: Equation, by_name: dict[str, Rule]
) -> tuple[set[str], set[str], set[str]]:
    """Free coordinates that an equation feels, through couplers too; prescribed ones; and locked ones."""
    if isinstance(equation, BodyEquation):
        tree = compiled(model).tree
        felt = set(equation.columns.tolist())
        rows: list[int] = []
        ends = [*tree.q_first[1:], tree.q_rows.size]
        for i in range(tree.parent.size):
            speeds = tree.u_rows[tree.u_first[i] : tree.u_first[i] + tree.n_u[i]]
            if felt.intersection(speeds.tolist()):
                rows += tree.q_rows[tree.q_first[i] : ends[i]].tolist()
    else:
        rows = list(equation.columns)
    free: set[str] = set()
    given: set[str] = set()
    locked: set[str] = set()
    waiting = [model.coordinate_names[k] for k in rows]
    while waiting:
        name = waiting.pop()
        rule = by_name.get(name)
        if rule is None:
            free.add(name)
        elif isinstance(rule, Coupled):
            waiting += rule.inputs
        else:
            (locked if isinstance(rule, Locked) else given).add(name)
    return free, given, locked


def _connected(sets: list[set[str]]) -> list[list[int]]:
    """Which of some sets hang together by common members."""
    groups: list[tuple[set[str], list[int]]] = []
    for k, members in enumerate(sets):
        touching = [group for group in groups if group[0] & members]
        merged = (members.union(*(g[0] for g in touching)), sorted([k, *(i for g in touching for i in g[1])]))
        groups = [group for group in groups if group not in touching] + [merged]
    return [indices for _, indices in sorted(groups, key=lambda group: group[1][0])]


def _raw_loop(
    model: Model, rules: Sequence[Rule], equations: list[Equation], free: list[str], given: list[str]
) -> Loop:
    """The loop with all its coordinates as inputs: given ones first."""
    known = {*free, *given}
    constants = {rule.dependent: rule.value for rule in rules if isinstance(rule, Locked)}
    known |= set(constants)
    followers = []
    for rule in rules:
        if isinstance(rule, Coupled) and known.issuperset(rule.inputs):
            followers.append(rule)
            known.add(rule.dependent)
    names = (*given, *free)
    system = EquationSet(model, equations)
    turns = model.derived("coordinates that turn", lambda: _turning(model))
    unit = np.ones(len(names))
    rows = np.ones(system.count)
    loop = Loop(model, system, names, (), tuple(followers), constants, unit, rows)
    size = _size(loop, turns)
    unit = np.array([1.0 if name in turns else size for name in names])
    # users write equations in any unit: their slopes say how much is little
    slopes = np.abs(loop.evaluate(_defaults(loop))[1][0] * unit).max(axis=1, initial=0.0)
    steep = np.where(np.isfinite(slopes) & (slopes > 0.0), slopes, 1.0)
    for equation, at in zip(system.equations, system.rows, strict=True):
        if isinstance(equation, BodyEquation):
            rows[at.stop - min(equation.count, 3) : at.stop] = size
        else:
            rows[at] = steep[at]
    return replace(loop, scale=unit, row_scale=rows)


def _turning(model: Model) -> set[str]:
    """Coordinates that turn something, however little else they do."""
    c = compiled(model)
    found = {model.coordinate_names[k] for joint in turning_joints(model) for k in joint.q}
    rng = np.random.default_rng(0)
    Q = rng.uniform(-0.5, 0.5, (3, len(model.coordinates)))
    spin = np.abs(tree_poses(c, Q).twists[:, :, 0]).max(axis=(0, 2), initial=0.0)
    return found | {name for k, name in enumerate(model.speed_names) if spin[k] > 1e-12}


def _defaults(loop: Loop) -> FloatArray:
    """(1, n_y) the coordinates of a loop at their values in the file."""
    defaults = {c.name: c.default_value for c in loop.model.coordinates}
    return np.array([[defaults[name] for name in loop.inputs]])


def _size(loop: Loop, turns: set[str]) -> float:
    """A length that says how big a mechanism is: its longest lever at the default pose; one meter without any."""
    _, A = loop.evaluate(_defaults(loop))
    turning = [k for k, name in enumerate(loop.inputs) if name in turns]
    levers = [0.0]
    for equation, at in zip(loop.equations.equations, loop.equations.rows, strict=True):
        if isinstance(equation, BodyEquation) and turning:
            rows = A[0][at.stop - min(equation.count, 3) : at.stop][:, turning]
            levers.append(float(np.sqrt((rows * rows).sum(axis=0)).max()))
    longest = max(levers)
    return longest if longest > 1e-9 else 1.0


def _chosen(
    raw: Loop, n_given: int, named: list[str], pose: FloatArray, locked: list[str]
) -> tuple[Loop, FloatArray, tuple[str, ...]] | None:
    """The loop with its dependents chosen, a closed pose of its coordinates, and what has to be said of that."""
    model = raw.model
    fixed = list(range(n_given))
    free = list(range(n_given, len(raw.inputs)))
    held = [raw.inputs.index(name) for name in named]
    wanted = pose[raw.columns]
    y = assemble(raw, wanted, held, fixed)
    rank = usual_rank(raw, y, free)
    if rank == 0:
        left = np.max(np.abs(raw.evaluate(y[None])[0][0] / raw.row_scale), initial=0.0)
        assert left <= CLOSED
        return None
    # parts of a quaternion cannot depend on others: all else does before them
    whole = {model.coordinate_names[k] for joint in turning_joints(model) if len(joint.q) == 4 for k in joint.q}
    order = sorted(free, key=lambda k: (k not in held, raw.inputs[k] not in whole, k))
    candidates = [k for k in reversed(order) if k not in held]
    last = _firm(_scaled_matrix(raw, y), candidates, rank, _LEAST)
    if last is None:
        raise _refusal(raw, named, free, rank)
    first = [k for k in order if k not in last]
    turns = model.derived("coordinates that turn", lambda: _turning(model))
    y, kept = keep_values(raw, wanted, y, order, first, len(free) - rank, turns)
    rank = usual_rank(raw, y, free)
    dependents = _firm(_scaled_matrix(raw, y), candidates, rank, *_FIRM)
    if dependents is None:
        raise _refusal(raw, named, free, rank)
    lost = [k for k in first if k not in kept]
    # what is driven altogether moves, and its values in the file are but those to begin with
    notes = _notes(raw, wanted, y, lost, free, rank, locked) if len(free) > rank or not n_given else ()
    names = [raw.inputs[k] for k in dependents]
    for joint in turning_joints(model):
        if len(joint.q) == 4 and {model.coordinate_names[k] for k in joint.q}.intersection(names):
            raise InvalidModel(
                f"the {raw.title} makes joint {joint.joint!r} depend on others, and that has quaternion coordinates; "
                "use its angles instead"
            )
    order = [k for k in range(len(raw.inputs)) if k not in dependents] + dependents
    n = len(order) - rank
    loop = Loop(
        model,
        raw.equations,
        tuple(raw.inputs[k] for k in order[:n]),
        tuple(raw.inputs[k] for k in order[n:]),
        raw.followers,
        raw.constants,
        raw.scale[order],
        raw.row_scale,
        raw.equations.count - rank,
    )
    return loop, y[order], notes


def _scaled_matrix(raw: Loop, y: FloatArray) -> FloatArray:
    return np.asarray(raw.evaluate(y[None])[1][0] * raw.scale / raw.row_scale[:, None])


def _refusal(raw: Loop, named: list[str], free: list[int], rank: int) -> InvalidInput | InvalidModel:
    """Why no dependents can be chosen."""
    names = ", ".join(raw.inputs[k] for k in free)
    if named:
        return InvalidInput(
            f"{', '.join(map(repr, named))} cannot all be independent: the {raw.title} leaves {len(free) - rank} of "
            f"{len(free)} coordinates ({names}) free at the pose it starts from; name fewer, or others"
        )
    return InvalidModel(
        f"the {raw.title} is neither free nor rigid: some of its equations all but repeat others at the pose it starts "
        f"from, and differ by less than {_LEAST:g} of the mechanism's size ({names}); make lengths and places that "
        "should agree the same, or further apart"
    )


def _notes(
    raw: Loop, wanted: FloatArray, y: FloatArray, lost: list[int], free: list[int], rank: int, locked: list[str]
) -> tuple[str, ...]:
    """What somebody who wrote the file has to know: values that could not stay, and loops without freedom."""
    moved = [k for k in free if abs(y[k] - wanted[k]) > _MOVED * raw.scale[k]]
    if len(free) == rank:
        if not moved:
            return ()
        values = ", ".join(f"{raw.inputs[k]} = {y[k]:.6g} ({wanted[k]:.6g} in the file)" for k in moved)
        if locked:
            return (
                f"the {raw.title} leaves none of its {len(free)} coordinates free with {', '.join(map(repr, locked))} "
                f"locked: it stands still with {values}; where it should stand elsewhere, change default values with "
                "model.with_coordinate(name, default_value=...), or lock another coordinate",
            )
        return (
            f"the {raw.title} leaves none of its {len(free)} coordinates free: it stands still with {values}; where it "
            "should move, its lengths and places do not agree well enough",
        )
    values = ", ".join(
        f"{raw.inputs[k]!r} is {wanted[k]:.6g} in the file and {y[k]:.6g} there" for k in moved if k in lost
    )
    if not values:
        return ()
    return (
        f"the {raw.title} was not closed with the values of its first coordinates, at the pose it starts from: "
        f"{values}; change default values with model.with_coordinate(name, default_value=...), or give a pose (branch= "
        "of embedding_of, q0= of simulate)",
    )


def _firm(A: FloatArray, candidates: list[int], rank: int, *thresholds: float) -> list[int] | None:
    """`rank` columns of A that span its range, in the order of the candidates as far as each stands out by itself."""
    longest = np.sqrt((A * A).sum(axis=0)).max()
    for threshold in thresholds:
        chosen: list[int] = []
        basis = np.zeros((len(A), 0))
        for k in candidates:
            rest = A[:, k] - basis @ (basis.T @ A[:, k])
            rest -= basis @ (basis.T @ rest)
            length = np.linalg.norm(rest)
            if length >= threshold * longest:
                chosen.append(k)
                basis = np.column_stack([basis, rest / length])
                if len(chosen) == rank:
                    return sorted(chosen)
    return None


# A pose whose coordinates moved by no more is taken at once; others are compared [rad, units of the mechanism's size].
_NEAR = 1.0
# Else so many starts around the file's pose, each time in a wider box, seeded: a model always gives the same pose.
_STARTS, _SPREADS = 16, (0.7, 1.6, np.pi)


def keep_values(
    loop: Loop, wanted: FloatArray, closed: FloatArray, order: list[int], likely: list[int], count: int, turns: set[str]
) -> tuple[FloatArray, list[int]]:
    """A closed pose (n_y,) with up to `count` coordinates at their wanted values, and which these are.

    They are taken in the given order, each if the loop can be closed with it and those before; the rest moves as
    little as it can.

    Args:
        loop: with all its coordinates as inputs.
        wanted: (n_y,) the values in the file.
        closed: (n_y,) any closed pose.
        order: columns of y that may move, in the order in which they shall stay.
        likely: `count` of them that will do in most cases; tried first, all at once.
        count: how many coordinates the loop leaves free.
        turns: coordinates that are angles.
    """
    angles = np.array([name in turns for name in loop.inputs])
    if gaps(loop, wanted[None])[0] <= CLOSED:
        return wanted.copy(), likely
    if not count:
        return closed, []
    found = _closed_with(loop, wanted, closed, [k for k in order if k not in likely], angles)
    if found is not None:
        return found, likely
    kept: list[int] = []
    for k in order:
        found = _closed_with(loop, wanted, closed, [j for j in order if j not in kept and j != k], angles)
        if found is not None:
            closed = found
            kept.append(k)
            if len(kept) == count:
                break
    return closed, kept


def _closed_with(
    loop: Loop, wanted: FloatArray, closed: FloatArray, moving: list[int], angles: np.ndarray
) -> FloatArray | None:
    """The closed pose that moves the least where only some coordinates may move; None if none is found."""
    near = wanted.copy()
    near[moving] = closed[moving]
    found = _reached(loop, wanted, np.stack([wanted, near]), moving, angles)
    rng = np.random.default_rng(0)
    for spread in _SPREADS:
        if found is not None and _moved(loop, found, wanted) <= max(_NEAR, spread):
            break
        starts = np.tile(wanted, (_STARTS, 1))
        starts[:, moving] += spread * rng.uniform(-1.0, 1.0, (_STARTS, len(moving))) * loop.scale[moving]
        others = _reached(loop, wanted, starts, moving, angles)
        if found is None or (others is not None and _moved(loop, others, wanted) < _moved(loop, found, wanted)):
            found = others
    return found


def _moved(loop: Loop, y: FloatArray, wanted: FloatArray) -> float:
    return float(np.max(np.abs(y - wanted) / loop.scale))


def _reached(
    loop: Loop, wanted: FloatArray, starts: FloatArray, moving: list[int], angles: np.ndarray
) -> FloatArray | None:
    """Of the closed poses that starts (frames, n_y) lead to, the one that moves the least; None if none closes."""
    Y, gap = descended(loop, starts, moving)
    Y = Y[gap <= CLOSE]
    unwound = Y.copy()
    turned = [k for k in moving if angles[k]]
    unwound[:, turned] -= 2.0 * np.pi * np.round((Y - wanted)[:, turned] / (2.0 * np.pi))
    # a coordinate may turn and also shift something: then a whole turn is not nothing
    same = gaps(loop, unwound)[:, None] <= CLOSE if len(Y) else np.zeros((0, 1), dtype=bool)
    poses = np.where(same, unwound, Y)
    for y in sorted(poses, key=lambda y: _moved(loop, y, wanted)):
        pose, left = closed_from(loop, y, moving)
        if left <= CLOSED:
            return pose
    return None
