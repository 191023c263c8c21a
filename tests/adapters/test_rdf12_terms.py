"""Strings with a direction and triples as terms: expressions over them have Oxigraph's values."""

from __future__ import annotations

import pickle
from collections import Counter
from importlib.util import find_spec
from itertools import product
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

import pyoxigraph
from oxrdflib import OxigraphStore
from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store, Triple
from rdflib.plugins.stores.auditable import AuditableStore

import rdflive
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.query.expressions import Expression
from rdflive.store import value_of
from rdflive.values import value_in
from rdflive.values import value_of as value_of_literal
from rdflive_stores.oxigraph import LiveStore
from rdflive_stores.oxigraph.terms import canonical, to_native, to_parts, to_rdflib, to_value
from support import expressions as e
from support.effort import examples
from support.oxigraph import node, typed

compares = pytest.mark.skipif(
    tuple(map(int, pyoxigraph.__version__.split(".")[:3])) < (0, 5, 12),
    reason="= between two strings with a direction ends the process in Oxigraph before 0.5.12",
)
has_re2 = pytest.mark.skipif(find_spec("re2") is None, reason="needs the extra rdflive[server]")
LTR, RTL = BaseDirection.LTR, BaseDirection.RTL


def directed(characters: str, language: str = "en", direction: BaseDirection = LTR) -> Literal:
    return Literal(characters, language=language, direction=direction)


A, B, P, Q = map(node, "abpq")
UNKNOWN = NamedNode("urn:unknown")
DIRECTED = [
    *map(directed, ("", "hi", "Hi", "h", "true")),
    directed("hi", "en", RTL),
    *(directed("i", "fr"), directed("h", "de-at")),
]
TRIPLES = [
    *(Triple(A, P, term) for term in (Literal("hi"), directed("hi"), Literal("hi", language="en"))),
    *(Triple(A, P, term) for term in (typed("1"), typed("1.0", "decimal"), typed("2"))),
    *(Triple(B, P, typed("2")), Triple(A, Q, typed("2")), Triple(A, P, B)),
    *(Triple(A, P, Literal(text, datatype=UNKNOWN)) for text in "xy"),
    *(Triple(A, P, Triple(A, P, term)) for term in (typed("1"), typed("1.0", "decimal"))),
]
ORDINARY = [
    *(A, *map(Literal, ("", "hi", "h")), typed("1"), typed("1.5", "decimal"), typed("true", "boolean")),
    *(Literal(text, language=tag) for text, tag in (("hi", "en"), ("hi", "fr"), ("h", "en"))),
    Literal("x", datatype=UNKNOWN),
]
TERMS = [*DIRECTED * 2, *TRIPLES * 2, *ORDINARY]

TEXTS = [
    *e.TEXTS,
    *e.EQUALITY,
    *("STR(?_1)", 'STRLANG(?_1, "en")', "STRDT(?_1, xsd:string)", "xsd:string(?_1)", "xsd:boolean(?_1)"),
    *("IF(isLITERAL(?_1), ?_2, ?_3)", "IF(BOUND(?a), ?_1, ?_2)", "CONCAT(?_1)", "IRI(?_1)"),
    "COALESCE(?_1, 1)",
    *(f"{name}(?_1)" for name in ("LANGDIR", "SUBJECT", "PREDICATE", "OBJECT")),
    *("TRIPLE(?_1, ?_2, ?_3)", "TRIPLE(?a, <urn:p>, ?_1)", "<<( <urn:s> ?a ?b )>>"),
    *('STRLANGDIR(STR(?_1), "en", "ltr")', "STRLANGDIR(STR(?_1), LANG(?_2), LANGDIR(?_2))"),
]
TESTS = [f"{name}(?_1)" for name in ("isTRIPLE", "hasLANG", "hasLANGDIR")]
VARIABLES = ["?a", "?b", "?c"] * 4
KINDS = {
    "logic": (
        e.expressions(
            [*TESTS, *(t for t in e.LOGIC if t not in e.ORDER)], [*VARIABLES, '"hi"', "1"], leaves=5
        ),
        TERMS,
        "SELECT ?s {{ {pattern} FILTER({text}) }}",
    ),
    "texts": (
        e.expressions(TEXTS, [*VARIABLES, '"hi"', '"h"@en', "1"], leaves=5),
        TERMS,
        "SELECT ?s ({text} AS ?x) {{ {pattern} }}",
    ),
}


def store_of(*rows: tuple[Any, ...]) -> LiveStore:
    """Make a store of subjects 0, 1, ... with the terms of each as objects of :a, :b, :c, ..."""
    live = LiveStore()
    for number, terms in enumerate(rows):
        fill(live, number, terms)
    return live


def fill(live: LiveStore, number: int, terms: tuple[Any, ...]) -> None:
    live.extend(
        Quad(node(f"s{number}"), node(name), term, DefaultGraph())
        for name, term in zip("abc", terms, strict=False)
    )


def shown(solutions: Any, names: list[str]) -> Counter[tuple[str, ...]]:
    """Write solutions of a subscription or of Oxigraph."""

    def text(solution: Any, name: str) -> str:
        try:
            return str(solution[name])
        except KeyError:
            return "None"

    return Counter(tuple(text(solution, name) for name in names) for solution in solutions)


def check(live: LiveStore, query: str, names: str = "s x", budget: rdflive.Budget | None = None) -> None:
    """Compare what a subscription answers with what Oxigraph does."""
    subscription = rdflive.subscribe(live, query, budget=budget)
    try:
        found = shown(subscription.answers(), names.split())
        assert found == shown(live.query(query), names.split()), query
    finally:
        subscription.close()


@pytest.mark.parametrize("function", ["UCASE(?a)", "LCASE(?a)", "SUBSTR(?a, 1, 1)", "CONCAT(?a, ?a)"])
def test_functions_keep_the_direction_of_a_string(function: str) -> None:
    """In every version of Oxigraph, also those that cannot compare two such strings."""
    live = store_of(*((term,) for term in DIRECTED))
    check(live, f"SELECT ?s ({function} AS ?x) {{ ?s <urn:example:a> ?a }}")


@compares
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=examples(400, share=16))
@given(st.data())
def test_an_expression_has_the_value_that_oxigraph_gives(kind: str, data: st.DataObject) -> None:
    """As a filter, or selected, over terms of RDF 1.2 and ordinary ones; answers and deltas alike."""
    expressions, terms, query = KINDS[kind]
    text = Expression(data.draw(expressions)).text
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(terms)] * 3), min_size=1, max_size=4))
    query = query.format(text=text, pattern="?s <urn:example:a> ?a ; <urn:example:b> ?b ; <urn:example:c> ?c")
    names = ["s", "x"]
    live, told = LiveStore(), Counter[tuple[str, ...]]()

    def take(delta: rdflive.Delta) -> None:
        told.update(shown(delta.added, names))
        told.subtract(shown(delta.removed, names))

    with rdflive.subscribe(live, query, take) as subscription:
        for number, terms in enumerate(rows):
            fill(live, number, terms)
            expected = shown(live.query(query), names)
            assert +told == shown(subscription.answers(), names) == expected, (text, rows)
        for quad in list(live):
            live.remove(quad)
        assert not +told


@compares
@pytest.mark.sampled(by="budget")
@pytest.mark.parametrize("budget", [None, pytest.param(rdflive.Budget(), marks=has_re2)], ids=["", "budget"])
def test_each_function_has_the_values_that_oxigraph_gives(budget: rdflive.Budget | None) -> None:
    """Of every pair of terms of RDF 1.2; a budget that suffices changes none."""
    terms = [*DIRECTED, *TRIPLES[:3], TRIPLES[9]]
    live = store_of(*product(terms, terms))
    for template in dict.fromkeys([*TEXTS, *TESTS, *(t for t in e.LOGIC if t not in e.ORDER)]):
        text = template.replace("?_1", "?a").replace("?_2", "?b").replace("?_3", "?a")
        query = f"SELECT ?s ({text} AS ?x) {{ ?s <urn:example:a> ?a ; <urn:example:b> ?b }}"
        check(live, f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {query}", budget=budget)


@compares
@pytest.mark.parametrize("operator", ["<", ">", "<=", ">="])
def test_order_is_that_of_oxigraph(operator: str) -> None:
    """Strings of one language and direction are ordered, and triples that differ in the object alone."""
    pairs = [*product(TRIPLES, TRIPLES), *product(DIRECTED, [*DIRECTED, *ORDINARY, *TRIPLES])]
    live = store_of(*((one, other) for one, other in pairs if one != other))  # Oxigraph rewrites ?a < ?a
    check(live, f"SELECT ?s (?a {operator} ?b AS ?x) {{ ?s <{A.value}> ?a ; <{B.value}> ?b }}")


SORTED = [
    *(B, A, *map(directed, ("b", "", "a")), TRIPLES[3], *TRIPLES[5:8], TRIPLES[11]),
    Triple(A, P, Triple(B, P, B)),
]
"""Terms whose order SPARQL 1.2 or Oxigraph defines, and not rdflive alone."""
VALUES = "?s <urn:example:a> ?o"


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_sorting_is_that_of_oxigraph(direction: str) -> None:
    """ORDER BY puts IRIs before strings, these before triples, and triples by their parts."""
    live = store_of(*((term,) for term in SORTED))
    for end in ("", " OFFSET 3 LIMIT 4"):
        query = f"SELECT ?o {{ {VALUES} }} ORDER BY {direction}(?o){end}"
        with rdflive.subscribe(live, query) as subscription:
            assert [s["o"] for s in subscription.answers()] == [s["o"] for s in live.query(query)]  # type: ignore[union-attr, index]  # a SELECT


@pytest.mark.parametrize(
    ("call", "terms"),
    [
        ("MIN(?o)", DIRECTED[:5]),
        ("MAX(?o)", DIRECTED[:5]),
        ("MIN(?o)", SORTED),
        ("MAX(?o)", SORTED),
        ("MAX(?o)", TRIPLES[3:6]),
        ("SAMPLE(?o)", DIRECTED[:1]),
        ("SAMPLE(?o)", TRIPLES[:1]),
        ("COUNT(DISTINCT ?o)", TERMS),
        ("GROUP_CONCAT(STR(?o))", DIRECTED[1:2]),
        ("GROUP_CONCAT(?o)", [A, *TRIPLES[:1]]),
        ("GROUP_CONCAT(STR(?o))", TRIPLES[:1]),
        ("SUM(?o)", DIRECTED[:1]),
        ("AVG(?o)", TRIPLES[:1]),
    ],
)
def test_a_set_function_has_the_value_that_oxigraph_gives(call: str, terms: list[Any]) -> None:
    """MIN, MAX, SAMPLE and the others take terms of RDF 1.2 as they take ordinary ones."""
    check(store_of(*((term,) for term in terms)), f"SELECT ({call} AS ?x) {{ {VALUES} }}", "x")


def test_a_group_is_that_of_a_term() -> None:
    """A string with a direction is another key than one without, and than one of the other direction."""
    terms = [directed("hi"), directed("hi", "en", RTL), Literal("hi", language="en"), *TRIPLES]
    live = store_of(*((term, term) for term in terms))
    check(live, "SELECT ?o (COUNT(*) AS ?x) { ?s ?p ?o } GROUP BY ?o", "o x")
    check(live, "SELECT DISTINCT (COALESCE(?o, 1) AS ?x) { ?s ?p ?o }", "x")


def test_a_constructed_triple_holds_them() -> None:
    """A template takes a string with a direction, or a triple, as an object and never as a subject."""
    live = store_of((directed("hi"),), (TRIPLES[0],))
    with rdflive.subscribe(
        live, f"CONSTRUCT {{ ?s <urn:is> ?x . ?x <urn:of> ?s }} {{ {VALUES} BIND(?o AS ?x) }}"
    ) as s:
        assert {str(object_) for _, _, object_ in s.answers()} == {str(directed("hi")), str(TRIPLES[0])}


@pytest.mark.parametrize("term", [*DIRECTED, *TRIPLES], ids=str)
def test_a_term_comes_back_from_its_value(term: Any) -> None:
    """The value that expressions compute with is written, kept, pickled and turned back exactly."""
    value = to_value(term)
    assert to_native(value) == canonical(term)
    assert pickle.loads(pickle.dumps(value)) == value
    written = next(iter(Store().query(f"SELECT ({value.n3()} AS ?term) {{ }}")))  # type: ignore[arg-type, index]  # a SELECT
    assert to_native(value) == canonical(written["term"])


def test_a_store_inside_another_is_asked_for_its_terms() -> None:
    """Over an AuditableStore the store inside says what its terms are."""
    native = Store()
    native.add(Quad(A, P, directed("hi"), A))
    outer = rdflib.Graph(AuditableStore(OxigraphStore(store=native)), rdflib.URIRef(A.value))
    with rdflive.subscribe(outer, "SELECT (STR(?o) AS ?x) { ?s ?p ?o }") as subscription:
        assert [str(solution.x) for solution in subscription.answers()] == ["hi"]


class _Alien:
    """A term of no library."""


class _Aliens:
    """An adapter of a store whose terms neither rdflib nor rdflive knows."""

    def to_rdflib(self) -> Any:
        return to_rdflib


def test_a_term_that_nobody_knows_counts_and_has_no_value() -> None:
    """It equals itself alone, every function makes an error of it, and it is given back as it was."""
    alien, value = _Alien(), value_of(_Aliens())  # type: ignore[arg-type]  # what is asked here
    assert value is not None
    one = value(alien)
    assert one == value(alien) != value(_Alien())
    assert [e.evaluate(f"COALESCE({call}(?a), 'error')", a=one) for call in ("STR", "LANG", "DATATYPE")] == [
        rdflib.Literal("error")
    ] * 3
    assert e.evaluate("isIRI(?a) || isLITERAL(?a) || isBLANK(?a)", a=one) == rdflib.Literal(False)
    dictionary = Dictionary()
    number = TermTable(dictionary, to_native, value).intern(one)
    assert dictionary.terms[number] is alien


def test_triples_are_ordered_by_their_objects_alone_where_the_rest_is_equal() -> None:
    """By hand, so that an Oxigraph that cannot be compared with is checked too."""
    one, other, elsewhere = Triple(A, P, typed("1")), Triple(A, P, typed("2")), Triple(B, P, typed("2"))
    live = store_of((one, other), (one, elsewhere), (other, one))
    query = f"SELECT ?s {{ ?s {node('a')} ?x ; {node('b')} ?y FILTER(?x < ?y) }}"
    with rdflive.subscribe(live, query) as subscription:
        assert [row["s"] for row in subscription.answers()] == [node("s0")]


FORMS = (
    "7",
    "-7",
    "007",
    "7.50",
    "1e3",
    "INF",
    "true",
    "a",
    "",
    "2024-05-01",
    "2024-05-01T12:00:00Z",
    "P1M",
    "PT1H",
)


@pytest.mark.parametrize(
    "name",
    [
        "integer",
        "byte",
        "decimal",
        "double",
        "float",
        "boolean",
        "string",
        "token",
        "date",
        "dateTime",
        "duration",
        "dayTimeDuration",
        "gYear",
    ],
)
def test_a_literal_taken_apart_has_the_value_of_its_term(name: str) -> None:
    """Comparisons read the parts, and expressions compute with the term: both see one value."""
    literals = [Literal(form, datatype=NamedNode(str(rdflib.XSD[name]))) for form in FORMS]
    for literal in literals:
        term = to_value(literal)
        assert value_in(*to_parts(literal)) == value_of_literal(term), literal
    with_language = Literal("7", language="en")
    assert value_in(*to_parts(with_language)) is None
    assert [to_parts(term) for term in (NamedNode("urn:x"), BlankNode("b"), *TRIPLES)] == [None] * (
        2 + len(TRIPLES)
    )
