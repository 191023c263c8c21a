"""Followers of a log take turns: those that are busy at different times come to the same places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rdflib import Literal

from rdflive.model import Delta, Header
from rdflive.sinks.events.follower import Follower
from rdflive.sinks.events.log import EventLog

HEADER = Header("SELECT", ("x",))


def publish(log: EventLog, sequence: int, *, initial: bool = False, sign: int = 1, value: str = "") -> None:
    row = (Literal(value or str(sequence)),)
    log.publish(Delta(HEADER, {row: sign}, sequence=sequence, initial=initial))


def begun() -> tuple[EventLog, Follower, list[Callable[[], None]]]:
    """Give a log with an answer, a follower of it, and the rounds that this asks for."""
    log, asked = EventLog(), list[Callable[[], None]]()
    publish(log, 1, initial=True)
    return log, Follower(log, asked.append), asked


async def taking(follower: Follower, seconds: float = 9.0) -> asyncio.Task[Any]:
    """Give a task that takes, and waits by now."""
    task = asyncio.create_task(follower.take(seconds))
    await asyncio.sleep(0)
    return task


def test_changes_are_taken_in_turns() -> None:
    """The first answer comes at once; what has changed since only when the follower is woken."""

    async def run() -> None:
        log, follower, asked = begun()
        followers = [follower, Follower(log, asked.append)]
        assert {(await follower.take(9.0)).kind for follower in followers} == {"initial"}  # type: ignore[union-attr]
        assert not asked
        publish(log, 2)
        first = await taking(followers[0])
        publish(log, 3)
        second = await taking(followers[1])
        assert len(asked) == 2
        assert not first.done()
        for wake in asked:
            wake()
        event = await first
        assert (event.first_sequence, event.sequence) == (2, 3)
        assert await second is event, "what both are told is put together once"
        for follower in followers:
            follower.stop()

    asyncio.run(run())


def test_nothing_is_taken_where_changes_undo_one_another() -> None:
    """The follower is at the new place, and waits for the next turn."""

    async def run() -> None:
        log, follower, asked = begun()
        await follower.take(9.0)
        publish(log, 2, value="x")
        publish(log, 3, value="x", sign=-1)
        task = await taking(follower)
        asked.pop()()
        assert await task is None
        assert follower.reader.place == 3
        assert not follower.is_over
        assert await follower.take(0.01) is None
        assert not asked, "there was nothing to ask for"

    asyncio.run(run())


def test_waking_for_nothing_is_not_heard() -> None:
    """A round that was asked for before the follower took everything does not end its waiting."""

    async def run() -> None:
        log, follower, _ = begun()
        await follower.take(9.0)
        task = await taking(follower)
        follower.wake()
        await asyncio.sleep(0)
        assert not task.done()
        publish(log, 2)
        follower.wake()
        assert await task is not None

    asyncio.run(run())


def test_the_end_waits_for_no_turn() -> None:
    """What is left is taken at once when the log has ended, then the end itself."""

    async def run() -> None:
        log, follower, asked = begun()
        await follower.take(9.0)
        publish(log, 2)
        log.end({"detail": "over"})
        update, end = await follower.take(9.0), await follower.take(9.0)
        assert update is not None
        assert end is not None
        assert (update.sequence, end.kind) == (2, "end")
        assert await follower.take(9.0) is None
        assert follower.is_over
        assert not asked

    asyncio.run(run())


class Pipe:
    """An outlet that notes what it sends, and may be full."""

    def __init__(self) -> None:
        self.is_free = True
        self.sent: list[bytes] = []

    def write(self, chunk: bytes) -> None:
        self.sent.append(chunk)


def piped() -> tuple[EventLog, Follower, list[Callable[[], None]], Pipe]:
    """Give a follower with an outlet, and what `begun` gives."""
    log, follower, asked = begun()
    follower.outlet = pipe = Pipe()
    return log, follower, asked, pipe


def test_client_that_keeps_up_gets_events_without_its_task() -> None:
    """Two clients are sent the same bytes while their tasks wait; a full pipe leaves it to the task."""

    async def run() -> None:
        log, follower, asked, pipe = piped()
        events = list[None]()
        follower.on_event = lambda: events.append(None)
        other = Follower(log, asked.append)
        other.outlet = second = Pipe()
        tasks = []
        for each in (follower, other):
            assert (await each.take(9.0)).kind == "initial"  # type: ignore[union-attr]
            tasks.append(await taking(each))
        publish(log, 2)
        for each in (follower, other):
            each.wake()
            each.wake()  # there is nothing more to send
        assert len(pipe.sent) == len(second.sent) == 1
        assert pipe.sent[0] is second.sent[0], "it is written once for all"
        size, _, text = pipe.sent[0].partition(b"\r\n")
        assert text[int(size, 16) :] == b"\r\n"
        assert b'"sequence": 2' in text
        assert not any(task.done() for task in tasks)
        assert len(events) == 1
        pipe.is_free = False
        publish(log, 3)
        follower.wake()
        assert (await tasks[0]).sequence == 3
        publish(log, 4)
        follower.wake()  # no task waits, and earlier events may be under way
        assert len(pipe.sent) == 1
        for each in (follower, other):
            each.stop()
        assert await tasks[1] is None

    asyncio.run(run())


def test_long_events_answers_and_the_end_go_through_the_task() -> None:
    """A long event is not sent at once; after `resync` the answer follows; the end ends the task."""

    async def run() -> None:
        log, follower, _, pipe = piped()
        await follower.take(9.0)
        task = await taking(follower)
        publish(log, 2, value="x" * 70_000)
        follower.wake()
        event = await task
        assert (event.sequence, event.chunk, pipe.sent) == (2, None, [])
        task = await taking(follower)
        publish(log, 3, initial=True)  # the earlier places are gone
        follower.wake()
        assert b"event: resync" in pipe.sent.pop()
        assert (await task).kind == "initial"
        task = await taking(follower)
        log.end({"detail": "over"})
        follower.wake()
        assert (await task).kind == "end"
        assert follower.is_over
        assert not pipe.sent

    asyncio.run(run())


def test_silence_counts_from_the_last_event() -> None:
    """An event that went to the outlet puts off the heartbeat."""

    async def run() -> None:
        log, follower, _, pipe = piped()
        await follower.take(9.0)
        task = await taking(follower)
        loop = asyncio.get_running_loop()
        publish(log, 2)
        follower.wake()
        assert len(pipe.sent) == 1
        follower._end_silence(loop, 9.0)  # as the timer does
        await asyncio.sleep(0)
        assert not task.done()
        follower._end_silence(loop, 0.0)
        assert await task is None
        follower.stop()

    asyncio.run(run())
