"""The delta of one solution of a basic graph pattern, as one generated function.

Most commits have one solution, and most plans are a line: the rows of a pattern pass through filters, BIND,
projections, DISTINCT and GROUP BY. So one function leads from the solution of the pattern to the delivered
terms, where operators would pass multisets of one row to each other. The state stays in the operators, which
handle all other commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.leaf import Leaf
from rdflive.engine.multiset import Row
from rdflive.engine.source import FunctionSource
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.plan import Plan

__all__ = ["ALONE", "Straight", "line_of", "make_straight", "row_of", "write_step"]

ALONE: Final = (algebra.Filter, algebra.Extend, algebra.Project)
"""Nodes that make at most one row from each row, independent of the others."""
_COUNTED: Final = (algebra.Distinct, algebra.Group)
"""Nodes that may be in a line too, and count rows."""


def line_of(plan: Plan) -> tuple[int, ...]:
    """List the steps from the only basic graph pattern to the answer; return () for plans that are no line.

    Constant rows (`Values`), such as the start of an empty group or the terms that a filter allows, may be
    outside the line, because they never change.
    """
    steps, line = plan.steps, [len(plan.steps) - 1]
    while steps[line[-1]].inputs:
        line.append(steps[line[-1]].inputs[0])
    line.reverse()
    beside = set(range(len(steps))).difference(line)
    is_line = all(isinstance(steps[number].node, (*ALONE, *_COUNTED)) for number in line[1:])
    fits = is_line and all(isinstance(steps[number].node, algebra.Values) for number in beside)
    return tuple(line) if fits and steps[line[0]].basic is not None else ()


def row_of(names: Sequence[str]) -> str:
    """Return the source of a tuple of names."""
    return "(" + "".join(f"{name}, " for name in names) + ")"


def write_step(
    source: FunctionSource,
    plan: Plan,
    pair: tuple[int, int],
    names: Sequence[str],
    function: Callable[[Any], Any],
    fail: str,
) -> Sequence[str]:
    """Write the second of two steps, one of `ALONE`, for a row of the first whose values have these names.

    `function` returns the test or the value function of a step. Returns the names of the values of the new
    row: `0` is unbound, and the name of a computed value starts with c.
    """
    below, number = pair
    node, columns = plan.steps[number].node, plan.steps[below].columns
    if isinstance(node, algebra.Filter):
        source.line(f"if not {source.name(function(number))}({row_of(names)}): {fail}")
    elif isinstance(node, algebra.Extend):
        source.line(f"c{number} = {source.name(function(number))}({row_of(names)})")
        return (*names, f"c{number}")
    elif isinstance(node, algebra.Project):
        sources = map(node.source, plan.steps[number].columns)
        return ["0" if of is None or of not in columns else names[columns.index(of)] for of in sources]
    return names


Straight: TypeAlias = Callable[[Row, int], dict[Row, dict[Terms, int]]]
"""Takes a solution and 1 (added) or -1 (removed), and returns the deltas by parameters."""


def make_straight(
    plan: Plan, leaf: Leaf, operators: Sequence[Any], dictionary: Dictionary, preset: Sequence[Term]
) -> Straight:
    """Generate the function of a plan that is a line; the state stays in its operators."""
    source, line, fail = FunctionSource("def straight(row, weight):"), line_of(plan), "return {}"
    names: Sequence[str] = _unpack(source, plan, line[0])
    if leaf.answers:
        source.line(f"weight = {source.name(leaf.answers[0].one)}(row, weight)")
        source.line(f"if not weight: {fail}")
    source.line("found = {}")
    for below, number in pairwise(line):
        node, operator = plan.steps[number].node, operators[number]
        if isinstance(node, algebra.Group):
            source.line(f"came, went = {source.name(operator.one)}({row_of(names)}, weight)")
            source.enter("for row, weight in ((came, 1), (went, -1)):")
            fail = "continue"
            source.line(f"if row is None: {fail}")
            names = _unpack(source, plan, number)
        elif isinstance(node, algebra.Distinct):
            source.line(f"weight = {source.name(operator.one)}({row_of(names)}, weight)")
            source.line(f"if not weight: {fail}")
        else:
            names = write_step(
                source, plan, (below, number), names, lambda number: operators[number].function, fail
            )
    terms = source.name(dictionary.terms)
    shown = [
        source.name(fixed) if at is None else f"{terms}[{names[at]}]"
        for at, fixed in zip(plan.places, preset, strict=True)
    ]
    asked, solution = row_of([names[at] for at in plan.member]), row_of(shown)
    if fail == "continue":
        source.line(f"{source.name(_add)}(found, {asked}, {solution}, weight)")
        source.leave()
    else:
        source.line(f"found[{asked}] = {{{solution}: weight}}")
    source.line("return found")
    return source.function()


def _unpack(source: FunctionSource, plan: Plan, number: int) -> list[str]:
    """Write the line that names the values of a row; return the names."""
    names = [f"v{number}_{place}" for place in range(len(plan.steps[number].columns))]
    source.line(f"{row_of(names)} = row")
    return names


def _add(found: dict[Row, dict[Terms, int]], asked: Row, solution: Terms, weight: int) -> None:
    """Add a solution to the delta of some parameters; remove weights of zero."""
    delta = found.setdefault(asked, {})
    total = delta.get(solution, 0) + weight
    if total:
        delta[solution] = total
        return
    del delta[solution]
    if not delta:
        del found[asked]
