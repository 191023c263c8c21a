"""The kernel against recomputation: every algorithm, after every update."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rdflive.engine.kernel import Kernel, SegmentState
from rdflive.engine.pattern import PatternState
from rdflive.errors import PlanError
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import ALGORITHMS, make_segment
from support.bgp import PATTERN_LISTS, TRIPLES, UPDATES, drain, evaluate, plan, toggles
from support.effort import examples

X, Y, Z = map(Variable, "xyz")
Patterns = list[TriplePattern]


def no_snapshot(key: object) -> tuple[()]:
    return ()


def leftovers(kernel: Kernel) -> list[Any]:
    """Everything that a kernel still caches."""
    paths = [found for pattern in kernel.patterns.values() for found in pattern.paths.values()]
    return [container for container in [*paths, *(star.mask for star in kernel.stars.values())] if container]


def check(patterns: Patterns, algorithm: Any, updates: list[tuple[int, int, int]]) -> int:
    """Maintain a pattern as one segment; returns how many updates changed the answer."""
    variables = BGP(patterns).variables
    kernel = Kernel()
    state = kernel.add(make_segment(tuple(patterns), variables, algorithm), no_snapshot)
    present: set[tuple[int, int, int]] = set()
    answer: Counter[tuple[object, ...]] = Counter()
    changed = 0
    for _ in toggles(kernel, updates, present):
        delta = drain(state)
        changed += bool(delta)
        answer.update(delta)
        answer = +answer
        assert answer == evaluate(patterns, present, variables)
    for _ in toggles(kernel, sorted(present), present):
        answer.update(drain(state))
    assert not +answer or not any(answer.values())
    assert leftovers(kernel) == []
    return changed


@settings(max_examples=examples(400))
@given(PATTERN_LISTS, UPDATES)
def test_join_equals_recomputation(patterns: Patterns, updates: list[Any]) -> None:
    """The plain delta join maintains any pattern, products and predicate variables included."""
    check(patterns, "join", updates)


@settings(max_examples=examples(400))
@given(PATTERN_LISTS, UPDATES)
def test_connected_equals_recomputation(patterns: Patterns, updates: list[Any]) -> None:
    """Connected stars maintain each segment of any pattern."""
    for segment in plan(patterns).segments:
        if segment.variables:
            check(list(segment.patterns), "connected", updates)


@given(st.lists(TRIPLES, min_size=1, max_size=4, unique=True), UPDATES)
def test_ground_equals_recomputation(triples: list[Any], updates: list[Any]) -> None:
    """A ground pattern answers exactly while all its triples are there."""
    check([TriplePattern(*triple) for triple in triples], "ground", updates + triples)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.filter_too_much])
@given(PATTERN_LISTS, UPDATES)
def test_star_equals_recomputation(patterns: Patterns, updates: list[Any]) -> None:
    """A simple star answers exactly the centres whose patterns all match, loops included."""
    star = [TriplePattern(*(X if isinstance(t, Variable) else t for t in p)) for p in patterns if p.variables]
    if star:
        event(f"{len(star)} patterns")
        check(star, "star", updates)


@settings(max_examples=examples(150))
@given(PATTERN_LISTS, PATTERN_LISTS, UPDATES, UPDATES)
def test_segments_share_and_free(
    first: Patterns, second: Patterns, before: list[Any], after: list[Any]
) -> None:
    """A segment added and removed while another lives is exact, and leaves that one exact."""
    kernel = Kernel()
    present: set[tuple[int, int, int]] = set()

    def snapshot(pattern: PatternState) -> list[tuple[int, int, int]]:
        slots = [TriplePattern(*(Variable(str(t)) if t < 0 else t for t in pattern.key))]
        return [t for t in present if evaluate(slots, [t], ())]

    def add(patterns: Patterns, algorithm: Any) -> tuple[SegmentState, Counter[Any]]:
        segment = make_segment(tuple(patterns), BGP(patterns).variables, algorithm)
        state = kernel.add(segment, snapshot)
        return state, Counter(kernel.solutions(state, snapshot))

    one, answer = add(first, "join")
    for _ in toggles(kernel, before, present):
        answer.update(drain(one))
    two, other = add(second, "join")
    assert other == evaluate(second, present, BGP(second).variables)
    for _ in toggles(kernel, after, present):
        answer.update(drain(one))
        other.update(drain(two))
    assert +answer == evaluate(first, present, BGP(first).variables)
    assert +other == evaluate(second, present, BGP(second).variables)
    kernel.remove(one)
    for _ in toggles(kernel, before, present):
        other.update(drain(two))
    assert +other == evaluate(second, present, BGP(second).variables)
    kernel.remove(two)
    assert (kernel.patterns, kernel.stars, dict(kernel.router.nodes)) == ({}, {}, {})


def test_equal_patterns_and_stars_exist_once() -> None:
    """Two segments with equal patterns share their paths and masks, under other variable names."""
    kernel = Kernel()
    for a, b in ((X, Y), (Y, Z)):
        patterns = (TriplePattern(a, 1, b), TriplePattern(a, 2, 9))
        kernel.add(make_segment(patterns, (a, b), "connected"), no_snapshot)
    assert len(kernel.patterns) == 2
    assert len(kernel.stars) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_unfit_algorithm_names_what_fits(algorithm: Any) -> None:
    """Forcing an algorithm on a class it does not fit says which ones do."""
    patterns = [TriplePattern(X, 1, Y), TriplePattern(Z, 2, 3), TriplePattern(1, 1, 1)]
    if algorithm in ("auto", "product", "join"):
        assert plan(patterns, algorithm).pattern_class == "general"
        return
    with pytest.raises(PlanError, match="possible here: product, join"):
        plan(patterns, algorithm)
