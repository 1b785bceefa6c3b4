"""The rules that a model states: couplers, locks and prescribed motions, sorted; and the equations that close loops."""

from __future__ import annotations

from collections.abc import Sequence

from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Prescribed, Rule
from musculo.embedding.loops.equations.loop_equations import Equation, equation_of
from musculo.errors import InvalidModel, UnknownName, Unsupported
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler


def _check_function(coupler: CoordinateCoupler) -> None:
    if coupler.function is None:
        raise InvalidModel(f"coupler {coupler.name!r} has no function; give it one, or switch it off (enforced=False)")
    wanted, given = coupler.function.n_arguments, len(coupler.independents)
    if wanted not in (0, given):
        raise InvalidModel(
            f"coupler {coupler.name!r} hands {given} coordinates ({', '.join(coupler.independents) or 'none'}) to a "
            f"function of {wanted}"
        )


def collect_rules(model: Model) -> tuple[list[Rule], list[Equation], list[str]]:
    """The rules of a model in file order, the equations that close loops, and constraints that are carried only."""
    rules: list[Rule] = []
    for coordinate in model.coordinates:
        if coordinate.locked:
            rules.append(
                Locked(coordinate.name, (), f"locked at {coordinate.default_value:.6g}", coordinate.default_value)
            )
        elif coordinate.prescribed and coordinate.prescribed_function is not None:
            rules.append(
                Prescribed(coordinate.name, (), "prescribed as a function of time", coordinate.prescribed_function)
            )
    unsolved: list[str] = []
    equations: list[Equation] = []
    for constraint in model.constraints:
        if not constraint.enforced:
            continue
        if not isinstance(constraint, CoordinateCoupler):
            equation = equation_of(model, constraint)
            if equation is None:
                unsolved.append(constraint.name)
            else:
                equations.append(equation)
            continue
        for name in (constraint.dependent, *constraint.independents):
            if name not in model.coordinate_names:
                raise UnknownName("coordinate", name, model.coordinate_names, f"coupler {constraint.name!r}")
        _check_function(constraint)
        reason = f"coupled to {', '.join(constraint.independents)} by {constraint.name!r}"
        rules.append(
            Coupled(constraint.dependent, constraint.independents, reason, constraint.function, constraint.scale)
        )
    return rules, equations, unsolved


def refuse_carried(unsolved: Sequence[str], more: str = "; switch it off (enforced=False)") -> None:
    """Refuse a model with constraints that are carried only; `more` is what the message says after that.

    Raises:
        Unsupported: naming the first of them.
    """
    if unsolved:
        raise Unsupported(f"constraint {unsolved[0]!r} is of a kind that is kept but not computed{more}")


def sort_rules(rules: list[Rule]) -> tuple[Rule, ...]:
    """Inputs before what depends on them; chains are followed, cycles and two rules for one coordinate refused."""
    by_name: dict[str, Rule] = {}
    for rule in rules:
        if rule.dependent in by_name:
            raise InvalidModel(
                f"coordinate {rule.dependent!r} is {by_name[rule.dependent].reason} and also {rule.reason}; "
                "switch one of them off"
            )
        by_name[rule.dependent] = rule
    done: dict[str, Rule] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name not in by_name:
            return
        if name in path:
            cycle = " -> ".join((*path[path.index(name) :], name))
            raise InvalidModel(f"coordinate couplers form a cycle: {cycle}; switch one of them off")
        for needed in by_name[name].inputs:
            visit(needed, (*path, name))
        done[name] = by_name[name]

    for rule in rules:
        visit(rule.dependent, ())
    return tuple(done.values())
