"""Subscriptions whose rows come and go as a clock passes their times."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, XSD, Literal

import rdflive
from rdflive.model import exact_literal
from support.waiting import PATIENCE, until

EX = rdflib.Namespace("http://e/")
PREFIX = f"PREFIX : <{EX}> PREFIX xsd: <{XSD}> "
SEEN = PREFIX + 'SELECT ?s { ?s :seen ?t FILTER(?t > NOW() - "P1D"^^xsd:dayTimeDuration) }'
DUE = PREFIX + "SELECT ?s { ?s :due ?t FILTER(?t <= NOW()) }"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def graph() -> rdflib.Graph:
    return rdflib.Graph()


@pytest.fixture
def clock() -> rdflive.ManualClock:
    return rdflive.ManualClock(NOON)


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no thread start, so that none looks at a clock meanwhile."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.fixture
def deltas() -> list[rdflive.Delta]:
    return []


def see(graph: rdflib.Graph, name: str, at: datetime, predicate: str = "seen") -> None:
    graph.add((EX[name], EX[predicate], Literal(at)))


def names(rows: Any) -> list[str]:
    return sorted(row[0].removeprefix(EX) for row in rows)


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rdflive clock"]


def test_a_row_goes_when_its_time_is_over(graph: Any, clock: Any, deltas: Any) -> None:
    """A sensor is in the answer for a day after it was seen, to the second, and its going is told."""
    see(graph, "s1", NOON - 2 * HOUR)
    see(graph, "s2", NOON - 30 * HOUR)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=clock) as subscription:
        assert names(subscription.answers()) == ["s1"]
        clock.set(NOON + 22 * HOUR - timedelta(seconds=1))
        assert len(deltas) == 1
        clock.advance("1s")
        (_, gone) = deltas
        assert names(gone.removed) == names(gone.expired) == ["s1"]
        assert (gone.added, gone.retracted, gone.time, gone.sequence) == ((), (), NOON + 22 * HOUR, 1)
        assert subscription.answers() == []


def test_a_row_comes_when_its_time_comes(graph: Any, clock: Any, deltas: Any) -> None:
    """What is to come is not in the answer until its instant, at which `<=` holds already."""
    see(graph, "alarm", NOON + HOUR, "due")
    with rdflive.subscribe(graph, DUE, deltas.append, clock=clock, initial=False):
        clock.advance(3599.999999)
        assert deltas == []
        clock.set("2026-11-28T13:00:00Z")
        assert [names(delta.added) for delta in deltas] == [["alarm"]]
        assert deltas[0].expired == ()


def test_many_that_are_due_at_once_are_one_delta(graph: Any, clock: Any, deltas: Any) -> None:
    """As after a process was suspended: each row is told once, with the instant at which it is told."""
    for number in range(100):
        see(graph, f"s{number}", NOON - HOUR + number * timedelta(seconds=1))
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=clock, initial=False):
        clock.advance("30 days")
        assert [(len(delta.removed), delta.time) for delta in deltas] == [(100, NOON + timedelta(days=30))]


def test_time_does_not_go_back(graph: Any, clock: Any, deltas: Any) -> None:
    """After the clock is set back NOW() stays where it was, until the clock is there again."""
    see(graph, "s1", NOON - 24 * HOUR + HOUR)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=clock) as subscription:
        clock.advance("1h")
        clock.set(NOON - 5 * HOUR)
        assert len(deltas) == 2
        see(graph, "s2", NOON - 24 * HOUR + HOUR)  # over by the latest present
        see(graph, "s3", NOON - 24 * HOUR + 2 * HOUR)
        assert [names(delta.added) for delta in deltas[2:]] == [["s3"]]
        assert deltas[2].time == NOON + HOUR
        clock.set(NOON + 2 * HOUR)
        assert subscription.answers() == []


def test_a_commit_brings_what_time_has_changed(graph: Any, deltas: Any) -> None:
    """One delta has the rows of the write and those of the time since the last; only the latter expired."""
    present = [NOON]
    see(graph, "s1", NOON - HOUR)
    see(graph, "s2", NOON)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=lambda: present[0], initial=False):
        with rdflive.batch(graph):  # the timer waits
            present[0] = NOON + 23 * HOUR
            see(graph, "s3", NOON)
            graph.remove((EX.s2, None, None))
        (delta,) = deltas
        assert (names(delta.added), names(delta.removed)) == (["s3"], ["s1", "s2"])
        assert (names(delta.expired), names(delta.retracted)) == (["s1"], ["s2"])


def test_what_a_write_adds_too_late_is_not_told(graph: Any, deltas: Any) -> None:
    """A row that is over at the present of its commit never comes, however long the commits are apart."""
    present = [NOON]
    see(graph, "s1", NOON)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=lambda: present[0], initial=False):
        with rdflive.batch(graph):
            present[0] = NOON + 24 * HOUR
            see(graph, "s2", NOON - HOUR)
        assert [(names(delta.added), names(delta.removed)) for delta in deltas] == [([], ["s1"])]


def test_answers_are_those_of_the_present(graph: Any, deltas: Any) -> None:
    """Before it answers, a subscription tells what time has changed; so the two agree."""
    present = [NOON]
    see(graph, "s1", NOON - HOUR)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=lambda: present[0]) as subscription:
        present[0] = NOON + 23 * HOUR
        assert subscription.answers() == []
        assert [names(delta.removed) for delta in deltas] == [[], ["s1"]]


def test_the_system_clock_needs_nothing(graph: Any, deltas: Any) -> None:
    """One timer for all tells in a thread of its own, never too early, and ends with the last."""
    first = rdflive.subscribe(graph, PREFIX + "SELECT ?s { ?s :due ?t FILTER(?t > NOW()) }", deltas.append)
    second = rdflive.subscribe(graph, DUE)
    due = datetime.now(UTC) + timedelta(seconds=0.3)
    see(graph, "alarm", due, "due")
    see(graph, "later", due + HOUR, "due")
    until(lambda: len(timers()) == 1)  # those of closed subscriptions end soon
    assert names(second.next(timeout=PATIENCE).added) == []
    assert names(second.next(timeout=PATIENCE).added) == ["alarm"]
    assert datetime.now(UTC) >= due
    until(lambda: len(deltas) == 4)
    assert names(deltas[3].removed) == ["alarm"]
    first.close()
    assert len(timers()) == 1
    second.close()
    until(lambda: not timers())


def test_without_times_to_come_there_is_no_timer(graph: Any) -> None:
    """Nothing runs where no row will change."""
    until(lambda: not timers())  # those of closed subscriptions end soon
    with rdflive.subscribe(graph, DUE):
        see(graph, "alarm", NOON - 10_000 * HOUR, "due")
        assert timers() == []


def test_a_timer_keeps_no_graph(deltas: Any) -> None:
    """A graph that is dropped without a close is freed."""
    graph = rdflib.Graph()
    subscription = rdflive.subscribe(graph, SEEN, deltas.append)
    see(graph, "s1", datetime.now(UTC))
    capture = weakref.ref(subscription._capture)
    del graph, subscription
    until(lambda: gc.collect() >= 0 and capture() is None)


def test_async_callbacks_and_iterators_are_told(graph: Any) -> None:
    """A tick is delivered as a commit is: to the event loop of the subscription."""
    told: list[Any] = []

    async def take(delta: rdflive.Delta) -> None:
        told.append(delta)

    async def follow() -> None:
        due = datetime.now(UTC) + timedelta(seconds=0.1)
        see(graph, "alarm", due, "due")
        with rdflive.subscribe(graph, DUE, take, initial=False) as subscription:
            assert names((await subscription.anext(PATIENCE)).added) == ["alarm"]
            while not told:
                await asyncio.sleep(0.01)

    asyncio.run(follow())
    assert [names(delta.added) for delta in told] == [["alarm"]]


def test_ticks_inside_a_batch_are_commits_of_their_own(graph: Any, clock: Any, deltas: Any) -> None:
    """They tell nothing of what the open batch has changed."""
    see(graph, "s1", NOON - HOUR)
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=clock, initial=False):
        with rdflive.batch(graph):
            see(graph, "s2", NOON)
            clock.advance("23h")
        assert [(names(d.added), names(d.removed)) for d in deltas] == [([], ["s1"]), (["s2"], [])]


def test_callbacks_may_move_the_clock(graph: Any, clock: Any, deltas: Any) -> None:
    """What a callback makes due is told after the delta that it is told of."""
    see(graph, "s1", NOON - HOUR)
    see(graph, "s2", NOON)

    def take(delta: rdflive.Delta) -> None:
        deltas.append(delta)
        if names(delta.removed) == ["s1"]:
            clock.advance("1h")

    with rdflive.subscribe(graph, SEEN, take, clock=clock, initial=False):
        clock.advance("23h")
        assert [names(delta.removed) for delta in deltas] == [["s1"], ["s2"]]


def test_a_callback_that_moves_the_clock_hears_nothing_of_graphs_that_are_gone(
    graph: Any, clock: Any, deltas: Any
) -> None:
    """Both moves come upon the follower that has no graph any more."""
    see(graph, "s1", NOON)

    def take(delta: rdflive.Delta) -> None:
        deltas.append(delta)
        clock.advance("1h")

    with rdflive.subscribe(graph, SEEN, take, clock=clock, initial=False):
        gone = rdflib.Graph()
        rdflive.subscribe(gone, SEEN, clock=clock)
        del gone
        gc.collect()
        clock.advance("1d")
    assert [names(delta.removed) for delta in deltas] == [["s1"]]
    assert clock.now == NOON + 25 * HOUR


@pytest.mark.parametrize("duration", [None, "x", -1, True, "-1s"])
def test_a_clock_goes_on_by_a_duration(clock: Any, duration: Any) -> None:
    """It is set back by its instant alone."""
    with pytest.raises((TypeError, ValueError), match="duration"):
        clock.advance(duration)
    assert clock.now == NOON


def test_threads_that_move_a_clock_lose_no_step(clock: Any) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        movers = [threading.Thread(target=lambda: [clock.advance(1) for _ in range(4000)]) for _ in range(4)]
        for mover in movers:
            mover.start()
        for mover in movers:
            mover.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    assert clock.now == NOON + timedelta(seconds=16_000)


def test_a_time_of_any_year_may_be_waited_for(graph: Any, clock: Any, deltas: Any) -> None:
    """No double holds the seconds until then."""
    year = "9" * 400
    literal = exact_literal(f"{year}-01-01T00:00:00Z", datatype=str(XSD.dateTime))
    with rdflive.subscribe(graph, DUE, deltas.append, clock=clock, initial=False) as subscription:
        graph.add((EX.far, EX.due, literal))
        clock.advance("1ms")
        assert names(subscription.answers()) == []
        clock.set(f"{year}-01-01T00:00:00Z")
        graph.remove((None, None, None))
    assert [(names(delta.added), names(delta.removed)) for delta in deltas] == [(["far"], []), ([], ["far"])]


def test_subscriptions_of_one_store_may_have_their_own_clocks(graph: Any, clock: Any) -> None:
    """Each goes by its own, also where the text is the same, and has a constant that others may differ in."""
    other = rdflive.ManualClock(NOON - 48 * HOUR)
    see(graph, "s1", NOON - HOUR)
    graph.add((EX.s1, RDF.type, EX.Sensor))
    text = SEEN.replace("?s {", "?s { ?s a :Sensor .")
    with (
        rdflive.subscribe(graph, text, clock=clock) as one,
        rdflive.subscribe(graph, text, clock=other) as two,
    ):
        clock.advance("23h")
        assert (names(one.answers()), names(two.answers())) == ([], ["s1"])
        other.set(NOON + 24 * HOUR)
        assert two.answers() == []


def test_what_begins_later_shares_the_present(graph: Any, no_timer: None, deltas: Any) -> None:
    """One that shares a plan begins with the answer of the present, and the others miss nothing."""
    present = [NOON]
    see(graph, "s1", NOON - HOUR)
    see(graph, "s2", NOON)
    text = SEEN.replace("?s {", "?s { ?s a :Sensor .")
    for name in ("s1", "s2"):
        graph.add((EX[name], RDF.type, EX.Sensor))
    now = lambda: present[0]  # noqa: E731 - one clock
    with rdflive.subscribe(graph, text, deltas.append, clock=now):
        present[0] = NOON + 23 * HOUR
        with rdflive.subscribe(graph, text, clock=now) as second:
            assert names(second.next(timeout=0).added) == ["s2"]
        assert [names(delta.removed) for delta in deltas] == [[], ["s1"]]


def test_members_of_a_family_are_told_what_is_theirs(graph: Any, clock: Any) -> None:
    """Queries that differ in constants share the order of times."""
    prepared = rdflive.prepare(SEEN.replace("?s {", "?s { ?s :room ?room ."))
    for number, room in enumerate((1, 2, 2)):
        graph.add((EX[f"s{number}"], EX.room, Literal(room)))
        see(graph, f"s{number}", NOON - number * HOUR)
    told: list[Any] = []
    rows = [{"room": Literal(room)} for room in (1, 2, 3)]
    with prepared.subscribe(graph, told.append, rows, clock=clock, initial=False) as opened:
        assert opened[0].stats.members == 3
        clock.advance("23h")
        assert [(delta.parameters["room"].value, names(delta.removed)) for delta in told] == [
            (2, ["s1", "s2"])
        ]
        with prepared.subscribe(graph, None, {"room": Literal(1)}, clock=clock) as late:
            assert names(late.answers()) == ["s0"]
        clock.advance("1h")
        assert names(told[1].removed) == ["s0"]


def test_parameters_of_another_query_may_go_by_the_clock(graph: Any, clock: Any) -> None:
    """The rows that give parameters come and go with time too."""
    graph.add((EX.s1, EX.room, EX.kitchen))
    see(graph, "s1", NOON)
    rooms = rdflive.prepare(PREFIX + "SELECT ?s ?room { ?s :room ?room }")
    with rooms.subscribe(graph, None, SEEN, clock=clock) as subscription:
        assert len(subscription.answers()) == 1
        clock.advance("24h")
        assert subscription.answers() == []


def test_what_is_kept_goes_with_the_triples(graph: Any, clock: Any) -> None:
    """Also where several rows share an instant, and where the weight of one changes."""
    with rdflive.subscribe(graph, SEEN, clock=clock) as one:
        for number in range(100):
            see(graph, f"s{number}", NOON + number * HOUR)
        assert one.stats.size > 4000
        graph.remove((None, None, None))
        assert one.stats.size == 0
    text = PREFIX + "SELECT ?s { ?s :seen ?t ; :with ?x FILTER(?t > NOW()) }"
    with rdflive.subscribe(graph, text, clock=clock) as subscription:
        for name in ("s1", "s2", "s3"):
            see(graph, name, NOON + HOUR)
            for x in range(3):
                graph.add((EX[name], EX["with"], Literal(x)))
        assert Counter(names(subscription.answers())) == {"s1": 3, "s2": 3, "s3": 3}
        assert subscription.stats.entries > 3
        graph.remove((EX.s2, EX["with"], Literal(1)))
        assert Counter(names(subscription.answers())) == {"s1": 3, "s2": 2, "s3": 3}
        graph.remove((None, None, None))
        assert (subscription.stats.entries, subscription.answers()) == (0, [])
        state: Any = subscription._state
        assert [present.due for present in state.presents.values()] == [None]
    assert (len(state.dictionary), state.presents) == (0, {})


def test_a_row_whose_time_is_over_is_not_kept(graph: Any, clock: Any) -> None:
    """The order has only rows that time will change."""
    with rdflive.subscribe(graph, SEEN, clock=clock) as subscription:
        for number in range(50):
            see(graph, f"s{number}", NOON - number * HOUR)
        assert subscription.stats.entries == 24
        clock.advance("30 days")
        assert subscription.stats.entries == 0
        graph.remove((None, None, None))


def test_ask_and_construct(graph: Any, clock: Any) -> None:
    """The answer turns, and the triples go."""
    see(graph, "s1", NOON - HOUR)
    ask = PREFIX + 'ASK { ?s :seen ?t FILTER(NOW() - ?t < "PT2H"^^xsd:dayTimeDuration) }'
    construct = SEEN.replace("SELECT ?s", "CONSTRUCT { ?s a :Live } WHERE")
    with (
        rdflive.subscribe(graph, ask, clock=clock) as a,
        rdflive.subscribe(graph, construct, clock=clock) as c,
    ):
        live = c.graph
        assert (a.next(timeout=0).answer, len(live)) == (True, 1)
        clock.advance("1h")
        assert a.next(timeout=0).answer is False
        clock.advance("22h")
        assert len(live) == 0


def test_plans_of_many_steps(graph: Any, clock: Any) -> None:
    """A commit looks at few steps of a large plan, and time at those with what is due."""
    branches = " UNION ".join(f"{{ ?s :seen{n} ?t FILTER(?t > NOW()) }}" for n in range(12))
    text = f"{PREFIX}SELECT ?s {{ {branches} }}"
    with rdflive.subscribe(graph, text, clock=clock, initial=False) as subscription:
        assert subscription._use.query.is_large
        see(graph, "s1", NOON + HOUR, "seen3")
        see(graph, "s2", NOON + 2 * HOUR, "seen7")
        clock.advance("1h")
        clock.advance("1h")
        told = [subscription.next(timeout=0) for _ in range(4)]
        assert [(names(d.added), names(d.removed)) for d in told] == [
            (["s1"], []),
            (["s2"], []),
            ([], ["s1"]),
            ([], ["s2"]),
        ]


def test_entailed_and_named_triples(clock: Any) -> None:
    """What a graph entails, and what its named graphs hold, is compared with NOW() as well."""
    dataset = rdflib.Dataset()
    dataset.default_graph.add((EX.seen, RDFS.subPropertyOf, EX.known))
    see(dataset.default_graph, "s1", NOON)
    see(dataset.graph(EX.g), "s2", NOON - HOUR)
    known, named = SEEN.replace(":seen", ":known"), SEEN.replace("?s :seen ?t", "GRAPH ?g { ?s :seen ?t }")
    with (
        rdflive.subscribe(dataset, known, clock=clock, entailment="rdfs") as one,
        rdflive.subscribe(dataset, named, clock=clock) as two,
    ):
        assert (names(one.answers()), names(two.answers())) == (["s1"], ["s2"])
        clock.advance("23h")
        assert (names(one.answers()), names(two.answers())) == (["s1"], [])
        clock.advance("1h")
        assert one.answers() == []


def test_solutions_that_time_brings_have_an_origin(graph: Any, clock: Any) -> None:
    """Whether time or a write brings a solution, it tells by which rules."""
    graph.add((EX.seen, RDFS.subPropertyOf, EX.known))
    see(graph, "s1", NOON + HOUR)
    see(graph, "s2", NOON + HOUR, "known")
    text = PREFIX + "SELECT ?s ?t { ?s :known ?t FILTER(?t <= NOW()) }"
    options: dict[str, Any] = {"clock": clock, "entailment": "rdfs", "provenance": True}
    with rdflive.subscribe(graph, text, **options) as subscription:
        assert subscription.next(timeout=0).added == ()
        clock.advance("1h")
        origins = {names([row])[0]: row.origin.inferred for row in subscription.next(timeout=0).added}
        assert origins == {"s1": True, "s2": False}
        see(graph, "s1", NOON + HOUR, "known")
        graph.remove((EX.s1, None, None))
        assert names(subscription.next(timeout=0).removed) == ["s1"]


def test_the_clock_may_change_an_order(graph: Any, clock: Any) -> None:
    """Also one by what SELECT assigns, and of a slice."""
    for number in range(3):
        see(graph, f"s{number}", NOON + number * HOUR, "due")
    late = PREFIX + "SELECT ?s (?t < NOW() AS ?late) { ?s :due ?t } ORDER BY "
    with (
        rdflive.subscribe(graph, late + "DESC(?late) DESC(?s)", clock=clock) as one,
        rdflive.subscribe(graph, late + "DESC(?t < NOW()) ?s LIMIT 1 OFFSET 1", clock=clock) as two,
    ):
        assert [row.s for row in one.answers()] == [EX.s2, EX.s1, EX.s0]
        assert [row.s for row in two.answers()] == [EX.s1]
        clock.advance("1s")
        assert [row.s for row in one.answers()] == [EX.s0, EX.s2, EX.s1]
        clock.set(NOON + 90 * HOUR / 60)
        assert [row.s for row in one.answers()] == [EX.s1, EX.s0, EX.s2]
        assert [(row.s, str(row.late)) for row in two.answers()] == [(EX.s1, "true")]


def test_a_key_pairs_rows_that_time_changes(graph: Any, clock: Any) -> None:
    """A column that time changes is a row that went and one that came."""
    see(graph, "s1", NOON + HOUR, "due")
    text = PREFIX + "SELECT ?s (IF(?t < NOW(), 'late', 'in time') AS ?state) { ?s :due ?t }"
    with rdflive.subscribe(graph, text, clock=clock, key=["s"], initial=False) as subscription:
        clock.advance("2h")
        ((before, after),) = subscription.next(timeout=0).changed
        assert (str(before.state), str(after.state)) == ("in time", "late")


def test_a_budget_counts_what_time_changes(graph: Any, clock: Any) -> None:
    """More rows at once than a budget allows end the subscription, and nothing else."""
    failed: list[Exception] = []
    for number in range(400):
        see(graph, f"s{number}", NOON - number * timedelta(seconds=1))
    text = SEEN.replace("?s {", "(COUNT(*) AS ?n) {")
    options: dict[str, Any] = {"clock": clock, "on_error": lambda _, error: failed.append(error)}
    with rdflive.subscribe(graph, text, **options) as other:
        tight = rdflive.subscribe(graph, text, budget=rdflive.Budget(rows=450), **options)
        clock.set(NOON + 24 * HOUR - timedelta(seconds=200))
        assert not failed
        graph.remove((EX.s0, None, None))
        for number in range(400):
            see(graph, f"t{number}", NOON + number * timedelta(seconds=1))
        clock.advance("24h")
        assert [type(error) for error in failed] == [rdflive.BudgetError]
        assert tight.closed
        assert other.answers()[0].n.value == 0


def test_a_clock_that_fails_fails_no_write(graph: Any, deltas: Any, caplog: Any) -> None:
    """Time stands still until it goes again, and the log says so."""
    broken = [False]

    def clock() -> datetime:
        if broken[0]:
            raise OSError("no clock")
        return NOON

    with rdflive.subscribe(graph, SEEN, deltas.append, clock=clock, initial=False):
        broken[0] = True
        see(graph, "s1", NOON)
        assert [names(delta.added) for delta in deltas] == [["s1"]]
        assert "a clock failed" in caplog.text


def test_a_system_without_threads_fails_no_write(graph: Any, deltas: Any, no_timer: None) -> None:
    """What is due is told by the next commit then."""
    present = [NOON]
    with rdflive.subscribe(graph, SEEN, deltas.append, clock=lambda: present[0], initial=False):
        see(graph, "s1", NOON)
        present[0] = NOON + 24 * HOUR
        graph.add((EX.s1, EX.seen, Literal("never")))
        assert [(names(d.added), names(d.removed)) for d in deltas] == [(["s1"], []), ([], ["s1"])]


@pytest.mark.parametrize(
    ("clock", "error"), [("wall", TypeError), (lambda: "noon", ValueError), (lambda: None, TypeError)]
)
def test_what_is_no_clock_is_refused(graph: Any, clock: Any, error: type[Exception]) -> None:
    """At once, and the graph is left as it was."""
    with pytest.raises(error):
        rdflive.subscribe(graph, SEEN, clock=clock)
    assert type(graph.store).__name__ == "Memory"


def test_a_preview_lets_no_time_pass(graph: Any, deltas: Any) -> None:
    """What is due is told by the next commit, and not lost in what is tried."""
    present = [NOON]
    see(graph, "s1", NOON - HOUR)
    options: dict[str, Any] = {"clock": lambda: present[0], "initial": False}
    with rdflive.subscribe(graph, SEEN, deltas.append, **options) as subscription:
        with rdflive.preview(graph) as preview:
            present[0] = NOON + 23 * HOUR
            see(graph, "s2", NOON)
        tried = preview.deltas[subscription]
        assert (names(tried.added), names(tried.removed)) == (["s2"], [])
        see(graph, "s3", NOON)
        assert names(row for delta in deltas for row in delta.added) == ["s3"]
        assert names(row for delta in deltas for row in delta.removed) == ["s1"]


def test_what_was_due_while_it_was_away_is_told(graph: Any, clock: Any, tmp_path: Path) -> None:
    """A resumed subscriber is told what time has changed as it is told what writes have."""
    told: list[rdflive.Delta] = []
    options: dict[str, Any] = {"name": "sensors", "resume": tmp_path / "sensors.db", "clock": clock}
    see(graph, "s1", NOON - HOUR)
    see(graph, "s2", NOON)
    rdflive.subscribe(graph, SEEN, told.append, **options).close()
    clock.advance("23h")
    with rdflive.subscribe(graph, SEEN, told.append, **options):
        clock.advance("1h")
    assert [(d.sequence, names(d.added), names(d.removed)) for d in told] == [
        (1, ["s1", "s2"], []),
        (2, [], ["s1"]),
        (3, [], ["s2"]),
    ]
    assert told[2].time == NOON + 24 * HOUR
    assert names(told[2].expired) == ["s2"]


def test_windows_go_by_a_manual_clock_too(graph: Any, clock: Any, deltas: Any) -> None:
    """They report when it is moved, without a thread."""
    stream = rdflive.Stream(graph, clock=clock)
    window = rdflive.Sliding("10s")
    with rdflive.subscribe(stream, "SELECT ?s { ?s a ?c }", deltas.append, window=window, initial=False):
        stream.add((EX.s1, RDF.type, EX.Sensor))
        clock.advance("9s")
        assert [names(delta.added) for delta in deltas] == [["s1"]]
        clock.advance("2s")
        assert names(deltas[-1].expired) == ["s1"]
    assert not [thread for thread in threading.enumerate() if thread.name == "rdflive windows"]
    stream.close()


def test_explain_tells_the_present(graph: Any, clock: Any) -> None:
    """The plan names the operator; a subscription also tells what NOW() is, and the next change."""
    assert "Clocked filter ?t > NOW() - " in str(rdflive.explain(SEEN))
    with rdflive.subscribe(graph, SEEN, clock=clock) as subscription:
        assert subscription.explain().clock == ("NOW() is 2026-11-28T12:00:00+00:00; no row changes by time",)
        see(graph, "s1", NOON)
        told = str(subscription.explain())
        assert "the next row changes at 2026-11-29T12:00:00+00:00" in told


REFUSED = [
    ("SELECT ?s ?n { ?s :seen ?t BIND(NOW() AS ?n) }", "compare a time with it"),
    ("SELECT ?s (NOW() AS ?n) { ?s :seen ?t }", "compare a time with it"),
    ("SELECT ?s { ?s :seen ?t FILTER(YEAR(?t) = YEAR(NOW())) }", "compare a time with it"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t - NOW() - ?d < ?e) }", "compare a time with it"),
    ("SELECT ?s { ?s :seen ?t FILTER(NOW() > NOW() - ?d) }", "compare a time with it"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t > NOW() - 1) }", "only a duration"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t > NOW() - 'P1D') }", "only a duration"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t > NOW() - 2 * 'P1D'^^xsd:dayTimeDuration) }", "only a duration"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t > NOW() + xsd:dateTime(?u)) }", "only a duration"),
    ("SELECT ?s { ?s :seen ?t FILTER(YEAR(?t) - NOW() > ?d) }", "only a duration"),
    ("SELECT ?s { ?s :seen ?t FILTER(xsd:date(?t) <= NOW()) }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(STR(?t) > NOW()) }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(NOW() - xsd:dateTime(?t) > ?u * 5) }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(NOW() > 5) }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(NOW() + ?d > 'P1D'^^xsd:dayTimeDuration) }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(NOW() - ?t < 'P1D') }", "has an order with"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t - NOW() < '2026-11-28T12:00:00Z'^^xsd:dateTime) }", "has an order"),
    ("SELECT ?s { ?s :seen ?t FILTER(?t > NOW() && RAND() < 0.5) }", r"RAND\(\)"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text for text, _ in REFUSED])
def test_other_uses_are_refused(graph: Any, text: str, reason: str) -> None:
    """The error says what to write instead, and where it stands."""
    with pytest.raises(rdflive.UnsupportedQueryError, match=reason) as raised:
        rdflive.subscribe(graph, PREFIX + text)
    assert raised.value.column > len(PREFIX)


ACCEPTED = [
    "?t = NOW() || 5 != NOW()",
    "?t > NOW() - xsd:dayTimeDuration(?d)",
    "?t > NOW() - ?d",
    "'P1D'^^xsd:dayTimeDuration > NOW() - ?t",
    "NOW() - ?d > '2026-11-28T12:00:00Z'^^xsd:dateTime",
    "IF(BOUND(?t), ?t, 5) < NOW() + -?d",
    "COALESCE(?t, ?u) - NOW() > TIMEZONE(?t)",
    "STRDT(STR(?t), xsd:dateTime) < NOW()",
    "?t + ?d > NOW()",
    "xsd:dateTimeStamp(?t) > NOW() - STRDT('P1D', xsd:duration)",
]


@pytest.mark.parametrize("condition", ACCEPTED)
def test_what_may_be_a_time_or_a_duration_is_compared(graph: Any, clock: Any, condition: str) -> None:
    text = PREFIX + f"SELECT ?s {{ ?s :seen ?t ; :until ?u ; :for ?d FILTER({condition}) }}"
    graph.add((EX.a, EX["for"], Literal("P1D", datatype=XSD.dayTimeDuration)))
    see(graph, "a", NOON, "until")
    with rdflive.subscribe(graph, text, clock=clock) as subscription:
        see(graph, "a", NOON - HOUR)
        clock.advance("1h")
        graph.remove((None, None, None))
        assert list(subscription.answers()) == []


def test_what_has_no_clock_refuses_now(graph: Any) -> None:
    """Windows have times of their own, and a guard cannot refuse what time brings."""
    stream = rdflive.Stream(graph)
    for act in (
        lambda: rdflive.subscribe(stream, SEEN, window=rdflive.Sliding("1h")),
        lambda: rdflive.guard(graph, SEEN),
        lambda: rdflive.match(SEEN, []),
    ):
        with pytest.raises(rdflive.UnsupportedQueryError, match=r"rdflive\.subscribe on a graph has a clock"):
            act()


@pytest.mark.posix("forks")
def test_a_fork_has_a_timer_of_its_own(graph: Any) -> None:
    """The thread of the parent is not there in the child; the next use of the graph begins another."""
    told: list[Any] = []
    due = datetime.now(UTC) + timedelta(seconds=0.5)
    see(graph, "alarm", due, "due")
    with rdflive.subscribe(graph, DUE, told.append, initial=False) as subscription:
        child = os.fork()
        if not child:
            code = 1
            try:
                subscription.answers()
                until(lambda: told)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        until(lambda: told)
        assert [names(delta.added) for delta in told] == [["alarm"]]


ENDING = f"""
import datetime, sys, threading, time
import rdflib, rdflive
graph = rdflib.Graph()
subscription = rdflive.subscribe(graph, "SELECT ?s {{ ?s <{EX}due> ?t FILTER(?t > NOW()) }}", print)
now = datetime.datetime.now(datetime.UTC)
for number in range(2000):
    at = now + datetime.timedelta(milliseconds=300 + number)
    graph.add((rdflib.URIRef(f"urn:{{number}}"), rdflib.URIRef("{EX}due"), rdflib.Literal(at)))
time.sleep(0.5)
"""


def test_a_program_ends_while_rows_are_due() -> None:
    """The timer neither keeps a program nor disturbs its end."""
    command = [sys.executable, "-c", ENDING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_threads_write_while_the_clock_goes(graph: Any, clock: Any) -> None:
    """Ticks and commits of several threads are told one after the other, and add up."""
    weights: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        for row, weight in delta.weights().items():
            weights[row] += weight

    def write(number: int) -> None:
        for step in range(60):
            see(graph, f"s{number}-{step}", NOON + step * HOUR)
            if step % 3 == 0:
                graph.remove((EX[f"s{number}-{step // 2}"], None, None))

    with rdflive.subscribe(graph, SEEN, take, clock=clock) as subscription:
        threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            clock.advance("1h")
            time.sleep(0.001)
        for thread in threads:
            thread.join(PATIENCE)
        clock.advance("1s")
        held = {s for s, _, t in graph if t.value > clock.now - 24 * HOUR}
        assert {row[0] for row, weight in weights.items() if weight} == held
        assert set(names(subscription.answers())) == {s.removeprefix(EX) for s in held}
