"""Queries that are opened without a rehearsal: few triples match them, and nothing in them takes long."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
import rdflib
from rdflib import RDF, Literal, URIRef

from rdflive.server.failures import Problem
from rdflive.server.first_query import opens_quickly
from rdflive.server.isolation.children import Children
from support.raw_requests import status
from support.serving import serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

PREFIX = "PREFIX : <urn:> "
SMALL = [
    "SELECT * { ?s a <urn:Rare> }",
    "select distinct ?s where { ?s a :Rare . }",
    "ASK { <urn:1> ?p 'one'@en }",
    'SELECT ?s { ?s ?p "1"^^<http://www.w3.org/2001/XMLSchema#integer> }',
    "SELECT ?s { ?s :number 7 }",
    "SELECT * { _:b :nothing ?o }",
    "SELECT REDUCED * { ?s a :Rare } # FILTER(" + "x" * 1000,
    "ASK { [] a :Rare }",
    'SELECT * { ?s a :Rare #\\u000aFILTER(regex("aaaaaaaaaaaaaaaaaaaa!", "(a+)+$"))\n}',
]
OTHERS = [
    "SELECT * { ?s ?p ?o }",  # too many
    "SELECT * { ?s a :Common }",
    "SELECT * { ?s a :Rare . ?s ?p ?o }",
    "SELECT * { ?s a :Rare ; ?p ?o }",
    "SELECT * { ?s a :Rare FILTER(regex(str(?s), '(a+)+b')) }",
    "SELECT * { ?s :number+ ?o }",
    "SELECT * { { ?s a :Rare } }",
    "SELECT * { GRAPH ?g { ?s a :Rare } }",
    "SELECT * { ?s a :Rare } LIMIT 1",
    "SELECT * { ?s a :Rare } VALUES ?s { :1 }",
    "SELECT (regex(?s, '(a+)+b') AS ?x) { ?s a :Rare }",
    "ASK { ?s :number <<( :a :b ?c )>> }",
    "ASK { ?s :number ( 1 ) }",
    "ASK { }",
    "CONSTRUCT WHERE { ?s a :Rare }",
    "SELECT * FROM <urn:g> { ?s a :Rare }",
    "SELECT (COUNT(*) AS ?n) { ?s a :Rare }",
    "SELECT * { ?s a :Rare } ORDER BY ?s",
    "DESCRIBE ?s { ?s a :Rare }",
    "SELECT * { ?s a unknown:Rare }",
    "SELECT * { ?s a",
    'SELECT * { ?s a :Rare ; :number "\\u0022 FILTER(regex(?s, ?s)) #"\n}',
    "",
]


@pytest.fixture(scope="module", params=["default", "Oxigraph"])
def dataset(request: pytest.FixtureRequest) -> rdflib.Dataset:
    dataset = rdflib.Dataset(store=request.param)
    dataset.bind("", "urn:")
    for number in range(1001):
        dataset.add((URIRef(f"urn:{number}"), RDF.type, URIRef("urn:Common")))
    for number in range(10):
        dataset.graph(URIRef("urn:g")).add((URIRef(f"urn:{number}"), RDF.type, URIRef("urn:Rare")))
        dataset.add((URIRef(f"urn:{number}"), URIRef("urn:number"), Literal(number)))
    return dataset


def test_one_pattern_with_few_matches_opens_quickly(dataset: rdflib.Dataset) -> None:
    """The limit of rows counts too, and everything else does not open quickly."""
    for query in SMALL:
        assert opens_quickly(dataset, query), query
    for query in OTHERS:
        assert not opens_quickly(dataset, query), query
    assert opens_quickly(dataset, SMALL[0], most=10)
    assert not opens_quickly(dataset, SMALL[0], most=9)


@pytest.mark.posix("the server forks")
def test_small_queries_are_opened_without_a_rehearsal(
    dataset: rdflib.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on which every rehearsal fails opens them all the same."""

    async def fail(*arguments: object, **options: object) -> None:
        raise Problem(503, "no rehearsal today")

    monkeypatch.setattr(Children, "rehearse", fail)
    with serving(dataset) as server:
        for query, expected in ((SMALL[0], 200), (OTHERS[2], 503)):
            assert status(server, "GET", "/subscribe?" + urlencode({"query": PREFIX + query})) == expected
