"""Bulk writes skip the quads that no query reads, and otherwise act like single writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
import rdflib
from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat
from rdflib import RDFS, BNode, Literal

import rdflive
from support.worlds import KINDS

QUERIES: tuple[str, ...] = (
    "SELECT * { ?s <urn:a> ?o }",
    "SELECT * { ?s <urn:a> ?o . ?o <urn:b> ?x }",
    "SELECT * { ?s ?p <urn:0> }",
    "SELECT * { ?s ?p ?o }",
    "SELECT * { ?s <urn:a>+ ?o FILTER NOT EXISTS { ?o <urn:b> ?s } }",
    "SELECT * { ?s <urn:z> ?o }",
)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "entailed": {"entailment": "rdfs"},
    "reformulated": {"entailment": "rdfs", "strategy": "reformulate"},
}
SCHEMA = [
    Quad(NamedNode("urn:c"), NamedNode(str(RDFS.subPropertyOf)), NamedNode("urn:a"), DefaultGraph()),
    Quad(NamedNode("urn:d"), NamedNode(str(RDFS.domain)), NamedNode("urn:D"), DefaultGraph()),
]


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
    "insert data": lambda live, ps: live.update(f"INSERT DATA {{ {document(ps)} }}"),
    "bulk_load": lambda live, ps: live.bulk_load(document(ps).encode(), RdfFormat.N_TRIPLES),
}


@pytest.mark.sampled(3, by="query")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("before", ["", "c", "abc"])
def test_many_quads_come_to_what_single_ones_do(way: str, query: str, before: str, options: str) -> None:
    """The bulk has predicates that queries read, predicates that none reads, and quads already present."""
    live, single = rdflive.LiveStore(), rdflive.LiveStore()
    for store in (live, single):
        store.extend(quads(before)[::2])
        if options != "plain":
            store.extend(SCHEMA)
    told = Counter[str]()  # a lone pattern keeps nothing: its answers would hide what it was not told

    def take(delta: rdflive.Delta) -> None:
        told.update(map(str, delta.added))
        told.subtract(map(str, delta.removed))

    mine = rdflive.subscribe(live, query, take, **OPTIONS[options])
    theirs = rdflive.subscribe(single, query, lambda _: None, **OPTIONS[options])
    for predicates in ("c", "cd", "abc", "e"):
        sequence, held = live.capture.sequence, len(live)
        WAYS[way](live, predicates)
        assert live.capture.sequence == sequence + (len(live) > held)
        for quad in quads(predicates):
            single.add(quad)
        assert mine.stats.updates == theirs.stats.updates
        assert +told == Counter(map(str, mine.answers())) == Counter(map(str, theirs.answers()))
    assert set(live.native) == set(single.native)


@pytest.mark.parametrize("query", QUERIES)
def test_many_deletes_come_to_what_single_ones_do(query: str) -> None:
    """Of predicates that a query has or not, quads that are there or not, and some that come instead."""
    live, single = rdflive.LiveStore(), rdflive.LiveStore()
    told = Counter[str]()

    def take(delta: rdflive.Delta) -> None:
        told.update(map(str, delta.added))
        told.subtract(map(str, delta.removed))

    subscriptions = rdflive.subscribe(live, query, take), rdflive.subscribe(single, query, lambda _: None)
    for store in (live, single):
        store.extend(quads("abcd")[::2])
    for gone, come in (("c", ""), ("ac", ""), ("cd", "a"), ("d", ""), ("b", "b"), ("abc", "")):
        sequence, before = live.capture.sequence, set(live)
        insert = f"; INSERT DATA {{ {document(come)} }}" if come not in gone else ""
        live.update(f"DELETE DATA {{ {document(gone)} }} {insert}")
        assert live.capture.sequence == sequence + (before != set(live))
        for quad in quads(gone):
            single.remove(quad)
        for quad in quads(come) if insert else ():
            single.add(quad)
        assert set(live.native) == set(single.native)
        assert len({subscription.stats.updates for subscription in subscriptions}) == 1
        assert +told == Counter(map(str, subscriptions[1].answers()))
    assert not live
    assert not +told


@pytest.mark.parametrize("way", WAYS)
def test_members_of_a_family_want_what_each_wants(way: str) -> None:
    """Each names a node of its own, and a predicate or class that others may not have."""
    live, told = rdflive.LiveStore(), Counter[str]()
    texts = [f"SELECT ?s {{ ?s <urn:{p}> <urn:{o}> }}" for p in "ab" for o in (0, 1)]
    for text in texts:
        rdflive.subscribe(live, text, lambda delta, text=text: told.update([text] * len(delta.added)))  # type: ignore[misc]  # a default
    for predicates, found in (("c", 0), ("bc", 3), ("a", 3)):
        WAYS[way](live, predicates)
        assert sum(count > 0 for count in told.values()) == {"c": 0, "bc": 2, "a": 4}[predicates]
        assert set(told.values()) <= {found}


@pytest.mark.parametrize("way", WAYS)
def test_windows_beside_a_graph_see_what_is_written_to_it(way: str) -> None:
    live, told = rdflive.LiveStore(), []
    stream = rdflive.Stream(live)
    rdflive.subscribe(
        stream,
        "SELECT * { ?s <urn:a> ?o . ?s <urn:b> ?x }",
        told.append,
        window=rdflive.Sliding("10s"),
        initial=False,
    )
    stream.add((NamedNode("urn:0"), NamedNode("urn:a"), NamedNode("urn:9")), at=1)
    WAYS[way](live, "c")
    WAYS[way](live, "bc")
    stream.advance_to(2)
    assert sum(len(delta.added) for delta in told) == 3


@pytest.mark.parametrize("way", WAYS)
def test_who_comes_in_the_middle_of_a_batch_misses_nothing(way: str) -> None:
    """A batch also reports quads to a subscription that starts after they were written."""
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("query", QUERIES)
def test_what_fills_an_empty_store_is_told_and_counted_once(way: str, query: str) -> None:
    live, told = rdflive.LiveStore(), Counter[str]()
    subscription = rdflive.subscribe(live, query, lambda delta: told.update(map(str, delta.added)))
    WAYS[way](live, "abc")
    assert told == Counter(map(str, subscription.answers()))
    assert subscription.stats.updates == len(live) == 27


@pytest.mark.parametrize("way", ["load", "bulk_load"])
def test_who_follows_the_union_while_a_document_is_read_misses_nothing(way: str) -> None:
    """A subscription that began before the store was written is told of what was written."""
    dataset = KINDS["oxigraph dataset"]()
    union = rdflib.Dataset(store=dataset.store, default_union=True)
    query, told = "SELECT * { ?s <urn:a> ?o }", Counter[Any]()

    class Document(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if not opened:
                opened.append(rdflive.subscribe(union, query, lambda delta: told.update(delta.added)))
            return super().read(size)

    opened: list[rdflive.Subscription] = []
    first = rdflive.subscribe(dataset, query)
    live = dataset.store._store
    getattr(live, way)(Document(document("ab").encode()), RdfFormat.N_TRIPLES)
    assert told == Counter(opened[0].answers()) == Counter(first.answers())
    assert sum(told.values()) == 9


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("term", [Literal("a"), BNode("a")])
def test_a_predicate_that_no_triple_can_have_is_found_nowhere(way: str, term: Any) -> None:
    """It may be the term of a variable all the same, and disturbs no write."""
    live = rdflive.LiveStore()
    with rdflive.subscribe(live, "SELECT * { ?s ?p ?o }", initBindings={"p": term}) as subscription:
        WAYS[way](live, "ab")
        assert subscription.answers() == []
    assert len(live) == 18
