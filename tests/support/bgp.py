"""Random basic graph patterns over small integers, and a naive evaluation of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from rdflive.engine.kernel import Kernel, SegmentState
from rdflive.engine.pattern import PatternState
from rdflive.query.algebra import Basic
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import BasicPlan, plan_basic

Triple = tuple[int, int, int]

NODES = st.integers(1, 4)
PREDICATES = st.integers(11, 13)
TRIPLES = st.tuples(NODES, PREDICATES, NODES)
VARIABLES = st.sampled_from([Variable(name) for name in "xyzw"])


def _patterns(predicates: st.SearchStrategy[object]) -> st.SearchStrategy[TriplePattern]:
    ends = st.one_of(VARIABLES, VARIABLES, NODES)
    return st.builds(TriplePattern, ends, predicates, ends)


PATTERNS = st.one_of(*(_patterns(PREDICATES) for _ in range(3)), _patterns(st.one_of(VARIABLES, PREDICATES)))
PATTERN_LISTS = st.lists(PATTERNS, min_size=1, max_size=6, unique=True)
UPDATES = st.lists(TRIPLES, max_size=60)
"""Each update toggles its triple: an insert where it is absent, else a delete."""


def plan(patterns: Sequence[TriplePattern], algorithm: Any = "auto") -> BasicPlan:
    """Plan a basic graph pattern that projects every column."""
    basic = Basic(BGP(patterns).patterns)
    return plan_basic(basic, frozenset(basic.columns), algorithm)


def evaluate(
    patterns: Iterable[TriplePattern], triples: Iterable[Triple], projection: Sequence[Variable]
) -> Counter[tuple[object, ...]]:
    """Join the patterns by trying every triple for each pattern."""
    triples = list(triples)
    solutions: list[dict[Variable, int]] = [{}]
    for pattern in dict.fromkeys(patterns):
        solutions = [
            extended
            for solution in solutions
            for triple in triples
            if (extended := _match(pattern, triple, solution)) is not None
        ]
    return Counter(tuple(solution[v] for v in projection) for solution in solutions)


def _match(
    pattern: TriplePattern, triple: Triple, solution: dict[Variable, int]
) -> dict[Variable, int] | None:
    extended = dict(solution)
    for term, value in zip(pattern, triple, strict=True):
        if isinstance(term, Variable):
            if extended.setdefault(term, value) != value:
                return None
        elif term != value:
            return None
    return extended


def drain(state: SegmentState) -> Counter[tuple[int, ...]]:
    """Return a segment's changes since the last call as signed weights, and clear them."""
    weights: Counter[tuple[int, ...]] = Counter(state.added)
    weights.subtract(state.removed)
    state.added.clear()
    state.removed.clear()
    return Counter({row: weight for row, weight in weights.items() if weight})


def toggles(kernel: Kernel, updates: Iterable[Triple], present: set[Triple]) -> Iterable[int]:
    """Apply each update as an insert or a delete, and yield its number after it."""
    for number, triple in zip(count(), updates, strict=False):
        sign = -1 if triple in present else 1
        kernel.apply(sign, *triple)
        (present.discard if sign < 0 else present.add)(triple)
        yield number


def snapshot_of(present: set[Triple]) -> Callable[[PatternState], list[Triple]]:
    """Return the snapshot function of a kernel, which lists the present triples of a pattern."""

    def snapshot(pattern: PatternState) -> list[Triple]:
        slots = [TriplePattern(*(Variable(str(t)) if t < 0 else t for t in pattern.key))]
        found = [t for t in present if evaluate(slots, [t], ())]
        return [t for t in found if pattern.guard is None or pattern.guard(*t)]

    return snapshot
