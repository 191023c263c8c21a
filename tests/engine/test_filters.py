"""Filters inside the kernel, and quads: against trying every triple."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive.engine.kernel import Kernel, QuadKernel
from rdflive.engine.pattern import RowTest
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import Segment, make_segment
from support.bgp import PATTERN_LISTS, TRIPLES, drain, evaluate, snapshot_of, toggles
from support.effort import examples

G = Variable("g")
ENDS = st.sampled_from([*map(Variable, "xyzw"), 1])
LINKED = st.lists(
    st.builds(TriplePattern, ENDS, st.sampled_from([11, 12]), ENDS), min_size=2, max_size=4, unique=True
)
DENSE = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from([11, 12]), st.integers(1, 3)), min_size=10, max_size=30
)


def odd(row: tuple[int, ...]) -> bool:
    return sum(row) % 2 == 1


class Odd:
    """A condition: the sum of some variables is odd."""

    def __init__(self, *names: str) -> None:
        self.variables = names
        self.text = f"odd({', '.join(names)})"


def bound(segment: Segment) -> Segment:
    """Put tests in the place of conditions, as the engine does."""

    def test(condition: Any, variables: tuple[Variable, ...]) -> RowTest:
        slots = tuple(i for i, v in enumerate(variables) if v.name in condition.variables)
        return RowTest(condition.text, slots, odd)

    filters = tuple(
        tuple(test(c, p.variables) for c in conditions)
        for p, conditions in zip(segment.patterns, segment.filters, strict=True)
    )
    return replace(
        segment,
        filters=filters,
        conditions=tuple(test(c, segment.variables) for c in segment.conditions),
    )


@settings(max_examples=examples(300))
@given(LINKED, DENSE, st.data())
def test_filtered_walks_equal_recomputation(
    patterns: list[TriplePattern], updates: list[Any], data: st.DataObject
) -> None:
    """Pushed and complex filters leave exactly the solutions that meet them, also from a cold start."""
    variables = BGP(patterns).variables
    names = [v.name for v in variables]
    if not names:
        return
    chosen = data.draw(
        st.lists(
            st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True), min_size=1, max_size=3
        )
    )
    conditions: Any = [Odd(*(n for n in names if n in group)) for group in chosen]
    segment = bound(make_segment(tuple(patterns), variables, "join", conditions))
    kernel = Kernel()
    present: set[tuple[int, int, int]] = set()
    snapshot = snapshot_of(present)

    def expected() -> Counter[Any]:
        every = evaluate(patterns, present, variables)
        places = [[names.index(n) for n in c.variables] for c in conditions]
        return Counter(
            {row: w for row, w in every.items() if all(sum(row[i] for i in place) % 2 for place in places)}
        )

    state = kernel.add(segment, snapshot)
    answer: Counter[Any] = Counter()
    for _ in toggles(kernel, updates, present):
        answer.update(drain(state))
        answer = +answer
        assert answer == expected()
    twin = Kernel()
    assert Counter(twin.solutions(twin.add(segment, snapshot), snapshot)) == expected()
    for _ in toggles(kernel, sorted(present), present):
        drain(state)
    assert not any(state.containers())


def test_an_atomic_filter_runs_before_anything_is_cached() -> None:
    """A triple that fails the filter of its pattern leaves no trace; equal filters share the pattern."""
    x, y = Variable("x"), Variable("y")
    patterns = (TriplePattern(x, 1, y), TriplePattern(x, 2, 9))
    kernel = Kernel()
    state = kernel.add(bound(make_segment(patterns, (x, y), None, [Odd("y")])), lambda p: ())  # type: ignore[list-item]
    kernel.add(bound(make_segment(patterns, (x, y), None, [Odd("y")])), lambda p: ())  # type: ignore[list-item]
    kernel.add(make_segment(patterns, (x, y)), lambda p: ())
    assert len(kernel.patterns) == 3
    assert len(kernel.apply(1, 5, 1, 4)) == 1
    assert not any(state.containers())
    assert len(kernel.apply(1, 5, 1, 3)) == 2
    assert any(state.containers())


def test_equal_filters_of_different_variables_differ() -> None:
    """Two patterns that differ in the end that their filter reads are not one."""
    x, y = Variable("x"), Variable("y")
    kernel = Kernel()
    states = [
        kernel.add(bound(make_segment((TriplePattern(*ends),), (x, y), None, [Odd("x")])), lambda p: ())  # type: ignore[list-item]
        for ends in ((x, 1, y), (y, 1, x))
    ]
    kernel.apply(1, 3, 1, 4)
    assert [drain(state) for state in states] == [Counter({(3, 4): 1}), Counter()]
    kernel.apply(1, 4, 1, 5)
    assert [drain(state) for state in states] == [Counter(), Counter({(5, 4): 1})]


class Lacking:
    """A condition that lacks memory for one row, once."""

    variables = ("x", "y")
    text = "lacking"

    def __init__(self) -> None:
        self.left = 1

    def passes(self, row: tuple[int, ...]) -> bool:
        if self.left:
            self.left = 0
            raise MemoryError
        return True


@pytest.mark.parametrize("predicate", [2, 1], ids=["one walk", "two walks"])
@pytest.mark.parametrize("make", [Kernel, QuadKernel], ids=["triples", "quads"])
def test_an_insert_whose_condition_raises_leaves_nothing(make: Callable[[], Kernel], predicate: int) -> None:
    """What is cached is as it was before, so that the same insert can be taken again."""
    kernel = make()
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    graph = G if isinstance(kernel, QuadKernel) else None
    patterns = tuple(TriplePattern(*ends, graph) for ends in ((x, 1, z), (z, predicate, y)))
    lacking = Lacking()
    segment = make_segment(patterns, (x, y), "join", [Odd("x", "y")])  # type: ignore[list-item]
    test = RowTest("lacking", (segment.variables.index(x), segment.variables.index(y)), lacking.passes)
    state = kernel.add(replace(segment, conditions=(test,)), lambda p: ())
    first, second = ((*triple, 21)[: len(tuple(patterns[0]))] for triple in ((5, 1, 6), (6, predicate, 8)))
    kernel.apply(1, *first)
    before = repr(state.containers())
    with pytest.raises(MemoryError):
        kernel.apply(1, *second)
    assert (repr(state.containers()), drain(state)) == (before, Counter())
    kernel.apply(1, *second)
    assert drain(state) == Counter({(5, 8): 1})
    for quad in (first, second):
        kernel.apply(-1, *quad)
    assert not any(state.containers())


@settings(max_examples=examples(200))
@given(
    st.lists(st.tuples(TRIPLES, st.integers(21, 23)).map(lambda q: (*q[0], q[1])), max_size=40), PATTERN_LISTS
)
def test_quads_equal_recomputation_per_graph(updates: list[Any], patterns: list[TriplePattern]) -> None:
    """Quad patterns that share the graph join within each graph only, grounds and products included."""
    quads = tuple(replace(pattern, graph=G) for pattern in patterns)
    variables = BGP(quads).variables
    kernel = QuadKernel()
    state = kernel.add(make_segment(quads, variables), lambda pattern: ())
    present: set[tuple[int, int, int, int]] = set()
    answer: Counter[Any] = Counter()
    for update in [*updates, *sorted(set(updates))]:
        sign = -1 if update in present else 1
        kernel.apply(sign, *update)
        (present.discard if sign < 0 else present.add)(update)
        answer.update(drain(state))
        answer = +answer
        want: Counter[Any] = Counter()
        plain = [v for v in variables if v != G]
        for graph in {quad[3] for quad in present}:
            rows = evaluate(patterns, [quad[:3] for quad in present if quad[3] == graph], plain)
            for row, weight in rows.items():
                values = dict(zip(plain, row, strict=True)) | {G: graph}
                want[tuple(values[v] for v in variables)] += weight
        assert answer == want
    for quad in sorted(present):
        kernel.apply(-1, *quad)
    assert not any(state.containers())
