"""Patterns become queries that fetch what they match, and nothing twice."""

from __future__ import annotations

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from rdflive.feeds import NAMED_GRAPHS
from rdflive.feeds.terms import UnwritableError
from rdflive.model import Quad
from rdflive_stores.endpoint.queries import COUNT_SUBJECT, Needed, matches
from support.effort import examples

S, P, Q, G = (URIRef(f"urn:{name}") for name in "spqg")
_TERMS = [S, P, Q]
_QUADS = st.builds(
    Quad,
    st.sampled_from(_TERMS),
    st.sampled_from(_TERMS),
    st.sampled_from([*_TERMS, Literal("x"), Literal(1)]),
    st.sampled_from([None, G]),
)
_PATTERNS = st.builds(
    Quad,
    st.sampled_from([None, *_TERMS]),
    st.sampled_from([None, *_TERMS]),
    st.sampled_from([None, *_TERMS, Literal("x"), Literal(1)]),
    st.sampled_from([None, G, NAMED_GRAPHS]),
)


@settings(max_examples=examples(100))
@given(st.lists(_QUADS, unique=True, max_size=12), st.lists(_PATTERNS, min_size=1, max_size=4))
def test_query_fetches_what_the_patterns_match(quads: list[Quad], patterns: list[Quad]) -> None:
    """rdflib, asked with the query, gives the quads that match some pattern, and their number."""
    dataset = rdflib.Dataset()
    for quad in quads:
        (dataset.graph(quad.graph) if quad.graph else dataset.default_graph).add(quad[:3])
    needed = Needed.of(patterns)
    rows = list(dataset.query(needed.query(100, 0, construct=False)))
    (count,) = (row.n for row in rows if row.n is not None)  # type: ignore[union-attr]
    found = {Quad(row.s, row.p, row.o, row.get("g")) for row in rows if row.n is None}  # type: ignore[union-attr]
    assert found == {quad for quad in quads if any(exactly(pattern, quad) for pattern in patterns)}
    assert int(count) == len(found)
    assert all(any(matches(pattern, quad) for pattern in patterns) for quad in found)


def exactly(pattern: Quad, quad: Quad) -> bool:
    """Say whether a pattern matches, by its definition."""
    graph = quad.graph is not None if pattern.graph is NAMED_GRAPHS else pattern.graph == quad.graph
    return graph and all(mine in (None, theirs) for mine, theirs in zip(pattern[:3], quad[:3], strict=True))


@settings(max_examples=examples(100))
@given(st.lists(_PATTERNS, min_size=1, max_size=6))
def test_needed_drops_patterns_that_others_cover(patterns: list[Quad]) -> None:
    """No pattern that is kept covers another, and those that are kept cover all."""
    needed = Needed.of(patterns)
    assert needed.covers(Needed.of(patterns))
    assert len(needed.patterns) == len(set(needed.patterns)) <= len(set(patterns))
    for pattern in needed.patterns:
        rest = Needed(tuple(other for other in needed.patterns if other != pattern))
        assert not rest.covers(Needed((pattern,)))
    assert Needed.of(reversed(patterns)) == needed


@pytest.mark.parametrize(
    ("literal", "held"),
    [
        (Literal("x"), Literal("x", datatype=XSD.string)),
        (Literal("x", datatype=XSD.string), Literal("x")),
        (Literal(1), Literal("01", datatype=XSD.integer, normalize=False)),
        (Literal("1.0", datatype=XSD.decimal), Literal("1.00", datatype=XSD.decimal, normalize=False)),
        (Literal("odd", datatype=URIRef("urn:odd")), Literal("odd", datatype=URIRef("urn:odd"))),
        (Literal("not a number", datatype=XSD.integer), Literal("not a number", datatype=XSD.integer)),
        (Literal('"\\\n', lang="EN"), Literal('"\\\n', lang="en")),
    ],
)
def test_query_finds_a_literal_in_other_spellings(literal: Literal, held: Literal) -> None:
    """What a store here would take for the literal is fetched, however the endpoint spells it."""
    graph = rdflib.Graph().add((S, P, held)).add((S, P, Literal("another")))
    query = Needed.of([Quad(None, P, literal)]).query(10, 0, construct=True)
    found = [o for s, _, o in graph.query(query) if s != COUNT_SUBJECT]  # type: ignore[misc]
    assert found == [held]


def test_needed_knows_graphs_and_blank_nodes() -> None:
    """CONSTRUCT cannot say graphs; the endpoint knows no blank node of this side by its name."""
    assert not Needed.of([Quad(None, None, None)]).names_graphs
    assert Needed.of([Quad(None, None, None), Quad(None, P, None, G)]).names_graphs
    patterns = [Quad(BNode("here"), P, None, BNode("here"))]
    assert Needed.of(patterns) == Needed.of([Quad(None, P, None, NAMED_GRAPHS)])
    with pytest.raises(UnwritableError):  # an IRI that would end its own brackets
        Needed.of([Quad(URIRef("urn:a> ?p ?o } #"), None, None)])
    # how a literal is spelled in a log is not known, so any spelling comes through
    number = Literal("01", datatype=XSD.integer, normalize=False)
    assert matches(Quad(None, None, Literal(1)), Quad(S, P, number))
