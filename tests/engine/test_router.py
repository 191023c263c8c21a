"""The router against trying every pattern."""

from __future__ import annotations

from itertools import product

import pytest

from rdflive.engine.pattern import PatternState, RowTest, pattern_key
from rdflive.engine.router import EMPTY, Router

TERMS = (1, 2)
TRIPLES = tuple(product((1, 2, -1), repeat=3))
"""-1 is a term that no pattern knows."""


def every_pattern() -> list[PatternState]:
    """All patterns over two constants and different variables."""
    places = product((None, *TERMS), repeat=3)
    keys = [pattern_key([-1 - i if term is None else term for i, term in enumerate(key)]) for key in places]
    return [PatternState(key) for key in keys]


def matches(pattern: PatternState, triple: tuple[int, ...]) -> bool:
    return all(term < 0 or term == value for term, value in zip(pattern.key, triple, strict=True))


def known(term: int, otherwise: int) -> int:
    """Terms are their own ids."""
    return term if term in TERMS else otherwise


def test_a_triple_is_routed_to_the_patterns_that_it_matches() -> None:
    """Patterns of all shapes are found together, and those that are left when others go, one by one."""
    router, patterns = Router(), every_pattern()
    for pattern in patterns:
        router.add(pattern)
    while patterns:
        for triple in TRIPLES:
            assert {*router.route(*triple)} == {pattern for pattern in patterns if matches(pattern, triple)}
        router.remove(patterns.pop(len(patterns) // 2))
    assert (router.nodes, router.open) == ({}, EMPTY)


@pytest.mark.parametrize("pattern", every_pattern(), ids=lambda pattern: str(pattern.key))
def test_a_triple_of_terms_may_match_if_its_ids_do(pattern: PatternState) -> None:
    """Terms without an id equal no constant, and the router looks up each one at its own position."""
    router = Router()
    router.add(pattern)
    for triple in TRIPLES:
        assert router.may_match(known, triple) == bool(router.route(*triple)) == matches(pattern, triple)


def test_patterns_of_the_same_constants_have_filters_of_their_own() -> None:
    """A filter keeps triples from its pattern alone, before and after other patterns have gone."""
    router = Router()
    key = pattern_key([-1, 1, -2])
    plain = PatternState(key)
    small = PatternState(key, [RowTest("small", (1,), lambda row: row[0] < 2)])
    large = PatternState(key, [RowTest("large", (1,), lambda row: row[0] > 1)])
    for pattern in (plain, small, large):
        router.add(pattern)
    assert [router.route(1, 1, o) for o in (1, 2)] == [(plain, small), (plain, large)]
    router.remove(large)
    assert [router.route(1, 1, o) for o in (1, 2)] == [(plain, small), (plain,)]
    router.remove(plain)
    assert [router.route(1, 1, o) for o in (1, 2)] == [(small,), ()]
