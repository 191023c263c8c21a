"""A name that the data do not hold is noted with the nearest that they do, and so is a variable."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Literal, Namespace

import rdflive
from rdflive.cli import main
from rdflive.delivery import unheld
from support.worlds import KINDS

E = Namespace("http://example.org/")
PREFIX = "PREFIX : <http://example.org/> "
DELAY = "nothing in the data has the predicate <http://example.org/dealy> yet; the nearest is <http://example.org/delay>"
QUERY = PREFIX + "SELECT ?train { ?train :dealy ?minutes }"


def railway() -> rdflib.Graph:
    """Make a graph of its own, so that nothing has been said of it."""
    graph = rdflib.Graph()
    graph.add((E.IC5, E.delay, Literal(7)))
    graph.add((E.IC5, RDF.type, E.Train))
    return graph


def notes(graph: Any, query: str, **options: Any) -> list[str]:
    """Give what a subscription's explanation notes."""
    with rdflive.subscribe(graph, PREFIX + query, **options) as subscription:
        return list(subscription.explain().notes)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give what was logged of names so far, without the query."""
    lines = [record.getMessage() for record in caplog.records if record.name == "rdflive"]
    return [line.partition("; the query is ")[0] for line in lines]


def test_a_misspelled_predicate_is_noted_with_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    """In the log as a warning, which tells the query, and in `explain()`, which takes a graph too."""
    graph = railway()
    graph.bind("r", E)
    assert rdflive.explain("ASK { ?s r:dealy ?o }", graph=graph).notes == (DELAY,)
    assert rdflive.explain(QUERY).notes == ()
    with rdflive.subscribe(railway(), QUERY) as subscription:
        assert subscription.explain().notes == (DELAY,)
        assert f"\nnote: {DELAY}\n" in str(subscription.explain())
    (record,) = (record for record in caplog.records if record.name == "rdflive")
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"{DELAY}; the query is {QUERY!r}"


def test_it_is_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    """For each store, however many subscriptions name it, closed or not; `explain` says it each time."""
    graph = railway()
    for query in ("ASK { ?s :dealy ?o }", "SELECT ?s { ?s :dealy 5 }", "ASK { ?s :dealy ?o }"):
        assert notes(graph, query) == [DELAY]
    assert logged(caplog) == [DELAY]
    notes(railway(), "ASK { ?s :dealy ?o }")
    assert logged(caplog) == [DELAY, DELAY]


def test_classes_and_graphs_are_noted() -> None:
    """Each with the nearest of its kind."""
    what = "nothing in the data has the"
    assert notes(railway(), "ASK { ?s a :Trian }") == [
        f"{what} class <{E.Trian}> yet; the nearest is <{E.Train}>"
    ]
    dataset = rdflib.Dataset()
    dataset.graph(E.north).add((E.IC5, E.delay, Literal(7)))
    said = [f"{what} graph <{E.nort}> yet; the nearest is <{E.north}>"]
    assert notes(dataset, "ASK { GRAPH :nort { ?s :delay ?o } }") == said
    assert notes(dataset, "ASK FROM :nort { ?s :delay ?o }") == said
    assert notes(dataset, "ASK FROM :nort FROM :north { ?s :delay ?o }") == said
    assert notes(dataset, "ASK FROM NAMED :nort { GRAPH ?g { ?s :delay ?o } }") == said


@pytest.mark.parametrize(
    "pattern",
    [
        "OPTIONAL { ?s :dealy ?m }",
        "{ ?s :delay ?m } UNION { ?s :dealy ?m }",
        "?s :delay ?o MINUS { ?s :dealy ?o }",
        "?s :delay ?o FILTER NOT EXISTS { ?s :dealy ?o }",
        "?s :delay/:dealy* ?o",
        "?s ^:dealy ?o",
        "{ SELECT ?s { ?s :dealy ?o } }",
        "BIND(EXISTS { ?s :dealy ?o } AS ?late)",
    ],
)
def test_names_count_wherever_they_stand(pattern: str) -> None:
    """Also where their absence changes little."""
    assert DELAY in notes(railway(), f"SELECT * {{ {pattern} }}")


def test_a_name_that_arrives_later_is_no_error() -> None:
    """The subscription works; the note is gone from its explanation, and comes back with what was there."""
    graph = railway()
    with rdflive.subscribe(graph, QUERY) as subscription:
        graph.add((E.IC5, E.dealy, Literal(3)))
        assert subscription.answers() == [(E.IC5,)]
        assert subscription.explain().notes == ()
        assert notes(graph, "ASK { ?s :dealy ?o }") == []
        graph.remove((None, E.dealy, None))
        assert subscription.explain().notes == (DELAY,)


def test_nothing_is_noted_of_what_is_there(caplog: pytest.LogCaptureFixture) -> None:
    """Nor of constants in other places, of variables, and of what CONSTRUCT makes."""
    graph = railway()
    for query in (
        "SELECT * { ?s a :Train ; :delay ?m }",
        "ASK { :absent :delay 99 }",
        "CONSTRUCT { ?s :late true } { ?s ?p ?m }",
        "SELECT * { ?s !:dealy ?m }",
        "SELECT * { VALUES ?p { :dealy } ?s ?p ?o }",
    ):
        assert notes(graph, query) == []
    assert logged(caplog) == []


def test_nothing_is_noted_for_an_empty_graph(caplog: pytest.LogCaptureFixture) -> None:
    """A name that is missing before the data come is not misspelled."""
    graph = rdflib.Graph()
    assert notes(graph, "SELECT ?s { ?s a :Trian ; :dealy ?o }") == []
    assert notes(rdflib.Dataset(), "SELECT ?s { GRAPH :g { ?s :dealy ?o } }") == []
    assert logged(caplog) == []
    graph += railway()
    assert notes(graph, "ASK { ?s :dealy ?o }") == [DELAY]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_store_is_asked(kind: str) -> None:
    """Terms of pyoxigraph are shown as those of rdflib."""
    try:
        graph = KINDS[kind]()
    except ImportError:
        pytest.skip("needs the extra rdflive[oxigraph]")
    if isinstance(graph, rdflib.Graph):
        target = graph.default_graph if isinstance(graph, rdflib.Dataset) else graph
        target.add((E.IC5, E.delay, Literal(7)))
    else:
        import pyoxigraph as ox

        graph.add(ox.Quad(ox.NamedNode(E.IC5), ox.NamedNode(E.delay), ox.Literal(7)))
    assert notes(graph, "ASK { ?s :dealy ?o }") == [DELAY]


def test_the_nearest_is_the_most_similar_name() -> None:
    """By what stands behind the namespace, in capitals or not, then as a whole; none where none is alike."""
    graph = rdflib.Graph()
    for name in ("http://e/#delays", "http://f/delay", "https://schema.org/Delay", "http://e/platform"):
        graph.add((E.IC5, rdflib.URIRef(name), Literal(1)))
    for given, nearest in {
        "http://schema.org/Delay": "https://schema.org/Delay",
        "http://e/#delay": "http://f/delay",
        "http://e/PLATFORM": "http://e/platform",
        "http://e/x": None,
    }.items():
        (note,) = notes(graph, f"ASK {{ ?s <{given}> ?o }}")
        assert note == f"nothing in the data has the predicate <{given}> yet" + (
            f"; the nearest is <{nearest}>" if nearest else ""
        )


def test_a_variable_that_no_pattern_binds_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """One that is shown, that an expression reads, that a template or `initBindings` names."""
    graph = railway()
    near = "no pattern binds ?trian; the nearest variable is ?train"
    for query in (
        "SELECT ?trian { ?train :delay ?m }",
        "SELECT ?train { ?train :delay ?m FILTER(?trian > 3) }",
        "SELECT ?train { ?train :delay ?m } ORDER BY ?trian",
        "SELECT (COUNT(?trian) AS ?n) { ?train :delay ?m }",
        "CONSTRUCT { ?trian :late true } { ?train :delay ?m }",
        "SELECT ?trian (COUNT(*) AS ?n) { ?train :delay ?m } GROUP BY ?trian",
        "SELECT ?train { ?train :delay ?m } GROUP BY ?train ?trian",
        "SELECT (?trian AS ?x) (SAMPLE(?trian) AS ?y) { ?train :delay ?m }",
        "SELECT (?trian AS ?x) { ?train :delay ?m }",
    ):
        assert notes(graph, query) == [near], query
        assert rdflive.explain(PREFIX + query).notes == (near,)
    assert logged(caplog) == [near]
    given = rdflive.explain("ASK { ?train ?p ?o }", initBindings={"trian": E.IC5})
    assert given.notes == ("the query has no ?trian; the nearest variable is ?train",)


def test_a_variable_that_only_an_inner_pattern_binds_is_noted() -> None:
    """What it binds does not reach the answer."""
    for query in (
        "SELECT ?x { { SELECT ?s { ?s :delay ?x } } }",
        "SELECT ?x { ?s :delay ?y MINUS { ?s :delay ?x } }",
        "SELECT ?x { ?s :delay ?y FILTER NOT EXISTS { ?s :delay ?x } }",
        "CONSTRUCT { ?s :late ?x } { ?s :delay ?y MINUS { ?s :delay ?x } }",
    ):
        said = "no pattern outside MINUS, EXISTS and subqueries binds ?x"
        assert rdflive.explain(PREFIX + query).notes == (said,), query


def test_variables_that_are_bound_somewhere_are_not_noted() -> None:
    """By BIND, VALUES, OPTIONAL, a subquery, an aggregate, or `initBindings`; nor those of EXISTS."""
    for query in (
        "SELECT * { ?s :delay ?m BIND(?m + 1 AS ?n) VALUES ?v { 1 } OPTIONAL { ?s a ?c } }",
        "SELECT ?n { { SELECT (COUNT(?s) AS ?n) { ?s :delay ?m } } }",
        "SELECT (SUM(?m) AS ?n) { ?s :delay ?m } GROUP BY ?s HAVING(SUM(?m) > 1) ORDER BY ?n",
        "SELECT ?s { ?s :delay ?m FILTER EXISTS { ?s a ?c FILTER(?c != ?m) } }",
        "SELECT ?g { GRAPH ?g { ?s ?p ?o FILTER(?o > 1) } }",
        "SELECT ?o { [] :delay* ?o }",
        "SELECT * { ?s :delay ?m MINUS { ?s a ?c } FILTER NOT EXISTS { ?s ?q ?r } }",
        "SELECT ?h (SAMPLE(?s) AS ?one) { ?s :delay ?m } GROUP BY (?m + 1 AS ?h) ORDER BY ?h",
        "SELECT ?s ?x { ?s :delay ?m OPTIONAL { SELECT ?s (MAX(?m) AS ?x) { ?s :delay ?m } GROUP BY ?s } }",
        "SELECT ?s ?m { { ?s a :Train } UNION { ?s :delay ?m } } ORDER BY ?m LIMIT 3",
        # the planner gives these a variable of its own
        "SELECT ?s ?m { ?s :delay ?m } ORDER BY (NOT EXISTS { ?s :late|:delay ?z FILTER(?z != ?m) }) LIMIT 3",
        "SELECT ?s { ?s :delay ?m } ORDER BY EXISTS { SELECT (COUNT(?z) AS ?n) { ?s :late ?z } } LIMIT 3",
        "SELECT ?m (COUNT(*) AS ?n) { ?s :delay ?m } GROUP BY ?m HAVING (EXISTS { ?x :delay ?m })",
        "SELECT (?m AS ?n) (?n + 1 AS ?o) { ?s :delay ?m FILTER EXISTS { ?s a ?c } }",
        "CONSTRUCT { ?s :late ?n } { ?s :delay ?m BIND(EXISTS { ?s a ?c } AS ?n) }",
    ):
        assert rdflive.explain(PREFIX + query).notes == (), query
    assert notes(railway(), "SELECT ?s ?p { ?s ?p ?o }", initBindings={"p": E.delay}) == []


def test_what_entailment_may_bring_is_not_noted() -> None:
    """A class of the schema, a head of a rule, the vocabulary; a typo still is."""
    graph = railway()
    graph.add((E.Train, RDFS.subClassOf, E.Vehicle))
    vehicle = "ASK { ?s a :Vehicle }"
    assert notes(graph, vehicle, entailment="rdfs") == []
    assert notes(graph, vehicle) != []
    assert notes(graph, "ASK { ?s a :Vehicel }", entailment="rdfs") != []
    assert notes(graph, "ASK { ?s a rdfs:Class }", entailment="rdfs") == []
    rule = "@prefix : <http://example.org/> . { ?t :delay ?m } => { ?t :late true } ."
    assert notes(graph, "ASK { ?s :late ?o }", rules=rule) == []
    assert notes(graph, "ASK { ?s :lat ?o }", rules=rule) != []


def test_windows_are_not_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    """Names are not checked, as a stream may still bring them; variables are."""
    stream = rdflive.Stream(railway())
    with rdflive.subscribe(
        stream, PREFIX + "SELECT ?z { ?s :dealy ?o }", window=rdflive.Sliding("10s")
    ) as it:
        assert it.explain().notes == ("no pattern binds ?z",)
    assert logged(caplog) == ["no pattern binds ?z"]


def test_the_search_for_the_nearest_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many quads are read and no more, and not again for the next name."""
    graph = rdflib.Graph()
    for number in range(3000):
        graph.add((E[f"s{number}"], E[f"p{number % 7}"], Literal(number)))
    read = 0
    islice = unheld.islice

    def counted(items: Any, most: int) -> Any:
        nonlocal read
        for item in islice(items, most):
            read += 1
            yield item

    monkeypatch.setattr(unheld, "islice", counted)
    monkeypatch.setattr(unheld, "_SCANNED", 50)
    for number in range(20):
        assert len(notes(graph, f"ASK {{ ?s :q{number} ?o }}")) == 1
    assert read <= 50 + 7 + 50 + 7  # at the first commit, and when there are twice as many


def test_thousands_of_queries_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A hundred notes of one store are logged."""
    graph = railway()
    with rdflive.batch(graph):
        for number in range(120):
            rdflive.subscribe(graph, PREFIX + f"ASK {{ ?s :q{number} ?o }}", initial=False).close()
    assert len(logged(caplog)) == 100


def test_a_name_cannot_write_lines_of_its_own_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """What steers a terminal is shown as a dot."""
    notes(railway(), "ASK { ?s <http://e/a\u202eb> ?o }")
    assert "<http://e/a·b>" in logged(caplog)[0]


def test_commands_say_it_on_standard_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with or without --explain, and not in what it prints of the answer."""
    monkeypatch.chdir(tmp_path)
    Path("data.ttl").write_text(f"{PREFIX.replace('PREFIX', '@prefix')} . :IC5 :delay 7 .")
    Path("c.rdfp").write_text("TX .\nTC .\n")
    command = ["watch", "data.ttl", "--changes", "c.rdfp", "--query"]
    for options in ([], ["--explain"], ["--entail", "rdfs"]):
        assert main([*command, PREFIX + "SELECT ?trian { ?train :dealy ?m }", *options]) == 0
        out, err = capsys.readouterr()
        assert err.count(f"note: {DELAY}\n") == err.count("note: no pattern binds ?trian; ") == 1
        assert err.count("dealy> yet") == 1
        assert "note" not in out
    assert main(["query", "data.ttl", "--query", PREFIX + "SELECT ?train { ?train :dealy ?m }"]) == 0
    assert capsys.readouterr() == ("no solutions\n", f"note: {DELAY}\n")
