"""Functions with an IRI: unknown ones are refused, registered ones and those of GeoSPARQL are computed."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from rdflib import XSD, Graph, Literal, URIRef, Variable
from rdflib.plugins.sparql import operators, prepareQuery
from rdflib.plugins.sparql.sparql import SPARQLError

import rdflive
from rdflive.query.expressions import Expression, numbered, registry
from rdflive.query.expressions.geosparql import GEOSPARQL, GeoSparql
from rdflive.values.casts import CASTS
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import drawn_from, rounds
from support.expressions import node

F, P = URIRef("urn:f"), URIRef("urn:p")
GEO = "PREFIX geof: <http://www.opengis.net/def/function/geosparql/>"
WKT = URIRef("http://www.opengis.net/ont/geosparql#wktLiteral")
METRE = URIRef("http://www.opengis.net/def/uom/OGC/1.0/metre")


@pytest.fixture(autouse=True)
def own_table() -> Iterator[None]:
    """Leave rdflib's table as it was."""
    before = dict(operators._CUSTOM_FUNCTIONS)
    yield
    operators._CUSTOM_FUNCTIONS.clear()
    operators._CUSTOM_FUNCTIONS.update(before)


def twice(term: Any) -> Literal:
    return Literal(2 * term.toPython())


def thrice(term: Any) -> Literal:
    return Literal(3 * term.toPython())


def values(graph: Any, query: str, **options: Any) -> list[Any]:
    with rdflive.subscribe(graph, query, **options) as live:
        return sorted(row.python()[0] for row in live.answers())


def numbers(*given: int) -> Graph:
    graph = Graph()
    for number in given:
        graph.add((URIRef(f"urn:{number}"), P, Literal(number)))
    return graph


CALLS = [
    "SELECT ?s { ?s <urn:p> ?o FILTER(<urn:g>(?o)) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER(!COALESCE(<urn:g>(?o), true)) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER(?o = 1 || <urn:g>(?o)) }",
    "SELECT ?x { ?s <urn:p> ?o BIND(STR(<urn:g>(?o)) AS ?x) }",
    "SELECT (<urn:g>(?o) AS ?x) { ?s <urn:p> ?o }",
    "SELECT (SUM(<urn:g>(?o)) AS ?x) { ?s <urn:p> ?o }",
    "SELECT ?s { ?s <urn:p> ?o } ORDER BY <urn:g>(?o) LIMIT 1",
    "SELECT ?o { ?s <urn:p> ?o } GROUP BY ?o HAVING(<urn:g>(?o))",
    "ASK { ?s <urn:p> ?o FILTER EXISTS { ?o <urn:p> ?x FILTER(<urn:g>(?x)) } }",
    "SELECT ?s { ?s <urn:p> ?o OPTIONAL { ?o <urn:p> ?x FILTER(<urn:g>(?x)) } }",
    "SELECT ?s { { SELECT ?s { ?s <urn:p> ?o FILTER(<urn:g>(?o)) } } }",
    "CONSTRUCT { ?s <urn:q> ?x } WHERE { ?s <urn:p> ?o BIND(<urn:g>(?o) AS ?x) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER(<urn:f>(<urn:g>(?o))) }",
]


@pytest.mark.parametrize("text", CALLS)
def test_unknown_function_is_refused_wherever_it_stands(text: str) -> None:
    """The error has the name, the place and the nearest name."""
    rdflive.register_function(F, twice)
    for ask in (
        lambda: rdflive.subscribe(Graph(), text),
        lambda: rdflive.explain(text),
        lambda: plan_queries(text),
    ):
        with pytest.raises(
            rdflive.UnsupportedQueryError, match=r"<urn:g> .* is not a known function"
        ) as caught:
            ask()
        error = caught.value
        assert (error.construct, error.line, error.column) == ("<urn:g>", 1, text.index("<urn:g>") + 1)


@pytest.mark.parametrize(
    ("iri", "near"),
    [
        (f"{XSD}interger", XSD.integer),
        (f"{XSD}DateTime", XSD.dateTime),
        ("http://www.opengis.net/def/function/geosparql/Distance", "http://www.opengis.net/def/function/geosparql/distance"),
        ("http://www.opengis.net/def/geosparql/sfWithin", "http://www.opengis.net/def/function/geosparql/sfWithin"),
        ("http://e/f#twize", "http://e/f#twice"),
        ("urn:zzzz", None),
    ],
)  # fmt: skip
def test_nearest_name_is_suggested(iri: str, near: str | None) -> None:
    """One of the same namespace first, and else one whose name is alike."""
    rdflive.register_function("http://e/f#twice", twice)
    said = registry.unknown(URIRef(iri))
    assert re.findall("the nearest is <(.*)>", said) == ([] if near is None else [str(near)])


@pytest.mark.parametrize("cast", sorted(CASTS))
def test_each_cast_is_known(cast: str) -> None:
    """What the table of casts has needs no registration."""
    assert registry.unknown(URIRef(cast)) == ""
    rdflive.explain(f"SELECT (<{cast}>(?o) AS ?x) {{ ?s ?p ?o }}")


@pytest.mark.parametrize(("arguments", "count"), [("", 0), ("?o, ?o", 2)])
def test_a_cast_takes_one_argument(arguments: str, count: int) -> None:
    """With another number it would be an error in each row; what is registered for its IRI has its own."""
    text = f"SELECT ?s {{ ?s <urn:p> ?o FILTER(<{XSD.date}>({arguments}) = ?o) }}"
    with pytest.raises(rdflive.UnsupportedQueryError, match=f"takes one argument and not {count}") as raised:
        rdflive.subscribe(Graph(), text)
    assert raised.value.column == text.index("<http") + 1
    rdflive.register_function(XSD.date, lambda *terms: Literal(len(terms)))
    with rdflive.subscribe(numbers(count, 3), text) as live:
        assert [row.s for row in live.answers()] == [URIRef(f"urn:{count}")]


def test_an_aggregate_with_an_iri_is_refused() -> None:
    """DISTINCT is written in an aggregate alone, and there are SPARQL's own."""
    rdflive.register_function(F, twice)
    with pytest.raises(rdflive.UnsupportedQueryError, match="is an aggregate outside SPARQL"):
        rdflive.explain("SELECT ?s { ?s ?p ?o FILTER(<urn:f>(DISTINCT ?o)) }")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            r"REGEX(?o, '\\bfoo')",
            r"REGEX \(line 1, column 34\) has '\\\\bfoo', which cannot be matched",
        ),
        (
            "REGEX(?o, 'a', 'g')",
            "with the flags 'g', which cannot be matched as XPath defines: 'g' is not a flag",
        ),
        ("REGEX(REPLACE(?o, '(?i)a', ''), 'a')", r"REPLACE \(line 1, column 40\) has '\(\?i\)a'"),
    ],
)
def test_no_regular_expression_is_refused(call: str, reason: str) -> None:
    """Where it is a constant, initBindings too; elsewhere it is an error of each row."""
    with pytest.raises(rdflive.UnsupportedQueryError, match=reason):
        rdflive.explain(f"SELECT ?s {{ ?s <urn:p> ?o FILTER({call}) }}")
    graph = Graph().add((P, P, Literal("(")))
    text = "SELECT ?s { ?s <urn:p> ?o FILTER(!REGEX('a', ?o)) }"
    assert values(graph, text) == []
    with pytest.raises(rdflive.UnsupportedQueryError, match="has '\\('"):
        rdflive.subscribe(graph, text, initBindings={"o": Literal("(")})


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("REPLACE(?o, 'b*', 'x')", "'b*' matches the empty string, which cannot be replaced"),
        ("REPLACE(?o, 'b', '$')", r"in the replacement '$', write \\ and \$ for the characters"),
        ("REPLACE(?o, 'b', ?s)", ""),
        ("REPLACE(?o, '$', '$', 'q')", ""),
    ],
)
def test_replace_without_a_value_is_noted(call: str, reason: str) -> None:
    """It is no mistake in the text, so the query is followed, and the note says why nothing comes."""
    graph = Graph().add((P, P, Literal("abc")))
    live = rdflive.subscribe(graph, f"SELECT ?x {{ ?s <urn:p> ?o BIND({call} AS ?x) }}")
    assert list(live.explain().notes) == ([f"REPLACE has no value in any row: {reason}"] if reason else [])
    assert len(live.answers()) == 1
    assert reason == "" or live.answers()[0].x is None


def test_errors_of_a_registered_function_are_errors_of_sparql() -> None:
    """None, an exception and what is no term: a filter lets no row pass, BIND leaves a variable unbound."""
    made: dict[int, Any] = {1: None, 2: 5, 3: Literal("x")}
    made |= {4: Variable("x"), 5: Graph(), 6: URIRef("a b"), 7: "x"}
    rdflive.register_function(F, lambda n: made[n.toPython()])
    graph = numbers(*range(1, 9))
    text = "SELECT ?o ?x { ?s <urn:p> ?o BIND(<urn:f>(?o) AS ?x) }"
    live = rdflive.subscribe(graph, text)
    assert sorted(row.python() for row in live.answers()) == [
        (n, "x" if n == 3 else None) for n in range(1, 9)
    ]
    for test in ("<urn:f>(?o)", "!<urn:f>(?o)"):
        found = values(graph, f"SELECT ?o {{ ?s <urn:p> ?o FILTER({test}) }}")
        assert found == ([3] if test[0] == "<" else [])
    own = sorted((o.toPython(), x and x.toPython()) for o, x in graph.query(text))
    assert own == [(n, "x" if n == 3 else None) for n in range(1, 9)]


def broken(term: Any) -> Literal:
    raise KeyError(term.toPython())


def raw(expression: Any, _: Any) -> Any:
    return broken(expression.expr[0])


def valueless(_: Any) -> Any:
    raise SPARQLError("it has no value")


@pytest.mark.parametrize("make", [Graph, rdflive.LiveStore])
def test_an_exception_of_a_function_is_logged_once(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A mistake in a function would otherwise look like a query without answers."""
    graph = make()
    graph.update("INSERT DATA { <urn:1> <urn:p> 1 . <urn:2> <urn:p> 2 }")
    name = f"urn:broken:{make.__name__}"
    text = f"SELECT ?o ?x {{ ?s <urn:p> ?o BIND(<{name}>(?o) AS ?x) }}"
    rdflive.register_function(name, broken)
    with rdflive.subscribe(graph, text):
        graph.update("INSERT DATA { <urn:3> <urn:p> 3 }")
    (record,) = caplog.records
    assert re.fullmatch(
        rf"<{name}>\(\?o\) has no value in some rows: the function raised KeyError: [12]", record.getMessage()
    )
    rdflive.register_function(name, lambda term: 5)  # it is another function now
    with rdflive.subscribe(graph, text):
        assert caplog.messages[1:] == [
            f"<{name}>(?o) has no value in some rows: the function raised TypeError: "
            "it returned 5, which is not a term"
        ]


@pytest.mark.parametrize(
    ("function", "is_raw", "logged"), [(broken, False, 1), (raw, True, 1), (valueless, False, 0)]
)
def test_exceptions_of_functions_of_rdflib_are_logged(
    function: Any, is_raw: bool, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    """But not its SPARQLError, by which a function says that it has no value."""
    name = URIRef(f"urn:rdflib:{function.__name__}")
    operators.register_custom_function(name, function, raw=is_raw)
    assert values(numbers(1), f"SELECT ?o {{ ?s <urn:p> ?o FILTER(<{name}>(?o)) }}") == []
    assert len(caplog.records) == logged


def test_a_function_without_a_value_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    """None and SPARQLError say so, as do functions of GeoSPARQL for what is no geometry."""
    rdflive.register_function("urn:none", lambda term: None)
    rdflive.register_function("urn:valueless", valueless)
    for call in ("<urn:none>(?o)", "<urn:valueless>(?o)", "geof:dimension(?s)"):
        assert values(numbers(1), f"{GEO} SELECT ?o {{ ?s <urn:p> ?o FILTER({call}) }}") == []
    assert caplog.records == []


def test_a_call_with_other_arguments_than_the_function_takes_is_refused() -> None:
    """It would be an error in every row."""
    rdflive.register_function("urn:two", lambda one, other: one)
    operators.register_custom_function(URIRef("urn:own"), lambda one, other: one)
    for name in ("urn:two", "urn:own"):
        text = f"SELECT ?s {{ ?s <urn:p> ?o FILTER(<{name}>(?o)) }}"
        with pytest.raises(
            rdflive.UnsupportedQueryError, match="cannot take the arguments of this call: missing"
        ):
            rdflive.subscribe(Graph(), text)
        rdflive.explain(text.replace("(?o))", "(?o, 1))"))


@pytest.mark.parametrize("case", range(rounds(40)))
def test_deltas_are_those_of_recomputation(case: int) -> None:
    """Over drawn changes, for functions of one term and of two; at the end nothing is left."""
    random = drawn_from(f"functions {case}")
    rdflive.register_function("urn:plus", lambda one, other: Literal(one.toPython() + other.toPython()))
    rdflive.register_function("urn:even", lambda n: Literal(n.toPython() % 2 == 0))
    graph = Graph()
    texts = [
        "SELECT ?s ?x { ?s <urn:p> ?o ; <urn:q> ?r BIND(<urn:plus>(?o, ?r) AS ?x) }",
        "SELECT ?s { ?s <urn:p> ?o FILTER(<urn:even>(?o) && !<urn:even>(<urn:plus>(?o, 1))) }",
        "SELECT ?x (COUNT(*) AS ?n) { ?s <urn:p> ?o } GROUP BY (<urn:even>(?o) AS ?x)",
    ]
    held, queries = [Counter[Any]() for _ in texts], list(map(prepareQuery, texts))

    def follow(number: int) -> Callable[[rdflive.Delta], None]:
        def take(delta: rdflive.Delta) -> None:
            held[number].update({tuple(row): weight for row, weight in delta.weights().items()})

        return take

    for number, text in enumerate(texts):
        rdflive.subscribe(graph, text, follow(number))
    terms = [Literal(1), Literal(2), Literal(3), Literal("a"), P]
    for _ in range(30):
        triple = (
            URIRef(f"urn:{random.randint(1, 3)}"),
            random.choice([P, URIRef("urn:q")]),
            random.choice(terms),
        )
        (graph.remove if triple in graph else graph.add)(triple)
        for query, rows in zip(queries, held, strict=True):
            assert +rows == Counter(tuple(row) for row in graph.query(query))
    graph.remove((None, None, None))
    assert not any(+rows for rows in held)


def test_what_is_registered_again_is_another_function() -> None:
    """A query keeps the function that it was planned with; a later one of the same text has the new one."""
    graph = numbers(1)
    text = "SELECT ?x { ?s <urn:p> ?o BIND(<urn:f>(?o) AS ?x) FILTER(?o >= 1) }"
    rdflive.register_function(F, twice)
    first = rdflive.subscribe(graph, text)
    rdflive.register_function(F, thrice)
    second = rdflive.subscribe(graph, text)
    graph.add((P, P, Literal(10)))
    assert [row.python()[0] for row in first.answers()] == [2, 20]
    assert [row.python()[0] for row in second.answers()] == [3, 30]
    # also inside the call of another
    nested = text.replace("<urn:f>(?o)", "<urn:g>(<urn:f>(?o))")
    rdflive.register_function("urn:g", twice)
    inner = rdflive.subscribe(graph, nested)
    rdflive.register_function(F, twice)
    assert values(graph, nested) == [4, 40]
    assert [row.python()[0] for row in inner.answers()] == [6, 60]
    # also through what rdflib offers, and for one that is the same again
    operators.unregister_custom_function(F)
    with pytest.raises(rdflive.UnsupportedQueryError, match="is not a known function"):
        rdflive.subscribe(graph, text)
    operators.register_custom_function(F, twice)
    assert values(graph, text) == [2, 20]
    assert [row.python()[0] for row in second.answers()] == [3, 30]


def test_raw_function_is_kept_too() -> None:
    """What rdflib gives its expression and solution stays what it was when the query was planned."""
    operators.register_custom_function(F, lambda e, ctx: Literal("old"), raw=True)
    graph = numbers(1)
    live = rdflive.subscribe(graph, "SELECT ?o ?x { ?s <urn:p> ?o BIND(<urn:f>(?o) AS ?x) }")
    operators.register_custom_function(F, lambda e, ctx: Literal("new"), override=True, raw=True)
    graph.add((P, P, Literal(2)))
    assert sorted(row.python() for row in live.answers()) == [(1, "old"), (2, "old")]


def test_resumed_subscriber_is_told_what_a_new_function_changes(tmp_path: Path) -> None:
    """The journal has the rows of the old function, and the difference is delivered."""
    graph, told = numbers(2), list[Any]()
    text = "SELECT ?x { ?s <urn:p> ?o BIND(<urn:f>(?o) AS ?x) }"

    def follow() -> None:
        def take(delta: rdflive.Delta) -> None:
            told.append({row.python()[0]: weight for row, weight in delta.weights().items()})

        rdflive.subscribe(graph, text, take, name="all", resume=tmp_path / "journal").close()

    for function in (twice, twice, thrice):
        rdflive.register_function(F, function)
        follow()
    assert told == [{4: 1}, {4: -1, 6: 1}]


def test_members_of_a_family_have_one_function() -> None:
    """Queries that differ in a constant share a plan while the function is the same, and else none."""
    graph = numbers(1, 2)
    text = "SELECT ?x {{ <urn:{}> <urn:p> ?o BIND(<urn:f>(?o) AS ?x) }}"
    rdflive.register_function(F, twice)
    one = rdflive.subscribe(graph, text.format(1))
    rdflive.register_function(F, thrice)
    other = rdflive.subscribe(graph, text.format(2))
    assert [row.python() for row in one.answers()] == [(2,)]
    assert [row.python() for row in other.answers()] == [(6,)]


@pytest.mark.parametrize(
    ("iri", "function", "kind"),
    [
        ("f", twice, ValueError),
        ("urn:f g", twice, ValueError),
        (F, 1, TypeError),
        (5, twice, TypeError),
        (None, twice, TypeError),
    ],
)
def test_what_cannot_be_registered_is_refused(iri: Any, function: Any, kind: type[Exception]) -> None:
    """A function has an absolute IRI, and can be called."""
    before = dict(operators._CUSTOM_FUNCTIONS)
    with pytest.raises(kind, match=r"is expected for|IRI as a string"):
        rdflive.register_function(iri, function)
    assert before == operators._CUSTOM_FUNCTIONS


def test_spark_refuses_what_is_registered_here() -> None:
    """Its workers know the casts and GeoSPARQL's functions."""
    rdflive.register_function(F, twice)
    with pytest.raises(rdflive.UnsupportedQueryError, match="<urn:f> cannot be called on Spark"):
        plan_queries("SELECT ?s { ?s <urn:p> ?o FILTER(<urn:f>(?o) > 1) }")
    plan_queries(f"{GEO} SELECT ?s {{ ?s <urn:p> ?o FILTER(geof:isEmpty(?o)) }}")


def test_a_worker_of_spark_computes_geosparql() -> None:
    """A new process, which has planned nothing, evaluates what was planned in this one."""
    call = numbered(
        node(f"<{next(iri for iri in GEOSPARQL if iri.endswith('dimension'))}>('POINT(1 2)'^^<{WKT}>)"), {}
    )
    code = """
import pickle, sys
from types import SimpleNamespace
terms = SimpleNamespace(meter=None, constant=lambda term: term)
print(pickle.load(sys.stdin.buffer).term({}, terms)(()))
"""
    given = pickle.dumps(Expression(call))
    child = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True)
    assert child.stdout.decode().strip() == "0"


def test_functions_of_geosparql_are_those_that_oxigraph_knows() -> None:
    """All that the table has, and none that it lacks of those of GeoSPARQL 1.1 that are not aggregates."""
    others = (
        "asGML asKML asSVG asDGGS boundary boundingCircle buffer concaveHull geometryN geometryType is3D "
        "isMeasured maxX maxY maxZ metricArea metricBuffer metricLength metricPerimeter minX minY minZ "
        "numGeometries transform"
    )
    known = set()
    for iri in {
        *GEOSPARQL,
        *(URIRef(f"http://www.opengis.net/def/function/geosparql/{n}") for n in others.split()),
    }:
        try:
            list(ox.Store().query(f"SELECT ({iri.n3()}() AS ?x) {{ }}"))
        except RuntimeError as error:
            assert "not supported" in str(error)  # noqa: PT017 - of those that are not known
        else:
            known.add(iri)
    assert known == GEOSPARQL


POINTS = [
    "POINT(4.9 52.4)",
    "POINT(2.35 48.86)",
    "POINT(9.99 53.55)",
    "LINESTRING(4 52, 10 54)",
    "no geometry",
]
AREA = "'POLYGON((2 48, 6 48, 6 53, 2 53, 2 48))'^^<http://www.opengis.net/ont/geosparql#wktLiteral>"
QUERIES = [
    f"{GEO} SELECT ?s {{ ?s <urn:p> ?g FILTER(geof:sfWithin(?g, {AREA})) }}",
    f"{GEO} SELECT ?s ?t ?d {{ ?s <urn:p> ?g . ?t <urn:p> ?h BIND(geof:distance(?g, ?h, <{METRE}>) AS ?d) }}",
    f"{GEO} SELECT ?s ?w {{ ?s <urn:p> ?g BIND(geof:envelope(?g) AS ?w) }}",
    f"{GEO} SELECT ?s {{ ?s <urn:p> ?g FILTER(!geof:sfIntersects(?g, {AREA})) }}",
]


@pytest.mark.parametrize("case", range(rounds(24)))
def test_geosparql_is_what_the_store_itself_computes(case: int) -> None:
    """Over drawn changes of a store of Oxigraph; at the end nothing is left."""
    random = drawn_from(f"geosparql {case}")
    raw = ox.Store()
    store = rdflive.LiveStore(raw)
    lives = [rdflive.subscribe(store, query) for query in QUERIES]
    wkt = ox.NamedNode(str(WKT))
    quads = [
        ox.Quad(ox.NamedNode(f"urn:{n}"), ox.NamedNode("urn:p"), ox.Literal(text, datatype=wkt))
        for n, text in enumerate(POINTS)
    ]
    for _ in range(12):
        quad = random.choice(quads)
        (store.remove if quad in store else store.add)(quad)
        for query, live in zip(QUERIES, lives, strict=True):
            solutions = raw.query(query)
            names = [variable.value for variable in solutions.variables]
            wanted = Counter(tuple(solution[name] for name in names) for solution in solutions)
            assert Counter(tuple(row) for row in live.answers()) == wanted, query
    for quad in quads:
        store.remove(quad)
    assert not any(live.answers() for live in lives)


def test_geosparql_of_what_it_does_not_take_is_an_error() -> None:
    """Blank nodes, strings and too few arguments among them."""
    distance = GeoSparql(URIRef("http://www.opengis.net/def/function/geosparql/distance"))
    point = Literal(POINTS[0], datatype=WKT)
    assert distance(point, point, METRE) == Literal(0.0)
    assert distance(point, Literal("x"), METRE) is None
    assert distance(point) is None
    with pytest.raises(ValueError, match="no function of GeoSPARQL takes"):
        distance(rdflib.BNode(), point, METRE)
    graph = Graph().add((P, P, rdflib.BNode())).add((F, P, point))
    assert values(graph, f"{GEO} SELECT ?s {{ ?s <urn:p> ?g FILTER(geof:dimension(?g) = 0) }}") == [str(F)]


def test_geosparql_without_oxigraph_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal has the command that installs it."""
    monkeypatch.setattr(registry, "is_computed", lambda: False)
    text = f"{GEO} SELECT ?s {{ ?s <urn:p> ?g FILTER(geof:isSimple(?g)) }}"
    operators._CUSTOM_FUNCTIONS.pop(URIRef("http://www.opengis.net/def/function/geosparql/isSimple"), None)
    with pytest.raises(
        rdflive.UnsupportedQueryError, match=r"isSimple> .*Oxigraph, which is not installed: .*oxigraph"
    ):
        rdflive.explain(text)


def test_shapes_and_guards_refuse_unknown_functions() -> None:
    """A shape's query and sh:pattern name what is wrong, before anything is changed."""
    shapes = """
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        <urn:shape> a sh:NodeShape ; sh:targetSubjectsOf <urn:p> ; sh:sparql [ sh:select
            "SELECT $this { $this <urn:p> ?o FILTER(<urn:g>(?o)) }" ] ."""
    for ask in (rdflive.validate, rdflive.guard):
        with pytest.raises(rdflive.ShapesError, match=r"<urn:g> \(line 1, column 40\) is not a known"):
            ask(Graph(), Graph().parse(data=shapes))
    wrong = """
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        <urn:shape> a sh:NodeShape ; sh:targetSubjectsOf <urn:p> ;
            sh:property [ sh:path <urn:p> ; sh:pattern "a**" ] ."""
    with pytest.raises(rdflive.ShapesError, match=r"at character 3, .* repeats a part"):
        rdflive.validate(Graph(), Graph().parse(data=wrong))


def test_shapes_know_registered_functions_and_xpath() -> None:
    """A constraint of a function and one of a pattern follow the data."""
    rdflive.register_function("urn:even", lambda n: Literal(n.toPython() % 2 == 0))
    shapes = r"""
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        <urn:shape> a sh:NodeShape ; sh:targetSubjectsOf <urn:p> ; sh:sparql [ sh:select
            "SELECT $this { $this <urn:p> ?o FILTER(!<urn:even>(?o)) }" ] ;
            sh:property [ sh:path <urn:q> ; sh:pattern "^[\\p{Lu}-[A]]\\i*$" ] ."""
    graph = numbers(1, 2)
    live = rdflive.validate(graph, Graph().parse(data=shapes))
    assert len(live.answers()) == 1
    graph.add((P, URIRef("urn:q"), Literal("Élan"))).add((P, URIRef("urn:q"), Literal("Alan")))
    graph.add((P, P, Literal(2)))
    assert len(live.answers()) == 2
