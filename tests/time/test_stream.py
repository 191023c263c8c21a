"""Streams as their users meet them: what is refused, clocks, threads, callbacks, and the deltas."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rdflib
from rdflib import BNode, Literal, Namespace

import rdflive
from support.waiting import PATIENCE, until

EX = Namespace("urn:example:")
QUERY = f"SELECT * {{ ?x <{EX.p}> ?y }}"
TRIPLE = (EX.a, EX.p, EX.b)
RULE = f"{{ ?x <{EX.p}> ?y }} => {{ ?y <{EX.p}> ?x }} ."


def following(
    stream: Any, window: Any = None, **options: Any
) -> tuple[rdflive.Subscription, list[rdflive.Delta]]:
    deltas: list[rdflive.Delta] = []
    window = window or rdflive.Sliding(10)
    return rdflive.subscribe(stream, QUERY, deltas.append, window=window, **options), deltas


@pytest.mark.parametrize(
    ("element", "error"),
    [
        ("a b c", TypeError),
        (7, TypeError),
        ([(EX.a, EX.p)], TypeError),
        ((Literal(1), EX.p, EX.b), TypeError),
        ((EX.a, BNode(), EX.b), TypeError),
        ((EX.a, EX.p, None), TypeError),
        ([TRIPLE, "x"], TypeError),
    ],
    ids=["text", "number", "pair", "literal subject", "blank predicate", "no object", "one of two"],
)
def test_stream_refuses_what_is_no_element(element: Any, error: type[Exception]) -> None:
    """What is no triple of RDF or graph is refused, and leaves no trace."""
    stream = rdflive.Stream()
    subscription, deltas = following(stream)
    for refused in (element, rdflib.Dataset()):
        with pytest.raises(error):
            stream.add(refused, at=1)
    stream.add(TRIPLE, at=1)
    assert len(subscription.answers()) == 1
    assert len(deltas) == 2
    subscription.close()


def test_stream_refuses_instants_it_cannot_place() -> None:
    """By events each element needs an instant with a time zone; by the wall clock none is taken."""
    stream = rdflive.Stream()
    with pytest.raises(ValueError, match="instant is missing"):
        stream.add(TRIPLE)
    with pytest.raises(ValueError, match="time zone"):
        stream.add(TRIPLE, at=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="not an instant"):
        stream.add(TRIPLE, at="soon")
    with pytest.raises(TypeError):
        stream.add(TRIPLE, at=True)
    with pytest.raises(ValueError, match="wall"):
        rdflive.Stream(clock="wall").add(TRIPLE, at=1)
    with pytest.raises(ValueError, match="clock"):
        rdflive.Stream(clock="sun")  # type: ignore[arg-type]  # what is refused


def test_closed_streams_take_nothing() -> None:
    """After `close`, which may be repeated, elements are refused and answers stay."""
    stream = rdflive.Stream()
    subscription, _ = following(stream)
    with stream:
        stream.add(TRIPLE, at=1)
    stream.close()
    for act in (
        lambda: stream.add(TRIPLE, at=2),
        lambda: stream.remove(TRIPLE, at=2),
        lambda: stream.advance_to(9),
    ):
        with pytest.raises(rdflive.ClosedError):
            act()
    assert len(subscription.answers()) == 1
    subscription.close()
    assert stream.timeline.groups == {}


def test_subscribe_refuses_what_does_not_go_with_windows() -> None:
    """A stream needs a window and a window a stream; what rests on a graph does not go with either."""
    stream = rdflive.Stream()
    window = rdflive.Sliding(10)
    refused: list[tuple[type[Exception], Any, dict[str, Any]]] = [
        (ValueError, stream, {}),
        (ValueError, rdflib.Graph(), {"window": window}),
        (TypeError, stream, {"window": 10}),
        (TypeError, stream, {"window": rdflive.Sliding}),
        (ValueError, stream, {"window": window, "resume": "x"}),
        (ValueError, stream, {"window": window, "resume": "x", "name": "n", "output": "rstream"}),
        (ValueError, stream, {"window": window, "provenance": True}),
        (ValueError, stream, {"window": window, "output": "all"}),
        (ValueError, rdflib.Graph(), {"output": "istream"}),
        (ValueError, rdflib.Graph(), {"expires": True}),
    ]
    for error, graph, options in refused:
        with pytest.raises(error):
            rdflive.subscribe(graph, QUERY, **options)
    with pytest.raises(rdflive.UnsupportedQueryError):
        rdflive.subscribe(stream, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", window=window, expires=True)
    assert stream.timeline.groups == {}


def test_streams_stand_beside_graphs_only() -> None:
    """What no subscription could watch is refused when the stream is made; a batch is of the graph."""
    stream = rdflive.Stream()
    for beside in (object(), stream, "graph"):
        with pytest.raises(TypeError, match="LiveStore"):
            rdflive.Stream(beside)
    graph = rdflib.Dataset()
    assert rdflive.Stream(graph).graph is graph
    assert type(graph.store) is type(rdflib.Dataset().store)
    with pytest.raises(TypeError, match="beside"), rdflive.batch(stream):
        pass


def test_dates_that_no_datetime_has_are_texts() -> None:
    """An element that expires after the year 9999, or at a nanosecond, has its instant as an xsd:dateTime."""
    stream = rdflive.Stream()
    subscription, deltas = following(stream, rdflive.Sliding("4000000d"), expires=True)
    stream.add(TRIPLE, at="2026-05-01T14:00:00Z")
    assert deltas[-1].added[0].expires == "12977-12-16T14:00:00Z"
    stream.add(TRIPLE, at="2026-05-01T14:00:00.000000001Z")
    assert stream.now == "2026-05-01T14:00:00.000000001Z"
    subscription.close()


def test_dates_that_go_in_come_out() -> None:
    """A stream of datetimes tells datetimes, in UTC; one of numbers numbers."""
    stream = rdflive.Stream()
    subscription, deltas = following(stream, rdflive.Sliding("1h"), expires=True)
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    stream.add(TRIPLE, at="2026-05-01T14:00:00+02:00")
    assert stream.now == noon
    assert deltas[-1].time == noon
    assert deltas[-1].added[0].expires == noon + timedelta(hours=1)
    stream.advance_to(noon + timedelta(days=1))
    assert deltas[-1].time == deltas[-1].expired[0].expires == noon + timedelta(hours=1)
    subscription.close()


def test_first_windows_of_a_stream_begin_empty() -> None:
    """Nothing is kept without a window; one opened beside another begins with what that one holds."""
    stream = rdflive.Stream()
    stream.add(TRIPLE, at=1)
    first, _ = following(stream)
    assert first.answers() == []
    stream.add(TRIPLE, at=2)
    second, deltas = following(stream, rdflive.Sliding(5))
    third, _ = following(stream, rdflive.Sliding(5, 2))
    assert len(deltas[0].added) == 1
    assert third.answers() == []
    stream.advance_to(4)
    assert len(third.answers()) == 1
    for subscription in (first, second, third):
        subscription.close()
    assert stream.timeline.groups == {}


def test_windows_open_after_their_stream_take_in_what_waits_in_line() -> None:
    """A window without steps begins with what a stepped one will report only later."""
    stream = rdflive.Stream()
    stepped, _ = following(stream, rdflive.Sliding(10, 5))
    stream.add(TRIPLE, at=1)
    for options in ({}, {"rules": RULE}):
        subscription, deltas = following(stream, **options)
        assert len(deltas[0].added) == 1 + len(options)
        subscription.close()
    assert stepped.answers() == []
    stepped.close()


def test_late_elements_do_not_hide_those_that_wait() -> None:
    """A report that a late element makes due does not forget what the next one must take in."""
    stream = rdflive.Stream(lateness=3)
    subscription, _ = following(stream, rdflive.Sliding(5, 2))
    stream.advance_to(3)
    stream.add(TRIPLE, at=14)
    stream.add([], at=12)
    stream.add([], at=16)
    assert len(subscription.answers()) == 1
    subscription.close()


def test_late_removals_take_what_came_before_them() -> None:
    """A triple that came again behind a late removal stays."""
    stream = rdflive.Stream(lateness=5)
    subscription, _ = following(stream)
    stream.add(TRIPLE, at=5)
    stream.remove(TRIPLE, at=3)
    assert len(subscription.answers()) == 1
    stream.remove(TRIPLE, at=5)
    assert subscription.answers() == []
    subscription.close()


def test_deletes_are_remembered_while_something_may_come_late() -> None:
    """A delete takes what comes late for it, and is forgotten after that; a count of elements needs none."""
    stream = rdflive.Stream(lateness=5)
    counted, _ = following(stream, rdflive.Count(3))
    timed, _ = following(stream)
    kept = [group.containers()[-1] for group in stream.timeline.groups.values()]
    for at in (4, 3, 5):
        stream.remove((EX[str(at)], EX.p, EX.b), at=at)
    stream.add((EX["4"], EX.p, EX.b), at=3)
    assert timed.answers() == []
    assert len(counted.answers()) == 1
    assert [len(deletes) for deletes in kept] == [0, 3]
    for at, left in ((9, 3), (10, 1), (11, 0)):  # all before it is complete then; 3 is behind 4
        stream.add(TRIPLE, at=at)
        assert [len(deletes) for deletes in kept] == [0, left]
    counted.close()
    timed.close()


def test_threads_add_at_once() -> None:
    """Elements of several threads are all taken, one after the other."""
    stream = rdflive.Stream(lateness=1000)
    subscription, deltas = following(stream, rdflive.Landmark(0))

    def add(name: int) -> None:
        for at in range(60):
            stream.add((EX[f"s{name}"], EX.p, EX[f"o{at}"]), at=at)

    threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(subscription.answers()) == 240
    assert sum(len(delta.added) for delta in deltas) == 240
    assert [delta.sequence for delta in deltas] == sorted(delta.sequence for delta in deltas)
    subscription.close()


def test_callbacks_may_add_to_the_stream() -> None:
    """What a callback adds is told after what it was called for."""
    stream = rdflive.Stream()
    seen: list[Any] = []

    def answer(delta: rdflive.Delta) -> None:
        seen.append((delta.time, len(delta.added), len(delta.expired)))
        if delta.added and delta.time < 4:
            stream.add((EX.a, EX.p, Literal(delta.time)), at=delta.time + 1)

    subscription = rdflive.subscribe(stream, QUERY, answer, window=rdflive.Sliding(10))
    stream.add(TRIPLE, at=1)
    assert seen == [(None, 0, 0), (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0)]
    subscription.close()


def test_clocks_may_be_given() -> None:
    """With a function for a clock elements are of its present, and `advance_to` reports what is due."""
    present = [100.0]
    stream = rdflive.Stream(clock=lambda: present[0])
    subscription, deltas = following(stream, rdflive.Tumbling(10))
    stream.add(TRIPLE)
    present[0] = 95.0  # set back: time does not go back
    stream.add((EX.c, EX.p, EX.d))
    present[0] = 110.0
    stream.advance_to()
    until(lambda: len(deltas) > 1)
    assert len(deltas[1].added) == 2
    assert deltas[1].time == datetime.fromtimestamp(110, UTC)
    subscription.close()
    stream.close()


def test_clocks_set_back_after_a_report_lose_nothing() -> None:
    """An element is of the last instant that was reported where the clock says an earlier one."""
    present = [100.0]
    stream = rdflive.Stream(clock=lambda: present[0])
    subscription, deltas = following(stream)
    stream.advance_to()
    present[0] = 99.0
    assert stream.add(TRIPLE)
    assert stream.late == 0
    assert deltas[-1].time == datetime.fromtimestamp(100, UTC)
    stream.close()
    subscription.close()


def test_streams_close_while_their_timer_waits() -> None:
    """Neither a callback nor a batch that closes the stream waits for the timer, which waits for it."""
    for inside in ("callback", "batch"):
        graph = rdflib.Graph()
        stream = rdflive.Stream(graph, clock="wall")
        ended = threading.Event()

        def close(stream: rdflive.Stream = stream, ended: threading.Event = ended) -> None:
            time.sleep(0.2)  # the timer's report is due
            stream.close()
            ended.set()

        def answer(delta: rdflive.Delta, inside: str = inside, close: Callable[[], None] = close) -> None:
            if delta.added and inside == "callback":
                close()

        subscription = rdflive.subscribe(stream, QUERY, answer, window=rdflive.Sliding("50ms"))

        def act(graph: Any = graph, stream: Any = stream, inside: str = inside, close: Any = close) -> None:
            stream.add(TRIPLE)
            if inside == "batch":
                with rdflive.batch(graph):
                    close()

        threading.Thread(target=act, daemon=True).start()
        assert ended.wait(PATIENCE), f"closing inside a {inside} waits for ever"
        subscription.close()


def test_closed_streams_report_no_more() -> None:
    """What is due by the wall clock when a stream is closed is not told any more, and its thread ends."""
    present = [100.0]
    stream = rdflive.Stream(clock=lambda: present[0])
    subscription, deltas = following(stream)
    stream.add(TRIPLE)
    present[0] = 200.0
    stream.close()
    until(lambda: not [t for t in threading.enumerate() if t.name == "rdflive windows"])
    assert len(deltas) == 2
    subscription.close()


def test_last_windows_close_by_the_wall_clock() -> None:
    """No further event is needed for what a window held to expire; no thread stays behind."""
    stream = rdflive.Stream(clock="wall")
    subscription, deltas = following(stream, rdflive.Sliding("100ms"))
    stream.add(TRIPLE)
    until(lambda: any(delta.expired for delta in deltas))
    assert subscription.answers() == []
    stream.close()
    subscription.close()
    until(lambda: not [t for t in threading.enumerate() if t.name == "rdflive windows"])


def test_the_wall_clock_goes_on_behind_an_interrupted_callback(caplog: pytest.LogCaptureFixture) -> None:
    """It is told the whole answer by the next report, for which no element is needed."""
    stream = rdflive.Stream(clock="wall")
    told: list[tuple[bool, int, int]] = []

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, len(delta.added), len(delta.removed)))
        if len(told) == 4:  # the first expiry, in the thread of the clock
            raise SystemExit

    subscription = rdflive.subscribe(stream, QUERY, take, window=rdflive.Sliding("400ms"))
    stream.add(TRIPLE)
    time.sleep(0.1)
    stream.add((EX.c, EX.p, EX.d))
    until(lambda: len(told) > 4)
    assert told[:5] == [(True, 0, 0), (False, 1, 0), (False, 1, 0), (False, 0, 1), (True, 1, 0)]
    assert "interrupted" in caplog.text
    until(lambda: told[-1] == (False, 0, 1))
    stream.close()
    subscription.close()


def deltas_of_a_window() -> list[rdflive.Delta]:
    stream = rdflive.Stream()
    subscription, deltas = following(stream, rdflive.Sliding(3), expires=True)
    stream.add(TRIPLE, at=1)
    stream.add((EX.c, EX.p, EX.d), at=2)
    stream.remove(TRIPLE, at=3)
    stream.add(TRIPLE, at=4)
    stream.advance_to(20)
    subscription.close()
    return deltas


def test_deltas_add_up_with_what_expired() -> None:
    """Of a sum, expired and retracted are the parts of what is gone on balance; the order does not matter."""
    deltas = deltas_of_a_window()
    assert [len(delta.expired) for delta in deltas] == [0, 0, 0, 0, 0, 1, 1]
    assert [len(delta.retracted) for delta in deltas] == [0, 0, 0, 1, 0, 0, 0]
    for first, second, third in zip(deltas, deltas[1:], deltas[2:], strict=False):
        left, right = (first + second) + third, first + (second + third)
        assert left == right
        assert left.time == right.time == third.time
        for total in (left, right, first + second):
            assert sorted((*total.expired, *total.retracted), key=str) == sorted(total.removed, key=str)
    total = sum(deltas[1:], start=deltas[0])
    assert not total
    assert total.expired == total.retracted == ()
    assert (deltas[5] + -deltas[5]).expired == ()


def test_deltas_of_windows_are_pickled() -> None:
    """What expired, when, and the time of the report come through."""
    for delta in deltas_of_a_window():
        copy = pickle.loads(pickle.dumps(delta))
        assert copy == delta
        assert copy.time == delta.time
        assert [s.expires for s in copy.expired] == [s.expires for s in delta.expired]
        assert (copy.retracted, copy.added) == (delta.retracted, delta.added)
