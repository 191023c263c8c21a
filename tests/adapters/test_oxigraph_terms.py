"""Terms of queries become those that Oxigraph keeps."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

import rdflive

pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store, Triple

from rdflive_stores.oxigraph.terms import canonical, to_native, to_rdflib
from support.effort import drawn_from, rounds
from support.oxigraph import node, typed

A = rdflib.URIRef("urn:example:a")

TYPES = (
    *("integer", "decimal", "double", "float", "boolean", "int", "string", "anyURI"),
    *("date", "dateTime", "time", "gYear", "duration"),
)


def random_literal(choice: random.Random) -> Literal:
    """Make a literal of a type that Oxigraph stores by value, often in an unusual spelling or invalid."""
    number = f"{choice.choice(('', '-', '+', '0'))}{choice.randrange(10 ** choice.randrange(1, 19))}"
    fraction = f"{number}.{choice.randrange(10 ** choice.randrange(1, 10))}"
    date = f"{choice.randrange(10000):04}-{choice.randrange(14):02}-{choice.randrange(33):02}"
    seconds = choice.choice(("00", "59", "60", "1.50", "01.5", "00.000001"))
    zone = choice.choice(("", "Z", "+00:00", "-00:00", "+05:30", "-14:00", "+15:00"))
    time = f"{choice.randrange(25):02}:{choice.randrange(61):02}:{seconds}"
    fractions = (fraction, fraction + "e3", repr(choice.random()))
    value = choice.choice((number, *fractions, date, f"{date}T{time}", time, "true", "x"))
    return typed(value + choice.choice(("", zone)), choice.choice(TYPES))


EDGES = (
    *("1.50 decimal", "1. decimal", ".5 decimal", "-0 decimal", "-0.0 decimal", "123456789.1234567 decimal"),
    *("1.50 double", "1.0 double", "-0 double", "1e3 double", "NaN double", "12345678.1234567 double"),
    *("9627436350621.312 double", "1.0000076293945312 double", "-0 integer", "+1 integer", "1 boolean"),
    *("2020-01-01T24:00:00 dateTime", "2020-01-01T00:00:00+00:00 dateTime", "0000-01-01 date"),
    *("2020-01-01T00:00:00.10 dateTime", "2020-02-30 date", "2020-01-01-00:00 date", "P12M duration"),
)


def test_canonical_terms_are_as_the_store_gives_them_back() -> None:
    """For edge cases and thousands of random literals `canonical` says what a store makes of them."""
    choice = drawn_from("canonical")
    edges = [typed(*edge.split()) for edge in EDGES]
    for literal in (*edges, *(random_literal(choice) for _ in range(rounds(20_000, share=20)))):
        store = Store()
        store.add(Quad(node("s"), node("p"), literal))
        (stored,) = store
        assert canonical(literal) == stored.object, literal


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (A, node("a")),
        (rdflib.BNode("x"), BlankNode("x")),
        (DATASET_DEFAULT_GRAPH_ID, NamedNode(str(DATASET_DEFAULT_GRAPH_ID))),
        (rdflib.Literal("x"), Literal("x")),
        (rdflib.Literal("x", datatype=rdflib.XSD.string), Literal("x")),
        (rdflib.Literal("x", lang="EN"), Literal("x", language="en")),
        (rdflib.Literal("01", datatype=rdflib.XSD.byte), typed("1")),
        (rdflib.Literal("x", datatype=A), Literal("x", datatype=node("a"))),
        (rdflib.Literal(1.5), typed("1.5", "double")),
        (typed("+1"), typed("1")),
        (node("a"), node("a")),
    ],
)
def test_terms_of_both_libraries_become_canonical(term: Any, expected: Any) -> None:
    """A query's terms, of rdflib or pyoxigraph, become those that the store holds."""
    assert to_native(term) == expected
    assert to_native(to_native(term)) == expected


@pytest.mark.parametrize("term", [rdflib.Variable("x"), rdflib.URIRef("relative"), 5, None])
def test_what_no_store_can_hold_is_no_term(term: Any) -> None:
    """Variables, relative IRIs and values of Python are refused."""
    with pytest.raises(ValueError, match=r"\w"):
        to_native(term)


TEXTS = (
    *("", " a  b ", "a\tb\nc", "01", "1.0", "-1E3", "INF", "P12M", "2020-02-30", "24:00:00", "YQ==", "fF"),
    "<b>x</b>",
)


@pytest.mark.parametrize("normalize", [True, False])
def test_terms_for_rdflib_keep_their_spelling(monkeypatch: pytest.MonkeyPatch, normalize: bool) -> None:
    """Whatever rdflib is told about normalising, its term has the store's spelling and turns back into it."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", normalize)
    choice = drawn_from("spelling", normalize)
    names = (*TYPES, "token", "normalizedString", "base64Binary", "hexBinary", "dayTimeDuration", "byte")
    literals = [
        *(random_literal(choice) for _ in range(rounds(2000))),
        *(typed(text, name) for text in TEXTS for name in names),
        *(
            Literal(text, datatype=NamedNode(rdflib.RDF[name]))
            for text in TEXTS
            for name in ("HTML", "XMLLiteral")
        ),
        *(Literal(text, language=tag) for text in TEXTS for tag in ("en", "zh-Hant-CH", "x-own")),
    ]
    for native in (*map(canonical, literals), node("a"), BlankNode("b")):
        term = to_rdflib(native)
        assert str(term) == native.value, native
        assert to_native(term) == native


def test_what_users_read_is_what_oxrdflib_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the value, and to whether it fits the type, also where rdflib is told something else meanwhile."""
    converter = pytest.importorskip("oxrdflib._converter", reason="needs the extra rdflive[oxigraph]")
    from rdflive_stores.oxigraph.reading import read

    def shown(term: Any) -> Any:
        if not isinstance(term, rdflib.Literal):
            return type(term), term
        kinds = (type(term), type(term.value), type(term.datatype))
        return kinds, str(term), term.language, term.datatype, repr(term.value), term.ill_typed, hash(term)

    choice = drawn_from("read")
    names = (*TYPES, "token", "normalizedString", "hexBinary", "dayTimeDuration", "byte")
    natives = [
        *(random_literal(choice) for _ in range(rounds(500))),
        *(typed(text, name) for text in TEXTS for name in names),
        *(Literal(text, language=tag) for text in TEXTS for tag in ("en", "zh-Hant-CH")),
        *(Literal(text, datatype=node("own")) for text in TEXTS),
        *(node("a"), NamedNode("http://e/é#x"), BlankNode("b"), Triple(node("a"), node("p"), typed("01"))),
        *map(Literal, TEXTS),
    ]
    for normalize in (True, False, True):
        monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", normalize)
        for native in natives:
            assert shown(read(native)) == shown(converter.from_ox(native)), native


@pytest.mark.parametrize(
    "term",
    [
        Triple(node("a"), node("p"), node("b")),
        Literal("x", language="ar", direction=BaseDirection.RTL),
        DefaultGraph(),
    ],
)
def test_what_rdflib_cannot_hold_is_refused(term: Any) -> None:
    """A triple as a term and a string with a direction have no exact counterpart."""
    with pytest.raises(ValueError, match="rdflib cannot hold"):
        to_rdflib(term)


TERMS = [
    '"16777217"^^xsd:float', '"1.0000000001"^^xsd:float', '"2147483648"^^xsd:int', '"-1"^^xsd:unsignedInt',
    '"01"^^xsd:integer', "1", '"1"', '"x"@EN', '"x"@en', '"1.50"^^xsd:decimal', '"abc"^^xsd:integer', "true",
]  # fmt: skip
FILTERS = [
    "?v = {}", "?v > {}", "STR(?v) = STR({})", "DATATYPE(?v) = DATATYPE({})", "LANG(?v) = LANG({})",
    "?v IN ({}, 7)",
]  # fmt: skip
PREFIX = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DATA = " ".join(f"<urn:{number}> <urn:p> {term} ." for number, term in enumerate(TERMS))


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", ["live store", "graph"])
@pytest.mark.parametrize("term", TERMS)
def test_a_constant_is_compared_as_the_store_spells_it(kind: str, term: str) -> None:
    """So the answer is that of the store, with others in a family and alone."""
    store = Store()
    graph = rdflive.LiveStore(store) if kind == "live store" else rdflib.Graph(store="Oxigraph")
    for target in (store, graph) if kind == "graph" else (store,):
        target.update(f"{PREFIX} INSERT DATA {{ {DATA} }}")
    for condition in FILTERS:
        query = f"{PREFIX} SELECT ?s {{ ?s <urn:p> ?v FILTER({condition.format(term)}) }}"
        expected = sorted(solution["s"].value for solution in store.query(query))
        for budget in (None, rdflive.Budget()):
            with rdflive.subscribe(graph, query, budget=budget) as subscription:
                found = sorted(str(row.s).strip("<>") for row in subscription.answers())
                assert found == expected, (condition, budget)
