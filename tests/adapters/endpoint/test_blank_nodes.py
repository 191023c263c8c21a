"""Relabelling keeps a graph what it is, and makes as few changes of it as can be had."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from rdflive.model import Quad
from rdflive_stores.endpoint import blank_nodes
from rdflive_stores.endpoint.blank_nodes import TooSymmetric, relabel
from support.effort import HUNT, drawn_from, examples, rounds

P, Q = URIRef("urn:p"), URIRef("urn:q")
HUB = URIRef("urn:hub")


def fresh(quads: Iterable[Quad], seed: int = 0) -> list[Quad]:
    """Give the same graph as another answer would: new labels, another order."""
    labels: dict[BNode, BNode] = {}
    renamed = [
        Quad(*(labels.setdefault(term, BNode()) if isinstance(term, BNode) else term for term in quad))
        for quad in quads
    ]
    random.Random(seed).shuffle(renamed)
    return renamed


def delta(new: Iterable[Quad], old: Iterable[Quad]) -> int:
    """Count the changes that lead from the old graph to the relabelled new one."""
    return len(set(relabel(new, old)) ^ set(old))


def assert_relabelled(new: list[Quad], result: list[Quad]) -> None:
    """Check that only labels differ, and that nodes stay apart (isomorphic takes for ever here)."""
    pairs = {
        (theirs, mine)
        for before, after in zip(new, result, strict=True)
        for theirs, mine in zip(before, after, strict=True)
    }
    assert all(theirs == mine for theirs, mine in pairs if not isinstance(theirs, BNode))
    assert len({theirs for theirs, _ in pairs}) == len({mine for _, mine in pairs}) == len(pairs)


def to_graph(quads: Iterable[Quad]) -> Graph:
    graph = Graph()
    for quad in quads:
        graph.add(quad[:3])
    return graph


def node(number: int) -> BNode:
    return BNode(f"n{number}")


def cycle(size: int, start: int = 0) -> list[Quad]:
    return [Quad(node(start + i), P, node(start + (i + 1) % size)) for i in range(size)]


def chain(size: int) -> list[Quad]:
    return [Quad(HUB, P, node(0)), *(Quad(node(i), P, node(i + 1)) for i in range(size))]


def both_ways(pairs: Iterable[tuple[int, int]]) -> list[Quad]:
    return [Quad(node(a), P, node(b)) for x, y in pairs for a, b in ((x, y), (y, x))]


FRUCHT = [-5, -2, -4, 2, 5, -2, 2, 5, -2, -5, 4, 2]
"""The chords of a graph whose nodes all have three neighbours, and no two are alike (LCF notation)."""


def ring(chords: list[int]) -> list[Quad]:
    """Give the graph that is a ring with a chord from each node (LCF notation)."""
    size = len(chords)
    pairs = {frozenset((i, (i + step) % size)) for i, chord in enumerate(chords) for step in (1, chord)}
    return both_ways((a, b) for a, b in map(sorted, pairs))


SYMMETRIC: dict[str, Callable[[], list[Quad]]] = {
    "one": lambda: [Quad(HUB, P, node(0))],
    "twins": lambda: [Quad(HUB, P, node(i)) for i in range(50)],
    "loops": lambda: [Quad(node(i), P, node(i)) for i in range(5)],
    "cycle": lambda: cycle(30),
    "cycles of several sizes": lambda: [*cycle(3), *cycle(3, 10), *cycle(6, 20)],
    "undirected cycle": lambda: both_ways((i, (i + 1) % 40) for i in range(40)),
    "two ways round": lambda: [*cycle(8), *(Quad(node(i), Q, node((i + 3) % 8)) for i in range(8))],
    "complete": lambda: both_ways((i, j) for i in range(9) for j in range(i)),
    "hub of twins": lambda: [Quad(node(0), P, node(i)) for i in range(1, 60)],
    "hub of branches": lambda: [
        quad for i in range(1, 60, 2) for quad in (Quad(node(0), P, node(i)), Quad(node(i), Q, node(i + 1)))
    ],
    "tree": lambda: [Quad(node((i - 1) // 2), P, node(i)) for i in range(1, 127)],
    "grid": lambda: both_ways(
        (10 * i + j, k)
        for i in range(6)
        for j in range(6)
        for k in (10 * i + (j + 1) % 6, 10 * ((i + 1) % 6) + j)
    ),
    "cube and prism": lambda: both_ways(
        [(i, i ^ bit) for i in range(8) for bit in (1, 2, 4) if i < i ^ bit]
        + [(100 + i, 100 + (i + 1) % 8) for i in range(8)]
        + [(100 + i, 104 + i) for i in range(4)]
    ),
    "Frucht": lambda: ring(FRUCHT),
    "named graphs": lambda: [Quad(node(0), P, node(1), node(2)), Quad(node(1), P, node(0), node(3))],
}

LATTICES = {"grid", "cube and prism", "Frucht"}
"""What looks the same from everywhere: with an edit, the closest match costs more than trying one by one."""


@pytest.mark.parametrize("kind", SYMMETRIC)
def test_relabel_gives_no_delta_for_an_unchanged_graph(kind: str) -> None:
    """A graph that came back under other labels is recognised, however symmetric it is."""
    quads = SYMMETRIC[kind]()
    seeds = drawn_from(kind)
    for _ in range(rounds(5)):
        assert delta(fresh(quads, seeds.getrandbits(32)), quads) == 0


@pytest.mark.parametrize("kind", sorted(set(SYMMETRIC) - LATTICES))
def test_relabel_gives_a_small_delta_for_a_small_edit(kind: str) -> None:
    """One quad more or less is a few changes, also between nodes that look alike."""
    quads = SYMMETRIC[kind]()
    for edited in (quads[:-1], [*quads, Quad(node(0), Q, Literal("new"))]):
        new = fresh(edited)
        assert_relabelled(new, relabel(new, quads))
        assert delta(fresh(edited), quads) <= 5


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ([3, -3] * 4, [4] * 8),
        ([4] * 8, [2, 4, -2, 3, 3, 4, -3, -3]),
        ([2, 2, -2, -2] * 2, [4, -2, 4, 2] * 2),
        (FRUCHT, [6] * 12),
        ([6] * 12, [-5, 5] * 6),
        (FRUCHT, [3, -3] * 6),
    ],
)
def test_relabel_keeps_apart_graphs_that_refinement_cannot_tell_apart(new: list[int], old: list[int]) -> None:
    """Graphs with three neighbours at each node look the same to colours, and are not taken for the same."""
    for one, other in ((new, old), (old, new)):
        answer = fresh(ring(one))
        assert_relabelled(answer, relabel(answer, ring(other)))
        assert delta(answer, ring(other)) > 0


def test_relabel_finds_an_element_put_into_a_list() -> None:
    """A long list of blank nodes keeps its nodes when one comes into its middle."""
    quads = [*chain(300), *(Quad(node(i), Q, Literal(i)) for i in range(300))]
    edited = [quad for quad in quads if quad != Quad(node(150), P, node(151))]
    edited += [Quad(node(150), P, node(999)), Quad(node(999), P, node(151)), Quad(node(999), Q, Literal("x"))]
    assert delta(fresh(edited), quads) == 4


def test_relabel_gives_new_nodes_fresh_labels() -> None:
    """A node that was not there before does not take the label of another, nor that of the answer."""
    old = [Quad(BNode("b0"), P, Literal("old"))]
    (quad,) = relabel([Quad(BNode("b0"), Q, Literal("new"))], old)
    assert quad.subject != BNode("b0")


@pytest.mark.parametrize("size", [3000, 3001] if HUNT else [1001])
def test_relabel_matches_long_chains_and_cycles(size: int) -> None:
    """Long structures without names are matched in about as many steps as they have nodes."""
    for quads in (chain(size), cycle(size), both_ways((i, (i + 1) % size) for i in range(size))):
        assert delta(fresh(quads), quads) == 0


def test_relabel_refuses_what_is_too_symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every node is like every other in a large dense graph, it says so instead of going on."""
    if not HUNT:
        monkeypatch.setattr(blank_nodes, "_LEAST_WORK", 10_000)
    quads = both_ways((i, j) for i in range(120 if HUNT else 40) for j in range(i))
    with pytest.raises(TooSymmetric):
        relabel(fresh(quads), quads)


_NODES = st.one_of(st.integers(0, 7).map(node), st.sampled_from([HUB, P]))
_QUADS = st.lists(
    st.builds(
        Quad, _NODES, st.sampled_from([P, Q]), st.one_of(_NODES, st.integers(0, 2).map(Literal)), st.none()
    ),
    max_size=14,
    unique=True,
)


@given(_QUADS, st.integers(0, 5))
@settings(max_examples=examples(300))
def test_relabel_recognises_any_unchanged_graph(quads: list[Quad], seed: int) -> None:
    """No graph changes by coming back under other labels."""
    assert delta(fresh(quads, seed), quads) == 0


@given(_QUADS, _QUADS)
@settings(max_examples=examples(300))
def test_relabel_gives_an_isomorphic_graph(new: list[Quad], old: list[Quad]) -> None:
    """Whatever was there before, the relabelled graph is the new one."""
    result = relabel(fresh(new), old)
    assert isomorphic(to_graph(result), to_graph(new))
    assert len(set(result)) == len(new)


@given(_QUADS, st.data())
@settings(max_examples=examples(300))
def test_relabel_never_changes_more_than_a_few_quads_per_edit(quads: list[Quad], data: st.DataObject) -> None:
    """Taking one quad away changes no more than what is around the nodes whose surroundings it was."""
    if quads:
        gone = data.draw(st.sampled_from(quads))
        assert delta(fresh([quad for quad in quads if quad != gone]), quads) <= 9
