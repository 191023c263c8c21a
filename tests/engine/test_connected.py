"""Walks of connected stars: what several access paths offer for one variable."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.test_kernel import V, X, Y, Z, check
from rdflive.engine.connected import intersect
from rdflive.query.bgp import TriplePattern
from support.effort import examples

EVERY = [(a, 11, b) for a in range(1, 6) for b in range(a + 1, 6)]


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(EVERY), max_size=30))
def test_a_variable_may_be_offered_by_three_patterns(edges: list[Any]) -> None:
    """Four nodes that are all linked: the last of them is what three walks have in common."""
    nodes = [X, Y, Z, V]
    clique = [TriplePattern(a, 11, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]]
    assert check(clique, "connected", [*EVERY, *edges]) > 0


OFFERED = st.one_of(
    st.none(),
    st.integers(0, 4),
    *[st.sets(st.integers(0, 4), min_size=2)] * 6,  # one value stands bare
)


@given(st.lists(OFFERED, min_size=1, max_size=4))
def test_what_access_paths_hold_is_intersected(offered: list[Any]) -> None:
    """What is in each of them: a set, a bare value, or nothing."""
    sets = [set() if found is None else found if type(found) is set else {found} for found in offered]
    assert set(intersect(list(offered))) == set.intersection(*sets)
