"""Subscriptions with budgets: one that would cost too much ends with the reason, all others stay exact."""

from __future__ import annotations

import logging
import re
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive import Budget, BudgetError
from rdflive.delivery.membership import _states
from rdflive.query.budget import Meter
from support.effort import HUNT, drawn_from, rounds

AMPLE = Budget()
P, Q, E = (URIRef(f"urn:{name}") for name in "pqe")

QUERIES = [
    "SELECT * { ?s <urn:p> ?a }",
    "SELECT * { ?s <urn:p> ?a FILTER(?a > 2) }",
    'SELECT * { ?s <urn:p> ?a FILTER(STRLEN(CONCAT(STR(?a), STR(?s), "x")) > 5) }',
    "SELECT * { ?s <urn:p> ?a . ?s <urn:q> ?b }",
    "SELECT * { ?s <urn:p> ?a . ?s <urn:p> ?b . ?s <urn:q> ?c FILTER(?a + ?b > ?c) }",
    "SELECT * { ?s <urn:p> ?a . ?t <urn:q> ?b }",
    "SELECT DISTINCT ?a { ?s <urn:p> ?a . ?t <urn:q> ?b }",
    "SELECT * { ?s <urn:p> ?a OPTIONAL { ?s <urn:q> ?b FILTER(?a < ?b) } }",
    "SELECT * { ?s <urn:p> ?a MINUS { ?s <urn:q> ?a } }",
    "SELECT * { ?s <urn:p> ?a FILTER EXISTS { ?t <urn:q> ?a } }",
    "SELECT * { ?s <urn:p> ?a FILTER NOT EXISTS { ?t <urn:q> ?b FILTER(?b > ?a) } }",
    "SELECT * { ?s <urn:p> ?a FILTER EXISTS { ?t <urn:p> ?b FILTER(?b > ?a && ?t != ?s) } }",
    "SELECT * { { ?s <urn:p> ?a } UNION { ?s <urn:q> ?a } ?s <urn:e> ?t }",
    "SELECT * { ?s <urn:e>+ ?t }",
    "SELECT * { ?s <urn:e>* ?t . ?t <urn:p> ?a }",
    "SELECT * { <urn:0> <urn:e>+ ?t }",
    "SELECT ?s (COUNT(*) AS ?n) (GROUP_CONCAT(?a) AS ?all) { ?s <urn:p> ?a } GROUP BY ?s",
    'SELECT (MAX(CONCAT("m", STR(?a))) AS ?m) (SUM(?b) AS ?t) { ?s <urn:p> ?a . ?s <urn:q> ?b }',
    "SELECT ?s ?x { ?s <urn:p> ?a BIND(CONCAT(STR(?a), STR(?a)) AS ?x) } ORDER BY ?x LIMIT 3",
    "SELECT ?a { { SELECT ?s ?a { ?s <urn:p> ?a . ?s <urn:q> ?b } } { SELECT ?s { ?s <urn:e> ?t } } }",
    "CONSTRUCT { ?s <urn:new> [ <urn:of> ?a ] } { ?s <urn:p> ?a . ?s <urn:q> ?b }",
    "ASK { ?s <urn:p> ?a . ?s <urn:q> ?a }",
    "SELECT * { <urn:1> <urn:e> ?t . ?t <urn:p> ?a . ?t <urn:q> ?b }",
    "SELECT ?t (COUNT(?a) AS ?n) { <urn:1> <urn:e> ?t . ?t <urn:p> ?a } GROUP BY ?t",
    "SELECT * { <urn:1> <urn:e>+ ?t OPTIONAL { ?t <urn:p> ?a } }",
    'SELECT (REPLACE(STR(?a), "[0-4]", "x") AS ?r) { ?s <urn:p> ?a FILTER(REGEX(STR(?s), "[0-3]$")) }',
]

NEED_RE2 = re.compile("RE(GEX|PLACE)")
if find_spec("re2") is None:  # without the extra rdflive[server]
    QUERIES = [query for query in QUERIES if not NEED_RE2.search(query)]


class Follower:
    """A subscription, its deltas folded, and what it was told at its end. An ample budget never ends it."""

    def __init__(self, graph: Any, query: str, budget: Budget | None) -> None:
        self.query, self.limited = query, budget not in (None, AMPLE)
        self.rows: Counter[Any] = Counter()
        self.error: Exception | None = None
        self.subscription = rdflive.subscribe(graph, query, self.take, budget=budget, on_error=self.told)

    def take(self, delta: rdflive.Delta) -> None:
        assert self.error is None, "a delta came behind the end"
        if delta.initial:
            self.rows.clear()
        self.rows.update(delta.added)
        self.rows.subtract(delta.removed)

    def told(self, _: rdflive.Subscription, error: Exception) -> None:
        assert isinstance(error, BudgetError), error
        assert self.error is None, "the end came twice"
        self.error = error

    def check(self, graph: Any) -> None:
        """Compare with a subscription that begins now, unless it has ended; then it must know why."""
        if self.error is not None:
            assert self.limited, (self.query, self.error)
            assert self.subscription.closed
            assert self.subscription.last_error is self.error
            return
        assert not self.subscription.closed
        with rdflive.subscribe(graph, self.query, lambda _: None) as fresh:
            now = Counter(fresh.answers())
        try:
            kept = Counter(self.subscription.answers())
        except BudgetError:  # to work out the whole answer may be too much where its changes are not
            assert self.limited, (self.query, self.error)
            kept = +self.rows
        if "ORDER" not in self.query and "CONSTRUCT" not in self.query:
            assert +self.rows == now, self.query
        assert +self.rows == kept, self.query


def write(random: Random, graph: Any) -> None:
    """Change a few triples, as one commit or several."""

    def change() -> None:
        for _ in range(random.choice([1, 1, 3, 12])):
            s = URIRef(f"urn:{random.randrange(5)}")
            p = random.choice([P, P, Q, E])
            o = URIRef(f"urn:{random.randrange(5)}") if p == E else Literal(random.randrange(6))
            (graph.add if random.random() < 0.65 else graph.remove)((s, p, o))

    if random.random() < 0.5:
        with rdflive.batch(graph):
            change()
    else:
        change()


def drawn_query(random: Random) -> str:
    """A query, perhaps with other constants: those that differ in them alone are a family."""
    query = random.choice(QUERIES)
    return query.replace("<urn:1>", f"<urn:{random.randrange(4)}>").replace("> 2", f"> {random.randrange(4)}")


def drawn_budget(random: Random) -> Budget:
    """A budget of which one part or two are tiny."""
    if random.random() < 0.3:
        return AMPLE
    tiny: dict[str, Any] = {}
    for _ in range(random.choice([1, 1, 2])):
        name = random.choice(["rows", "characters", "kept_rows", "kept_characters"])
        tiny[name] = int(random.choice([5, 20, 60, 200]) * random.uniform(0.5, 2))
    if random.random() < 0.1:
        tiny["seconds"] = random.choice([1e-9, 2e-5])
    return Budget(**tiny)


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize("case", range(rounds(40, share=10)))
def test_who_has_not_ended_is_exact(case: int, store: str) -> None:
    """Random queries with tiny budgets and without, random writes; in the end the engine holds nothing."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    random = drawn_from(f"budgets {case} {store}")
    graph = rdflib.Graph(store=store)
    keeper = Follower(graph, "SELECT * { ?s <urn:p> ?o }", None)
    followers: list[Follower] = [keeper]
    for step in range(60):
        if random.random() < 0.35:
            query = drawn_query(random)
            budget = None if random.random() < 0.25 else drawn_budget(random)
            for _ in range(random.choice([1, 1, 1, 2, 3])):
                try:
                    followers.append(Follower(graph, query, budget))
                except BudgetError:
                    assert budget not in (None, AMPLE)
                query, budget = drawn_query(random) if random.random() < 0.5 else query, drawn_budget(random)
        write(random, graph)
        if len(followers) > 1 and random.random() < 0.1:
            followers.pop(random.randrange(1, len(followers))).subscription.close()
        if step % 6 == 5:
            for follower in followers:
                follower.check(graph)
        if random.random() < 0.02:
            keeper.subscription.resync()
    for follower in followers:
        follower.check(graph)
    state = keeper.subscription._live()
    for follower in followers[1:]:
        follower.subscription.close()
    state.dictionary.sweep()
    held = {state.to_native(term) for triple in graph.triples((None, P, None)) for term in (*triple, P)}
    held.add(state.to_native(P))
    assert set(state.dictionary.ids) <= held, "what ended subscriptions held is still there"
    for follower in followers[:1]:
        follower.check(graph)
        follower.subscription.close()
    assert next(_states(keeper.subscription._adapter), None) is None


@pytest.mark.parametrize("query", QUERIES)
def test_ample_budget_changes_nothing(query: str) -> None:
    """With the default budget every answer is that without one, and what is kept comes back to nothing."""
    random, graph = drawn_from(f"ample {query}"), rdflib.Graph()
    one, other = Follower(graph, query, Budget()), Follower(graph, query, None)
    begun = one.subscription._use.query.meter
    assert begun is not None
    empty = begun.kept_rows, begun.kept_characters
    for _ in range(40):
        write(random, graph)
        assert +one.rows == +other.rows
    graph.remove((None, None, None))
    assert +one.rows == +other.rows
    assert (begun.kept_rows, begun.kept_characters) == empty


def test_iterators_end_and_the_reason_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    """What came before the end is still given; the end is logged, and its error has no frames."""
    graph, query = rdflib.Graph(), "SELECT * { ?s <urn:p> ?a . ?t <urn:p> ?b }"
    subscription = rdflive.subscribe(graph, query, budget=Budget(rows=10))
    deltas = subscription.deltas(timeout=10)
    graph.add((E, P, Literal(1)))
    with caplog.at_level(logging.ERROR), rdflive.batch(graph):
        for number in range(20):
            graph.add((Q, P, Literal(number)))
    assert [len(delta.added) for delta in deltas] == [0, 1]
    assert isinstance(subscription.last_error, BudgetError)
    assert subscription.last_error.__traceback__ is None  # its frames would hold what was made
    assert "has ended" in caplog.text
    assert "more than 10 rows for one commit" in caplog.text
    for budget, says in (
        (Budget(kept_rows=100), "to work out its"),
        (Budget(opening_seconds=1e-9), "1e-09 s"),
    ):
        with pytest.raises(BudgetError, match=says):
            rdflive.subscribe(graph, query, budget=budget)
    for name in ("seconds", "rows", "characters", "opening_seconds", "kept_rows", "kept_characters"):
        with pytest.raises(ValueError, match=f"{name} must be above zero, got 0"):
            Budget(**{name: 0})


def test_filter_that_is_cut_short_is_not_shared() -> None:
    """Another subscription with the same filter, and no budget, keeps the row that was too much for one."""
    graph, query = rdflib.Graph(), QUERIES[2]
    one, other = Follower(graph, query, Budget(characters=10)), Follower(graph, query, None)
    graph.add((Q, P, Literal("a long literal")))
    assert one.error is not None
    assert sum(other.rows.values()) == 1
    graph.remove((Q, P, None))
    assert not +other.rows


@pytest.mark.parametrize(
    "clause",
    [
        "OPTIONAL { ?t <urn:q> ?b FILTER(?a + ?b < 0) }",
        "OPTIONAL { ?t <urn:q> ?b FILTER(?a > -?b - 1 && ?a + ?b < 0) }",
        "FILTER EXISTS { ?t <urn:q> ?b FILTER(?a > -?b - 1 && ?a + ?b < 0) }",
        ". ?s <urn:q> ?b FILTER(?a + ?b < 0)",
    ],
)
def test_pairs_are_counted_that_give_no_row(clause: str) -> None:
    """A condition refuses 900 pairs: they are looked at all the same, in the order of an inequality too."""
    graph = rdflib.Graph()
    query = f"SELECT * {{ ?s <urn:p> ?a {clause} }}"
    one, other = Follower(graph, query, Budget(rows=500)), Follower(graph, query, Budget(rows=5000))
    with rdflive.batch(graph):
        for number in range(30):
            graph.add((E, P, Literal(number)))
            graph.add((E, Q, Literal(number)))
    assert one.error is not None
    assert other.error is None


def references(follower: Follower) -> dict[Any, int]:
    """How often each term is held in the dictionary of a follower's store."""
    dictionary = follower.subscription._live().dictionary
    dictionary.sweep()
    return {term: dictionary._references[number] for term, number in dictionary.ids.items()}


def test_path_that_is_cut_short_drops_what_it_held() -> None:
    """Wherever a commit of inserts and deletes is cut, the terms are held as if the path had never been."""
    nodes = [URIRef(f"urn:n{number}") for number in range(12)]
    ended = 0
    for rows in range(5, 400, 5 if HUNT else 20):
        graphs = rdflib.Graph(), rdflib.Graph()
        keepers = [Follower(graph, "SELECT * { ?s <urn:e> ?t }", None) for graph in graphs]
        one = Follower(graphs[0], "SELECT * { ?s <urn:e>+ ?t }", Budget(rows=rows))
        for graph in graphs:
            for pair in pairwise(nodes):
                graph.add((pair[0], E, pair[1]))
            with rdflive.batch(graph):
                graph.remove((nodes[3], E, nodes[4]))
                graph.remove((nodes[7], E, nodes[8]))
                graph.add((nodes[11], E, nodes[0]))
                graph.add((nodes[4], E, nodes[3]))
        ended += one.error is not None
        one.subscription.close()
        assert references(keepers[0]) == references(keepers[1]), rows
    assert ended


def test_an_interruption_as_work_begins_leaves_the_meter_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next walk that takes too much ends its own subscription, and stops no other."""
    meter = Meter(Budget(rows=1), SimpleNamespace(sequence=1))

    def interrupt() -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rdflive.query.budget.perf_counter", interrupt)
        with pytest.raises(KeyboardInterrupt):
            meter.run(meter.look)
    assert not meter.guard(meter.spend)(2)
    assert isinstance(meter.error, BudgetError)


def queries_of(follower: Follower) -> int:
    """How many plans the engine keeps up to date."""
    return sum(1 for query in follower.subscription._live().queries if query.is_used)


def star(graph: Any, hub: int, leaves: int) -> None:
    """Write a number for each of some nodes, and then make all of them neighbours of one, as one commit."""
    nodes = [URIRef(f"urn:{hub}/{number}") for number in range(leaves)]
    for number, leaf in enumerate(nodes):
        graph.add((leaf, P, Literal(number)))
    with rdflive.batch(graph):
        for leaf in nodes:
            graph.add((URIRef(f"urn:{hub}"), E, leaf))


HUB = "SELECT * { <urn:%s> <urn:e> ?t . ?t <urn:p> ?a }"


@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[3], QUERIES[7], HUB % 0])
def test_of_equal_queries_one_with_a_small_budget_ends_alone(query: str) -> None:
    """They share a plan, each is charged all that it costs, and the others are told as if nothing was."""
    graph = rdflib.Graph()
    budgets = Budget(rows=10), AMPLE, Budget(rows=2000), AMPLE
    small, *others = [Follower(graph, query, budget) for budget in budgets]
    assert queries_of(small) == 1
    star(graph, 0, 2)
    assert small.error is None
    with rdflive.batch(graph):
        star(graph, 0, 40)
    assert "more than 10 rows for one commit" in str(small.error)
    for follower in others:
        assert follower.error is None
        follower.check(graph)
    assert queries_of(others[0]) == 1


def test_a_member_of_a_family_that_costs_too_much_is_soon_alone_and_ends() -> None:
    """Each commit that is too much divides those who share a plan; none but the one at fault ends."""
    graph, budget = rdflib.Graph(), Budget(rows=300, kept_rows=10_000)
    members = [Follower(graph, HUB % number, budget) for number in range(16)]
    hub = members[5]
    assert queries_of(hub) == 1
    commits = 0
    while hub.error is None:
        star(graph, 9, commits)
        star(graph, 5, 400)
        for member in members:
            member.check(graph)
        for leaf in list(graph.objects(URIRef("urn:5"), E)):
            graph.remove((URIRef("urn:5"), E, leaf))
        commits += 1
    assert commits <= 5
    assert "for one commit" in str(hub.error)
    others = [member for member in members if member is not hub]
    star(graph, 5, 400)
    star(graph, 3, 20)
    for member in others:
        assert member.error is None
        member.check(graph)
    assert queries_of(others[0]) <= 5
    for member in members:
        member.subscription.close()


def test_members_of_a_family_may_keep_together_more_than_each() -> None:
    """A plan that keeps too much for one budget is divided; a member that comes is charged its own rows."""
    graph, budget = rdflib.Graph(), Budget(kept_rows=400)
    query = "SELECT ?t (COUNT(?a) AS ?n) { <urn:%s> <urn:e> ?t . ?t <urn:p> ?a } GROUP BY ?t"
    members = []
    for number in range(16):
        members.append(Follower(graph, query % number, budget))
        star(graph, number, 30)
    for member in members:
        assert member.error is None
        member.check(graph)
    assert 1 < queries_of(members[0]) < 16
    star(graph, 16, 300)
    with pytest.raises(BudgetError, match=r"to work out its answer|keep more than 400"):
        Follower(graph, query % 16, budget)
    for member in members:
        member.check(graph)
    members.append(Follower(graph, query % 17, Budget(kept_rows=20)))
    assert members[-1].subscription._use.query.meter.kept_rows > 20
    graph.add((URIRef("urn:0"), E, URIRef("urn:1/1")))
    for member in members:
        assert member.error is None
        member.check(graph)


def test_a_member_with_a_small_budget_parts_from_a_family() -> None:
    """What the family costs may be that of others, so it goes on under its own budget, by itself."""
    graph = rdflib.Graph()
    small, large = Follower(graph, HUB % 0, Budget(rows=20)), Follower(graph, HUB % 1, AMPLE)
    assert queries_of(large) == 1
    star(graph, 1, 50)
    assert (small.error, queries_of(large)) == (None, 2)
    star(graph, 1, 80)
    assert small.error is None
    small.check(graph)
    star(graph, 0, 50)
    assert "more than 20 rows for one commit" in str(small.error)
    large.check(graph)


def test_budgets_that_are_all_too_small_though_the_largest_is_not(caplog: pytest.LogCaptureFixture) -> None:
    """One half of the members parts from the other, each row is told once, and the last close frees all."""
    graph = rdflib.Graph()
    query = "SELECT DISTINCT ?a { <urn:%s> <urn:e> ?t . ?t <urn:p> ?a }"
    budgets = Budget(rows=10), Budget(rows=10), Budget(kept_rows=12)
    members = [Follower(graph, query % number, budget) for number, budget in enumerate(budgets)]
    state = members[0].subscription._live()
    with rdflive.batch(graph):
        for number in range(3):
            star(graph, number, 10)
    assert len(state.queries) == 2
    for member in members:
        assert member.error is None
        member.check(graph)
    for member in members:
        member.subscription.close()
    assert (len(state.queries), state.views, caplog.records) == (0, {}, [])


def test_what_rows_ask_for_when_a_budget_ends_them_is_forgotten() -> None:
    """The terms of a query that ended are not kept for those who use the store still."""
    graph = rdflib.Graph()
    query = "SELECT * { <urn:0> <urn:e> ?t OPTIONAL { ?t <urn:p> ?a } }"
    with rdflive.subscribe(graph, "SELECT * { ?s <urn:other> ?o }") as other:
        before = len(other._live().dictionary)
        follower = Follower(graph, query, Budget(kept_rows=3))
        star(graph, 0, 9)
        assert follower.error is not None
        graph.add((Q, Q, Q))
        assert len(other._live().dictionary) == before


def test_a_close_is_not_charged_to_the_members_that_stay(caplog: pytest.LogCaptureFixture) -> None:
    """What a member made row by row goes at once, and the budgets of others are smaller than that."""
    graph = rdflib.Graph()
    query = "SELECT DISTINCT ?a { <urn:%s> <urn:e> ?t . ?t <urn:p> ?a }"
    small, large = Follower(graph, query % 0, Budget(kept_rows=20)), Follower(graph, query % 1, AMPLE)
    for number in range(12):
        graph.add((URIRef(f"urn:1/{number}"), P, Literal(number)))
        graph.add((URIRef("urn:1"), E, URIRef(f"urn:1/{number}")))
    assert queries_of(large) == 1
    large.subscription.close()
    star(graph, 0, 2)
    small.check(graph)
    assert (small.error, caplog.records) == (None, [])


@pytest.mark.parametrize("case", range(rounds(60, share=6)))
def test_a_budget_ends_only_what_it_would_end_alone(case: int) -> None:
    """Members of families against twins that are alone on a graph: what ends has a twin that ends too.

    It may be that the twin ends only as it starts again, since a member that is moved to another plan does.
    """
    random = drawn_from(f"twins {case}")
    query = random.choice(
        [HUB, QUERIES[-4].replace("<urn:1>", "<urn:%s>"), QUERIES[0] + "#%s", QUERIES[16] + "#%s"]
    )
    graphs = [rdflib.Graph() for _ in range(6)]
    pairs: list[tuple[Follower, Follower, Budget]] = []
    for graph in graphs[1:]:
        budget = random.choice([AMPLE, Budget(rows=random.choice([15, 40])), Budget(kept_rows=40)])
        text = query % random.randrange(4)
        pairs.append((Follower(graphs[0], text, budget), Follower(graph, text, budget), budget))
    for _ in range(25):
        state = random.getstate()
        for graph in graphs:
            random.setstate(state)
            write(random, graph)
        for shared, alone, budget in pairs:
            shared.check(graphs[0])
            if shared.error is not None and alone.error is None:
                with pytest.raises(BudgetError):
                    Follower(graphs[0], alone.query, budget)
    for shared, alone, _ in pairs:
        shared.subscription.close()
        alone.subscription.close()


@pytest.mark.parametrize("little", [False, True])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_only_the_time_of_its_own_thread_is_charged(
    share: float, little: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where other threads have the processor, no time is charged, in one piece of work or in many."""
    wall = iter(range(10**6))
    now = [0]

    def wall_clock() -> float:
        now[0] = next(wall)
        return now[0]

    monkeypatch.setattr("rdflive.query.budget.perf_counter", wall_clock)
    monkeypatch.setattr("rdflive.query.budget.thread_time", lambda: now[0] * share)
    meter = Meter(Budget(seconds=50), SimpleNamespace(sequence=1))
    looks = [0]

    def look(_: int) -> bool:
        looks[0] += 1
        meter.look()
        return True

    def many(_: int) -> bool:
        return all(map(look, range(1000)))

    guarded = meter.guard(look)

    if little:
        for _ in range(1000):
            guarded(0)
            if meter.error is not None:
                break
    else:
        meter.guard(many)(0)
    assert (meter.error is not None) is bool(share)
    if share:
        assert 50 <= looks[0] <= 110
        assert "it takes longer than 50 s for one commit" in str(meter.error)


def test_a_member_that_cannot_come_disturbs_none() -> None:
    """Its opening is cut short within operators that others share; these start again and tell nothing."""
    graph = rdflib.Graph()
    query = "SELECT * { <urn:%s> <urn:e> ?t OPTIONAL { ?x <urn:p> ?a FILTER(STR(?a) = STR(?t)) } }"
    for hub in range(3):
        star(graph, hub, 30)
    for number in range(30):
        graph.add((URIRef("urn:2"), P, Literal(number)))
    members = [Follower(graph, query % hub, AMPLE) for hub in range(2)]
    with pytest.raises(BudgetError, match="more than 500 rows"):
        Follower(graph, query % 2, Budget(kept_rows=500))
    (engine,) = members[0].subscription._live().queries
    assert not members[0].subscription._live().commits.owes(engine)
    for member in members:
        assert member.subscription.stats.deltas == 1
        member.check(graph)
    star(graph, 1, 31)
    for member in members:
        member.check(graph)
