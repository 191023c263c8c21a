"""Patterns that hold only what is asked for give the same answers as patterns that hold everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Namespace, URIRef

import rdflive
from rdflive.engine.store_state import StoreState
from rdflive.errors import RdfliveError
from rdflive_stores.rdflib.memory import MemoryAdapter
from support.demand import NODES, PREDICATES, check_held, eager, make_text
from support.effort import drawn_from, rounds

E = Namespace("urn:example:")
PREFIX = f"PREFIX : <{E}> "
RULES = f"@prefix : <{E}> . {{ ?x :p ?y . ?y :q ?z }} => {{ ?x :r ?z }} ."
OPTIONS: dict[str, dict[str, Any]] = {
    "graph": {},
    "Oxigraph": {},
    "Dataset": {},
    "union": {},
    "rdfs": {"entailment": "rdfs"},
    "rules": {"rules": RULES},
    "budget": {"budget": rdflive.Budget(rows=100_000, kept_rows=100_000)},
}
MAKE: dict[str, Callable[[], Any]] = {
    "Oxigraph": lambda: rdflib.Graph(store="Oxigraph"),
    "Dataset": rdflib.Dataset,
    "union": lambda: rdflib.Dataset(default_union=True),
}


def node(name: str) -> URIRef:
    return RDF.type if name == "a" else E[name[1:]]


def made(random: Random, kind: str) -> tuple[Any, ...]:
    """Make a triple, or a quad of a dataset."""
    ends = NODES if random.random() < 0.9 else PREDICATES
    triple = node(random.choice(NODES)), node(random.choice(PREDICATES)), node(random.choice(ends))
    if kind == "rdfs" and random.random() < 0.2:
        schema = (RDFS.subPropertyOf, RDFS.subClassOf, RDFS.domain)
        triple = node(random.choice(PREDICATES)), random.choice(schema), node(random.choice(PREDICATES))
    return (*triple, random.choice((E.g, E.h))) if kind in ("Dataset", "union") else triple


class Follower:
    """Adds the deltas of a subscription up."""

    def __init__(self, graph: Any, text: str, **options: Any) -> None:
        self.rows: Counter[Any] = Counter()
        self.subscription = rdflive.subscribe(graph, text, self._take, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        if delta.initial:
            self.rows.clear()
        for solution, weight in delta.weights().items():
            self.rows[frozenset(solution.asdict().items())] += weight

    @property
    def now(self) -> Counter[Any]:
        assert min(self.rows.values(), default=0) >= 0
        return +self.rows


def write(graph: Any, changes: list[tuple[int, tuple[Any, ...]]]) -> None:
    with rdflive.batch(graph):
        for sign, change in changes:
            (graph.add if sign > 0 else graph.remove)(change)


def play(random: Random, kind: str) -> Counter[str]:
    """Change a graph under the same query, held by demand and whole, with members that come and go."""
    graph: Any = MAKE.get(kind, rdflib.Graph)()
    text = make_text(random, graphs=kind in ("Dataset", "union"))
    options = OPTIONS[kind]
    held: set[tuple[Any, ...]] = set()

    def change() -> tuple[int, tuple[Any, ...]]:
        one = random.choice(sorted(held)) if held and random.random() < 0.45 else made(random, kind)
        sign = -1 if one in held else 1
        (held.remove if sign < 0 else held.add)(one)
        return sign, one

    def commit(most: int) -> None:
        changes: dict[Any, int] = {}
        for _ in range(random.randint(1, most)):
            sign, one = change()
            changes[one] = sign
        write(graph, [(sign, one) for one, sign in changes.items()])

    commit(20)
    members: list[dict[str, Follower]] = []
    kinds: Counter[str] = Counter()
    states: list[StoreState] = []

    def join() -> None:
        asked = text
        for name in NODES:
            if random.random() < 0.5:
                asked = asked.replace(f"{name} ", f"{random.choice(NODES)} ")
        try:
            whole = Follower(graph, PREFIX + asked, algorithm="whole", **options)
        except RdfliveError:
            return
        ways = {way: Follower(graph, PREFIX + asked, algorithm=way, **options) for way in ("demand", "auto")}
        members.append({"whole": whole, **ways})
        states[:] = [whole.subscription._live()]

    join()
    for _ in range(12):
        commit(random.choice((1, 1, 1, 4, 12)))
        for ways in members:
            for follower in ways.values():
                assert follower.subscription.last_error is None
                assert follower.now == ways["whole"].now, follower.subscription.query
        for state in states:
            kinds += check_held(state)
        if random.random() < 0.3:
            join()
        elif len(members) > 1 and random.random() < 0.3:
            for follower in members.pop(random.randrange(len(members))).values():
                follower.subscription.close()
    for ways in members:
        for follower in ways.values():
            answers = Counter(frozenset(s.asdict().items()) for s in follower.subscription.answers())
            assert answers == follower.now
    write(graph, [(-1, one) for one in sorted(held)])
    for state in states:
        check_held(state)
    for ways in members:
        for follower in ways.values():
            assert follower.now == ways["whole"].now
            follower.subscription.close()
    for state in states:
        assert (len(state.dictionary), state.views, state.demand.wide) == (0, {}, {})
    return kinds


@pytest.fixture(params=["as it is", "eager"])
def haste(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Try the thresholds as they are, and such that patterns change over all the time."""
    if request.param == "eager":
        eager(monkeypatch)
    name: str = request.param
    return name


@pytest.mark.parametrize("kind", OPTIONS)
def test_demand_changes_no_answer(kind: str, haste: str) -> None:
    """Random queries, commits and members: what is held, what is told and what is left are right."""
    random = drawn_from("demand", kind, haste)
    kinds: Counter[str] = Counter()
    for _ in range(rounds(300, share=10)):
        kinds += play(random, kind)
    assert kinds["by demand"]
    # over rules nothing is chosen
    assert bool(kinds["whole"]) is (haste == "eager" and kind != "rules")


def followed(text: str, triples: str, **options: Any) -> tuple[Any, Follower, StoreState]:
    """Subscribe to a query that is held by demand, on a graph of triples such as `a p b`."""
    graph = rdflib.Graph()
    for triple in parsed(triples):
        graph.add(triple)
    follower = Follower(graph, PREFIX + text, **({"algorithm": "demand"} | options))
    return graph, follower, follower.subscription._live()


def parsed(triples: str) -> list[tuple[Any, ...]]:
    return [tuple(map(E.__getitem__, triple.split())) for triple in triples.split(" . ")]


def rows(follower: Follower, *names: str) -> list[str]:
    """Give what rows have for some variables."""
    found = []
    for row in follower.now.elements():
        terms = dict(row)
        found.append(" ".join(terms[name][len(E) :] if name in terms else "-" for name in names))
    return sorted(found)


def entries(follower: Follower) -> int:
    return follower.subscription.stats.entries


CHAIN = "SELECT * { :a :p ?y . ?y :q ?z . ?z :r ?v }"


def test_irrelevant_triples_leave_nothing() -> None:
    """A triple of a value that nothing asks for is not held, and what is asked for is held alone."""
    graph, follower, state = followed(CHAIN, "a p b . b q c . c r d . x q c . y r d . x p y")
    kept = entries(follower)
    for triple in parsed("m q n . n r o . x q n . x p n . o p a"):
        graph.add(triple)
    assert entries(follower) == kept
    assert rows(follower, "y", "z", "v") == ["b c d"]
    graph.add((E.a, E.p, E.x))
    assert rows(follower, "y", "z", "v") == ["b c d", "x c d", "x n o"]
    graph.remove((E.a, E.p, None))
    assert rows(follower, "y", "z", "v") == []
    assert (
        sum(len(pattern.paths) > 0 and bool(list(pattern.matches() or ())) for pattern in patterns(state))
        == 0
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { :a :p ?y { SELECT ?y (COUNT(*) AS ?n) { ?y :q ?z } GROUP BY ?y } }",
        "SELECT * { VALUES ?y { :b :c } ?x :p ?y . ?x :q ?z }",
    ],
)
def test_what_asks_for_a_key_or_a_term(text: str) -> None:
    """Groups are asked for by their key, and the IRIs of VALUES ask; what neither reaches is not held."""
    graph, follower, state = followed(text, "a p b . b q c . c p b . c q d")
    kept, found = entries(follower), follower.now
    for triple in parsed("m q n . m q o . o p m . n q m"):
        graph.add(triple)
    assert (entries(follower), follower.now) == (kept, found)
    check_held(state)
    assert len(found) == 1


def test_what_limit_cuts_is_not_asked_for() -> None:
    """The first rows are those of all that matches."""
    text = "SELECT * { :a :p ?y { SELECT ?y ?z { ?y :q ?z } ORDER BY ?y LIMIT 1 } }"
    graph, follower, _ = followed(text, "a p c . b q d . c q d")
    assert rows(follower, "y", "z") == []
    graph.remove((E.b, E.q, E.d))
    assert rows(follower, "y", "z") == ["c d"]


def patterns(state: StoreState) -> list[Any]:
    return [pattern for view in state.views.values() for pattern in view.kernel.patterns.values()]


def test_a_commit_that_asks_and_answers() -> None:
    """What one commit brings is found whichever of its triples comes first, once."""
    graph, follower, state = followed(CHAIN, "b q c")
    with rdflive.batch(graph):
        for triple in parsed("c r d . b q e . a p b . e r f"):
            graph.add(triple)
        graph.remove((E.b, E.q, E.c))
    assert rows(follower, "y", "z", "v") == ["b e f"]
    check_held(state)


def test_a_value_that_loses_one_match_and_gets_another() -> None:
    """It stays in demand over the commit, and is not looked up again."""
    graph, follower, state = followed(CHAIN, "a p b . a p x . b q c . c r d . c r e")
    with rdflive.batch(graph):
        graph.remove((E.b, E.q, E.c))
        graph.add((E.x, E.q, E.c))
    assert rows(follower, "y", "z", "v") == ["x c d", "x c e"]
    check_held(state)
    graph.remove((E.c, E.r, None))
    assert rows(follower, "y", "z", "v") == []
    follower.subscription.close()
    assert len(state.dictionary) == 0


@pytest.mark.parametrize("text", ["SELECT * { :a :p ?y . ?y :p ?z }", "SELECT * { ?y :p ?z . :a :p ?y }"])
def test_a_triple_that_asks_for_itself(text: str) -> None:
    """A triple of both patterns makes each solution once, whichever pattern is written first."""
    graph, follower, state = followed(text, "b p c")
    graph.add((E.a, E.p, E.a))
    assert rows(follower, "y", "z") == ["a a"]
    with rdflive.batch(graph):
        graph.add((E.a, E.p, E.b))
        graph.add((E.b, E.p, E.b))
    assert rows(follower, "y", "z") == ["a a", "a b", "b b", "b c"]
    check_held(state)
    graph.remove((E.a, E.p, E.a))
    assert rows(follower, "y", "z") == ["b b", "b c"]


@pytest.mark.parametrize("text", ["?x ?y ?y", "?y ?x ?x", "?x ?y ?x", "?y ?y ?x"])
def test_a_predicate_that_is_an_end_too(text: str) -> None:
    """A pattern forgets what it held for a value, also where a variable stands at two of its places."""
    graph, follower, state = followed(f"SELECT * {{ :a :p ?y . {text} }}", "b c c . c b b . c b c . b b c")
    graph.add((E.a, E.p, E.b))
    assert len(follower.now) == 1
    graph.remove((E.a, E.p, E.b))
    assert rows(follower, "x") == []
    check_held(state)
    follower.subscription.close()
    assert len(state.dictionary) == 0


def test_a_pattern_over_a_window_takes_the_rest_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it holds for some values it has when it is held whole, and of all of it nothing stays."""
    eager(monkeypatch)
    stream = rdflive.Stream()
    follower = Follower(
        stream, f"{PREFIX} SELECT * {{ :a :p ?y . ?y :q ?z . ?z :r ?w }}", window=rdflive.Sliding(10)
    )
    state = follower.subscription._live()
    kinds: Counter[str] = Counter()
    for number in range(6):
        y, z = E[f"y{number}"], E[f"z{number}"]
        for triple in ((E.a, E.p, y), (y, E.q, z), (z, E.r, E.a)):
            stream.add(triple, at=number)
            kinds += check_held(state)
    assert kinds["by demand"]
    assert kinds["whole"]
    assert len(follower.now) == 6
    stream.advance_to(100)
    assert follower.now == Counter()
    check_held(state)


def test_a_preview_takes_back_what_was_asked_for() -> None:
    """What comes into demand inside the block is shown, and forgotten at its end."""
    graph, follower, state = followed("SELECT * { :a :p ?y . ?y :q ?z }", "a p b . b q c . d q e")
    subscription = follower.subscription
    with rdflive.preview(graph) as change:
        graph.add((E.a, E.p, E.d))
        graph.remove((E.a, E.p, E.b))
    shown = change.deltas[subscription]
    assert [[(row.y, row.z) for row in told] for told in (shown.added, shown.removed)] == [
        [(E.d, E.e)],
        [(E.b, E.c)],
    ]
    assert rows(follower, "y", "z") == ["b c"]
    check_held(state)
    graph.add((E.a, E.p, E.d))
    assert rows(follower, "y", "z") == ["b c", "d e"]


def test_a_subscriber_goes_on_with_what_is_asked_for(tmp_path: Path) -> None:
    """What came into demand and left it while nothing was subscribed is in the first delta."""
    text, options = "SELECT * { :a :p ?y . ?y :q ?z }", {"resume": tmp_path / "journal", "name": "one"}
    graph, follower, _ = followed(text, "a p b . b q c . d q e", **options)
    follower.subscription.close()
    graph.remove((E.a, E.p, E.b))
    graph.add((E.a, E.p, E.d))
    again = Follower(graph, PREFIX + text, algorithm="demand", **options)
    assert {frozenset(row): weight for row, weight in again.rows.items()} == {
        frozenset({("y", E.d), ("z", E.e)}): 1,
        frozenset({("y", E.b), ("z", E.c)}): -1,
    }
    check_held(again.subscription._live())
    graph.remove((E.d, E.q, E.e))
    assert again.rows[frozenset({("y", E.d), ("z", E.e)})] == 0


def test_a_guard_looks_at_what_a_commit_asks_for() -> None:
    """A guard is asked before the store has the commit, and sees all triples that come to be asked for."""
    graph = rdflib.Graph()
    shapes = rdflib.Graph().parse(
        data=f"""
        @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <{E}> .
        :Shape a sh:NodeShape ; sh:targetNode :a ; sh:sparql [
          sh:message "found" ;
          sh:select "SELECT $this {{ $this <{E}p> ?y . ?y <{E}q> ?z . ?z <{E}r> ?v }}" ] .
        """,
        format="turtle",
    )
    with rdflive.guard(graph, shapes):
        all_three = [(1, triple) for triple in parsed("c r d . b q c . a p b")]
        with pytest.raises(rdflive.ValidationError):
            write(graph, all_three)
        write(graph, all_three[:2])
        with pytest.raises(rdflive.ValidationError):
            graph.add((E.a, E.p, E.b))
    assert len(graph) == 2


def test_members_that_ask_for_the_same_again() -> None:
    """What goes when a member is asked for once more goes once, also where two parts share no variable."""
    text = "SELECT * { ?x :q :a . { ?x :z ?y } UNION { ?x :q ?u . ?y :r ?v } }"
    graph, follower, _ = followed(text, "e q e . a q a . a r a . e r d")
    others = [Follower(graph, PREFIX + text, algorithm="demand") for _ in range(2)]
    graph.remove((E.e, E.r, E.d))
    assert [rows(each, "x", "y", "u", "v") for each in (follower, *others)] == [["a a a a"]] * 3


def test_a_path_holds_the_edges_that_it_reaches() -> None:
    """An edge that nothing reaches is not held, until another edge leads to it."""
    graph, follower, state = followed("SELECT * { :a :p+ ?y }", "a p b . b p c . x p y . y p x")
    kept = entries(follower)
    for triple in parsed("m p n . n p m . x p n"):
        graph.add(triple)
    assert entries(follower) == kept
    graph.add((E.c, E.p, E.m))
    assert rows(follower, "y") == ["b", "c", "m", "n"]
    with rdflive.batch(graph):
        graph.remove((E.a, E.p, E.b))
        graph.add((E.a, E.p, E.x))
    assert rows(follower, "y") == ["m", "n", "x", "y"]
    check_held(state)
    graph.remove((E.a, E.p, E.x))
    assert rows(follower, "y") == []
    assert not [row for pattern in patterns(state) for row in pattern.matches() or ()]


def test_a_pattern_is_held_whole_and_by_demand_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """explain() says which; answers stay what they are."""
    eager(monkeypatch)
    values = " . ".join(f"a p n{i} . n{i} q m{i}" for i in range(9))
    graph, follower, state = followed("SELECT * { :a :p ?y . ?y :q ?z }", values, algorithm="auto")
    (line,) = follower.subscription.explain().demand
    assert line.endswith("all triples; in demand are 9 values of ?y")
    assert len(follower.now) == 9
    for triple in parsed(" . ".join(f"o{i} q m{i}" for i in range(9))):
        graph.add(triple)
    for i in range(1, 9):
        graph.remove((E.a, E.p, E[f"n{i}"]))
    # as many changes of the graph as the pattern has values
    graph.add((E.o0, E.q, E.n0))
    graph.add((E.a, E.p, E.o0))
    graph.remove((E.a, E.p, E.o0))
    (line,) = follower.subscription.explain().demand
    assert line.endswith("the triples of 1 value of ?y")
    assert rows(follower, "y", "z") == ["n0 m0"]
    check_held(state)


def test_a_store_that_looks_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that says so has patterns held whole, and so do rules, which plan for each value."""
    triples = " . ".join(f"n{i} q m{i}" for i in range(20)) + " . a p n1"
    text = "SELECT * { :a :p ?y . ?y :q ?z OPTIONAL { ?z :r ?v } }"
    graph, follower, state = followed(text, triples, algorithm="auto", rules=RULES)
    assert (follower.subscription.explain().demand, rows(follower, "y", "z")) == ((), ["n1 m1"])
    monkeypatch.setattr(MemoryAdapter, "looks_up", False, raising=False)
    graph, follower, state = followed(text, triples, algorithm="auto")
    assert follower.subscription.explain().demand == ()
    assert entries(follower) > 20
    graph.add((E.a, E.p, E.n2))
    assert rows(follower, "y", "z") == ["n1 m1", "n2 m2"]
    check_held(state)


STATES = f"{PREFIX} SELECT * {{ :a :p ?y . ?y :q ?z ; :r ?z }}"


def keeps_states(explanation: rdflive.Explanation) -> bool:
    """Read whether match states are kept: by demand they are not."""
    return "match states of ?y" in str(explanation)


@pytest.mark.parametrize("algorithm", ["auto", "demand", "whole"])
@pytest.mark.parametrize("options", [{}, {"rules": RULES}, {"rules": RULES, "window": rdflive.Sliding(5)}])
def test_explained_when_closed(algorithm: str, options: dict[str, Any]) -> None:
    """What entails has patterns held whole, if demand is not forced; a closed subscription says so too."""
    graph: Any = rdflive.Stream(None) if "window" in options else rdflib.Graph()
    subscription = Follower(graph, STATES, algorithm=algorithm, **options).subscription
    is_whole = algorithm == "whole" or (algorithm == "auto" and bool(options))
    assert keeps_states(subscription.explain()) is is_whole
    subscription.close()
    assert keeps_states(subscription.explain()) is is_whole


def test_explained_without_a_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph decides where it is given, for its store may look nothing up."""
    graph = rdflib.Graph()
    assert not keeps_states(rdflive.explain(STATES, graph=graph))
    assert keeps_states(rdflive.explain(STATES, graph=graph, algorithm="whole"))
    monkeypatch.setattr(MemoryAdapter, "looks_up", False, raising=False)
    assert keeps_states(rdflive.explain(STATES, graph=graph))
    assert not keeps_states(rdflive.explain(STATES, graph=graph, algorithm="demand"))


def test_a_constant_that_rows_ask_for_is_no_value_of_a_variable() -> None:
    """The start of a path is what the query itself asks for, so `explain()` leaves it out."""
    _, follower, _ = followed("SELECT * { :a :p? ?x . ?x :q ?y }", "a p b . b q c", algorithm="auto")
    assert follower.subscription.explain().demand == ("?x <urn:example:q> ?y: the triples of 2 values of ?x",)


def test_the_way_is_forced() -> None:
    """`demand` and `whole` hold patterns as they say."""
    triples = " . ".join(f"n{i} q m{i}" for i in range(20)) + " . a p n1"
    text = "SELECT * { :a :p ?y . ?y :q ?z }"
    counts = [entries(followed(text, triples, algorithm=way)[1]) for way in ("demand", "whole", "auto")]
    assert counts[0] == counts[2] < 10 < counts[1]
