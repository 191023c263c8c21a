"""Segments of one pattern that keep nothing: their rows are made from the terms of a triple.

A filter tests the terms before any of them gets an id, and terms outside the projection get none. In a query
that has only such a pattern, filters, BIND and projection, no term gets an id, so a change costs little more
than the write. Example: for `?s :delay ?m FILTER(?m > 5) BIND(?m * 60 AS ?t)` the generated function tests
the object of a triple, computes ?t from it and returns (?s, ?m, ?t). Members of a family are found by the
values that their parameters are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from rdflive.engine.build import readable
from rdflive.engine.kernel import SegmentState
from rdflive.engine.leaf import Leaf
from rdflive.engine.ranges import place_of_id
from rdflive.engine.relation import comparisons_of
from rdflive.engine.source import FunctionSource
from rdflive.engine.straight import ALONE, line_of, row_of, write_step
from rdflive.engine.terms import TermTable
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan
from rdflive.query.segment import Segment

__all__ = ["News", "Tell", "is_lone", "make_tell", "takes_terms"]

News: TypeAlias = list[tuple[Any, tuple[int, ...], Terms, int]]
"""Solutions in terms: the query, the parameters of its members, the solution, and 1 (added) or -1 (removed).
"""
Tell: TypeAlias = Callable[[int, tuple[Term, ...], int], object]
"""Takes the sign of a triple, its terms, and the number of matches of the pattern to count."""

_PLACES = ("s", "p", "o")


def takes_terms(segment: Segment) -> bool:
    """Return True if the rows of a segment are found from the terms of a triple alone: the segment is one
    pattern without state.
    """
    if len(segment.patterns) != 1 or segment.rows:
        return False
    # a budget counts each test, and each matching member
    if segment.meter is not None and (segment.filters[0] or segment.conditions or segment.asked):
        return False
    (pattern,) = segment.patterns
    variables = [term for term in pattern if isinstance(term, Variable)]
    # a pattern of one variable keeps its values
    if segment.centres or pattern.graph is not None or len(variables) > len(pattern.variables):
        return False
    # otherwise triples are routed by parameters, or each concerns all members
    is_compared = any(variable in pattern.variables for _, _, variable in comparisons_of(segment))
    return not segment.asked or (is_compared and set(segment.asked).isdisjoint(pattern.variables))


def is_lone(plan: Plan, leaf: Leaf) -> bool:
    """Return True if nothing is kept and each triple makes at most one solution per member."""
    if len(leaf.plan.segments) != 1 or leaf.answers or not takes_terms(leaf.plan.segments[0]):
        return False
    line = line_of(plan)
    if leaf.plan.segments[0].meter is not None and len(line) > 1:
        return False  # each step is counted
    return len(line) == len(plan.steps) and all(isinstance(plan.steps[at].node, ALONE) for at in line[1:])


def make_tell(query: Any, leaf: Leaf, state: SegmentState, view: Any, terms: TermTable) -> Tell:
    """Generate the function that adds the row of a triple to a segment, or its solution to the news.

    Only terms that pass the filters and are projected get ids.
    """
    mixed = terms.mixed()
    # the segment as it was written: that of the state has ids
    segment = leaf.plan.segments[leaf.states.index(state)]
    source = FunctionSource("def tell(sign, change, hits):")
    source.line(f"{', '.join(_PLACES)} = change")
    pairs = zip(segment.patterns[0], _PLACES, strict=True)
    names = {term: place for term, place in pairs if isinstance(term, Variable)}
    for condition in segment.filters[0]:
        _write_test(source, condition, names, mixed, "return")
    source.line(f"{source.name(state.patterns[0])}.hits += hits")
    fail = "return"
    if segment.asked:
        asked = state.plan.asked
        assert asked is not None  # noqa: S101 - the segment is of a family
        found = asked.fitting(
            segment.asked, names, lambda need: source.name(need(asked)), lambda _: place_of_id(mixed)
        )
        assert found is not None  # noqa: S101 - see `takes_terms`
        given, values = found
        names |= {v: f"a{number}" for number, v in enumerate(given)}
        source.enter(f"for {row_of([names[v] for v in given])} in {values}:")
        fail = "continue"
    for condition in segment.conditions:
        _write_test(source, condition, names, mixed, fail)
    row = [names[v] for v in segment.projection]
    if query.is_lone:
        _write_news(source, query, row, mixed, view.state, fail)
    else:
        intern = source.name(view.state.dictionary.intern)
        numbers = row_of([f"{intern}({name})" if name in _PLACES else name for name in row])
        added, removed = source.name(state.added), source.name(state.removed)
        source.line(f"({added} if sign > 0 else {removed}).append({numbers})")
        source.line(f"{source.name(view.kernel.dirty)}[{source.name(state)}] = None")
        source.line(f"{source.name(view.state.touched)}[{source.name(view)}] = None")
    return source.function()


def _write_news(
    source: FunctionSource, query: Any, row: Sequence[str], mixed: TermTable, state: Any, fail: str
) -> None:
    """Write the steps above the pattern, and the line that adds the solution to the news."""
    plan: Plan = query.plan
    for pair in pairwise(line_of(plan)):
        row = write_step(source, plan, pair, row, partial(_function, plan, mixed), fail)
    shown = []
    for at, fixed in zip(plan.places, query.preset, strict=True):
        name = "" if at is None else row[at]
        if name in _PLACES:
            shown.append(name)
        elif name[:1] == "c":
            shown.append(f"None if type({name}) is int else {name}")
        elif name[:1] == "a":  # the id of a member's parameter
            shown.append(f"{source.name(state.dictionary.terms)}[{name}]")
        else:
            shown.append(source.name(fixed) if at is None else "None")
    entry = f"{source.name(query)}, {row_of([row[at] for at in plan.member])}, {row_of(shown)}, sign"
    source.line(f"{source.name(state.news.append)}(({entry}))")


def _write_test(
    source: FunctionSource, condition: Any, names: Mapping[Variable, str], mixed: TermTable, fail: str
) -> None:
    """Write the line that skips rows, of columns with these names, for which a condition does not hold."""
    test = condition.condition(readable(tuple(names)), mixed)
    source.line(f"if not {source.name(test)}({row_of(tuple(names.values()))}): {fail}")


def _function(plan: Plan, mixed: TermTable, number: int) -> Callable[[Any], Any]:
    """Compile the test or the value of a step for rows that hold terms."""
    step = plan.steps[number]
    places, node = readable(plan.steps[step.inputs[0]].columns), step.node
    found: Callable[[Any], Any]
    if isinstance(node, algebra.Filter):
        found = node.condition.condition(places, mixed)
    else:
        assert isinstance(node, algebra.Extend)  # noqa: S101 - no other has a function
        found = node.expression.value(places, mixed)
    return found
