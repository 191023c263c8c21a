"""Nothing is lost silently: what waits for iterators, and callbacks that run elsewhere."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import Literal, Namespace, URIRef

import rdflive
from rdflive.delivery.mailbox import QUEUED_ROWS
from support.waiting import until

E = Namespace("http://example.org/")
QUERY = "SELECT ?train { ?train <http://example.org/delay> ?minutes }"
PATIENCE = 20.0


def late(graph: rdflib.Graph, *trains: str) -> None:
    """Make trains late, each in a commit of its own."""
    for train in trains:
        graph.add((E[train], E.delay, Literal(5)))


def names(delta: rdflive.Delta) -> str:
    return " ".join(sorted(str(row.train).removeprefix(str(E)) for row in delta.added))


@pytest.fixture
def graph() -> rdflib.Graph:
    return rdflib.Graph()


def test_a_loop_that_is_left_and_taken_up_again_loses_nothing(graph: rdflib.Graph) -> None:
    """`for delta in sub.deltas(): … break`, twice; each commit has its delta."""
    sub = rdflive.subscribe(graph, QUERY)
    late(graph, "IC1", "IC2")
    seen = []
    for _ in range(3):
        for delta in sub.deltas():
            seen.append((delta.initial, names(delta)))
            break
        late(graph, f"R{len(seen)}")
    assert seen == [(True, ""), (False, "IC1"), (False, "IC2")]
    assert [names(sub.next()) for _ in range(3)] == ["R1", "R2", "R3"]


@pytest.mark.parametrize("initial", [True, False])
def test_beside_a_callback_deltas_wait_from_the_first_iterator_on(graph: rdflib.Graph, initial: bool) -> None:
    """It begins with the answers of that moment, and an iterator that was closed is followed by the next."""
    sub = rdflive.subscribe(graph, QUERY, lambda delta: None, initial=initial)
    late(graph, "IC1")
    deltas = sub.deltas(timeout=0)
    late(graph, "IC2")
    if initial:
        assert (names(first := next(deltas)), first.initial) == ("IC1", True)
    deltas.close()
    late(graph, "IC3")
    assert [names(delta) for delta in (sub.next(0), sub.next(0))] == ["IC2", "IC3"]
    with pytest.raises(TimeoutError, match="no delta within 0 s"):
        sub.next(timeout=0)


def test_deltas_are_one_per_commit_until_so_many_rows_wait(graph: rdflib.Graph) -> None:
    """What comes then is in one delta, and nothing is lost; the delta that is taken next does not count."""
    late(graph, *(f"First{number}" for number in range(QUEUED_ROWS + 1)))
    sub = rdflive.subscribe(graph, QUERY)
    late(graph, "IC1")
    with rdflive.batch(graph):
        late(graph, *(f"R{number}" for number in range(QUEUED_ROWS)))
    late(graph, "IC2", "IC3")
    found = [sub.next(0) for _ in range(3)]
    sizes = [(len(d.added), d.sequence - d.first_sequence) for d in found]
    assert sizes == [(QUEUED_ROWS + 1, 0), (1, 0), (QUEUED_ROWS + 2, 2)]
    late(graph, "IC4", "IC5")
    assert [names(sub.next(0)), names(sub.next(0))] == ["IC4", "IC5"]


def test_each_report_of_a_window_waits() -> None:
    """With RSTREAM each is a whole answer, and none replaces another."""
    stream = rdflive.Stream()
    told: list[int] = []
    query = "SELECT ?s { ?s <urn:p> ?o }"
    options: dict[str, Any] = {"window": rdflive.Tumbling(10), "output": "rstream"}
    rdflive.subscribe(stream, query, lambda delta: told.append(delta.sequence), **options)
    sub = rdflive.subscribe(stream, query, **options)
    for number in range(1, 5):
        stream.add((URIRef(f"urn:{number}"), URIRef("urn:p"), Literal(number)), at=number * 10)
    assert len(told) == 3
    assert [sub.next(0).sequence for _ in told] == told


def test_the_whole_answer_replaces_what_waits(graph: rdflib.Graph) -> None:
    """After `resync` the initial delta includes the deltas still queued."""
    sub = rdflive.subscribe(graph, QUERY, initial=False)
    late(graph, "IC1", "IC2")
    sub.resync()
    late(graph, "IC3")
    first, second = sub.next(0), sub.next(0)
    assert (first.initial, names(first), names(second)) == (True, "IC1 IC2", "IC3")


def test_next_ends_with_the_subscription(graph: rdflib.Graph) -> None:
    """What waits is still given, then ClosedError; also to who waits already."""
    sub = rdflive.subscribe(graph, QUERY, initial=False)
    late(graph, "IC1")
    sub.close()
    assert names(sub.next()) == "IC1"
    with pytest.raises(rdflive.ClosedError, match="subscribe again"):
        sub.next()
    ended: list[BaseException] = []
    other = rdflive.subscribe(graph, QUERY, initial=False)

    def wait() -> None:
        try:
            other.next()
        except rdflive.ClosedError as error:
            ended.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    other.close()
    thread.join(PATIENCE)
    assert len(ended) == 1
    with rdflive.subscribe(graph, QUERY, print, initial=False) as third:
        pass
    with pytest.raises(rdflive.ClosedError):
        third.next(timeout=0)


def test_next_tells_of_a_budget_that_was_exceeded(graph: rdflib.Graph) -> None:
    """The error that ended the subscription is raised."""
    sub = rdflive.subscribe(graph, QUERY, budget=rdflive.Budget(rows=2), on_error="ignore", initial=False)
    with rdflive.batch(graph):
        late(graph, "R1", "R2", "R3")
    with pytest.raises(rdflive.BudgetError):
        sub.next(timeout=0)


def test_a_task_takes_the_next_delta(graph: rdflib.Graph) -> None:
    """`anext` waits with a timeout, loses nothing where it is cancelled, and ends as `next` does."""

    async def follow() -> list[str]:
        sub = rdflive.subscribe(graph, QUERY, initial=False)
        with pytest.raises(TimeoutError, match=r"no delta within 0\.01 s"):
            await sub.anext(timeout=0.01)
        cancelled = asyncio.create_task(sub.anext())
        await asyncio.sleep(0)
        late(graph, "IC1")
        cancelled.cancel()
        writer = threading.Timer(0.02, late, [graph, "IC2"])
        writer.start()
        seen = [names(await sub.anext()), names(await sub.anext(timeout=PATIENCE))]
        writer.join()
        late(graph, "IC3")
        async for delta in sub:
            seen.append(names(delta))
            break
        late(graph, "IC4")
        sub.close()
        seen += [names(delta) async for delta in sub]
        with pytest.raises(rdflive.ClosedError):
            await sub.anext()
        return seen

    assert asyncio.run(follow()) == ["IC1", "IC2", "IC3", "IC4"]


def test_an_async_callback_runs_in_order_on_the_loop(graph: rdflib.Graph) -> None:
    """The loop that called `subscribe` runs one delta after the other, for writes of any thread."""
    told: list[Any] = []

    async def program() -> None:
        running = 0

        async def show(delta: rdflive.Delta) -> None:
            nonlocal running
            running += 1
            await asyncio.sleep(0.001)
            told.append((names(delta), running, asyncio.get_running_loop() is loop))
            running -= 1

        loop = asyncio.get_running_loop()
        with rdflive.subscribe(graph, QUERY, show):
            late(graph, "IC1")
            assert told == []
            await asyncio.to_thread(late, graph, "IC2", "IC3")
            while len(told) < 4:
                await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(program(), PATIENCE))
    assert told == [("", 1, True), ("IC1", 1, True), ("IC2", 1, True), ("IC3", 1, True)]


def test_the_errors_of_an_async_callback_go_to_on_error(graph: rdflib.Graph) -> None:
    """And the next delta is handed out all the same."""
    errors: list[Any] = []
    told: list[str] = []

    async def program() -> None:
        async def show(delta: rdflive.Delta) -> None:
            told.append(names(delta))
            if names(delta) == "IC1":
                raise LookupError("no such train")

        sub = rdflive.subscribe(
            graph, QUERY, show, initial=False, on_error=lambda sub, error: errors.append((sub, error))
        )
        late(graph, "IC1", "IC2")
        while len(told) < 2:
            await asyncio.sleep(0.001)
        sub.close()
        assert errors == [(sub, sub.last_error)]

    asyncio.run(asyncio.wait_for(program(), PATIENCE))
    assert told == ["IC1", "IC2"]
    assert isinstance(errors[0][1], LookupError)


class Board:
    """Shows deltas."""

    async def show(self, delta: rdflive.Delta) -> None:
        """Show one."""

    async def __call__(self, delta: rdflive.Delta) -> None:
        """Show one too."""


@pytest.mark.parametrize("callback", [Board().show, Board(), partial(Board.show, Board())])
def test_where_no_loop_runs_an_async_callback_is_refused(graph: rdflib.Graph, callback: Any) -> None:
    """However it is written; and nothing of the subscription is left."""
    plain = type(graph.store)
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        rdflive.subscribe(graph, QUERY, callback)
    assert type(graph.store) is plain


def test_a_coroutine_that_nobody_would_await_is_told(graph: rdflib.Graph) -> None:
    """A lambda around an `async def` is an error of the callback."""
    errors: list[Exception] = []
    with rdflive.subscribe(
        graph, QUERY, lambda delta: Board().show(delta), on_error=lambda _, error: errors.append(error)
    ):
        pass
    assert [type(error) for error in errors] == [TypeError]
    assert "make it an `async def`" in str(errors[0])


def test_a_closed_loop_is_told_once_and_ends_the_subscription(graph: rdflib.Graph) -> None:
    """The write stands, and other subscribers are told."""
    errors: list[Exception] = []
    others: list[str] = []

    async def program() -> rdflive.Subscription:
        return rdflive.subscribe(
            graph, QUERY, Board().show, initial=False, on_error=lambda _, error: errors.append(error)
        )

    sub = asyncio.run(program())
    rdflive.subscribe(graph, QUERY, lambda delta: others.append(names(delta)), initial=False)
    late(graph, "IC1", "IC2")
    assert (sub.closed, len(errors), others) == (True, 1, ["IC1", "IC2"])
    assert "event loop is closed" in str(errors[0])
    assert sub.last_error is errors[0]


def test_a_callback_that_is_cancelled_is_told_the_whole_answer_next(graph: rdflib.Graph) -> None:
    """The callback may have taken any part of its delta."""
    told: list[Any] = []
    errors: list[str] = []

    async def program() -> None:
        async def show(delta: rdflive.Delta) -> None:
            told.append((delta.initial, names(delta)))
            if len(told) == 1:
                await asyncio.sleep(PATIENCE)

        with rdflive.subscribe(
            graph, QUERY, show, initial=False, on_error=lambda _, error: errors.append(str(error))
        ):
            late(graph, "IC1")
            while not told:
                await asyncio.sleep(0.001)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.01)
            late(graph, "IC2")
            while not told[-1][1].endswith("IC2"):
                await asyncio.sleep(0.001)

    # asyncio.wait_for would be a task that the program cancels
    asyncio.run(program())
    assert told == [(False, "IC1"), (True, "IC1"), (False, "IC2")]
    assert len(errors) == 1
    assert "was interrupted by CancelledError" in errors[0]


def test_throttle_merges_deltas_for_that_long(graph: rdflib.Graph) -> None:
    """The callback gets one delta for what was written meanwhile, and what cancels out is not told."""
    told: list[Any] = []
    with rdflive.subscribe(graph, QUERY, told.append, throttle="300 ms"):
        late(graph, "IC1", "IC2", "IC3")
        graph.remove((E.IC2, None, None))
        assert told == []
        until(lambda: told)
        late(graph, "IC4", "IC5")
        until(lambda: len(told) > 1)
        late(graph, "IC6")
        graph.remove((E.IC6, None, None))
        time.sleep(0.4)
    assert [(delta.initial, names(delta)) for delta in told] == [(True, "IC1 IC3"), (False, "IC4 IC5")]
    assert (told[1].first_sequence, told[1].sequence) == (5, 6)


def test_throttle_has_a_thread_only_while_something_waits(graph: rdflib.Graph) -> None:
    """Closing drops what waits, and leaves none."""
    told: list[rdflive.Delta] = []
    before = threading.active_count()
    sub = rdflive.subscribe(graph, QUERY, told.append, throttle=0.01, initial=False)
    assert threading.active_count() == before
    late(graph, "IC1")
    until(lambda: told and threading.active_count() == before)
    sub.close()
    slow = rdflive.subscribe(graph, QUERY, told.append, throttle="1h")
    slow.close()
    until(lambda: threading.active_count() == before)
    assert len(told) == 1


def test_an_executor_runs_the_callback_in_order(graph: rdflib.Graph) -> None:
    """One delta at a time, though there are several threads; the write does not wait."""
    told: list[str] = []
    running: list[int] = []
    held = threading.Event()

    def show(delta: rdflive.Delta) -> None:
        running.append(1)
        held.wait(PATIENCE)
        time.sleep(0.001)
        told.append(names(delta))
        assert len(running) == 1
        running.pop()
        if names(delta) == "R5":
            raise LookupError

    errors: list[Exception] = []
    trains = [f"R{number}" for number in range(20)]
    with (
        ThreadPoolExecutor(4) as pool,
        rdflive.subscribe(
            graph, QUERY, show, executor=pool, initial=False, on_error=lambda _, error: errors.append(error)
        ),
    ):
        late(graph, *trains)
        assert told == []
        held.set()
        until(lambda: len(told) == len(trains))
    assert told == trains
    assert [type(error) for error in errors] == [LookupError]


def test_with_resume_a_callback_elsewhere_acknowledges_by_returning(
    graph: rdflib.Graph, tmp_path: Path
) -> None:
    """What was dropped, or was being told, comes after the restart; what was told does not."""
    told: list[tuple[int, str]] = []
    options: dict[str, Any] = {"name": "board", "resume": tmp_path / "board.db", "initial": False}

    def show(delta: rdflive.Delta) -> None:
        told.append((delta.sequence, names(delta)))
        if names(delta) == "IC2":
            subs[0].close()
            late(graph, "IC3")

    with ThreadPoolExecutor(1) as pool:
        subs = [rdflive.subscribe(graph, QUERY, show, executor=pool, **options)]
        late(graph, "IC1")
        until(lambda: told)
        late(graph, "IC2")
        until(lambda: len(told) == 2)
    with ThreadPoolExecutor(1) as pool, rdflive.subscribe(graph, QUERY, show, executor=pool, **options):
        until(lambda: len(told) == 3)
    assert told == [(1, "IC1"), (2, "IC2"), (3, "IC3")]


def test_an_executor_that_is_shut_down_is_told_once(graph: rdflib.Graph, caplog: Any) -> None:
    """Also where it cancels what it had taken; the subscription is closed."""
    with ThreadPoolExecutor(1) as pool:
        sub = rdflive.subscribe(graph, QUERY, print, executor=pool, initial=False)
    with caplog.at_level(logging.ERROR, "rdflive"):
        late(graph, "IC1", "IC2")
    assert (sub.closed, caplog.text.count("has ended")) == (True, 1)
    assert "gets no more deltas" in str(sub.last_error)
    errors: list[Exception] = []
    held = threading.Event()
    pool = ThreadPoolExecutor(1)
    pool.submit(held.wait, PATIENCE)
    other = rdflive.subscribe(
        graph, QUERY, print, executor=pool, initial=False, on_error=lambda _, error: errors.append(error)
    )
    late(graph, "IC3")
    pool.shutdown(wait=False, cancel_futures=True)
    held.set()
    until(lambda: other.closed and errors)
    assert [str(error).endswith("its executor has cancelled it; subscribe again") for error in errors] == [
        True
    ]


class Broken(Executor):
    """Takes what it never runs."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        """Fail as a pool does whose threads have ended."""
        future: Future[Any] = Future()
        future.set_exception(OSError("no more threads"))
        return future


def test_an_executor_that_fails_is_told(graph: rdflib.Graph) -> None:
    """An executor that cannot run a delta closes the subscription with its error."""
    sub = rdflive.subscribe(graph, QUERY, print, executor=Broken(), on_error="ignore")
    assert sub.closed
    assert "no more threads" in str(sub.last_error)


def test_a_callback_that_ends_its_thread_is_told_the_whole_answer_next(graph: rdflib.Graph) -> None:
    """SystemExit in an executor is no exception that anybody would see."""
    told: list[Any] = []
    errors: list[str] = []

    def show(delta: rdflive.Delta) -> None:
        told.append((delta.initial, names(delta)))
        if len(told) == 1:
            raise SystemExit

    with (
        ThreadPoolExecutor(1) as pool,
        rdflive.subscribe(
            graph, QUERY, show, executor=pool, initial=False, on_error=lambda _, e: errors.append(str(e))
        ),
    ):
        late(graph, "IC1")
        until(lambda: errors)
        late(graph, "IC2")
        until(lambda: told[-1][1].endswith("IC2"))
    assert told == [(False, "IC1"), (True, "IC1"), (False, "IC2")]
    assert [error.endswith("was interrupted by SystemExit") for error in errors] == [True]


def generator(delta: rdflive.Delta) -> Iterator[None]:
    yield


async def async_generator(delta: rdflive.Delta) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"throttle": "1s", "callback": None}, "need a callback"),
        ({"executor": ThreadPoolExecutor(1), "callback": None}, "need a callback"),
        ({"throttle": 0}, "greater than zero"),
        ({"throttle": -1}, "greater than zero"),
        ({"throttle": "soon"}, "soon"),
        ({"throttle": 1e12}, "seconds or less"),
        ({"throttle": "quick"}, "throttle: 'quick' is not a duration"),
        ({"executor": "threads"}, "must run functions in this process"),
        ({"executor": ProcessPoolExecutor(1)}, "in this process"),
        ({"executor": ThreadPoolExecutor(1), "callback": Board()}, "runs in the event loop"),
        ({"callback": generator}, "callback must not be a generator function, which would never run"),
        ({"callback": async_generator}, "must not be a generator"),
        ({"on_error": Board().show}, "on_error must be a plain function"),
    ],
)
def test_what_cannot_be_done_is_refused(graph: rdflib.Graph, options: Any, message: str) -> None:
    """Before anything is changed."""
    with pytest.raises((TypeError, ValueError), match=message):
        rdflive.subscribe(graph, QUERY, **{"callback": print, **options})


@pytest.mark.parametrize("timeout", ["1s", float("nan")])
def test_a_timeout_is_a_number(graph: rdflib.Graph, timeout: Any) -> None:
    """Or None; one that is longer than threads can wait is as long as that."""
    sub = rdflive.subscribe(graph, QUERY)
    assert sub.next(timeout=float("inf")).initial
    with pytest.raises(TypeError, match="timeout must be a number of seconds or None, got"):
        sub.next(timeout=timeout)


def test_a_callback_that_is_cancelled_before_it_begins_is_told_of(graph: rdflib.Graph) -> None:
    """As when the loop ends: `on_error` hears of it."""
    errors: list[Exception] = []

    async def callback(delta: rdflive.Delta) -> None:
        raise AssertionError

    async def program() -> None:
        loop = asyncio.get_running_loop()
        rdflive.subscribe(graph, QUERY, callback, on_error=lambda _, error: errors.append(error))
        # behind what makes the task, and before it begins
        loop.call_soon(lambda: [t.cancel() for t in asyncio.all_tasks(loop) if t is not main])
        main = asyncio.current_task()
        await asyncio.sleep(0.05)

    asyncio.run(program())
    assert ["was cancelled before it started" in str(error) for error in errors] == [True]
