"""Matching of events, fact by fact."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, BNode, Dataset, Graph, Literal, Namespace, URIRef

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.matching import EventError, Matcher, match
from rdflive.time.matching import events
from rdflive.time.windows import Tumbling

E = Namespace("http://e/")
CHAIN = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c }"
P, Q = E.p, E.q
QUADS = b"""\
<http://e/a> <http://e/p> <http://e/b> <http://e/g> .
<http://e/b> <http://e/q> "01"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e/g> .

# a run of the default graph
<http://e/a> <http://e/p> _:b .
<http://e/b> <http://e/q> <http://e/c> <http://e/g> .
"""


def test_a_repeated_triple_counts_once() -> None:
    """An event is a set of triples, whatever lists it."""
    event = [(E.a, P, E.b), (E.b, Q, E.c)] * 3
    for _ in range(6):
        assert len(Matcher(CHAIN).match(event)) == 1
    matcher = Matcher(CHAIN)
    assert [len(matcher.match(event)) for _ in range(6)] == [1] * 6


def test_terms_come_back_as_they_went_in() -> None:
    """Lexical forms and language tags stay, and "x" joins neither its IRI nor its blank node."""
    odd = Literal("01", datatype=URIRef("http://www.w3.org/2001/XMLSchema#integer"), normalize=False)
    event = [(E.a, P, BNode("x")), (URIRef("x"), Q, E.c), (E.a, P, E.b), (E.b, Q, odd)]
    (solution,) = Matcher(CHAIN).match(event).solutions
    assert solution.c is odd
    literals = [(E.a, P, Literal("x")), (E.b, Q, Literal("x", lang="en")), (E.c, Q, Literal("x"))]
    found = Matcher("PREFIX : <http://e/> SELECT ?a ?b { ?a :p ?x . ?b :q ?x }").match(literals)
    assert [dict(s) for s in found.solutions] == [{"a": E.a, "b": E.c}]


def test_forms_of_events_are_equal() -> None:
    """A graph, a list, a generator and a set of triples give the same; the name is that of the graph."""
    triples = [(E.a, P, E.b), (E.b, Q, E.c)]
    graph = Graph(identifier=E.g)
    for triple in triples:
        graph.add(triple)
    assert [len(found) for found in match(CHAIN, [graph, triples, iter(triples), set(triples)])] == [1] * 4
    assert Matcher(CHAIN).match(graph).name == E.g
    assert Matcher(CHAIN).match(Graph() + graph).name is None


def test_a_dataset_is_a_stream_of_its_named_graphs() -> None:
    """Its default graph is no event."""
    dataset = Dataset()
    dataset.add((E.a, P, E.b))
    for name in (E.g, E.h):
        dataset.graph(name).add((E.a, P, name))
    assert {found.name for found in match("SELECT * { ?s ?p ?o }", dataset)} == {E.g, E.h}
    with pytest.raises(EventError, match="Dataset is many events"):
        Matcher(CHAIN).match(dataset)


@pytest.mark.parametrize("has_pyoxigraph", [True, False])
def test_runs_of_quads_are_events(
    has_pyoxigraph: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With or without pyoxigraph a file gives rdflib's terms, runs of one name, and labels of blank nodes."""
    monkeypatch.setattr(events, "find_spec", lambda _: has_pyoxigraph or None)
    path = tmp_path / "events.nq"
    path.write_bytes(QUADS)
    for stream in (path, str(path), io.BytesIO(QUADS)):
        found = list(match("SELECT ?o { ?s <http://e/q> ?o }", stream))
        assert [(one.name, len(one)) for one in found] == [(E.g, 1), (None, 0), (E.g, 1)]
        assert type(found[0].solutions[0].o) is Literal
        assert str(found[0].solutions[0].o) == "01"
    (blank,) = list(match("SELECT ?o { ?s <http://e/p> ?o }", path))[1].solutions
    assert blank.o == BNode("b")


@pytest.mark.parametrize("has_pyoxigraph", [True, False])
def test_a_file_is_read_as_far_as_it_is_needed(has_pyoxigraph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first event comes before the end of the stream is there."""
    monkeypatch.setattr(events, "find_spec", lambda _: has_pyoxigraph or None)

    class Endless(io.RawIOBase):
        lines = 0

        def readline(self, size: int | None = -1) -> bytes:
            self.lines += 1
            assert self.lines < 100
            return b"<http://e/a> <http://e/p> <http://e/b> <http://e/g%d> .\n" % self.lines

        def __next__(self) -> bytes:
            return self.readline()

    found = match("SELECT * { ?s ?p ?o }", Endless())
    assert [next(found).name for _ in range(3)] == [E.g1, E.g2, E.g3]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ([(E.a, P)], "is no triple; give three terms of rdflib"),
        ([(E.a, P, E.b), (Literal("x"), Q, E.b)], "the subject of a triple is .*'x'"),
        ([(E.a, BNode(), E.b)], "the predicate of a triple is"),
        ([(E.a, P, "plain")], "the object of a triple is 'plain'"),
        (["abc"], "the subject of a triple is 'a'"),
        ([5], "5 is no triple"),
        (5, "5 is no graph; give an rdflib Graph"),
    ],
)
def test_what_is_no_event_is_refused(event: Any, reason: str) -> None:
    """The error names the event, and the matcher goes on with the next."""
    matcher = Matcher(CHAIN)
    good = [(E.a, P, E.b), (E.b, Q, E.c)]
    for number in range(6):
        assert len(matcher.match(good)) == 1
        with pytest.raises(EventError, match=f"^event {number + 1}: .*{reason}") as caught:
            matcher.match(event)
        assert caught.value.number == number + 1
    assert matcher.stats.events == 6


def test_an_iterator_of_events_goes_on_behind_a_bad_one() -> None:
    """What was not matched is still in the iterator."""
    stream = iter([[(E.a, P, E.b)], [5], [(E.a, P, E.b), (E.b, Q, E.c)]])
    found = match(CHAIN, stream)
    next(found)
    with pytest.raises(EventError, match="event 1"):
        next(found)
    assert [len(one) for one in match(CHAIN, stream)] == [1]


def test_workers_raise_at_the_event_that_is_bad() -> None:
    """What came before it has been handed out, in order, and the number is that of the stream."""
    good = [(E.a, P, E.b), (E.b, Q, E.c)]
    found = match(CHAIN, [*[good] * 700, [5], *[good] * 300], workers=2)
    assert [next(found).number for _ in range(700)] == list(range(700))
    with pytest.raises(EventError, match="event 700: 5 is no triple") as caught:
        next(found)
    assert caught.value.number == 700


def test_workers_read_an_endless_stream_a_little_ahead() -> None:
    """The stream is read in batches, a bounded number of them; closing ends the processes."""
    read = 0

    def endless() -> Iterator[Any]:
        nonlocal read
        while True:
            read += 1
            yield [(E.a, P, E.b), (E.b, Q, Literal(read))]

    found = match(CHAIN, endless(), workers=2)
    assert [next(found).solutions[0].c for _ in range(3)] == [Literal(n) for n in (1, 2, 3)]
    assert read < 5000
    found.close()  # type: ignore[attr-defined]  # it is a generator


@pytest.mark.parametrize("clause", ["GRAPH ?g { ?s ?p ?o }", "?s ?p ?o GRAPH <http://e/g> { ?a ?b ?c }"])
def test_graphs_are_refused(clause: str) -> None:
    """An event is one graph; the error says where the clause stands."""
    with pytest.raises(
        UnsupportedQueryError, match=r"GRAPH \(line 1, column \d+\) cannot be matched"
    ) as caught:
        Matcher(f"SELECT * {{ {clause} }}")
    assert caught.value.construct == "GRAPH"
    with pytest.raises(UnsupportedQueryError, match="FROM"):
        Matcher("SELECT * FROM <http://e/g> { ?s ?p ?o }")
    with pytest.raises(QuerySyntaxError):
        Matcher("SELECT")


def test_ask_construct_and_order() -> None:
    """ASK has an answer, CONSTRUCT triples, ORDER BY its order; DISTINCT, initNs and initBindings apply."""
    event = [(E.a, P, Literal(n)) for n in (3, 1, 2)]
    asked = Matcher("ASK { ?s e:p 3 }", initNs={"e": E}).match(event)
    assert (asked.answer, bool(asked), asked.names) == (True, True, ())
    assert Matcher("ASK { ?s ?p 4 }").match(event).answer is False
    made = Matcher("CONSTRUCT { ?s <http://e/q> ?o } { ?s ?p ?o }").match(event)
    assert made.solutions == ()
    assert set(made.triples) == {(E.a, Q, Literal(n)) for n in (1, 2, 3)}
    ordered = Matcher("SELECT ?o { ?s ?p ?o } ORDER BY DESC(?o)").match(event)
    assert [int(s.o) for s in ordered.solutions] == [3, 2, 1]
    bound = Matcher("SELECT DISTINCT ?s ?n { ?s ?p ?o }", initBindings={"n": E.n}).match(event)
    assert [dict(s) for s in bound.solutions] == [{"s": E.a, "n": E.n}]


def test_percolation_stops_at_the_first_empty_result() -> None:
    """Nothing joins when a view is empty, and no further view when a join is."""
    query = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c . ?c :r ?d }"
    matcher = Matcher(query)
    matcher.match([(E.a, P, E.b), (E.b, Q, E.c)])
    assert matcher.stats.joins == 0
    assert "not joined: nothing matches ?c <http://e/r> ?d" in matcher.explain()
    matcher.match([(E.a, P, E.b), (E.x, Q, E.c), (E.c, E.r, E.d)])
    assert matcher.stats.joins == 1


def test_small_views_come_first() -> None:
    """The order of the states follows the sizes of the views, event by event."""
    matcher = Matcher("PREFIX : <http://e/> SELECT * { ?h :p ?a ; :q ?b ; :r ?c }")
    sizes = {P: 9, Q: 1, E.r: 3}
    matcher.match([(E.h, p, Literal(n)) for p, size in sizes.items() for n in range(size)])
    places = [matcher.explain().index(f"<http://e/{name}>") for name in "qrp"]
    assert places == sorted(places)
    assert "star of 3 patterns" in matcher.explain()


def test_an_inequality_between_patterns_does_not_list_the_cross_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 90,000 pairs only those at the boundary are compared one by one."""
    from rdflive.time.matching import ranks

    compared = 0
    compare = ranks.compare

    def count(*args: Any) -> bool | None:
        nonlocal compared
        compared += 1
        return compare(*args)

    monkeypatch.setattr(ranks, "compare", count)
    low = [(E.h, P, Literal(n)) for n in range(300)]
    high = [(E.h, Q, Literal(n)) for n in range(298, 598)]
    query = "PREFIX : <http://e/> SELECT * { ?h :p ?x ; :q ?y FILTER(?x > ?y) }"
    matcher = Matcher(query)
    assert [(s.x, s.y) for s in matcher.match(low + high).solutions] == [(Literal(299), Literal(298))]
    assert "sort-merge join: ?x > ?y" in matcher.explain()
    background = Graph()
    for triple in high:
        background.add(triple)
    over, window = Matcher(query, background=background), Matcher(query, window=Tumbling(10))
    for _ in range(3):
        assert len(over.match(low)) == 1
    assert len(window.match((low, 0))) == 0
    assert [len(window.match(([triple], 1))) for triple in high[:20]] == [1, *[0] * 19]
    assert compared < 10_000


def test_lazy_evaluation_joins_nothing_before_every_view_has_rows() -> None:
    """Eager evaluation joins what has come; the solutions are the same."""
    query = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c . ?c :r ?d }"
    joins = []
    for is_lazy in (True, False):
        matcher = Matcher(query, window=Tumbling("1m"), lazy=is_lazy)
        for at in range(10):
            matcher.match(([(E[f"a{at}"], P, E.b), (E.b, Q, E[f"c{at}"])], at))
        joins.append(matcher.stats.joins)
        assert len(matcher.match(([(E.c3, E.r, E.d)], 10))) == 10
    assert joins[0] == 0
    assert joins[1] > 10
    assert "eager" in matcher.explain()


def test_windows_want_instants_in_order() -> None:
    """An event without an instant, and one that lies before another, are refused; the window stays."""
    matcher = Matcher(CHAIN, window=Tumbling(10))
    matcher.match([(E.a, P, E.b)], at=3)
    with pytest.raises(EventError, match="no instant"):
        matcher.match([(E.b, Q, E.c)])
    with pytest.raises(EventError, match="its instant 2 lies before 3"):
        matcher.match(([(E.b, Q, E.c)], 2))
    found = matcher.match(([(E.b, Q, E.c)], 3))
    assert (len(found), found.at) == (1, 3)
    assert len(matcher.match(([(E.b, Q, E.d)], 10))) == 0


def test_options_that_exclude_each_other_are_refused() -> None:
    """Workers share no window, and only tumbling windows are matched."""
    with pytest.raises(ValueError, match="exclude each other"):
        match(CHAIN, [], window=Tumbling(1), workers=2)
    with pytest.raises(ValueError, match="workers is 0"):
        match(CHAIN, [], workers=0)
    with pytest.raises(TypeError, match="matching takes Tumbling"):
        Matcher(CHAIN, window="10s")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="is one event"):
        match(CHAIN, Graph())
    with pytest.raises(TypeError, match="no stream of events"):
        match(CHAIN, 5)


def test_a_background_is_read_when_it_is_said() -> None:
    """A change is seen after `refresh`; a triple of both counts once."""
    background = Graph()
    background.add((E.b, Q, E.c))
    matcher = Matcher(CHAIN, background=background)
    event = [(E.a, P, E.b), (E.b, Q, E.c)]
    assert len(matcher.match(event)) == 1
    background.add((E.b, Q, E.d))
    assert len(matcher.match(event)) == 1
    matcher.refresh()
    assert len(matcher.match(event)) == 2


def test_an_event_costs_no_pass_over_the_background() -> None:
    """The views of the background are probed, not read: no row of theirs goes into a join by itself."""
    background = Graph()
    for n in range(2000):
        background.add((E[f"b{n}"], Q, Literal(n)))
    matcher = Matcher(CHAIN, background=background)
    matcher.match([])
    before = matcher.stats.rows
    assert len(matcher.match([(E.a, P, E.b7)])) == 1
    assert matcher.stats.rows - before == 1


def test_a_match_can_be_pickled() -> None:
    """As it comes back from a process."""
    found = Matcher(CHAIN).match([(E.a, P, E.b), (E.b, Q, RDF.nil)])
    again = pickle.loads(pickle.dumps(found))
    assert (again.number, again.solutions) == (found.number, found.solutions)
    assert repr(again) == "<Match 0: 1 found>"
