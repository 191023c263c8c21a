"""Deltas of CONSTRUCT queries as RDF Patch."""

from __future__ import annotations

import io
import re

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive.feeds import decode, feed_format
from rdflive.feeds.terms import UnwritableError
from rdflive.model import Delta, Header
from rdflive.sinks import PatchSink
from support.effort import examples

P = URIRef("http://e/p")
QUERY = "CONSTRUCT { ?o <http://e/of> ?s } { ?s <http://e/p> ?o FILTER(!ISLITERAL(?o)) }"
COPY = "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"


def triple(s: str, o: str) -> tuple[URIRef, URIRef, URIRef]:
    return URIRef(f"http://e/{s}"), P, URIRef(f"http://e/{o}")


def read_with_rdflib(text: str) -> set[object]:
    """Give the triples that rdflib's own reader of RDF Patch makes of it."""
    dataset = rdflib.Dataset()
    dataset.parse(data=text, format="patch")
    return set(dataset.default_graph)


def read_with_rdflive(text: str) -> set[object]:
    """Give the triples that our reader makes of it."""
    held: set[object] = set()
    for batch in decode(feed_format("rdf-patch"), text.split("\n")):
        for sign, quad in batch.changes:
            assert (quad[:3] in held) == (sign < 0)  # every row changes something
            (held.add if sign > 0 else held.discard)(quad[:3])
    return held


def test_patch_is_a_transaction_per_delta() -> None:
    """The initial answer is added, deletes come before adds, and neither no change nor a resync is one."""
    stream, graph = io.StringIO(), rdflib.Graph()
    graph.add(triple("a", "b"))
    with rdflive.subscribe(graph, QUERY, PatchSink(stream)) as subscription:
        graph.add((URIRef("http://e/a"), P, Literal("no node")))
        with rdflive.batch(graph):
            graph.remove(triple("a", "b"))
            graph.add(triple("a", "c"))
        subscription.resync()
    assert stream.getvalue().splitlines() == [
        "TX .",
        "A <http://e/b> <http://e/of> <http://e/a> .",
        "TC .",
        "TX .",
        "D <http://e/b> <http://e/of> <http://e/a> .",
        "A <http://e/c> <http://e/of> <http://e/a> .",
        "TC .",
    ]


NODES = st.sampled_from([BNode("b1"), BNode("b2"), URIRef("http://e/a"), URIRef("http://e/é")])
LITERALS = st.builds(
    Literal,
    st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    st.sampled_from([None, "en", "de-at"]),
)
CHANGES = st.lists(
    st.one_of(st.none(), st.tuples(st.booleans(), st.tuples(NODES, st.just(P), st.one_of(NODES, LITERALS)))),
    max_size=20,
)


@settings(max_examples=examples(100, share=3))
@given(CHANGES, CHANGES)
def test_patch_adds_up_to_the_constructed_graph(before: list, after: list) -> None:
    """Our reader and rdflib's both make of it the graph of the query, blank nodes and all."""
    stream, graph = io.StringIO(), rdflib.Graph()
    sink = PatchSink(stream)

    def change(steps: list) -> None:
        for step in steps:
            if step is None:
                subscription.resync()
            else:
                (graph.add if step[0] else graph.remove)(step[1])

    subscription = rdflive.subscribe(graph, COPY, initial=False)
    change([step for step in before if step])
    subscription.close()
    with rdflive.subscribe(graph, COPY, sink) as subscription:
        change(after)
    sink.close()
    assert read_with_rdflive(stream.getvalue()) == set(graph)
    assert read_with_rdflib(stream.getvalue()) == set(graph)


def test_patch_refuses_solutions() -> None:
    """A SELECT query has no triples; the error says what to do."""
    delta = Delta(Header("SELECT", ("x",)), {(P,): 1}, sequence=1)
    with pytest.raises(rdflive.RdfliveError, match="write it as a CONSTRUCT query"):
        PatchSink(io.StringIO())(delta)


@pytest.mark.parametrize("bad", [URIRef("http://e/a b"), URIRef("urn:\ud800"), Literal("a b\udfff")])
def test_patch_writes_nothing_of_a_delta_with_a_bad_term(bad: URIRef | Literal) -> None:
    """A term that a line of UTF-8 cannot hold is an error, and leaves the stream as it was."""
    stream = io.StringIO()
    sink = PatchSink(stream)
    good = triple("a", "b")
    with pytest.raises(UnwritableError, match=re.escape(repr(bad))):
        sink(Delta(Header("CONSTRUCT", ()), {good: 1, (*good[:2], bad): 1}, sequence=1))
    assert stream.getvalue() == ""
    sink(Delta(Header("CONSTRUCT", ()), {good: 1}, sequence=2))
    assert read_with_rdflib(stream.getvalue()) == {good}
