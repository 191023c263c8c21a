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
from rdflive.time import course
from support.effort import drawn_from, rounds
from support.waiting import until

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
        ]  # none without a subscription
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


@pytest.mark.sampled(by="part")
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


def resumed(stream: rdflive.Stream, path: Path, told: list[Any], **options: Any) -> rdflive.Subscription:
    given = {"name": "board", "window": rdflive.Sliding(10), "query": QUERY, **options}
    query = given.pop("query")
    return rdflive.subscribe(stream, query, told.append, resume=path, **given)


def test_a_source_sends_again_what_is_not_durable(tmp_path: Path) -> None:
    """An element is durable before its delta is told; others behind many, `flush` and `close`."""
    path, told = tmp_path / "streams.db", []
    stream = rdflive.Stream()
    assert stream.durable is None
    subscription = resumed(stream, path, told)
    assert stream.durable == (0, None)
    stream.add(triple("a", "b"), at=1)
    assert stream.durable == (1, 1)
    stream.add(triple("a", "b"), at=2)  # no delta is delivered
    assert stream.durable == (1, 1)
    left = copied(path)
    stream.flush()
    assert stream.durable == (2, 2)
    stream.add(triple("a", "b"), at=3)
    stream.advance_to(4)
    subscription.close()
    assert stream.durable is None
    for file, durable, ends in ((left, rdflive.Durable(1, 1), 12), (path, rdflive.Durable(3, 4), 13)):
        again, seen = rdflive.Stream(), list[Any]()
        with resumed(again, file, seen):
            assert again.durable == durable
            assert again.now == durable.instant
            assert not again.add(triple("x", "y"), at=1, number=durable.number)  # it has that
            assert not again.add(triple("x", "y"), at=0)  # late, and counted all the same
            again.add(triple("a", "b"), at=2, number=durable.number + 5)
            again.advance_to(20)
            assert [(d.sequence, d.time, len(d.expired)) for d in seen] == [(3, ends, 1)]
            assert again.durable == (durable.number + 5, 20)


def test_time_does_not_go_back_where_a_stream_goes_on(tmp_path: Path) -> None:
    """Elements at 7 and 6 come late behind one at 8: their deltas are of 8, also in the next program."""
    path, told = tmp_path / "streams.db", list[Any]()
    for instants in ((8, 7), (6,)):
        stream = rdflive.Stream(lateness=5)
        with resumed(stream, path, told, window=rdflive.Count(1)):
            for instant in instants:
                assert stream.add(triple("a", str(instant)), at=instant)
    assert [delta.time for delta in told[1:]] == [8, 8, 8]


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "1"])
def test_numbers_of_elements_are_counted_from_one(number: Any) -> None:
    """What can be no number of an element is refused."""
    with pytest.raises(ValueError, match="whole number from 1"):
        rdflive.Stream().add(triple("a", "b"), at=1, number=number)


def test_a_delta_that_comes_again_has_its_instant_and_what_expired(tmp_path: Path) -> None:
    """A delta that was not acknowledged is told again with its time, its ends and what expired."""
    path, told = tmp_path / "streams.db", []
    left: list[Path] = []

    def tell(delta: Any) -> None:
        told.append(delta)
        if delta.removed:
            left.append(copied(path))

    stream = rdflive.Stream()
    options: Any = {"window": rdflive.Sliding("10s"), "expires": True, "name": "board"}
    with rdflive.subscribe(stream, QUERY, tell, resume=path, **options):
        stream.add(triple("a", "b"), at="2026-01-01T00:00:00Z")
        stream.add([triple("a", "c"), triple("a", "d")], at="2026-01-01T00:00:10Z")
    seen: list[Any] = []
    again = rdflive.Stream()
    with rdflive.subscribe(again, QUERY, seen.append, resume=left[0], **options):
        (delta,) = seen
        last = told[2]
        assert (delta, delta.time) == (last, last.time)
        assert list(delta.expired) == list(last.expired) != []
        assert {s: s.expires for s in delta.added} == {s: s.expires for s in last.added}
        assert str(again.now) == "2026-01-01 00:00:10+00:00"
    seen.clear()
    with rdflive.subscribe(rdflive.Stream(), QUERY, seen.append, resume=left[0], **options) as subscription:
        assert seen == []  # acknowledged, and nothing was missed
        assert len(subscription.answers()) == 2


def test_what_a_closed_subscriber_needs_stays_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file drops what no window needs; one that is not open finds what it held, and all since."""
    monkeypatch.setattr(stream_log, "_SEGMENT", 10)
    path = tmp_path / "streams.db"
    stream = rdflive.Stream()
    long = resumed(stream, path, [], name="long", window=rdflive.Sliding(60))
    short = resumed(stream, path, [], window=rdflive.Sliding(5))

    def rows() -> int:
        log: Any = stream.timeline.watermark.log
        return len(log._journal.listed()[0])

    for at in range(200):
        stream.add(triple("a", f"b{at}"), at=at)
    assert 60 <= rows() <= 80
    long.close()
    for at in range(200, 300):
        stream.add(triple("a", f"b{at}"), at=at)
    assert 160 <= rows() <= 180
    short.close()
    stream, told = rdflive.Stream(), []
    with resumed(stream, path, [], window=rdflive.Sliding(5)) as short:
        stream.add(triple("a", "b300"), at=300)
        assert len(short.answers()) == 5
        with resumed(stream, path, told, name="long", window=rdflive.Sliding(60)) as long:
            assert len(long.answers()) == 60
            assert [(len(d.added), len(d.removed)) for d in told] == [(60, 60)]
            for at in range(301, 330):
                stream.add(triple("a", f"b{at}"), at=at)
            assert rows() <= 80


def test_a_window_of_counts_needs_what_came_with_what_is_not_counted_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`c` and `d` are in the window, and `e` waits; all are in the first segment of the file. When `f` begins
    the second, the first must stay, or a program that resumes would not know `c` and `d`.
    """
    monkeypatch.setattr(stream_log, "BATCH", 1)
    monkeypatch.setattr(stream_log, "_SEGMENT", 4)
    path, options = tmp_path / "streams.db", {"window": rdflive.Count(2)}
    stream = rdflive.Stream(delay=5)
    with resumed(stream, path, [], **options) as subscription:
        for y, at in (("b", 1), ("c", 2), ("d", 3), ("e", 9), ("f", 9)):
            stream.add(triple("a", y), at=at)
        held = [triple("a", y)[::2] for y in "cd"]
        assert sorted(subscription.answers()) == held
        left = copied(path)
    with resumed(rdflive.Stream(delay=5), left, [], **options) as subscription:
        assert sorted(subscription.answers()) == held


def test_each_window_begins_with_the_elements_that_wait() -> None:
    """One state of the streams is loaded for several windows; the first must not take from the others."""
    stream = rdflive.Stream(delay=5)
    with rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10)):
        stream.add(triple("a", "b"), at=1)
        state = course.state_of(stream.timeline.watermark)
    for _ in range(2):
        again = rdflive.Stream(delay=5)
        with rdflive.subscribe(again, QUERY, window=rdflive.Sliding(10)) as subscription:
            course.load(again.timeline.watermark, state)
            assert subscription.answers() == []
            again.advance_to(2)
            assert len(subscription.answers()) == 1


def test_windows_that_are_not_resumed_go_on_beside_others(tmp_path: Path) -> None:
    """A window without resume= begins with what others hold, and one that was there before with nothing."""
    path = tmp_path / "streams.db"
    stream = rdflive.Stream()
    with resumed(stream, path, []):
        stream.add(triple("a", "b"), at=3)
    stream = rdflive.Stream()
    before = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 2))
    with resumed(stream, path, []) as subscription:
        behind = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10))
        assert [len(one.answers()) for one in (subscription, behind, before)] == [1, 1, 0]
        stream.add(triple("a", "c"), at=7)
        assert [len(one.answers()) for one in (subscription, behind, before)] == [2, 2, 0]
        stream.advance_to(8)
        assert [len(one.answers()) for one in (subscription, behind, before)] == [2, 2, 1]
    stream.advance_to(30)
    assert [len(one.answers()) for one in (behind, before)] == [0, 0]


def test_what_cannot_be_resumed_is_refused(tmp_path: Path) -> None:
    """Each refusal says what to do, and leaves the stream and the file as they were."""
    path = tmp_path / "streams.db"
    stream = rdflive.Stream(delay=1)
    for output in ("istream", "dstream", "rstream"):
        with pytest.raises(ValueError, match=r"output='.stream' does not go with resume="):
            resumed(stream, path, [], output=output)
    with pytest.raises(ValueError, match="does not go together with resume="):
        resumed(stream, path, [], provenance=True, rules=RULES)
    with resumed(stream, path, []):
        with pytest.raises(rdflive.ResumeError, match="a subscription of that name is open"):
            resumed(stream, path, [])
        with pytest.raises(rdflive.ResumeError, match=r"its stream is kept in .*one file"):
            resumed(stream, tmp_path / "other.db", [], name="other")
        with pytest.raises(rdflive.ResumeError, match=r"stream.*use another name"):
            resumed(rdflive.Stream(delay=1), path, [], name="other")
        stream.add(triple("a", "b"), at=5)
    refused = [
        (rdflive.Stream(delay=1), {"window": rdflive.Sliding(11)}, "answers of another query"),
        (rdflive.Stream(delay=1), {"query": QUERY + " # and", "rules": RULES}, "answers of another query"),
        (rdflive.Stream(delay=2), {}, "a stream with other options"),
        (rdflive.Stream(), {}, "a stream with other options"),
    ]
    for other, options, reason in refused:
        with pytest.raises(rdflive.ResumeError, match=reason):
            resumed(other, path, [], **options)
        assert other.timeline.watermark.log is None
        assert other.timeline.groups == {}
    with resumed(stream, path, []) as subscription:  # the same stream, which was given nothing since
        assert stream.durable == (1, 5)
        stream.add(triple("a", "b"), at=7)
    stream.add(triple("a", "b"), at=8)
    with pytest.raises(rdflive.ResumeError, match=r"continued without it.*new stream"):
        resumed(stream, path, [])
    begun = rdflive.Stream(delay=1)
    with rdflive.subscribe(begun, QUERY, window=rdflive.Sliding(10)):
        begun.add(triple("a", "b"), at=5)
        begun.advance_to(9)
        with pytest.raises(rdflive.ResumeError, match="what it holds is not in the file"):
            resumed(begun, tmp_path / "third.db", [])
    with resumed(begun, tmp_path / "third.db", []) as subscription:  # without a window it holds nothing
        begun.add(triple("a", "c"), at=12)
        begun.add(triple("a", "c"), at=14)
        assert len(subscription.answers()) == 1


def test_a_disk_that_fails_ends_those_who_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written ends those subscriptions; the stream and other windows go on."""
    monkeypatch.setattr(stream_log, "BATCH", 3)
    path, errors = tmp_path / "streams.db", []
    for is_silent in (False, True):
        path = tmp_path / f"{is_silent}.db"
        stream = rdflive.Stream()
        query = "SELECT * { ?x <urn:none> ?y }" if is_silent else QUERY
        on_error = lambda subscription, error: errors.append((subscription.name, type(error)))  # noqa: E731
        opened = [resumed(stream, path, [], name=n, query=query, on_error=on_error) for n in ("one", "two")]
        plain = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10))
        for file in tmp_path.glob(f"{path.name}*"):
            file.unlink()
        for at in range(1, 5):
            stream.add(triple("a", f"b{at}"), at=at)
        assert all(one.closed and isinstance(one.last_error, rdflive.ResumeError) for one in opened)
        assert sorted(errors) == [("one", rdflive.ResumeError), ("two", rdflive.ResumeError)]
        assert len(plain.answers()) == 4
        assert stream.durable is None
        errors.clear()
        plain.close()


def test_what_an_interruption_has_written_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted behind the commit, acts are written again with the next ones, and done once."""
    path, stream = tmp_path / "streams.db", rdflive.Stream()
    options: Any = {"window": rdflive.Count(3), "query": "SELECT * { ?x <urn:none> ?y }"}
    with resumed(stream, path, [], **options):
        for at in range(3):
            stream.add(triple("a", f"b{at}"), at=at)
        with monkeypatch.context() as patched:
            patched.setattr(stream_log.StreamLog, "_enter", interrupt)
            with pytest.raises(KeyboardInterrupt):
                stream.flush()
        stream.add(triple("a", "b3"), at=3)
    again = rdflive.Stream()
    with resumed(again, path, [], **options):
        assert again.durable == (4, 3)
        held = rdflive.subscribe(again, QUERY, window=rdflive.Count(3))
        assert {solution.y for solution in held.answers()} == {URIRef(f"urn:b{at}") for at in (1, 2, 3)}
        assert again.timeline.counted("elements") == 4
        held.close()


def test_an_element_whose_add_was_interrupted_leaves_its_number_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was noted and not taken is not played in the place of what was taken."""
    path, stream = tmp_path / "streams.db", rdflive.Stream()
    note = stream_log.StreamLog.note

    def interrupted(log: Any, act: Any) -> None:
        note(log, act)
        interrupt()

    options: Any = {"window": rdflive.Count(5)}
    with resumed(stream, path, [], **options) as subscription:
        stream.add(triple("a", "b0"), at=0)
        with monkeypatch.context() as patched:
            patched.setattr(stream_log.StreamLog, "note", interrupted)
            with pytest.raises(KeyboardInterrupt):
                stream.add(triple("a", "lost"), at=1)
        stream.add(triple("a", "b1"), at=2)
        told = Counter(subscription.answers())
    with resumed(rdflive.Stream(), path, [], **options) as subscription:
        assert Counter(subscription.answers()) == told
        assert {solution.y for solution in told} == {URIRef("urn:b0"), URIRef("urn:b1")}


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_an_iterator_of_a_window_gets_what_waits_as_one_delta(tmp_path: Path) -> None:
    """Deltas that wait merge, with the instant of the last; one not done with comes again."""
    path = tmp_path / "streams.db"
    stream = rdflive.Stream()
    options: Any = {"name": "board", "window": rdflive.Sliding(10)}
    with rdflive.subscribe(stream, QUERY, resume=path, **options) as subscription:
        assert subscription.next().initial
        stream.add(triple("a", "b"), at=1)
        stream.add(triple("a", "c"), at=4)
        delta = subscription.next()
        assert (delta.sequence, delta.time, len(delta.added)) == (2, 4, 2)
        stream.add(triple("a", "c"), at=5)
    stream = rdflive.Stream()
    with rdflive.subscribe(stream, QUERY, resume=path, **options) as subscription:
        again = subscription.next()
        assert (again, again.time) == (delta, 4)
        stream.advance_to(14)  # merges with what was missed, of which is not known what expired
        assert [(d.sequence, d.time, len(d.expired)) for d in [subscription.next()]] == [(3, 11, 0)]


def test_by_the_clock_windows_report_what_expired_meanwhile(tmp_path: Path) -> None:
    """With a wall clock time has gone on while the program was away."""
    path, told = tmp_path / "streams.db", list[Any]()
    now = [1000.0]
    with rdflive.Stream(clock=lambda: now[0]) as stream, resumed(stream, path, told):
        stream.add(triple("a", "b"))
        now[0] += 3
        stream.add(triple("a", "c"))
    told.clear()
    now[0] += 8
    with rdflive.Stream(clock=lambda: now[0]) as stream, resumed(stream, path, told) as subscription:
        stream.advance_to()
        assert len(subscription.answers()) == 1
        until(lambda: told)  # the timer may have been quicker, and delivers in its own thread
        assert [(d.sequence, d.time.timestamp(), len(d.expired)) for d in told] == [(4, 1010, 1)]
    now[0] -= 500  # the clock was set back, and time does not go back
    with rdflive.Stream(clock=lambda: now[0]) as stream, resumed(stream, path, told):
        stream.add(triple("a", "d"))
        assert told[-1].time.timestamp() == 1011


def test_a_text_over_several_streams_resumes(tmp_path: Path) -> None:
    """A registered text goes on with each of its streams, by their names in the text."""
    text = (
        "SELECT ?x ?z FROM NAMED WINDOW <urn:w1> ON <urn:s1> [RANGE PT10S STEP PT5S] "
        "FROM NAMED WINDOW <urn:w2> ON <urn:s2> [RANGE PT10S STEP PT5S] "
        "WHERE { WINDOW <urn:w1> { ?x <urn:p> ?y } WINDOW <urn:w2> { ?y <urn:p> ?z } }"
    )
    for shared in (True, False):
        told: list[Any] = []
        path = tmp_path / f"{shared}.db"

        def opened(path: Path = path, told: list[Any] = told, shared: bool = shared) -> Any:
            watermark = rdflive.Watermark() if shared else None
            streams = {f"urn:s{number}": rdflive.Stream(watermark=watermark) for number in (1, 2)}
            subscription = rdflive.register(text, told.append, streams=streams, name="late", resume=path)
            return subscription, *streams.values()

        subscription, one, two = opened()
        one.add(triple("a", "b"), at=3)
        two.add(triple("b", "c"), at=4)
        one.advance_to(6)
        two.advance_to(7)
        assert [(d.sequence, d.time, len(d.added)) for d in told] == [(1, None, 0), (2, 5, 1)]
        subscription.close()
        subscription, one, two = opened()
        assert (one.durable, two.durable) == ((1, 6), (1, 7))
        two.add(triple("b", "d"), at=8)
        one.advance_to(10)
        two.advance_to(10)
        assert [(d.sequence, d.time, len(d.added)) for d in told[2:]] == [(3, 10, 1)]
        subscription.close()
        with pytest.raises(ValueError, match="needs the name"):
            rdflive.register(text, streams={"urn:s1": one, "urn:s2": two}, resume=path)
