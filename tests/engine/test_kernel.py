"""The kernel against recomputation: every algorithm, after every update."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rdflive.engine.connected import intersect
from rdflive.engine.kernel import Kernel, SegmentState
from rdflive.errors import PlanError
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import ALGORITHMS, Segment, make_segment
from support.bgp import PATTERN_LISTS, TRIPLES, UPDATES, drain, evaluate, plan, snapshot_of, toggles
from support.effort import examples

X, Y, Z, V, W = map(Variable, "xyzvw")
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
    snapshot = snapshot_of(present)

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


CORNERS: dict[str, tuple[list[Any], list[tuple[int, int, int]]]] = {
    "two edges between the same ends": (
        [(X, 11, Y), (X, 12, Y)],
        [(1, 11, 2), (3, 11, 2), (1, 12, 2), (3, 11, 2), (1, 12, 2), (1, 12, 2)],
    ),
    "the constant of one is the variable of another": (
        [(X, 11, 1), (X, 11, Y)],
        [(2, 11, 1), (2, 11, 3), (2, 11, 1), (2, 11, 1), (2, 11, 3)],
    ),
    "one triple for all patterns": (
        [(X, V, Y), (X, 11, Y), (X, 11, Z)],
        [(1, 11, 2), (1, 11, 3), (1, 12, 3), (1, 11, 2), (1, 11, 2)],
    ),
    "a loop among edges": ([(X, 11, X), (X, 11, Y)], [(1, 11, 2), (1, 11, 1), (2, 11, 2), (1, 11, 1)]),
    "one neighbour beside many": (
        [(Z, 13, X), (X, 11, Y), (X, 12, Y)],
        [(1, 11, 2), (1, 12, 3), (1, 12, 4), (5, 13, 1), (1, 12, 2), (1, 11, 3), (1, 11, 2), (5, 13, 1)],
    ),
    "many neighbours beside one": (
        [(Z, 13, X), (X, 12, Y), (X, 11, Y)],
        [(1, 11, 2), (1, 12, 3), (1, 12, 4), (5, 13, 1), (1, 12, 2), (1, 11, 3), (1, 11, 2), (5, 13, 1)],
    ),
    "one neighbour beside two kinds of many": (
        [(Z, 13, X), (X, 11, Y), (X, 12, Y), (X, 14, Y)],
        [(1, 11, 2), *((1, p, y) for p, y in ((12, 2), (12, 3), (14, 3), (14, 4))), (5, 13, 1), (1, 14, 2)],
    ),
    "two kinds of one neighbour beside many": (
        [(Z, 13, X), (X, 11, Y), (X, 12, Y), (X, 14, Y)],
        [(1, 11, 2), (1, 12, 3), (1, 14, 2), (1, 14, 3), (5, 13, 1), (1, 12, 2), (1, 11, 3), (1, 12, 3)],
    ),
    "a star with a tail": (
        [(X, 11, Y), (X, 12, Z), (X, 14, W), (Y, 13, V)],
        [(1, 11, 2), (1, 12, 3), (1, 14, 4), (2, 13, 5), (2, 13, 6), (1, 12, 4), (1, 12, 3), (2, 13, 5)],
    ),
    "a star of many values": ([(X, 11, 9), (X, 12, 9)], [(1, 11, 9), (2, 12, 9), (2, 11, 9), (2, 12, 9)]),
}


@pytest.mark.parametrize("algorithm", [None, "connected", "join"])
@pytest.mark.parametrize(("terms", "updates"), CORNERS.values(), ids=CORNERS)
def test_corners_equal_recomputation(
    terms: list[Any], updates: list[tuple[int, int, int]], algorithm: Any
) -> None:
    """What updates add up to, what is listed, and what a kernel lists that begins late are the answer."""
    patterns = [TriplePattern(*each) for each in terms]
    variables = BGP(patterns).variables
    segment = make_segment(tuple(patterns), variables, algorithm)
    kernel, present = Kernel(), set[tuple[int, int, int]]()
    snapshot = snapshot_of(present)
    state = kernel.add(segment, snapshot)
    answer: Counter[Any] = Counter()
    most = 0
    for _ in toggles(kernel, [*updates, *reversed(updates)], present):
        answer.update(drain(state))
        expected = evaluate(patterns, present, variables)
        assert +answer == expected == Counter(kernel.solutions(state, snapshot))
        late = Kernel()
        begun = late.add(segment, snapshot)
        assert Counter(late.solutions(begun, snapshot)) == expected
        for _ in toggles(late, sorted(present), set(present)):
            expected.update(drain(begun))
        assert not +expected
        assert leftovers(late) == []
        most = max(most, answer.total())
    assert most
    check(patterns, algorithm, updates)


def star(*triples: Any) -> Segment:
    """A segment with one variable."""
    return make_segment(tuple(TriplePattern(*triple) for triple in triples), (X,), "star")


def test_a_segment_that_went_is_not_told() -> None:
    """It gets no solutions of the patterns that it shared, and its star follows them no more."""
    kernel = Kernel()
    one, two = (kernel.add(star((X, 11, 9), (X, other, 9)), no_snapshot) for other in (12, 13))
    kernel.remove(one)
    for predicate in (11, 12, 13):
        kernel.apply(1, 1, predicate, 9)
    assert (one.added, two.added, list(kernel.dirty)) == ([], [(1,)], [two])
    assert [len(entries) for pattern in two.patterns for entries in pattern.masks.values()] == [1, 1]


def test_a_lone_neighbour_is_in_all_that_is_intersected() -> None:
    """It stands bare beside sets, and is common to them only if each of them has it."""
    assert tuple(intersect([5, {5, 6}, {5, 7}])) == (5,)
    assert tuple(intersect([5, {5, 6}, {6, 7}])) == ()
    assert tuple(intersect([5, 6, {5, 6}])) == ()


def test_segments_of_one_pattern_come_and_go_between_updates() -> None:
    """An update that one segment alone was told of is told to the next one too, and then to neither."""
    kernel = Kernel()
    patterns = (TriplePattern(X, 11, Y),)
    segments = [make_segment(patterns, variables, None) for variables in ((X, Y), (Y,))]
    one = kernel.add(segments[0], no_snapshot)
    kernel.apply(1, 1, 11, 2)
    two = kernel.add(segments[1], no_snapshot)
    kernel.apply(1, 3, 11, 4)
    kernel.remove(one)
    kernel.apply(-1, 3, 11, 4)
    assert (one.added, one.removed) == ([(1, 2), (3, 4)], [])
    assert (two.added, two.removed) == ([(4,)], [(4,)])
    assert list(kernel.dirty) == [two]
    kernel.remove(two)
    assert kernel.apply(1, 5, 11, 6) == ()


def test_a_pattern_beside_a_star_is_followed_in_a_new_direction() -> None:
    """It is there with its matches, of which the path of the new segment knows none yet."""
    present = {(1, 11, 2), (2, 12, 3), (3, 13, 9)}
    kernel, snapshot = Kernel(), snapshot_of(present)
    kernel.add(make_segment((TriplePattern(X, 11, Y), TriplePattern(X, 14, Z)), (X, Y, Z), "join"), snapshot)
    patterns = (TriplePattern(X, 11, Y), TriplePattern(Y, 12, Z), TriplePattern(Z, 13, 9))
    state = kernel.add(make_segment(patterns, (X, Y, Z), "connected"), snapshot)
    assert kernel.stars
    kernel.apply(1, 2, 12, 4)
    kernel.apply(1, 4, 13, 9)
    assert drain(state) == {(1, 2, 4): 1}


def test_a_pattern_tells_its_matches_from_those_of_its_star() -> None:
    """A new sharer of a pattern receives no values of other patterns of the star."""
    kernel = Kernel()
    whole = kernel.add(star((X, 11, 9), (X, 12, 9)), no_snapshot)
    kernel.apply(1, 1, 12, 9)
    kernel.apply(1, 2, 11, 9)
    assert [list(pattern.matches() or ()) for pattern in whole.patterns] == [[(2,)], [(1,)]]
    part = kernel.add(star((X, 11, 9)), lambda pattern: [(2, 11, 9)])
    assert kernel.solutions(part, no_snapshot) == [(2,)]


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
    if algorithm in ("auto", "demand", "whole", "product", "join"):
        assert plan(patterns, algorithm).pattern_class == "general"
        return
    with pytest.raises(PlanError, match="possible here: product, join"):
        plan(patterns, algorithm)
