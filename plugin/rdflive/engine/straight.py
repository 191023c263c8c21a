"""The delta of one solution of a basic graph pattern, as one generated function.

Most commits have one solution, and most plans are a line: the rows of a pattern pass through filters, BIND,
projections, DISTINCT and GROUP BY. So one function leads from the solution of the pattern to the delivered
terms, where operators would pass multisets of one row to each other. The state stays in the operators, which
handle all other commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.leaf import Leaf
from rdflive.engine.multiset import Row
from rdflive.engine.source import FunctionSource
from rdflive.engine.steps import line_of, row_of, write_step
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.plan import Plan

__all__ = ["Straight", "make_straight"]

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
