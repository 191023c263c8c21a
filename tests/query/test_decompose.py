"""Classes and decompositions of basic graph patterns, by small examples of each definition."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rdflive.query.bgp import BGP, TriplePattern, Variable, classify
from rdflive.query.decompose import (
    connected_variable_decomposition,
    connected_variable_partition,
    ordered_array,
    overlapping_subqueries_graph,
    star_decomposition,
)


def bgp(text: str) -> BGP:
    """Read patterns that are written as `?a p ?b . ?b q c`."""
    terms = [[Variable(t[1:]) if t.startswith("?") else t for t in p.split()] for p in text.split(" . ")]
    return BGP(TriplePattern(*pattern) for pattern in terms)


def names(variables: Iterable[Variable]) -> str:
    """Write variables as one word."""
    return "".join(sorted(variable.name for variable in variables))


PARTITIONS = {
    "?a p ?b . ?b q ?c . ?d p k": ["abc", "d"],
    "?a p k . k q ?b": ["a", "b"],  # a path by way of a constant links nothing
    "?a p ?b . ?c q ?d . ?b r ?c": ["abcd"],
    "k p l": [],
}


@pytest.mark.parametrize("text", PARTITIONS)
def test_variables_are_partitioned_by_paths_without_constants(text: str) -> None:
    """Two variables are in one part exactly if a path by way of variables leads from one to the other."""
    assert [names(part) for part in connected_variable_partition(bgp(text))] == PARTITIONS[text]


def test_segments_are_disjoint_and_cover_the_pattern() -> None:
    """Each part has the patterns that mention it, and those without variables are left over."""
    query = bgp("?a p ?b . k p l . ?b q c . ?d r k")
    found = connected_variable_decomposition(query, connected_variable_partition(query))
    a_to_b, ground, b_to_c, d_to_k = query.patterns
    assert found.segments == ((a_to_b, b_to_c), (d_to_k,))
    assert found.ground == (ground,)


CLASSES = {
    "k p l": "ground",
    "?x p k . l q ?x": "simple var-centric star",
    "?x p ?x": "simple var-centric star",
    "?x p k . k q ?y . l r m": "loosely-connected",
    "?x p k . l q m": "loosely-connected",
    "?x p ?y": "var-connected",
    "?x p ?y . ?z q k": "general",
    "?x p ?y . k q l": "general",
}


@pytest.mark.parametrize("text", CLASSES)
def test_a_pattern_is_of_the_smallest_class_that_holds_it(text: str) -> None:
    """Also a loop of one variable, and patterns beside which there is a ground one."""
    query = bgp(text)
    assert classify(query, connected_variable_partition(query)) == CLASSES[text]


def test_each_variable_has_its_star() -> None:
    """A star holds every pattern that mentions its centre; a pattern of two variables is in two of them."""
    query = bgp("?a p ?b . ?b q ?c . ?b r k")
    ab, bc, b = query.patterns
    stars = star_decomposition(query.patterns)
    assert {star.centre.name: star.patterns for star in stars} == {"a": (ab,), "b": (ab, bc, b), "c": (bc,)}


def test_stars_that_share_a_pattern_overlap() -> None:
    """Of a path of three variables the middle star overlaps both others, which do not overlap."""
    overlaps = overlapping_subqueries_graph(star_decomposition(bgp("?a p ?b . ?b q ?c").patterns))
    assert {centre.name: names(others) for centre, others in overlaps.items()} == {
        "a": "b",
        "b": "ac",
        "c": "b",
    }


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_ordered_array_starts_at_its_pattern_and_stays_linked(seed: int) -> None:
    """Whichever pattern an update matches, each step is linked to what is bound, and all are used."""
    query = bgp("?a p ?b . ?b q ?c . ?c r ?d")
    array = ordered_array(query.patterns, seed)
    bound = set(query.patterns[seed].variables)
    used = [seed, *array.checks]
    for step in array.steps:
        assert not step.scan
        assert all(bound & set(query.patterns[j].variables) for j in step.links)
        bound |= set(step.binds)
        used += [*step.links, *step.checks]
    assert bound == set(query.variables)
    assert sorted(used) == [0, 1, 2]
