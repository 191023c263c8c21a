"""Subscriptions to windows that resume: killed anywhere, they go on as if nothing had been."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.delivery.resume import stream_log
from support.effort import drawn_from, rounds

P = "urn:p"
QUERY = f"SELECT ?x ?y {{ ?x <{P}> ?y }}"
QUERIES = (
    QUERY,
    f"SELECT ?x ?z {{ ?x <{P}> ?y . ?y <{P}> ?z }}",
    f"SELECT ?x (COUNT(?y) AS ?n) {{ ?x <{P}> ?y }} GROUP BY ?x",
    f"SELECT * {{ ?x <{P}> ?y OPTIONAL {{ ?y <{P}> ?z }} }}",
)
RULES = f"{{ ?x <{P}> ?y . ?y <{P}> ?z }} => {{ ?x <{P}> ?z }} ."
EACH = (
    rdflive.Sliding(4),
    rdflive.Sliding(9),
    rdflive.Count(3),
    rdflive.Count(2, of="triples"),
    rdflive.Landmark(6),
)
WINDOWS = (
    *EACH,
    rdflive.Sliding(5, 2),
    rdflive.Sliding(5, 2, start=1, closed="left"),
    rdflive.Tumbling(4),
    rdflive.Tumbling(3, closed="right"),
    rdflive.Count(5, 2),
    rdflive.Count(4, 3, of="triples"),
    rdflive.Landmark(0, step=3),
)


def triple(x: str, y: str) -> Any:
    return URIRef(f"urn:{x}"), URIRef(P), URIRef(f"urn:{y}")


def fail(_: Any, error: Exception) -> None:
    raise error


def copied(path: Path) -> Path:
    """Give what a program that is killed now leaves: the file with all that belongs to it."""
    folder = path.parent / f"{path.parent.name}x"
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder)
    return folder / path.name


class Ledger:
    """What a subscriber was told, by number."""

    def __init__(self) -> None:
        self.told: dict[int, Any] = {}
        self.before: Callable[[], None] = lambda: None

    def __call__(self, delta: Any) -> None:
        self.before()
        number = delta.sequence
        said = (delta.weights(), delta.time, Counter(delta.expired), delta.initial)
        assert self.told.setdefault(number, said) == said, "one number, two contents"
        assert number <= len(self.told), "a number is missing"
        times = [time for _, time, *_ in self.told.values() if time is not None]
        assert times == sorted(times), "time went back"

    def state(self) -> Counter[Any]:
        total: Counter[Any] = Counter()
        for weights, *_ in self.told.values():
            for solution, weight in weights.items():
                total[solution] += weight
        return Counter({solution: weight for solution, weight in total.items() if weight})


class Subscriber:
    """A name in the file, what it asks, and what it was told."""

    def __init__(self, name: str, random: Random, windows: Any, streams: int) -> None:
        self.name, self.ledger = name, Ledger()
        self.query = random.choice(QUERIES)
        self.stream = random.randrange(streams)
        self.window = random.choice(windows)
        self.options: Any = {"rules": RULES} if random.random() < 0.3 else {}

    def open(self, streams: list[rdflive.Stream], *more: Any, **resume: Any) -> rdflive.Subscription:
        options = {**self.options, **resume, "window": self.window, "on_error": fail}
        return rdflive.subscribe(streams[self.stream], self.query, *more, **options)


class World:
    """Streams that are killed again and again, and others like them that are not."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random, self.path = random, folder / "a" / "streams.db"
        self.path.parent.mkdir()
        self.graph = rdflib.Graph()
        self.is_beside = random.random() < 0.4
        self.is_shared = random.random() < 0.4
        self.options: Any = {
            "delay": random.choice((None, None, 2)),
            "lateness": random.choice((None, None, 3, 8)),
        }
        self.count = random.choice((1, 2))
        windows = EACH if self.is_beside else WINDOWS
        self.subscribers = [Subscriber(name, random, windows, self.count) for name in ("one", "two")]
        self.acts: list[tuple[int, str, int, Any]] = []
        self.like = self.made()
        self.expected = [one.open(self.like) for one in self.subscribers]
        self.opened: list[rdflive.Subscription] = []
        self.latest = [5] * self.count
        self.start()

    def made(self) -> list[rdflive.Stream]:
        shared = rdflive.Watermark(name="both")
        return [
            rdflive.Stream(
                self.graph,
                **self.options,
                **({"watermark": shared} if self.is_shared else {"name": f"s{number}"}),
            )
            for number in range(self.count)
        ]

    def start(self) -> None:
        """Begin as a program that finds the file, whose source sends again what is not in it."""
        self.streams = self.made()
        self.opened = [
            one.open(self.streams, one.ledger, name=one.name, resume=self.path)
            for one in self.random.sample(self.subscribers, len(self.subscribers))
        ]
        self.opened.sort(key=lambda one: self.subscribers[0].name != one._receiver.name)
        sent = [0] * self.count
        known = [
            stream.durable or rdflive.Durable(0, None) for stream in self.streams
        ]  # none where nobody looks
        for act in self.acts:
            number, kind, *_ = act
            is_element = kind in ("add", "remove")
            sent[number] += is_element
            if sent[number] + (not is_element) > known[number].number:
                self.do(self.streams, act)

    def do(self, streams: list[rdflive.Stream], act: Any) -> Any:
        number, kind, at, pairs = act
        if kind == "idle":
            return streams[number].mark_idle()
        if kind == "advance":
            return streams[number].advance_to(at)
        return (streams[number].add if kind == "add" else streams[number].remove)(
            [triple(*pair) for pair in pairs], at=at
        )

    def play(self, steps: int) -> None:
        for _ in range(steps):
            random, number = self.random, self.random.randrange(self.count)
            if self.is_beside and random.random() < 0.2:
                (self.graph.add if random.random() < 0.6 else self.graph.remove)(self.some())
            at = max(0, self.latest[number] + random.choice((0, 0, 1, 1, 2, 3, -1, -3)))
            kind = random.choices(("add", "remove", "advance", "idle"), (12, 3, 1, 1))[0]
            pairs = [self.pair() for _ in range(random.choice((1, 1, 1, 2, 0)))]
            if kind == "advance" and [act[1] for act in self.acts if act[0] == number][-1:] == ["idle"]:
                kind = "add"  # to mark it idle again, as a restart may, would undo that it was advanced
            act = number, kind, at, pairs
            if kind != "idle":
                self.latest[number] = max(at, self.latest[number])
            self.acts.append(act)
            is_killed = random.random() < 0.2
            if is_killed and random.random() < 0.5:
                self.kill_inside(act)
            else:
                taken = self.do(self.streams, act)
                assert taken == self.do(self.like, act)
                if is_killed:
                    self.leave(copied(self.path))
            self.check()

    def kill_inside(self, act: Any) -> None:
        """Kill the program before a callback has taken a delta, or behind it; perhaps none is called."""
        left: list[Path] = []
        ledgers = [one.ledger for one in self.subscribers]
        kept: list[dict[int, Any]] = []

        def die() -> None:
            if not left:
                left.append(copied(self.path))
                kept.extend(dict(ledger.told) for ledger in ledgers)

        for ledger in ledgers:
            ledger.before = die
        self.do(self.streams, act)
        self.do(self.like, act)
        for ledger, told in zip(ledgers, kept, strict=False):
            ledger.told = told  # what it was told by then
        for ledger in ledgers:
            ledger.before = lambda: None
        self.leave(left[0] if left else copied(self.path))

    def leave(self, path: Path) -> None:
        told = [dict(one.ledger.told) for one in self.subscribers]
        for subscription in self.opened:
            subscription.close()
        for one, before in zip(self.subscribers, told, strict=True):
            one.ledger.told = before
        self.path = path
        if self.is_beside and self.random.random() < 0.5:
            self.graph.add(self.some())
        self.start()

    def check(self) -> None:
        for one, expected, found in zip(self.subscribers, self.expected, self.opened, strict=True):
            assert found.last_error is None
            answers = Counter(found.answers())
            assert answers == Counter(expected.answers()), (one.window, one.query)
            assert one.ledger.state() == answers
            assert sorted(one.ledger.told) == list(range(1, len(one.ledger.told) + 1))
        for stream, like in zip(self.streams, self.like, strict=True):
            assert (stream.now, stream.late) == (like.now, like.late)

    def finish(self) -> None:
        self.graph.remove((None, None, None))
        for number in range(self.count):
            act = number, "advance", max(self.latest) + 100, []
            self.do(self.streams, act)
            self.do(self.like, act)
        self.check()
        for one in self.subscribers:
            if one.window.cadence.axis == "time" and one.window.scope.reach is not None:
                assert not one.ledger.state()
        for subscription in (*self.opened, *self.expected):
            subscription.close()
        for stream in self.streams:
            assert stream.durable is None
            assert stream.timeline.groups == {}

    def pair(self) -> tuple[str, str]:
        return self.random.choice("abc"), self.random.choice("abc")

    def some(self) -> Any:
        return triple(*self.pair())


@pytest.mark.parametrize("part", range(4))
def test_killed_anywhere_windows_go_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """What is held, told and late is that of streams never killed; each number has one content."""
    for number in range(rounds(12)):
        random = drawn_from(part, number)
        monkeypatch.setattr(stream_log, "BATCH", random.choice((1, 3, 50)))
        monkeypatch.setattr(stream_log, "_SEGMENT", random.choice((1, 2, 5, 30)))
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, random)
        world.play(50)
        world.finish()
