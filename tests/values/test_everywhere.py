"""Values that Python's types lack, wherever rdflive meets them: queries, shapes, feeds, streams, events."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import XSD, Literal, URIRef

import rdflive
from rdflive.feeds import debezium
from rdflive.model import exact_literal
from support.effort import drawn_from, rounds
from support.random_values import random_literal

ox = pytest.importorskip("pyoxigraph")

E = rdflib.Namespace("http://example.org/")
PREFIXES = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DATA = """@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:battle :at "-0216-08-02T12:00:00Z"^^xsd:dateTime ; :in "-0216"^^xsd:gYear .
:founding :at "-0752-04-21T00:00:00Z"^^xsd:dateTime ; :in "-0752"^^xsd:gYear .
:eruption :at "0079-10-24T00:00:00Z"^^xsd:dateTimeStamp ; :in "0079"^^xsd:gYear .
:probe :at "12000-01-01T00:00:00Z"^^xsd:dateTime ; :in "12000"^^xsd:gYear .
:one :read "2024-05-01T12:00:00.123456781Z"^^xsd:dateTime .
:two :read "2024-05-01T12:00:00.123456789Z"^^xsd:dateTime .
"""
QUERIES = [
    ('SELECT ?x { ?x :at ?t FILTER(?t < "0001-01-01T00:00:00Z"^^xsd:dateTime) }', ["battle", "founding"]),
    ('SELECT ?x { ?x :at ?t FILTER(?t > "9999-12-31T23:59:59Z"^^xsd:dateTime) }', ["probe"]),
    ('SELECT ?x { ?x :at ?t FILTER(?t < "0080-01-01T00:00:00"^^xsd:dateTime && YEAR(?t)>0) }', ["eruption"]),
    ('SELECT ?x { ?x :in ?y FILTER(?y < "-0500"^^xsd:gYear) }', ["founding"]),
    ("SELECT ?x { ?x :at ?t } ORDER BY ?t LIMIT 1", ["founding"]),
    ("SELECT ?x { ?x :at ?t } ORDER BY DESC(?t) LIMIT 2", ["eruption", "probe"]),
    ("SELECT ?x { ?x :at ?t { SELECT (MIN(?u) AS ?t) { ?y :at ?u } } }", ["founding"]),
    ("SELECT ?x { ?x :at ?t { SELECT (MAX(?u) AS ?t) { ?y :at ?u } } }", ["probe"]),
    ("SELECT ?x { ?x :at ?t FILTER(YEAR(?t) = 12000) }", ["probe"]),
    ("SELECT ?x { ?x :read ?t . ?y :read ?u FILTER(?t < ?u) }", ["one"]),
    ("SELECT ?x { ?x :read ?t . ?y :read ?u FILTER(?t = ?u && ?x != ?y) }", []),
    ('SELECT ?x { ?x :read ?t . ?y :read ?u FILTER(?t + "PT0.000000008S"^^xsd:duration = ?u) }', ["one"]),
]  # fmt: skip


def filled(store: str) -> rdflib.Graph:
    """Fill a graph by a feed, which loses no digit."""
    graph = rdflib.Graph(store)
    whole = ox.parse(DATA.encode(), format=ox.RdfFormat.TURTLE)
    rows = "".join(f"A {quad.subject} {quad.predicate} {quad.object} .\n" for quad in whole)
    rdflive.mirror(graph, io.BytesIO(f"TX .\n{rows}TC .\n".encode()), "rdf-patch")
    return graph


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize(("query", "found"), QUERIES)
def test_queries_know_all_years_and_digits(store: str, query: str, found: list[str]) -> None:
    """What is there is found, and a change tells what it changes."""
    graph = filled(store)
    with rdflive.subscribe(graph, PREFIXES + query) as live:
        assert sorted(row.x for row in live.answers()) == sorted(E[name] for name in found)
        graph.remove((None, None, None))
        assert list(live.answers()) == []


def test_shapes_have_ranges_of_all_years() -> None:
    """-0216 is after -0300, and a nanosecond before a limit."""
    shapes = """@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        :S a sh:NodeShape ; sh:targetNode :battle, :founding, :one ;
          sh:property [ sh:path :at ; sh:minInclusive "-0300-01-01T00:00:00Z"^^xsd:dateTime ] ;
          sh:property [ sh:path :read ; sh:maxInclusive "2024-05-01T12:00:00.123456Z"^^xsd:dateTime ] ."""
    with rdflive.validate(filled("Oxigraph"), shapes) as validation:
        assert sorted(row.focus for row in validation.answers()) == [E.founding, E.one]


def test_a_feed_loses_nothing_in_rdflibs_memory() -> None:
    """Digits, the time zone of a date and ill-formed literals stay; 01 is spelt as rdflib spells it."""
    forms = [
        ("2024-05-01T12:00:00.123456781Z", "dateTime"),
        ("2024-05-01T12:00:00.123456789Z", "dateTime"),
        ("2024-05-01Z", "date"),
        ("2024-05-01", "date"),
        ("yes", "boolean"),
        ("01", "integer"),
    ]
    rows = "".join(f'A <{E.s}> <{E.p}> "{form}"^^<{XSD[kind]}> .\n' for form, kind in forms)
    graph = rdflib.Graph()
    rdflive.mirror(graph, io.BytesIO(f"TX .\n{rows}TC .\n".encode()), "rdf-patch")
    expected = {form for form, _ in forms[:-1]} | {"1"}
    assert {str(term) for term in graph.objects()} == expected
    rows = rows.replace("A <", "D <")
    rdflive.mirror(graph, io.BytesIO(f"TX .\n{rows}TC .\n".encode()), "rdf-patch")
    assert len(graph) == 0


def test_nanoseconds_of_a_database_are_exact() -> None:
    """Debezium's NanoTimestamp keeps nine digits."""
    field = [
        {"type": "int32", "field": "id"},
        {"type": "int64", "name": "io.debezium.time.NanoTimestamp", "field": "v"},
    ]
    event = {
        "schema": {"type": "struct", "fields": [{"type": "struct", "fields": field, "field": "after"}]},
        "payload": {
            "op": "c",
            "before": None,
            "after": {"id": 1, "v": 1715774400123456789},
            "source": {"db": "d", "schema": "public", "table": "t"},
        },
    }
    graph = rdflib.Graph()
    mapping: Any = {"public.t": {"subject": "http://example.org/{id}", "predicates": {"v": str(E.at)}}}
    rdflive.mirror(graph, io.BytesIO((json.dumps(event) + "\n").encode()), debezium(mapping))
    assert [str(term) for term in graph.objects()] == ["2024-05-15T12:00:00.123456789"]


FORMS = [
    ("1.0", "decimal"),
    ("1.50", "decimal"),
    ("01", "integer"),
    ("1", "int"),
    ("1e0", "double"),
    ("1", "boolean"),
]
FORMS += [
    ("2020-01-01T00:00:00+00:00", "dateTime"),
    ("2020-01-01T00:00:00.000", "dateTime"),
    ("1.0", "float"),
]


@pytest.mark.parametrize(("form", "kind"), FORMS)
@pytest.mark.parametrize("library", ["rdflib", "pyoxigraph"])
def test_an_event_matches_a_constant_of_its_own_spelling(form: str, kind: str, library: str) -> None:
    """And no other spelling of the value."""
    triple: Any = (E.a, E.p, exact_literal(form, datatype=XSD[kind]))
    if library == "pyoxigraph":
        triple = ox.Triple(
            ox.NamedNode(E.a), ox.NamedNode(E.p), ox.Literal(form, datatype=ox.NamedNode(XSD[kind]))
        )
    query = 'SELECT ?s {{ ?s <http://example.org/p> "{}"^^<{}> }}'
    assert len(next(iter(rdflive.match(query.format(form, XSD[kind]), [[triple]])))) == 1
    assert len(next(iter(rdflive.match(query.format(f"0{form}", XSD[kind]), [[triple]])))) == 0


@pytest.mark.parametrize(("form", "kind"), FORMS)
def test_a_stream_spells_as_the_store_beside_it(form: str, kind: str) -> None:
    """A literal of pyoxigraph that is given to both joins, and a constant matches."""
    live = rdflive.LiveStore(ox.Store())
    stream = rdflive.Stream(live)
    queries = [
        f'SELECT ?s {{ ?s <{E.p}> "{form}"^^<{XSD[kind]}> }}',
        f"SELECT ?s {{ ?s <{E.p}> ?o . ?t <{E.q}> ?o }}",
    ]
    subscriptions = [rdflive.subscribe(stream, query, window=rdflive.Sliding(10)) for query in queries]
    literal = ox.Literal(form, datatype=ox.NamedNode(XSD[kind]))
    live.add(ox.Quad(ox.NamedNode(E.b), ox.NamedNode(E.q), literal))
    stream.add(ox.Triple(ox.NamedNode(E.a), ox.NamedNode(E.p), literal), at=1)
    assert [len(subscription.answers()) for subscription in subscriptions] == [1, 1]


def test_a_constant_that_the_data_spell_otherwise_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """A pattern finds no other spelling; the note has the one of the data."""
    graph = rdflib.Graph().add((E.s, E.at, Literal("2024-05-01T10:00:00Z", datatype=XSD.dateTime)))
    query = PREFIXES + 'SELECT ?s { ?s :at "2024-05-01T10:00:00Z"^^xsd:dateTime }'
    with caplog.at_level(logging.WARNING, "rdflive"):
        live = rdflive.subscribe(graph, query)
    (note,) = live.explain().notes
    assert '"2024-05-01T10:00:00+00:00"' in note
    assert note in caplog.text
    graph.add((E.t, E.at, exact_literal("2024-05-01T10:00:00Z", datatype=XSD.dateTime)))
    assert [row.s for row in live.answers()] == [E.t]
    assert live.explain().notes == ()


@pytest.mark.parametrize(
    ("form", "kind", "held", "may_compare"),
    [
        ("INF", "double", "inf", True),
        ("01", "integer", "1", True),
        ("2024-05-01Z", "date", "2024-05-01", False),
    ],
)
def test_the_note_says_what_rdflib_has_made_of_a_constant(
    form: str, kind: str, held: str, may_compare: bool
) -> None:
    """Where that is another value, a filter would not find it either."""
    graph = rdflib.Graph().parse(data=f'<{E.s}> <{E.v}> "{form}"^^<{XSD[kind]}> .', format="turtle")
    (note,) = rdflive.subscribe(graph, f'SELECT ?s {{ ?s <{E.v}> "{form}"^^<{XSD[kind]}> }}').explain().notes
    assert f'but some of it has "{held}"' in note
    assert ("FILTER" in note) is may_compare


def test_random_values_have_one_answer_in_both_stores() -> None:
    """A filter over literals of all datatypes is the same in Memory and in Oxigraph."""
    random = drawn_from("stores", 5)
    query = PREFIXES + "SELECT ?a ?b { ?a :v ?x . ?b :v ?y FILTER(?x < ?y) }"
    for _ in range(rounds(100)):
        family = random.choice([0, 2, 3, None])
        texts = [random_literal(random, family) for _ in range(8)]
        kept = [text for text in texts if text.startswith('"') and "^^xsd:" in text]
        # Oxigraph forgets what type an integer had, and so its range
        kept = [
            text for text in kept if not any(name in text for name in ("nteger", "nt", "ong", "hort", "yte"))
        ]
        literals = [exact_literal(*_parts(text)) for text in kept]
        answers = []
        for store in ("default", "Oxigraph"):
            graph = rdflib.Graph(store)
            live = rdflive.subscribe(graph, query)
            for number, literal in enumerate(literals):
                graph.add((E[f"n{number}"], E.v, literal))
            answers.append(sorted((str(row.a), str(row.b)) for row in live.answers()))
            graph.remove((None, None, None))
            assert list(live.answers()) == []
            live.close()
        assert answers[0] == answers[1], kept


def random_literals(random: Random, count: int) -> list[Literal]:
    """Draw typed literals of all datatypes, ill-formed ones too."""
    texts = (random_literal(random) for _ in range(20 * count))
    typed = [text for text in texts if text.startswith('"') and "^^xsd:" in text]
    return [exact_literal(*_parts(text)) for text in dict.fromkeys(typed[:count])]


def test_random_literals_match_themselves_in_events_and_streams() -> None:
    """In each library, as a constant and in a join, whatever the store beside the stream makes of them."""
    random = drawn_from("spelling", 8)
    for literal in random_literals(random, rounds(120)):
        native = ox.Literal(str(literal), datatype=ox.NamedNode(literal.datatype))
        # to rdflib "a" and "a"^^xsd:string are two terms
        constant = f'"{literal}"^^<{literal.datatype}>'
        plain = (E.a, E.p, literal)
        for event in (plain, ox.Triple(ox.NamedNode(E.a), ox.NamedNode(E.p), native)):
            (rows,) = rdflive.match(f"SELECT ?s {{ ?s <{E.p}> {constant} }}", [[event]])
            assert len(rows) == 1, literal
        live = rdflive.LiveStore(ox.Store())
        stream = rdflive.Stream(live)
        queries = [f"SELECT ?s {{ ?s <{E.p}> {constant} }}", f"SELECT ?s {{ ?s <{E.p}> ?o . ?t <{E.q}> ?o }}"]
        subscriptions = [rdflive.subscribe(stream, query, window=rdflive.Sliding(10)) for query in queries]
        live.add(ox.Quad(ox.NamedNode(E.b), ox.NamedNode(E.q), native))
        stream.add(ox.Triple(ox.NamedNode(E.a), ox.NamedNode(E.p), native), at=1)
        assert [len(one.answers()) for one in subscriptions] == [1, 1], literal
        stream.close()


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_random_values_are_told_as_they_are_by_shapes(store: str) -> None:
    """Zero, false, the empty string and what is ill-formed are values and focus nodes like others."""
    shapes = """@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
        :S sh:targetNode :a ; sh:sparql [ sh:select
          "SELECT $this ?value { $this <http://example.org/v> ?value }" ] .
        :T sh:targetObjectsOf :v ; sh:sparql [ sh:select "SELECT $this { $this ?p ?o }" ] ,
          [ sh:select "SELECT $this { FILTER(isLITERAL($this)) }" ] ."""
    graph = rdflib.Graph(store)
    for literal in random_literals(drawn_from("shapes", 2), rounds(300)):
        if not literal.startswith("-P"):  # oxrdflib fails to list -P1M1D
            graph.add((E.a, E.v, literal))
    held = sorted(graph.objects(), key=str)
    with rdflive.validate(graph, shapes) as validation:
        rows = sorted(validation.answers(), key=lambda row: str(row.value))
        told = [row.value for row in rows if row.shape == E.S]
        assert Counter(told) == Counter(held)
        assert Counter((row.focus, row.value) for row in rows if row.shape == E.T) == Counter(
            (term, term) for term in held
        )
        graph.remove((None, None, None))
        assert list(validation.answers()) == []


def _parts(text: str) -> tuple[str, None, URIRef]:
    lexical, _, kind = text[1:].rpartition('"^^xsd:')
    return lexical, None, XSD[kind]
