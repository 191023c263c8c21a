"""SHACL-SPARQL over changing data, against rdflib's evaluation for one focus node after the other."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest
import rdflib
from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import Node

import rdflive
from support.effort import drawn_from, rounds
from support.shacl import SH

EX = Namespace("http://e/")
SPARQL = SH.SPARQLConstraintComponent
NODES = [EX[name] for name in "abcde"]
PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
: sh:declare [ sh:prefix "" ; sh:namespace "http://e/"^^xsd:anyURI ] .
"""
QUERIES = (
    "SELECT $this ?value { $this :p ?value . ?value :q ?x }",
    "SELECT $this (?x AS ?value) { $this :p ?x FILTER(?x != $this) }",
    "SELECT $this { FILTER NOT EXISTS { $this :p ?x } }",
    "SELECT $this { FILTER($this IN (:a, :b)) }",
    "SELECT $this ?value { $this :p ?value OPTIONAL { ?value :q ?y } FILTER(!BOUND(?y)) }",
    "SELECT $this (COUNT(?x) AS ?n) { $this :p ?x } GROUP BY $this HAVING(COUNT(?x) > 1)",
    "SELECT $this ?value { { SELECT $this (MAX(?n) AS ?value) { $this :n ?n } GROUP BY $this } "
    "FILTER(?value > 3) }",
    "SELECT DISTINCT $this { { $this :p ?x } UNION { ?x :q $this } }",
    "SELECT $this ?value { $this :p+ ?value . ?value a :C }",
    "SELECT $this ?value { $this :n ?value FILTER(?value > 2) BIND($this AS ?me) FILTER(?me != :a) }",
    "SELECT $this { { SELECT $this { FILTER($this = :a) } } }",
    "SELECT $this ?value { $this $PATH ?value . ?value :n ?n }",
    "SELECT $this ?path ?value { $this ?path ?value FILTER(?path IN (:p, :q)) }",
)


def triple(chance: Random) -> tuple[Node, URIRef, Node]:
    """Draw a triple."""
    kind = chance.random()
    if kind < 0.2:
        return chance.choice(NODES), RDF.type, chance.choice([EX.C, EX.D])
    if kind < 0.4:
        return chance.choice(NODES), EX.n, Literal(chance.randint(1, 5))
    return chance.choice(NODES), chance.choice([EX.p, EX.q]), chance.choice(NODES)


def expected(data: Graph, query: str, focuses: set[Node]) -> Counter[tuple[Node | None, ...]]:
    """Evaluate a query with each focus node in the place of $this."""
    found: Counter[tuple[Node | None, ...]] = Counter()
    for focus in focuses:
        for row in data.query(prebound(query, focus)):
            values = row.asdict()
            if "n" in values and values["n"].value == 0:
                continue
            found[focus, values.get("path"), values.get("value")] += 1
    return found


@cache
def prebound(query: str, focus: Node) -> Query:
    """Put a focus node in place of $this, as pre-binding says; where it is shown, it is assigned."""
    text = query.replace("$PATH", ":p")
    body = text[text.index("{") :].replace("SELECT $this", "SELECT").replace("GROUP BY $this", "")
    body = body.replace("SELECT  {", "SELECT * {").replace("SELECT {", "SELECT * {")
    head = text[: text.index("{")].replace("$this", "").strip()
    if head in ("SELECT", "SELECT DISTINCT"):
        head += " (1 AS ?one)"
    return prepareQuery(f"PREFIX : <http://e/> {head} {body.replace('$this', f'<{focus}>')}")


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_each_focus_node(query: str) -> None:
    """Whatever changes, rows of the constraint are those of its query with $this pre-bound."""
    chance = drawn_from("shacl sparql", query)
    is_property = "$PATH" in query
    shapes = f"""{PREFIXES}
    :S a sh:NodeShape ; sh:targetSubjectsOf :p ; sh:targetNode :a ; sh:targetClass :C .
    {":S sh:property [ sh:path :p ; sh:sparql :Q ] ." if is_property else ":S sh:sparql :Q ."}
    :Q sh:prefixes : ; sh:select '''{query}''' ; sh:message "{{?value}} at {{$this}}" .
    """
    for _ in range(rounds(10)):
        data = Graph()
        with rdflive.validate(data, shapes) as validation:
            for _ in range(30):
                if chance.random() < 0.35 and data:
                    data.remove(chance.choice(sorted(data)))
                else:
                    data.add(triple(chance))
                focuses = {EX.a, *data.subjects(EX.p), *data.subjects(RDF.type, EX.C)}
                wanted: Counter[tuple[Node | None, ...]] = Counter()
                for (focus, path, value), count in expected(data, query, focuses).items():
                    shown = value if value is not None or is_property else focus
                    wanted[focus, path or (EX.p if is_property else None), shown] += count
                answers = validation.answers()
                assert Counter((row.focus, row.path, row.value) for row in answers) == wanted
                for row in answers:
                    assert (row.component, row.constraint) == (SPARQL, EX.Q)
                    if "?value" in query.partition("{")[0]:
                        assert str(row.message) == f"{row.value} at {row.focus}"
            for each in list(data):
                data.remove(each)
            assert Counter(row.focus for row in validation.answers()).keys() <= {EX.a}


@pytest.mark.parametrize("path", [":p", "[ sh:inversePath :p ]"])
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT $this ?value { $this $PATH ?value FILTER($PATH = :p) }", "PATH in a position other than"),
        ("SELECT $this ?value { $this $PATH ?value . $PATH a :C }", "PATH in a position other than"),
        ("SELECT $this ?value { $this $PATH ?value . ?value ?PATH ?PATH }", "PATH in a position other than"),
        ("SELECT $this ?value ?PATH { $this $PATH ?value }", "PATH in a position other than"),
        ("SELECT $this ?value { $this $PATH/:p ?value }", "PATH cannot be a part.* met '/'"),
        ("SELECT $this ?value { $this $PATH? ?value }", "PATH cannot be a part"),
        ("SELECT $this ?value { $this ^$PATH ?value }", "PATH cannot be a part"),
        ("SELECT $this ?value { $this $PATH ?value ", "Q>: not SPARQL"),
    ],
)
def test_a_path_stands_as_a_predicate(path: str, query: str, reason: str) -> None:
    """Whatever the path is, $PATH may stand there only (SHACL 5.3.1); a target's ?PATH is any variable."""
    shapes = f"""{PREFIXES} :S sh:targetNode :a ; sh:property [ sh:path {path} ; sh:sparql :Q ] .
    :Q sh:prefixes : ; sh:select '''{query}''' . """
    with pytest.raises(rdflive.ShapesError, match=reason):
        rdflive.validate(Graph(), shapes)
    target = "[ sh:prefixes : ; sh:select 'SELECT ?this { ?this :p ?PATH FILTER(?PATH = :b) }' ]"
    data = Graph().add((EX.a, EX.p, EX.b))
    with rdflive.validate(data, f"{PREFIXES} :S sh:target {target} ; sh:class :D .") as validation:
        assert [row.focus for row in validation.answers()] == [EX.a]


FORBIDDEN = {
    "SELECT ?value { $this :p ?value }": "does not select [?]this",
    "SELECT * { ?x :p ?value }": "does not select [?]this",
    "ASK { $this :p 1 }": "sh:select of .* is not a query of the form SELECT",
    "SELECT $this { $this :p ?v MINUS { $this :p 1 } }": "has MINUS",
    "SELECT $this { FILTER EXISTS { $this :p ?v MINUS { $this :p 1 } } }": "has MINUS",
    "SELECT $this { SERVICE <http://x/> { $this :p ?v } }": "has SERVICE",
    "SELECT $this { VALUES ?v { 1 } $this :p ?v }": "has VALUES",
    "SELECT $this { $this :p ?v } VALUES ?v { 1 }": "has VALUES",
    "SELECT $this { { SELECT $this { $this :p ?v } VALUES ?v { 1 } } }": "has VALUES",
    "SELECT $this { BIND(:b AS $this) }": "assigns [$]this",
    "SELECT (:b AS ?this) { ?x :p ?v }": "assigns [$]this",
    "SELECT $this { $this :p ?v BIND(1 AS ?currentShape) }": "assigns [$]currentShape",
    "SELECT $this (1 AS ?currentShape) { $this :p ?v }": "assigns [$]currentShape",
    "SELECT $this { $this :p ?v } GROUP BY $this (?v AS ?currentShape)": "assigns [$]currentShape",
    "SELECT $this { $this :p ?v BIND(1 AS ?shapesGraph) }": "reads [$]shapesGraph",
    "SELECT $this { GRAPH $shapesGraph { ?s ?p ?o } }": "reads [$]shapesGraph",
    "SELECT $this { { SELECT ?v { ?x :p ?v } } }": "subquery that does not select [$]this",
    "SELECT $this { { SELECT * { FILTER($this = :a) } } }": "subquery that does not select [$]this",
    "SELECT $this { { SELECT * { ?x :p ?v FILTER($this = :a) } } }": "subquery that does not select [$]this",
    "SELECT $this { FILTER EXISTS { SELECT ?v { ?x :p ?v } } }": "subquery that does not select [$]this",
    "SELECT $this { { SELECT $this { { SELECT ?v { $this :p ?v } } } } }": "does not select [$]this",
    "SELECT $this FROM <urn:g> { $this :p ?v }": "has FROM",
}
"""Queries that break a rule of SHACL 5.2.1, 5.3.1 or Appendix A."""
ALLOWED = (
    "SELECT * { $this :p ?value }",
    "SELECT $this { { SELECT * { $this :p ?v } } }",
    "SELECT $this { { SELECT * { OPTIONAL { $this :p ?v } } } }",
    "SELECT $this ?value { { SELECT $this (COUNT(?v) AS ?value) { $this :p ?v } GROUP BY $this } }",
    "SELECT $this { { SELECT $this { FILTER($this = :a && $currentShape = :S) } } }",
    "SELECT ?this { $this :values 1 ; :minus ?service }",
)


@pytest.mark.parametrize("query", FORBIDDEN)
@pytest.mark.parametrize("place", ["sh:sparql :Q", "sh:property [ sh:path :p ; sh:sparql :Q ]", "sh:node :T"])
def test_what_cannot_be_prebound_is_refused(query: str, place: str) -> None:
    """It is a failure, not a result, wherever the query stands."""
    shapes = f"""{PREFIXES} :S sh:targetNode :a ; {place} . :T sh:sparql :Q .
    :Q sh:prefixes : ; sh:select '''{query}''' . """
    with pytest.raises(rdflive.ShapesError, match=FORBIDDEN[query]):
        rdflive.validate(Graph(), shapes)


@pytest.mark.parametrize("query", ALLOWED)
def test_what_can_be_prebound_is_taken(query: str) -> None:
    """A `*` gives what its patterns bind, and the words may stand in names."""
    shapes = f"{PREFIXES} :S sh:targetNode :a ; sh:sparql [ sh:prefixes : ; sh:select '''{query}''' ] ."
    data = (
        Graph().add((EX.a, EX.p, Literal(1))).add((EX.a, EX.values, Literal(1))).add((EX.a, EX.minus, EX.b))
    )
    with rdflive.validate(data, shapes) as validation:
        assert [row.focus for row in validation.answers()] == [EX.a]


BELOW = """:Below a sh:ConstraintComponent ; sh:parameter [ sh:path :below ; sh:datatype xsd:integer ] ,
    [ sh:path :but ; sh:optional true ] ; sh:validator [ sh:prefixes : ; sh:ask "%s" ] .
    :S sh:targetNode 1 ; :below 4 ."""


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("ASK { BIND(1 AS ?below) }", "assigns [$]below"),
        ("ASK { BIND(1 AS ?but) FILTER(?but = 1) }", "assigns [$]but"),
        ("ASK { BIND(1 AS ?value) }", "assigns [$]value"),
        ("ASK { { SELECT $this $value { FILTER($value < $below) } } }", "does not select [$]below"),
        ("ASK { { SELECT $this $below { FILTER($value < $below) } } }", "does not select [$]value"),
        ("ASK { FILTER($value < $but) { SELECT $this $value { FILTER($value < 3) } } }", "not select [$]but"),
        ("ASK { MINUS { $value :p 1 } }", "has MINUS"),
        ("SELECT $this { }", "sh:ask of .* is not a query of the form ASK"),
    ],
)
def test_parameters_are_prebound_too(query: str, reason: str) -> None:
    """Also one that is optional and not given; a subquery returns those that the query uses."""
    with pytest.raises(rdflive.ShapesError, match=reason):
        rdflive.validate(Graph(), PREFIXES + BELOW % query)
    taken = "ASK { { SELECT $this $value $below { FILTER($value < $below) } } }"
    with rdflive.validate(Graph(), PREFIXES + BELOW % taken) as validation:
        assert validation.conforms


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("[ sh:optional false ]", "needs an IRI as sh:path"), ("1", "needs an IRI as sh:path"),
        ("[ sh:path 'x' ]", "needs an IRI as sh:path"), ("[ sh:path :a, :b ]", "several values of sh:path"),
        ("[ sh:path :this ]", "the name 'this'"), ("[ sh:path :value ]", "the name 'value'"),
        ("[ sh:path :PATH ]", "the name 'PATH'"), ("[ sh:path :path ]", "the name 'path'"),
        ("[ sh:path :currentShape ]", "the name 'currentShape'"), ("[ sh:path :max-n ]", "the name 'max-n'"),
        ("[ sh:path <http://e/a.b> ]", "the name 'a.b'"), ("[ sh:path <http://e/> ]", "has no local name"),
        ("[ sh:path :m ] , [ sh:path <http://f/m> ]", "the same name as .*[?]m"),
        ("[ sh:path :m ; sh:optional true ]", "needs a sh:parameter that is not optional"),
        ("[ sh:path :m ; sh:optional 1 ]", "must be true or false"),
        ("[ sh:path :m ; sh:nodeKind :x ]", "must be one of the six node kinds"),
    ],
)  # fmt: skip
def test_parameters_that_are_declared_wrongly_are_refused(parameters: str, reason: str) -> None:
    """By each rule of SHACL 6.2.1, whether a shape uses the component or not."""
    shapes = f":C a sh:ConstraintComponent ; sh:parameter {parameters} ; sh:validator [ sh:ask 'ASK {{}}' ] ."
    with pytest.raises(rdflive.ShapesError, match=reason):
        rdflive.validate(Graph(), PREFIXES + shapes)


@pytest.mark.parametrize("value", ["'x'", ":x"])
def test_an_argument_is_what_its_parameter_asks_for(value: str) -> None:
    """A value that is another makes the shape ill-formed (6.2.1)."""
    shapes = BELOW.replace(":below 4", f":below {value}") % "ASK { }"
    reason = "<http://e/below> of <http://e/S> must be a well-formed xsd:integer"
    with pytest.raises(rdflive.ShapesError, match=reason):
        rdflive.validate(Graph(), PREFIXES + shapes)


@pytest.mark.parametrize("store", ["Memory", "Oxigraph"])
@pytest.mark.parametrize("term", [Literal(0), Literal(False), Literal(""), Literal(1)])
def test_a_value_that_python_takes_for_false_is_a_value(term: Literal, store: str) -> None:
    """Of a result of a node shape, and as its message; one that is unbound is the focus node."""
    data = Graph(store).add((EX.a, EX.n, term)).add((EX.b, EX.m, term))
    query = "SELECT $this (?n AS ?value) (STR(?n) AS ?message) { $this :m|:n ?x OPTIONAL { $this :n ?n } }"
    constraint = f"sh:sparql [ sh:prefixes : ; sh:message 'm' ; sh:select '{query}' ]"
    with rdflive.validate(data, f"{PREFIXES} :S sh:targetNode :a, :b ; {constraint} .") as validation:
        rows = {row.focus: (str(row.value), str(row.message)) for row in validation.answers()}
        assert rows == {EX.a: (str(data.value(EX.a, EX.n)),) * 2, EX.b: (str(EX.b), "m")}
        (told,) = validation.graph.subjects(SH.focusNode, EX.a)
        assert list(validation.graph.objects(told, SH.value)) == list(data.objects(EX.a, EX.n))


def test_components_are_asked_of_each_value() -> None:
    """An ASK validator says what meets it; parameters are pre-bound, and fill the message."""
    shapes = f"""{PREFIXES}
    :Below a sh:ConstraintComponent ; sh:parameter [ sh:path :below ] , [ sh:path :but ; sh:optional true ] ;
        sh:validator [ sh:prefixes : ; sh:message "{{$value}} is not below {{$below}}" ;
            sh:ask "ASK {{ FILTER($value < $below || $value = $but) }}" ] .
    :S sh:targetSubjectsOf :n ; sh:property :N . :N sh:path :n ; :below 4 ; :but 9 .
    """
    data, seen = Graph(), []
    with rdflive.validate(
        data, shapes, lambda d: seen.append([str(r.message) for r in (*d.added, *d.removed)])
    ):
        for number in (1, 4, 9, 5):
            data.add((EX.a, EX.n, Literal(number)))
        data.remove((EX.a, EX.n, Literal(4)))
    assert seen == [[], ["4 is not below 4"], ["5 is not below 4"], ["4 is not below 4"]]


def test_targets_are_selected() -> None:
    """sh:target with sh:select, over changing data."""
    shapes = f"""{PREFIXES}
    :S sh:target [ sh:prefixes : ; sh:select "SELECT ?this {{ ?this :p ?x . ?x a :C }}" ] ; sh:class :D .
    """
    data = Graph()
    with rdflive.validate(data, shapes) as validation:
        data.add((EX.a, EX.p, EX.b))
        assert validation.conforms
        data.add((EX.b, RDF.type, EX.C))
        assert [row.focus for row in validation.answers()] == [EX.a]
        data.add((EX.E, RDFS.subClassOf, EX.D))
        data.add((EX.a, RDF.type, EX.E))
        assert validation.conforms


def test_components_and_prefixes_may_change() -> None:
    """All shapes are read again, because any may use them."""
    text = f"""{PREFIXES}
    :Is a sh:ConstraintComponent ; sh:parameter [ sh:path :is ] ;
        sh:validator :V . :V sh:prefixes : ; sh:ask "ASK {{ FILTER($value = $is) }}" .
    :S sh:targetNode :a , :b ; :is :a .
    """
    shapes = rdflib.Graph().parse(data=text)
    with rdflive.validate(Graph(), shapes) as validation:
        assert [row.focus for row in validation.answers()] == [EX.b]
        shapes.set((EX.V, SH.ask, Literal("ASK { FILTER($value = :b) }")))
        assert [row.focus for row in validation.answers()] == [EX.a]
        shapes.set((EX.V, SH.ask, Literal("ASK { FILTER(")))
        with pytest.raises(rdflive.ShapesError):
            _ = validation.conforms
        shapes.set((EX.V, SH.ask, Literal("ASK { FILTER($value != $is) }")))
        assert [row.focus for row in validation.answers()] == [EX.a]
