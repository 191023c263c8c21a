"""Prepared queries: terms for variables, tables of them, and plans that are found again."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import pytest
import rdflib
from rdflib import RDF, XSD, BNode, Literal, URIRef

import rdflive
from rdflive.query.known import find_plan
from rdflive.query.parse import parse_query
from support.effort import drawn_from, rounds

E = rdflib.Namespace("http://e/")
PREFIXES = "PREFIX e: <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
LINES = "SELECT ?train ?line { ?train e:line ?line ; e:delay ?minutes FILTER(?minutes > ?least) }"


def railway() -> rdflib.Graph:
    graph = rdflib.Graph()
    for train, line, minutes in ((E.IC5, E.S1, 7), (E.IC6, E.S1, 2), (E.RE1, E.S2, 4)):
        graph.add((train, E.line, line))
        graph.add((train, E.delay, Literal(minutes)))
    return graph


def test_a_prepared_query_shows_the_terms_that_it_was_given() -> None:
    trains = rdflive.prepare(LINES, initNs={"e": E})
    with trains.subscribe(railway(), None, {"line": E.S1, "?least": Literal(5)}) as subscription:
        assert subscription.answers() == [(E.IC5, E.S1)]
        delta = subscription.next(0)
        assert delta.parameters == {"line": E.S1, "least": Literal(5)}
        assert subscription.query == trains.query
    assert "IC" not in repr(trains)


def test_a_table_is_told_row_by_row() -> None:
    graph, told = railway(), Counter[Any]()

    def tell(delta: rdflive.Delta) -> None:
        for sign, rows in ((1, delta.added), (-1, delta.removed)):
            for row in rows:
                told[delta.parameters["line"], row.train] += sign

    rows = [{"line": line, "least": Literal(3)} for line in (E.S1, E.S2, E.S3, E.S3)]
    with rdflive.prepare(LINES, initNs={"e": E}).subscribe(graph, tell, rows) as watched:
        assert len(watched) == 4
        assert len(watched[0]._live().queries) == 1
        graph.add((E.RE1, E.line, E.S3))
        assert told[E.S3, E.RE1] == 2  # rows that ask for the same are told each
        graph.remove((E.IC5, None, None))
        watched[1].close()
        graph.remove((E.RE1, E.line, E.S3))
        assert +told == Counter({(E.S2, E.RE1): 1})
    assert all(subscription.closed for subscription in watched)
    graph.add((E.IC7, E.line, E.S1))


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({}, "?x ?of ?y"),
        ({}, "?x ?y ?z FILTER(?y != ?of)"),
        ({}, "GRAPH ?of { ?x ?y ?z }"),
        ({"budget": rdflive.Budget()}, "?of ?x ?y"),
        ({"entailment": "rdfs", "provenance": True}, "?of ?x ?y"),
    ],
)
def test_a_delta_knows_its_row_wherever_the_variables_stand(options: Any, condition: str) -> None:
    told: list[Any] = []
    rows = [{"of": E.S1, "?y": E.S3}, {"of": E.S2}]
    prepared = rdflive.prepare(f"SELECT ?x {{ {condition} }}")
    with prepared.subscribe(rdflib.Dataset(), told.append, rows, **options):
        assert [delta.parameters for delta in told] == [{"of": E.S1, "y": E.S3}, {"of": E.S2}]
        assert [loads(dumps(-delta)).parameters for delta in told] == [delta.parameters for delta in told]


def test_a_term_that_is_no_parameter_has_a_plan_of_its_own() -> None:
    """A predicate tells families apart; the answers are right, and in the order of the rows."""
    rows = [{"p": predicate} for predicate in (E.line, E.delay, E.line)]
    with rdflive.prepare("SELECT ?s ?p { ?s ?p ?o }").subscribe(railway(), None, rows) as watched:
        assert [len(one.answers()) for one in watched] == [3, 3, 3]
        assert [one.answers()[0].p for one in watched] == [row["p"] for row in rows]


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"lien": E.S1}, ValueError, "no variable ?lien"),
        ({"line": "S1"}, TypeError, "initBindings"),
        ("line", rdflive.QuerySyntaxError, "line 1"),
        (7, TypeError, "must map variables to terms"),
        ([{"line": E.S1}, "x"], TypeError, "a row of parameters maps"),
        ([{"line": E.S1}, None], TypeError, "a row of parameters maps"),
        ({"line": E.S1, "?line": E.S2}, ValueError, "gives ?line two terms"),
    ],
)
def test_wrong_parameters_are_refused(parameters: Any, kind: type[Exception], message: str) -> None:
    """The error says what was given; no rows at all are no subscriptions."""
    trains = rdflive.prepare(LINES, initNs={"e": E})
    with pytest.raises(kind, match=message.replace("?", r"\?")):
        trains.subscribe(railway(), print, parameters)
    with trains.subscribe(railway(), print, []) as none:
        assert none == ()


def test_unknown_options_are_refused() -> None:
    """As by `rdflive.subscribe`; what is a variable of the query belongs in a row of terms."""
    trains: Any = rdflive.prepare(LINES, initNs={"e": E})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nonsense'$"):
        trains.subscribe(railway(), print, nonsense=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'line'; give a row of terms"):
        trains.subscribe(railway(), print, initial=False, line=E.S1)


def test_a_journal_keeps_one_subscriber(tmp_path: Path) -> None:
    """What is no query is refused at once, and a journal for several rows."""
    for text in ("SELECT {", "ASK { ?s nowhere:p ?o }"):
        with pytest.raises(rdflive.QuerySyntaxError):
            rdflive.prepare(text)
    rows = [{"line": E.S1}, {"line": E.S2}]
    with pytest.raises(ValueError, match="one row"):
        rdflive.prepare(LINES, initNs={"e": E}).subscribe(
            railway(), print, rows, resume=tmp_path / "j", name="n"
        )


def test_a_group_by_a_parameter_is_one_family() -> None:
    counts = rdflive.prepare("SELECT ?l (COUNT(*) AS ?n) { ?t <http://e/line> ?l } GROUP BY ?l")
    with counts.subscribe(railway(), None, [{"l": E.S1}, {"l": E.S2}, {"l": E.S9}]) as watched:
        assert [list(one.answers()) for one in watched] == [[(E.S1, Literal(2))], [(E.S2, Literal(1))], []]
        assert len(watched[0]._live().queries) == 1


CONSTANTS = [
    "e:a", "e:b", "e:b.c", "<http://e/a>", "<http://e/x>", "<http://e/p(1),2;3&4>", "<urn:a>",
    "<urn:a,b>", "a:b", "5", "5.5", "5e0", "-5", ".5", "'x'", '"x"', "'''x'''", '"""x"""', "'x'@en",
    "'x'@EN-gb", "'5'^^xsd:integer", "'5'^^<http://www.w3.org/2001/XMLSchema#integer>", r"'\u0078'",
    r"'x\ty'", "true", "'true'^^xsd:boolean", "rdf:type", "e:%41", "e:", "''", "'é'",
    "'01'^^xsd:integer", "'5'^^xsd:integer", "'05'^^xsd:integer", "'5.0'^^xsd:decimal", "' a'^^xsd:token",
    "<http://e/é>", "'#'", "'{'", "<http://e/#a>", "'''x\ny'''",
]  # fmt: skip
SHAPES = [
    "SELECT ?s {{ ?s e:p {0} }}",
    "SELECT ?s {{ ?s e:p {0} . ?s e:q {1} }}",
    "SELECT ?s {{ ?s e:p ?o FILTER(?o > {0}) }} LIMIT 5",
    "SELECT ?s {{ ?s e:p ?o FILTER(?o={0}) }} # {1}",
    "SELECT ?s {{ ?s a {0} ; e:p {1} OPTIONAL {{ ?s e:q {0} }} }}",
    "SELECT ?s {{ ?s e:p ({0} {1}) }}",
    "SELECT (GROUP_CONCAT(?o; SEPARATOR={1}) AS ?x) {{ ?s e:p ?o . ?s e:q {0} }}",
    "SELECT ?s {{ ?s e:p/e:q {0} MINUS {{ ?s e:p {1} }} }}",
    "SELECT ?s {{ GRAPH e:g {{ ?s e:p {0} }} }} OFFSET 5",
    "ASK {{ ?s e:p ?o FILTER(?o IN ({0}, {1})) }}",
    "SELECT ?s {{ VALUES ?o {{ {0} {1} }} ?s e:p ?o }}",
    "SELECT ?s {{ ?s e:p {0}, {1}; e:q -5 . FILTER(?s<{0}) }}",
]


@pytest.mark.parametrize("case", range(rounds(8, share=4)))
def test_a_plan_that_is_found_is_the_plan_of_the_text(case: int) -> None:
    """Whatever constants a text has, and however they are written."""
    random = drawn_from(f"skeletons {case}")
    names = {"a": "http://e/"} if random.random() < 0.5 else {"a": "http://a/"}
    # few enough that many texts differ in constants alone
    constants, found = random.sample(CONSTANTS, 12), 0
    for _ in range(rounds(250, share=3)):
        first, second = random.choices(constants, k=2)
        blank = random.choice([" ", "\n", " # 'comment <http://e/\n "])
        text = (PREFIXES + random.choice(SHAPES).format(first, second)).replace(
            " ", blank, random.randint(0, 3)
        )
        try:
            parsed = parse_query(text, init_ns=names, family=True)
        except (rdflive.QuerySyntaxError, rdflive.UnsupportedQueryError) as error:
            with pytest.raises(type(error)):
                find_plan(text, init_ns=names, family=True)
            continue
        asked = find_plan(text, init_ns=names, family=True)
        # the first text of this plan may have been written in other words
        assert asked.plan.query.shape == parsed.shape, text
        assert asked.terms == tuple(parsed.parameters.values()), text
        assert parsed.parameters or repr(asked.plan.query.root) == repr(parsed.root), text
        found += asked.plan.query.text != text
    assert found > 5


@pytest.mark.parametrize(
    ("one", "other", "is_shared"),
    [
        ("ASK { ?s e:p '5'^^e:t }", "ASK { ?s e:p '6'^^e:t }", True),
        ("ASK { ?s e:p '5'@en }", "ASK { ?s e:p '6'@en }", True),
        # the number of LIMIT is no term
        ("SELECT ?s { ?s e:p 5 } LIMIT 5", "SELECT ?s { ?s e:p 6 } LIMIT 5", True),
        ("SELECT ?s { ?s e:p 5 } LIMIT 5", "SELECT ?s { ?s e:p 6 } LIMIT 6", False),
    ],
)
def test_texts_share_a_plan_where_they_differ_in_terms_alone(one: str, other: str, is_shared: bool) -> None:
    """A literal with its datatype or language is one term."""
    first, second = (find_plan(PREFIXES + text, init_ns={}, family=True) for text in (one, other))
    assert (first.plan is second.plan) is is_shared


def test_prefixes_of_graphs_tell_texts_apart() -> None:
    """The same text means something else where a graph has another prefix."""
    text = "SELECT ?s { ?s x:p x:o }"
    for name in ("http://one/", "http://two/", "http://one/"):
        graph = rdflib.Graph()
        graph.bind("x", name)
        graph.add((E.s, URIRef(f"{name}p"), URIRef(f"{name}o")))
        with rdflive.subscribe(graph, text) as subscription:
            assert len(subscription.answers()) == 1


@pytest.mark.parametrize(
    "term", [E.a, BNode("b"), Literal("x"), Literal("x", lang="en"), Literal(5), RDF.nil]
)
def test_terms_of_every_kind_are_parameters(term: Any) -> None:
    """Each is found, and gone when its triple is."""
    graph = rdflib.Graph()
    graph.add((E.s, E.p, term))
    query = rdflive.prepare("SELECT ?s ?o { ?s <http://e/p> ?o }")
    with query.subscribe(graph, None, {"o": term}) as subscription:
        assert subscription.answers() == [(E.s, term)]
        graph.remove((E.s, E.p, term))
        assert subscription.answers() == []


@pytest.mark.parametrize("text", ["SELECT ?l { ?s ?p ?o BIND(LANG(?x) AS ?l) }", "SELECT ?x { ?s ?p ?s }"])
def test_the_case_of_a_language_tag_tells_plans_apart(text: str) -> None:
    """LANG and an answer show a tag as it was given, whatever was asked before."""
    graph = rdflib.Graph()
    graph.add((E.s, E.p, E.s))
    for tag in ("EN", "en"):
        row = {"x": Literal("a", lang=tag)}
        (solution,) = rdflive.subscribe(graph, text, initBindings=row).answers()
        assert [str(getattr(term, "language", None) or term) for term in solution] == [tag]


@pytest.mark.parametrize("order", list(permutations(("1", "01", "2"))))
def test_the_spelling_of_a_constant_tells_texts_apart(order: tuple[str, ...]) -> None:
    """Whichever was asked before, "01" of xsd:integer is another term than "1"."""
    graph = rdflib.Graph()
    for spelling in order:
        graph.add((E[spelling], E.p, Literal(spelling, datatype=XSD.integer, normalize=False)))
    for text in ("SELECT ?x {{ ?x <{1}p> {0} }}", "SELECT (STR({0}) AS ?x) {{}}"):
        for spelling in order:
            with rdflive.subscribe(graph, text.format(f'"{spelling}"^^<{XSD.integer}>', E)) as subscription:
                assert [str(row.x).removeprefix(E) for row in subscription.answers()] == [spelling]


@pytest.mark.parametrize("kind", ["default", "Oxigraph"])
def test_terms_that_no_text_can_have_are_parameters(kind: str) -> None:
    """A graph called by a literal has no triples, and an IRI with a blank is a constant like any other."""
    dataset = rdflib.Dataset(kind)
    dataset.add((E.s, E.p, E.o, dataset.graph(E.g)))
    inside = rdflive.prepare("SELECT ?s { GRAPH ?g { ?s ?p ?o } }")
    assert inside.subscribe(dataset, None, {"g": Literal("x")}).answers() == []
    graph = rdflib.Graph()
    graph.add((E.s, E.p, E.o))
    compared = rdflive.prepare("SELECT ?s { ?s ?p ?o FILTER(?o = ?x || STR(?x) = 'urn:a b') }")
    assert compared.subscribe(graph, None, {"x": URIRef("urn:a b")}).answers() == [(E.s,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { ?s e:p ?v FILTER(COALESCE(?v<<http://e/a#b>, true)) ?s e:q %s }",
        r"SELECT ?s { ?s e:q '\u0023', %s }",
        "SELECT ?s { ?s e:q %s } #",
        "SELECT ?s { ?s e:p ?v ; e:q %s FILTER(?v > 1) }",
    ],
)
def test_what_looks_like_a_comment_tells_texts_apart(text: str) -> None:
    """A # in an IRI behind `<`, or in a string with escaped quotes, ends no line."""
    graph = rdflib.Graph()
    for subject, value in ((E.one, Literal(1)), (E.x, Literal("x"))):
        for predicate, shown in ((E.p, Literal(2)), (E.q, value), (E.q, Literal("#"))):
            graph.add((subject, predicate, shown))
    for written, subject in (("+1", E.one), ("'\\u0078'", E.x), ("+1", E.one)):
        assert rdflive.subscribe(graph, PREFIXES + text % written).answers() == [(subject,)]
    row = {"value": Literal(1)}
    prepared = rdflive.prepare(PREFIXES + text % "?value")
    assert prepared.subscribe(graph, None, row).answers() == [(E.one,)]


HIDDEN = [
    ("BASE <http://e/> SELECT ?s {{ ?s <http://e/p> <http://e/{}> ; <http://e/q> <x> }}", "x", "y"),
    ("BASE <http://e/> PREFIX r: <./> SELECT ?s {{ ?s r:p <http://e/{}> ; r:q r:x }}", "x", "y"),
    (
        "SELECT ?s {{ ?s <http://e/p> <http://www.w3.org/2002/07/owl#{}> ; <http://e/q> owl:Thing }}",
        "Thing",
        "y",
    ),
    ("SELECT ?s {{ ?s <http://e/p> {0} ; <http://e/q> ?a FILTER(?a {0} > 2) }}", "-1", "-2"),
]


@pytest.mark.parametrize(("text", "first", "second"), HIDDEN)
def test_a_constant_may_be_written_in_two_ways(text: str, first: str, second: str) -> None:
    """A relative IRI, a usual prefix, and a sign that is an operator: each text has the answer of its own."""
    graph = rdflib.Graph()
    for constant in (first, second):
        written = text.format(constant)
        asked, alone = find_plan(written, init_ns={}, family=True), parse_query(written, family=True)
        assert (asked.plan.query.shape, asked.terms) == (alone.shape, tuple(alone.parameters.values()))
        rdflive.subscribe(graph, written).close()


WRONG = [
    ("SELECT ?s { ?s ?p 'x'@de }", "SELECT ?s { ?s ?p 'x'@de@fr }"),
    ("SELECT ?s { ?s ?p 5 }", "SELECT ?s { ?s ?p 5^^<urn:t> }"),
    ("SELECT ?s { ?s ?p 'x'^^<urn:t> }", "SELECT ?s { ?s ?p 'x'@en^^<urn:t> }"),
    ("SELECT ?s { ?s ?p ?o FILTER(STR(2 -1)) }", "SELECT ?s { ?s ?p ?o FILTER(STR(2 '1')) }"),
]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_what_is_no_sparql_is_refused_whatever_was_asked_before(right: str, wrong: str) -> None:
    """Its skeleton is no other text's."""
    find_plan(right, init_ns={}, family=True)
    with pytest.raises(rdflive.QuerySyntaxError):
        find_plan(wrong, init_ns={}, family=True)


SAME = [
    "SELECT ?s { ?s <urn:p> %d } LIMIT %d",
    "SELECT ?s { ?s <urn:p> %d } LIMIT 1 OFFSET %d",
    "SELECT ?s { ?s <urn:p> '%d' ; <urn:q> '%d'^^<http://www.w3.org/2001/XMLSchema#integer> }",
    "SELECT ?s { ?s <urn:p> '%d' ; <urn:q> '%d'@en }",
    "SELECT (GROUP_CONCAT(?o; SEPARATOR='%d') AS ?x) { ?s <urn:p> '%d' ; <urn:q> ?o }",
]


@pytest.mark.parametrize("text", SAME)
def test_what_is_equal_and_no_constant_tells_texts_apart(text: str) -> None:
    """The second text of a plan has another number in both places."""
    for number in (1, 2):
        written = text % (number, number)
        asked = find_plan(written, init_ns={}, family=True)
        alone = parse_query(written, family=True)
        assert asked.plan.query.shape == alone.shape
        assert asked.terms == tuple(alone.parameters.values())


@pytest.mark.parametrize("order", [1, -1])
def test_a_comment_that_ends_at_a_carriage_return_tells_texts_apart(order: int) -> None:
    """Whatever was asked before: SPARQL 1.1, 19.4."""
    graph = rdflib.Graph()
    for train in (E.one, E.two):
        graph.add((train, E.p, E.o))
    shapes = {"{}\nLIMIT 1": 1, "{}#\rLIMIT 1": 1, "{}#\r\r\nLIMIT 1": 1, "{}#\r\nLIMIT 1": 1}
    for shape, rows in [*shapes.items()][::order]:
        text = shape.format(f"SELECT ?s {{ ?s <http://e/p> ?o, ?o{order + 1} }}")
        assert len(rdflive.subscribe(graph, text).answers()) == rows
