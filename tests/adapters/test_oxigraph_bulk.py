"""Many quads at once: what nobody wants is left out, and everything else is as if each were written alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat

import rdflive

QUERIES = (
    "SELECT * { ?s <urn:a> ?o }",
    "SELECT * { ?s <urn:a> ?o . ?o <urn:b> ?x }",
    "SELECT * { ?s ?p <urn:0> }",
    "SELECT * { ?s <urn:z> ?o }",
)


def quads(predicates: str) -> list[Quad]:
    nodes = [NamedNode(f"urn:{i}") for i in range(3)]
    return [
        Quad(s, NamedNode(f"urn:{p}"), o, DefaultGraph()) for p in predicates for s in nodes for o in nodes
    ]


def document(predicates: str) -> str:
    return "".join(f"{quad} .\n" for quad in [*quads(predicates), *quads(predicates)[:2]])


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "extend": lambda live, ps: live.extend([*quads(ps), *quads(ps)[:2]]),
    "bulk_extend": lambda live, ps: live.bulk_extend(quads(ps)),
    "load": lambda live, ps: live.load(document(ps), RdfFormat.N_TRIPLES),
    "bulk_load": lambda live, ps: live.bulk_load(document(ps).encode(), RdfFormat.N_TRIPLES),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("before", ["", "c", "abc"])
def test_many_quads_come_to_what_single_ones_do(way: str, query: str, before: str) -> None:
    """Predicates that nobody wants, some wanted, and quads that are there already."""
    live, single = rdflive.LiveStore(), rdflive.LiveStore()
    for store in (live, single):
        store.extend(quads(before)[::2])
    told: list[str] = []  # a lone pattern keeps nothing: its answers would hide what it was not told
    mine = rdflive.subscribe(live, query, lambda delta: told.extend(map(str, delta.added)))
    theirs = rdflive.subscribe(single, query, lambda _: None)
    for predicates in ("c", "cd", "abc", "e"):
        sequence, held = live.capture.sequence, len(live)
        WAYS[way](live, predicates)
        assert live.capture.sequence == sequence + (len(live) > held)
        for quad in quads(predicates):
            single.add(quad)
        assert mine.stats.updates == theirs.stats.updates
        assert sorted(told) == sorted(map(str, mine.answers())) == sorted(map(str, theirs.answers()))
    assert set(live.native) == set(single.native)


@pytest.mark.parametrize("way", WAYS)
def test_who_comes_in_the_middle_of_a_batch_misses_nothing(way: str) -> None:
    """What nobody wanted when it was written is told at the end of the batch all the same."""
    live, deltas = rdflive.LiveStore(), []
    rdflive.subscribe(live, QUERIES[-1], lambda _: None)
    with rdflive.batch(live):
        WAYS[way](live, "a")
        late = rdflive.subscribe(live, QUERIES[0], deltas.append, initial=False)
        assert late.answers() == []
    assert len(late.answers()) == 9
    assert [len(delta.added) for delta in deltas] == [9]


def test_a_document_for_a_named_graph_is_loaded_there() -> None:
    live, name = rdflive.LiveStore(), NamedNode("urn:g")
    subscription = rdflive.subscribe(live, "SELECT * { GRAPH ?g { ?s <urn:a> ?o } }", lambda _: None)
    for predicates, rows in (("b", 0), ("b", 0), ("ab", 9)):
        live.load(document(predicates), RdfFormat.N_TRIPLES, to_graph=name)
        assert len(subscription.answers()) == rows
    assert subscription.stats.updates == 18
    assert {quad.graph_name for quad in live.native} == {name}
