"""Matching of events, fact by fact."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, BNode, Dataset, Graph, Literal, Namespace, URIRef

from rdflive.api.matching import EventError, Matcher, match
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.time.windows import Tumbling

E = Namespace("http://e/")
CHAIN = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c }"
P, Q = E.p, E.q
NOISE = [(E.x, E.noise, Literal(n)) for n in range(65)]
"""With these an event is not small, so that it is joined."""


def test_a_repeated_triple_counts_once() -> None:
    """An event is a set of triples, whatever lists it."""
    event = [(E.a, P, E.b), (E.b, Q, E.c)] * 3
    matcher = Matcher(CHAIN)
    assert [len(matcher.match(event)), len(matcher.match(event + NOISE))] == [1, 1]


def test_terms_come_back_as_they_went_in() -> None:
    """Lexical forms and language tags stay, and "x" joins neither its IRI nor its blank node."""
    odd = Literal("01", datatype=URIRef("http://www.w3.org/2001/XMLSchema#integer"), normalize=False)
    event = [(E.a, P, BNode("x")), (URIRef("x"), Q, E.c), (E.a, P, E.b), (E.b, Q, odd)]
    (solution,) = Matcher(CHAIN).match(event).solutions
    assert solution.c is odd
    literals = [(E.a, P, Literal("x")), (E.b, Q, Literal("x", lang="en")), (E.c, Q, Literal("x"))]
    found = Matcher("PREFIX : <http://e/> SELECT ?a ?b { ?a :p ?x . ?b :q ?x }").match(literals)
    assert [s.asdict() for s in found.solutions] == [{"a": E.a, "b": E.c}]


def test_a_variable_is_one_term_wherever_it_stands() -> None:
    """Of a pattern with one variable twice only triples with equal terms there are matches."""
    event = [(E.a, P, E.a), (E.b, P, E.a), (P, P, E.c), (Q, P, E.c), (Q, Q, Q)]
    for pattern, expected in (("?x :p ?x", [E.a]), ("?x ?x :c", [P]), ("?x ?x ?x", [Q])):
        matcher = Matcher(f"PREFIX : <http://e/> SELECT ?x {{ {pattern} }}")
        for listed in (event, event + NOISE):
            assert [solution.x for solution in matcher.match(listed).solutions] == expected


@pytest.mark.parametrize("term", [Literal("http://e/p"), BNode("http://e/p")])
def test_a_given_predicate_that_is_no_iri_matches_nothing(term: Any) -> None:
    """No triple has such a predicate, whatever its text."""
    event = [(E.a, P, E.b)]
    for padding in ([], NOISE):
        assert len(Matcher("SELECT * { ?s ?p ?o }", initBindings={"p": term}).match(event + padding)) == 0


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


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ([(E.a, P)], "is not a triple; give three terms of rdflib"),
        ([(E.a, P, E.b), (Literal("x"), Q, E.b)], "the subject of a triple is .*'x'"),
        ([(E.a, BNode(), E.b)], "the predicate of a triple is"),
        ([(E.a, P, "plain")], "the object of a triple is 'plain'"),
        (["abc"], "the subject of a triple is 'a'"),
        ([5], "5 is not a triple"),
        (5, "5 is not a graph; give an rdflib Graph"),
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
    assert [s.asdict() for s in bound.solutions] == [{"s": E.a, "n": E.n}]


def test_percolation_stops_at_the_first_empty_result() -> None:
    """Nothing joins when a view is empty, and no further view when a join is."""
    query = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c . ?c :r ?d }"
    matcher = Matcher(query)
    matcher.match([(E.a, P, E.b), (E.b, Q, E.c), *NOISE])
    assert matcher.stats.joins == 0
    assert "not joined: no triple matches ?c <http://e/r> ?d" in matcher.explain()
    matcher.match([(E.a, P, E.b), (E.x, Q, E.c), (E.c, E.r, E.d), *NOISE])
    assert matcher.stats.joins == 1


def test_small_views_come_first() -> None:
    """The order of the states follows the sizes of the views, event by event."""
    matcher = Matcher("PREFIX : <http://e/> SELECT * { ?h :p ?a ; :q ?b ; :r ?c }")
    sizes = {P: 9, Q: 1, E.r: 3}
    matcher.match([*NOISE, *((E.h, p, Literal(n)) for p, size in sizes.items() for n in range(size))])
    places = [matcher.explain().index(f"<http://e/{name}>") for name in "qrp"]
    assert places == sorted(places)
    assert "star of 3 patterns" in matcher.explain()


def test_an_inequality_between_patterns_does_not_list_the_cross_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 90,000 pairs only those at the boundary are compared one by one."""
    from rdflive.matching import ranks

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
    for later in (5, 200):
        with pytest.raises(EventError, match="event 1: the object of a triple is 5"):
            matcher.match([(E.b, Q, 5)], at=later)
    with pytest.raises(EventError, match="its instant 2 is before 3"):
        matcher.match(([(E.b, Q, E.c)], 2))
    found = matcher.match(([(E.b, Q, E.c)], 3))
    assert (len(found), found.at) == (1, 3)
    assert len(matcher.match(([(E.b, Q, E.d)], 10))) == 0


def test_windows_begin_behind_their_edge_where_they_are_closed_there() -> None:
    """The instant at which two windows meet is of the new one, or of the old one if that is closed there."""
    updates = [([(E.a, P, E.b)], 5), ([(E.b, Q, E.c)], 10), ([(E.b, Q, E.d)], 11)]
    for window, found in ((Tumbling(10), [0, 0, 0]), (Tumbling(10, closed="right"), [0, 1, 0])):
        assert [len(one) for one in match(CHAIN, updates, window=window)] == found


def test_windows_tell_distinct_solutions_once() -> None:
    """A solution that further events give in other ways is told with the first, and anew in a new window."""
    query = "PREFIX : <http://e/> SELECT DISTINCT ?a { ?a :p ?b }"
    updates = [([(E.a, P, E[str(at)])], at) for at in (0, 1, 2, 10, 11)]
    assert [len(one) for one in match(query, updates, window=Tumbling(10))] == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("?b < 5", 3),
        ("5 > ?b", 3),
        ("?b <= 5", 5),
        ("5 >= ?b", 5),
        ("?b > 5", 2),
        ("5 < ?b", 2),
        ("5 <= ?b", 4),
    ],
)
def test_integers_are_compared_on_either_side(condition: str, found: int) -> None:
    """A constant on the left means what it means on the right of the mirrored operator."""
    matcher = Matcher(f"PREFIX : <http://e/> SELECT ?b {{ ?a :p ?b FILTER({condition}) }}")
    event = [(E.a, P, Literal(n)) for n in (1, 2, 4, 5, 6, 7)]
    event.append((E.a, P, Literal("5.0", datatype=URIRef("http://www.w3.org/2001/XMLSchema#decimal"))))
    assert [len(matcher.match(event)), len(matcher.match(event + NOISE))] == [found, found]


def test_options_that_exclude_each_other_are_refused() -> None:
    """Workers share no window, and only tumbling windows are matched."""
    with pytest.raises(ValueError, match="exclude each other"):
        match(CHAIN, [], window=Tumbling(1), workers=2)
    with pytest.raises(ValueError, match="workers is 0"):
        match(CHAIN, [], workers=0)
    with pytest.raises(TypeError, match="matching accepts Tumbling"):
        Matcher(CHAIN, window="10s")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="is one event"):
        match(CHAIN, Graph())
    with pytest.raises(TypeError, match="not a stream of events"):
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


def test_an_event_is_forgotten_before_the_next() -> None:
    """Its triples join with the background, and not with a later event."""
    background = Graph()
    background.add((E.b, Q, E.c))
    matcher = Matcher(CHAIN, background=background)
    assert len(matcher.match([(E.a, P, E.b), (E.b, Q, E.d)])) == 2
    assert len(matcher.match([(E.x, P, E.b)])) == 1


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


@pytest.mark.parametrize(
    ("background", "kind", "reason"),
    [
        (Dataset(), TypeError, "many graphs; give one of them"),
        ("houses.ttl", TypeError, "parse the file"),
        (Path("houses.ttl"), TypeError, "parse the file"),
        (iter([(E.b, Q, E.c)]), TypeError, "cannot be read again; give an rdflib Graph, or a list"),
        (5, TypeError, "cannot be read again"),
        ([(E.b, Q)], ValueError, "is not a triple; give three terms of rdflib"),
        ([(E.b, Q, "c")], ValueError, "the object of a triple is 'c'"),
    ],
)
def test_what_is_no_background_is_refused(background: Any, kind: type[Exception], reason: str) -> None:
    """It is said when the matcher is made, with one process and with several."""
    for workers in (1, 2):
        with pytest.raises(kind, match=f"^background.*{reason}"):
            match(CHAIN, [], background=background, workers=workers)


def test_ask_over_a_window_answers_for_all_of_it() -> None:
    """The answer is that over the window now, whatever the update added; a new window begins anew."""
    query = "PREFIX : <http://e/> ASK { ?a :p ?b . ?b :q ?c }"
    updates = [([(E.a, P, E.b)], 0), ([(E.b, Q, E.c)], 1), ([], 2), ([], 12)]
    assert [one.answer for one in match(query, updates, window=Tumbling(10))] == [False, True, True, False]
    background = [(E.x, P, E.y), (E.y, Q, E.z)]
    found = match(query, updates, window=Tumbling(10), background=background)
    assert [one.answer for one in found] == [True] * 4
    query = "PREFIX : <http://e/> ASK { FILTER NOT EXISTS { ?a :q ?c } }"
    assert [one.answer for one in match(query, updates, window=Tumbling(10))] == [True, False, False, True]


def test_a_match_can_be_pickled() -> None:
    """As it comes back from a process."""
    found = Matcher(CHAIN).match([(E.a, P, E.b), (E.b, Q, RDF.nil)])
    again = pickle.loads(pickle.dumps(found))
    assert (again.number, again.solutions) == (found.number, found.solutions)
    assert repr(again) == "<Match 0: 1 found>"
