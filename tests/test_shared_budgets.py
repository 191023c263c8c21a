"""A budget of each commit that clients share: who takes most loses what costs most, all others stay exact."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive import Budget, BudgetError, SharedBudget
from rdflive.delivery.membership import _states
from rdflive.query.shared_meter import SharedMeter
from support.effort import drawn_from, rounds
from test_budgets import Follower, P, drawn_query, write

HEAVY = (
    "SELECT (COUNT(*) AS ?n{0}) {{ ?s <urn:p> ?a . ?s <urn:p> ?b . ?s <urn:p> ?c FILTER(?a + ?b + ?c < 0) }}"
)
"""Has a plan of its own for each number, looks at n³ rows for n values of `urn:p`, and finds none."""
ONE = "SELECT * {{ ?s <urn:p> ?a FILTER(?a > {0}) }}"
REASON = "all subscriptions together would take longer than"


class Ticks:
    """A clock that goes on by a millisecond whenever it is read, so that what is counted is work."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    clock = Ticks()
    for module in ("budget", "shared_budget", "shared_meter"):
        monkeypatch.setattr(f"rdflive.query.{module}.perf_counter", clock)
    for module in ("budget", "shared_budget"):
        monkeypatch.setattr(f"rdflive.query.{module}.thread_time", lambda: clock.now)
    return clock


def of(shared: SharedBudget, name: str, **limits: Any) -> Budget:
    return Budget(account=shared.account(name), **limits)


def numbers(graph: Any, count: int, start: int = 0) -> None:
    with rdflive.batch(graph):
        for number in range(start, start + count):
            graph.add((URIRef("urn:s"), P, Literal(number)))


def ended(followers: list[Follower]) -> list[int]:
    """The places of those that have ended, all of them with the reason."""
    assert all(follower.error is None or REASON in str(follower.error) for follower in followers)
    return [at for at, follower in enumerate(followers) if follower.error is not None]


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize("case", range(rounds(20, share=6)))
def test_who_has_not_ended_is_exact(case: int, store: str, ticks: Ticks) -> None:
    """Random queries of a few accounts, with little time or ample, and random writes."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    random = drawn_from(f"shared budgets {case} {store}")
    graph = rdflib.Graph(store=store)
    is_ample = random.random() < 0.3
    shared = SharedBudget(1e6 if is_ample else random.choice([0.02, 0.05, 0.2]))
    keeper = Follower(graph, "SELECT * { ?s <urn:p> ?o }", None)
    followers = [keeper]
    for step in range(40):
        if random.random() < 0.4:
            budget = of(shared, random.choice("abc")) if random.random() < 0.8 else None
            followers.append(Follower(graph, drawn_query(random), budget))
        write(random, graph)
        if len(followers) > 1 and random.random() < 0.1:
            followers.pop(random.randrange(1, len(followers))).subscription.close()
        if step % 8 == 7:
            for follower in followers:
                follower.check(graph)
        if random.random() < 0.03:
            keeper.subscription.resync()
    for follower in followers:
        follower.check(graph)
        assert not (is_ample and follower.error)
    graph.remove((None, None, None))
    for follower in followers:
        follower.check(graph)
        follower.subscription.close()
    assert next(_states(keeper.subscription._adapter), None) is None
    assert not any(plan.accounts for plan in shared._plans), "closed subscriptions are counted"


def test_one_client_does_not_make_others_wait(ticks: Ticks) -> None:
    """It opens many expensive subscriptions first, and the commit takes no longer than the budget."""
    graph, shared = rdflib.Graph(), SharedBudget(2)
    heavy = [Follower(graph, HEAVY.format(n), of(shared, "heavy")) for n in range(100)]
    light = [Follower(graph, ONE.format(n), of(shared, f"light {n % 5}")) for n in range(20)]
    begin = ticks.now
    numbers(graph, 12)
    assert ticks.now - begin < 3  # without the shared budget more than a hundred
    assert len(ended(heavy)) > 90
    assert not ended(light)
    for follower in light:
        follower.check(graph)
    graph.remove((None, None, None))
    assert not any(+follower.rows for follower in light)


def test_all_clients_together_are_within_the_budget(ticks: Ticks) -> None:
    """Each of many clients takes a little more than its share."""
    graph, shared = rdflib.Graph(), SharedBudget(1)
    many = [Follower(graph, HEAVY.format(n), of(shared, f"client {n}")) for n in range(60)]
    light = Follower(graph, ONE.format(2), of(shared, "light"))
    begin = ticks.now
    numbers(graph, 5)
    assert ticks.now - begin < 2  # without the shared budget more than seven
    assert ended(many)
    assert not ended([light])
    light.check(graph)


def test_most_expensive_ends(ticks: Ticks) -> None:
    """It was opened before the cheap ones of its client, and the commit before shows what each costs."""
    graph, shared = rdflib.Graph(), SharedBudget(3)
    followers = [Follower(graph, HEAVY.format(0), of(shared, "a", seconds=100))]
    followers += [
        Follower(graph, f"SELECT (SUM(?a) AS ?n{n}) {{ ?s <urn:p> ?a }}", of(shared, "a")) for n in range(20)
    ]
    numbers(graph, 5)
    assert not ended(followers)
    numbers(graph, 8, 5)
    assert ended(followers) == [0]
    for follower in followers:
        follower.check(graph)


def test_members_of_a_shared_plan_are_told_apart(ticks: Ticks) -> None:
    """Queries of two clients differ in a constant, and only that of one finds much."""
    graph, shared = rdflib.Graph(), SharedBudget(0.5)
    query = HEAVY.replace("?s", "<urn:{1}>")
    heavy = Follower(graph, query.format(0, "s"), of(shared, "heavy"))
    light = [Follower(graph, query.format(0, f"other{n}"), of(shared, f"light {n}")) for n in range(5)]
    assert len({id(f.subscription._use.query) for f in (heavy, *light)}) == 1
    for n in range(5):
        graph.add((URIRef(f"urn:other{n}"), P, Literal(-1)))
    numbers(graph, 12)
    assert ended([heavy, *light]) == [0]
    for n, follower in enumerate(light):
        graph.add((URIRef(f"urn:other{n}"), P, Literal(-2)))
        follower.check(graph)
        assert +follower.rows


def test_delivery_is_charged_before(ticks: Ticks) -> None:
    """A delta whose delivery would take too long is not delivered, and that time is left for the others."""
    graph, shared = rdflib.Graph(), SharedBudget(10, solution_seconds=0.2)
    large, small = (Follower(graph, ONE.format(n), of(shared, f"{n}")) for n in (-1, 90))
    assert (large.subscription._use.query is small.subscription._use.query) is True
    numbers(graph, 100)
    assert ended([large, small]) == [0]
    assert sum(small.rows.values()) == 9
    assert large.rows == Counter()


def test_account_within_its_share_keeps_all(ticks: Ticks) -> None:
    """One of its four subscriptions has taken more than a quarter of the share."""
    shared, capture = SharedBudget(8), SimpleNamespace(sequence=1)
    names = ["a"] * 4 + ["b"]
    meters = [SharedMeter(Budget(), capture, shared) for _ in names]
    for meter, name in zip(meters, names, strict=True):
        meter.enter(shared.account(name))
    a, b = shared.account("a"), shared.account("b")
    shared.charge(b, 9.0, 1)
    shared.charge(a, 0.9, 1)
    assert shared.refusal(a, 0.9, 1) is None
    shared.charge(a, 0.2, 1)
    assert shared.refusal(a, 1.1, 1) is not None
    assert shared.refusal(a, 0.2, 1) is None  # less than its part
    assert shared.refusal(b, 9.0, 1) is not None


def test_rows_of_walks_are_charged(ticks: Ticks) -> None:
    """They are counted outside of work whose time is measured."""
    shared, capture = SharedBudget(1), SimpleNamespace(sequence=1)
    meter = SharedMeter(Budget(), capture, shared)
    meter.enter(shared.account("a"))
    for _ in range(100_000):
        meter.spend()
    assert 0.019 < meter.cost <= 0.02
    meter.run(meter.spend, 50_000)
    before = meter.cost
    meter.spend(1000)
    assert meter.cost - before < 0.001  # the work has paid for its rows by its time


def test_restarts_are_charged(ticks: Ticks) -> None:
    """A plan of many members that exceed their own budgets is divided until the shared budget ends it."""
    graph, shared = rdflib.Graph(), SharedBudget(3)
    query = HEAVY.replace("?s", "<urn:{1}>")
    many = [Follower(graph, query.format(0, f"m{n}"), of(shared, "a", rows=5000)) for n in range(64)]
    begin = ticks.now
    with rdflive.batch(graph):
        for n in range(64):
            for number in range(30):
                graph.add((URIRef(f"urn:m{n}"), P, Literal(number)))
    assert all(follower.error is not None for follower in many)
    assert ticks.now - begin < 6


def test_end_stops_commits_and_openings(ticks: Ticks) -> None:
    """A callback ends it, as another thread may: what has work to do afterwards ends, also an opening."""
    graph, shared = rdflib.Graph(), SharedBudget(1000)
    followers = [Follower(graph, HEAVY.format(n), of(shared, f"{n}")) for n in range(3)]
    bystander = Follower(graph, ONE.format(0), None)
    numbers(graph, 5)
    shared.end("the server is ending")
    numbers(graph, 5, 5)
    assert [str(follower.error) for follower in followers] == ["the server is ending"] * 3
    assert bystander.error is None
    bystander.check(graph)
    with pytest.raises(BudgetError, match="the server is ending"):
        Follower(graph, HEAVY.format(9), of(shared, "a"))


def test_accounts_and_limits() -> None:
    """An account is one per name, and a shared budget of one store."""
    shared = SharedBudget(5)
    account = shared.account("a")
    assert shared.account("a") is account
    assert Budget(account=account) != Budget()
    with pytest.raises(ValueError, match="seconds must be above zero, got 0"):
        SharedBudget(0)
    with pytest.raises(ValueError, match="solution_seconds must not be below zero, got -1"):
        SharedBudget(solution_seconds=-1)
    one = Follower(rdflib.Graph(), ONE.format(0), Budget(account=account))
    with pytest.raises(ValueError, match="make one for each store"):
        Follower(rdflib.Graph(), ONE.format(0), Budget(account=account))
    one.subscription.close()
