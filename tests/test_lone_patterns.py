"""Queries that are one pattern and nothing else are told in terms; others on the same triples come and go."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from bench.worlds import STORES
from rdflive.engine.lone import takes_terms
from rdflive.engine.view import View
from rdflive.query.segment import make_segment
from support.effort import checked, drawn_from, rounds
from support.worlds import Face, Follower

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}> "
LONE = (
    "SELECT ?s ?o { ?s :p ?o }",
    "SELECT ?o ?s { ?s :p ?o }",
    "SELECT ?o { ?s :p ?o }",
    "SELECT ?s ?o { ?s :q ?o }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isIRI(?o)) }",
    "SELECT ?o ?s { ?s :p ?o FILTER(?o != 1) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 1) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(?o > 2 && isNUMERIC(?o)) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isNUMERIC(?o)) FILTER(2 > ?o) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 0 && ?o <= 2) }",
    "SELECT ?o { ?s :p ?o FILTER(?o = 2) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(?o = ?s) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 0 && ?o <= 1) }",
    "SELECT ?x ?s { ?s :p ?o BIND(?o + 1 AS ?x) }",
    "SELECT ?s ?x { ?s :p ?o FILTER(isNUMERIC(?o) && ?o < 3) BIND(?o - 1 AS ?x) FILTER(BOUND(?x)) }",
    "SELECT ?s ?y { ?s :p ?o BIND(?o + 1 AS ?x) BIND(IF(?x > 3, ?s, ?x) AS ?y) FILTER(?y != 2) }",
    "SELECT ?s ?x { ?s :p ?o BIND(?o - 1 AS ?x) FILTER(isNUMERIC(?x)) FILTER(1 > ?x) }",
    "SELECT (?o AS ?a) ?never (?s AS ?b) { ?s :p ?o }",
    "SELECT ?s ?o { ?s :p ?o FILTER(STRENDS(STR(?s), 'a')) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(STRENDS(STR(?o), 'a')) }",
    "SELECT ?s ?o { ?s :p ?o FILTER(CONTAINS(UCASE(STR(?s)), 'B')) }",
    "SELECT ?s ?o { ?s :p ?o BIND(UCASE(STR(?o)) AS ?x) FILTER(LCASE(?x) = STR(?o)) }",
)
OTHERS = (
    "SELECT DISTINCT ?o { ?s :p ?o }",
    "SELECT ?s { ?s :p :a }",
    "SELECT ?s { ?s :p ?s }",
    "SELECT ?s ?o ?x { ?s :p ?o ; :q ?x }",
    "SELECT ?s ?p { ?s ?p :a }",
    "SELECT ?o { ?s :p ?o } ORDER BY ?o",
    "ASK { ?s :p ?o }",
    "SELECT (COUNT(?o) AS ?n) { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 1) }",
    "SELECT (COUNT(?o) AS ?n) { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 0) }",
    "SELECT * { ?s :p ?o FILTER(?o != 1) OPTIONAL { ?s :q ?x FILTER(isIRI(?x)) } }",
    "SELECT * { ?s :p ?o . ?x :q ?y FILTER(?y = 2 && isIRI(?o)) }",
    "SELECT * { :a :q ?x . ?x :p ?y }",
    "SELECT * { :a :p ?x . ?x :p ?y FILTER(?y != 1) }",
    "SELECT * { :a :q ?x OPTIONAL { ?x :p ?y FILTER(isIRI(?y)) } }",
    "SELECT * { ?s :p ?o FILTER(?o IN (:a, :b)) }",
    "SELECT (COUNT(?s) AS ?n) { ?s :p ?o FILTER(?o IN (:a, :b)) }",
)
AMPLE = rdflive.Budget(rows=100_000, kept_rows=100_000)
NODES = [URIRef(E + name) for name in "abcd"]
LITERALS = [Literal(0), Literal(1), Literal(2), Literal(2.5), Literal(3), Literal("a", lang="en")]


def check(text: str, follower: Follower, plain: rdflib.Graph) -> None:
    """Compare what was told with rdflib, and with what the engine finds when it is asked."""
    told = follower.state()
    assert told == Face(plain).evaluate(text), text
    if not isinstance(told, bool):
        assert told == Counter(frozenset(row.asdict().items()) for row in follower.subscription.answers())


def drawn_triple(draw: Random) -> tuple[Any, Any, Any]:
    return draw.choice(NODES), URIRef(E + draw.choice("ppq")), draw.choice((*NODES, *LITERALS))


@pytest.mark.parametrize("store", STORES)
def test_deltas_of_lone_patterns_add_up_to_the_answer(store: str) -> None:
    """One by one and in batches, while others make the engine number terms, or let it stop.

    Some of these have a budget, and some hold what is in demand.
    """
    draw = drawn_from("lone patterns", store)
    for number in range(rounds(60)):
        graph, plain = STORES[store](), rdflib.Graph()
        for _ in range(draw.randrange(4)):
            triple = drawn_triple(draw)
            graph.add(triple)
            plain.add(triple)
        face, texts = Face(graph), [PREFIX + text for text in LONE[number % 3 :: 3]]
        followers = [Follower(face, text) for text in texts]
        for follower in followers:
            assert follower.subscription._use.query.is_lone, follower.subscription.query
        state = followers[0].subscription._live()
        for _, is_compared in checked(range(30)):
            kind = draw.random()
            if kind < 0.1:
                texts.append(PREFIX + draw.choice((*LONE, *OTHERS)))
                followers.append(Follower(face, texts[-1], budget=draw.choice((None, None, AMPLE))))
            elif kind < 0.2 and len(followers) > 1:
                texts.pop(closed := draw.randrange(1, len(followers)))
                followers.pop(closed).subscription.close()
            with rdflive.batch(graph) if kind > 0.7 else nullcontext():
                for _ in range(draw.randrange(1, 6) if kind > 0.7 else 1):
                    write = draw.choice(("add", "add", "remove"))
                    triple = drawn_triple(draw)
                    getattr(graph, write)(triple)
                    getattr(plain, write)(triple)
            for text, follower in zip(texts, followers, strict=True) if is_compared else ():
                check(text, follower, plain)
        for follower in followers:
            follower.subscription.close()
        assert (len(state.dictionary), state.views, state.news, state.touched) == (0, {}, [], {})


@pytest.mark.parametrize(("text", "is_lone"), [(LONE[0], True), (LONE[5], False), (LONE[13], False)])
def test_within_a_budget_a_lone_pattern_is_told_in_terms(text: str, *, is_lone: bool) -> None:
    """Where nothing is tested and nothing computed, for these are counted. Who exceeds it ends."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, PREFIX + text, budget=rdflive.Budget(rows=4)) as subscription:
        assert subscription._use.query.is_lone is is_lone
        with rdflive.batch(graph):
            for number in range(5):
                graph.add((NODES[number % 2], URIRef(E + "p"), Literal(number + 2)))
        assert isinstance(subscription.last_error, rdflive.BudgetError)


def test_a_lone_pattern_numbers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No term gets an id, unless a query reads only some triples of the predicate."""
    taken: list[Any] = []
    take = View.take
    monkeypatch.setattr(View, "take", lambda *given: taken.append(given) or take(*given))
    graph = rdflib.Graph()
    followed = Follower(Face(graph), PREFIX + LONE[0])
    graph.add((NODES[0], URIRef(E + "p"), NODES[1]))
    assert not taken
    with rdflive.subscribe(graph, PREFIX + OTHERS[1]):
        graph.add((NODES[1], URIRef(E + "p"), NODES[1]))
        assert len(taken) == 1
    graph.remove((NODES[0], URIRef(E + "p"), NODES[1]))
    assert len(taken) == 1
    assert followed.state() == {frozenset({("s", NODES[1]), ("o", NODES[1])}): 1}
    assert followed.subscription.stats.matched == 3


def test_what_a_filter_leaves_out_is_not_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group counts what passes; of that only what it shows has a number."""
    taken: list[Any] = []
    monkeypatch.setattr(View, "take", lambda *given: taken.append(given))
    graph, text = rdflib.Graph(), "SELECT ?s (COUNT(?o) AS ?n) { ?s :p ?o FILTER(?o > 10) } GROUP BY ?s"
    with rdflive.subscribe(graph, PREFIX + text) as subscription:
        dictionary = subscription._live().dictionary
        before = len(dictionary)
        for number, known in ((9, 0), (10, 0), (11, 2), (12, 2)):  # the subject, and a count
            graph.add((NODES[0], URIRef(E + "p"), Literal(number)))
            assert len(dictionary) == before + known
        assert [(row.s, row.n.toPython()) for row in subscription.answers()] == [(NODES[0], 2)]
        assert subscription.stats.matched == 4
    assert not taken


def test_a_pattern_that_names_a_variable_twice_is_compared_with_itself() -> None:
    """It keeps no value where `join` is forced, and its triples are told by their numbers."""
    graph, told = rdflib.Graph(), Counter[Any]()
    with rdflive.subscribe(
        graph, PREFIX + "SELECT ?s { ?s :p ?s }", lambda delta: told.update(delta.weights()), algorithm="join"
    ):
        for node in NODES[:2]:
            graph.add((node, URIRef(E + "p"), NODES[1]))
    assert {row.s: weight for row, weight in told.items()} == {NODES[1]: 1}


def test_members_that_come_at_once_read_the_graph_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One who comes later reads it as it is then; each is told its own, and of what goes nothing stays."""
    graph, told = rdflib.Graph(), Counter[Any]()
    read: list[Any] = []
    listed = View.listed
    monkeypatch.setattr(View, "listed", lambda *given: read.append(given) or listed(*given))
    for number in range(6):
        graph.add((NODES[0], URIRef(E + "p"), Literal(number)))

    def tell(delta: rdflive.Delta) -> None:
        for sign, rows in ((1, delta.added), (-1, delta.removed)):
            for row in rows:
                told[delta.parameters["least"].toPython(), row.o.toPython()] += sign

    late = rdflive.prepare(PREFIX + "SELECT ?o { ?s :p ?o FILTER(?o >= ?least) }")
    rows = [{"least": Literal(least)} for least in (4, 5, 5, 7)]
    with late.subscribe(graph, tell, rows) as first:
        assert len(read) == 2  # for all together, and for the second who asks for 5
        assert first[0].stats.entries == 0
        graph.add((NODES[1], URIRef(E + "p"), Literal(8)))
        with late.subscribe(graph, tell, {"least": Literal(6)}):
            graph.remove((NODES[0], URIRef(E + "p"), Literal(5)))
            with rdflive.batch(graph):
                graph.remove((NODES[1], URIRef(E + "p"), Literal(8)))
                graph.add((NODES[0], URIRef(E + "p"), Literal(6)))
        graph.remove((None, None, Literal(6)))
        wanted = Counter({(4, 4): 1, (6, 6): 1})  # who has gone is told nothing of 6
        assert +told == wanted
        assert -told == Counter()
        state = first[0]._live()
    assert (len(state.dictionary), state.views) == (0, {})


def test_members_over_a_graph_and_over_a_window_have_walks_of_their_own() -> None:
    """Those over a graph read it, and those over a window what it keeps, whichever comes first."""
    for first in (0, 1):
        told: dict[tuple[bool, int], list[Any]] = {}
        stream, graph = rdflive.Stream(), rdflib.Graph()
        for write in (graph.add, lambda triple, stream=stream: stream.add(triple, at=1)):
            write((NODES[0], URIRef(E + "p"), Literal(7)))

        def follow(*, windowed: bool, least: int, told: Any = told, on: Any = (graph, stream)) -> None:
            def tell(delta: rdflive.Delta) -> None:
                told.setdefault((windowed, least), []).extend(row.o.toPython() for row in delta.added)

            options = {"window": rdflive.Sliding(10)} if windowed else {}
            text = f"SELECT ?o {{ ?s :p ?o FILTER(?o > {least}) }}"
            rdflive.subscribe(on[windowed], PREFIX + text, tell, **options)

        for number in range(4):
            follow(windowed=bool(number % 2) is not bool(first), least=number + 3)
        graph.add((NODES[1], URIRef(E + "p"), Literal(9)))
        stream.add((NODES[1], URIRef(E + "p"), Literal(8)), at=2)
        assert {key: (9 in found, 8 in found) for key, found in told.items()} == {
            key: (not key[0], key[0]) for key in told
        }
        assert len(told) == 4


def test_a_segment_without_a_pattern_takes_no_terms() -> None:
    """It has what members ask for alone, as where a group is empty but for its OPTIONAL."""
    assert not takes_terms(make_segment((), (), "join"))


def test_rows_under_a_group_come_and_go_with_their_triple() -> None:
    """Where no query of the predicate numbers terms, what a filter leaves in is counted both ways."""
    graph, told = rdflib.Graph(), Counter[int]()

    def tell(delta: rdflive.Delta) -> None:
        told.update(row.n.toPython() for row in delta.added)
        told.subtract(row.n.toPython() for row in delta.removed)

    text = "SELECT (COUNT(?o) AS ?n) { ?s :p ?o FILTER(isNUMERIC(?o) && ?o > 1) }"
    with rdflive.subscribe(graph, PREFIX + text, tell):
        for write, count in ((graph.add, 1), (graph.remove, 0)):
            write((NODES[0], URIRef(E + "p"), Literal(2)))
            assert +told == {count: 1}
            assert not -told


def test_a_member_for_which_a_condition_does_not_hold_does_not_end_the_search() -> None:
    """A value is told to all members that it fits, in whatever order they are found."""
    told = Counter[Any]()

    def tell(delta: rdflive.Delta) -> None:
        told.update((delta.parameters["most"].toPython(), row.o.toPython()) for row in delta.added)

    late = rdflive.prepare(PREFIX + "SELECT ?o { ?s :p ?o FILTER(?o > ?least && ?o < ?most) }")
    graph = rdflib.Graph()
    members = [{"least": Literal(1), "most": Literal(most)} for most in (4, 6, 5)]
    with late.subscribe(graph, tell, members):
        for number in (3, 4, 5):
            graph.add((NODES[0], URIRef(E + "p"), Literal(number)))
    assert told == Counter((most, o) for most in (4, 5, 6) for o in (3, 4, 5) if o < most)
