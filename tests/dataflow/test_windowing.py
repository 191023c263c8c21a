"""Windows over streams on Spark, against streams of one process, which are those of the definition."""

from __future__ import annotations

import json
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import rdflive
from dataflow import test_differential
from dataflow.simulation import Change, Hash, Quad, Row, Simulation, colliding, steady
from rdflive.feeds.terms import RowReader, write_term
from rdflive_stores.spark.dataflow import state, windowing
from rdflive_stores.spark.dataflow.event_time import EventWindow, TimeWindow
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import check, describe
from rdflive_stores.spark.dataflow.matching import LIVE, ChangeError
from rdflive_stores.spark.dataflow.state import StateError, TaskMoment
from rdflive_stores.spark.dataflow.tasks import part_behind
from rdflive_stores.spark.dataflow.walking import ARRANGED
from rdflive_stores.spark.dataflow.windowing import CLOCK, WINDOW, carry, elements
from support.effort import examples

SECOND = 1_000_000
WINDOWS: tuple[TimeWindow, ...] = (
    rdflive.Sliding(5),
    rdflive.Sliding(1, closed="both"),
    *(rdflive.Sliding(6, 2, closed=closed) for closed in ("right", "left", "both", "neither")),
    rdflive.Sliding(2, 5),
    rdflive.Sliding("2500ms", "1500ms", start=-100),
    rdflive.Tumbling(4),
    rdflive.Tumbling(3, start=1, closed="right"),
    rdflive.Landmark(20),
    rdflive.Landmark(20, step=4),
)
PATH = "SELECT * { ?x <urn:p> ?y . ?y <urn:q> ?z }"


@dataclass(frozen=True)
class Play:
    """A query, a window, and the seed of what comes when."""

    scenario: test_differential.Scenario
    window: TimeWindow
    delay: int
    """In seconds."""


TELLING = Play(replace(test_differential.TELLING, sizes=[20] * 8), rdflive.Sliding(5), 1)


@st.composite
def plays(draw: st.DrawFn) -> Play:
    """Queries over the default graph alone: a stream of one process has no others."""
    scenario = draw(test_differential.scenarios().filter(lambda scenario: not scenario.graph))
    sizes = draw(st.lists(st.sampled_from([20, 8, 3, 1, 0]), min_size=2, max_size=6))
    window, delay = draw(st.sampled_from(WINDOWS)), draw(st.sampled_from([0, 0, 1, 4]))
    return Play(replace(scenario, sizes=sizes), window, delay)


def matched(patterns: list[list[str]], quad: tuple[str, ...]) -> bool:
    """Tell whether any pattern matches a quad; what none matches is not kept."""
    for words in patterns:
        pairs = set(zip(words, quad, strict=False))
        variables = [word for word, _ in pairs if word[0] in "?_"]
        if len(variables) == len(set(variables)) and all(w == t for w, t in pairs if w[0] not in "?_"):
            return True
    return False


class Engine:
    """A stream of one process, whose watermark is moved as Spark moves its own."""

    def __init__(self, text: str, window: TimeWindow) -> None:
        # so patient that only `advance_to` moves it
        self._stream = rdflive.Stream(delay="100000d")
        self._net: Counter[Row] = Counter()
        self._subscription = rdflive.subscribe(self._stream, text, self._take, window=window, initial=False)

    def _take(self, delta: Any) -> None:
        for solution, weight in delta.weights().items():
            self._net[tuple(None if term is None else write_term(term) for term in solution)] += weight

    def run(self, changes: list[Change], watermark: int | None) -> Counter[Row]:
        """Take what has come before the watermark, then the elements of a micro-batch."""
        self._net = Counter()
        if watermark is not None:
            self._stream.advance_to(Fraction(watermark * 1000 - 1, 10**9))
        for change in sorted((c for c in changes if c.p is not None), key=lambda c: c[5:8]):
            triple = tuple(RowReader(text).term("term") for text in change[1:4])
            put = self._stream.add if change.op in "A+" else self._stream.remove
            assert change.time is not None
            put(triple, at=Fraction(change.time, SECOND))
        return Counter({row: weight for row, weight in self._net.items() if weight})

    @property
    def late(self) -> int:
        return self._stream.late

    def close(self) -> None:
        self._subscription.close()


class World:
    """One stream in both engines, micro-batch by micro-batch."""

    def __init__(
        self,
        play: Play,
        folder: Path,
        hash: Hash,  # noqa: A002
        kind: Callable[..., Simulation] = Simulation,
    ) -> None:
        self._kind = kind
        scenario = play.scenario
        self.play, self.folder, self.hash = play, folder, hash
        self.cuts = random.Random(scenario.seed)
        self.window = EventWindow(play.window, play.delay * 10**9, "at")
        self.engine = Engine(scenario.text, play.window)
        self.simulation = self._simulation("0", scenario.buckets)
        self.latest: int | None = None
        self.watermark: int | None = None
        self.come: list[Quad] = []
        self.total: Counter[Row] = Counter()
        self.late = 0

    def _simulation(self, name: str, buckets: int) -> Simulation:
        return self._kind(
            self.play.scenario.text, str(self.folder / name), buckets, self.hash, self.cuts,
            salted=self.play.scenario.salted, window=self.window,
        )  # fmt: skip

    def draw(self, size: int) -> list[Change]:
        """Make elements around the watermark: some are late, some known, and some renew or take out."""
        cuts, base = self.cuts, (self.latest or 30 * SECOND) // SECOND
        operations = []
        for _ in range(size):
            quad = (*test_differential.matching(self.play.scenario, cuts)[:3], "")
            if self.come and cuts.random() < 0.4:
                quad = cuts.choice(self.come)
            operations.append((cuts.choice("AAAAAD"), quad))
        changes = test_differential.scattered(operations, cuts)
        changes = [change._replace(time=self._time(base)) for change in changes]
        if cuts.random() < 0.3:  # no pattern matches it, and the watermark follows it
            changes.append(Change(*[None] * 5, time=self._time(base)))
        return changes

    def _time(self, base: int) -> int:
        seconds = base + self.cuts.choice((0, 0, 0, 1, 1, 2, 3, -1, -1, -2, -4, -9))
        return seconds * SECOND + self.cuts.choice((0, 0, 0, 1, SECOND // 2))

    def step(self, changes: list[Change]) -> Counter[Row]:
        """Run a micro-batch, perhaps after some that were killed, and compare."""
        for _ in range(self.cuts.randrange(3)):
            self.simulation.attempt(changes, self.cuts.choice([None, 1, 2, 3]))
        self.watermark = None if self.latest is None else self.latest - self.play.delay * SECOND
        late: list[Any] = []
        ordered = sorted((change for change in changes if change.p is not None), key=lambda c: c[5:8])
        for change in ordered:
            assert change.time is not None
            if self.watermark is None or change.time >= self.watermark:
                self.come.append((change.s, change.p, change.o, change.g))
            else:
                late.append((change.s, change.p, change.o))
        self.late += len(late)
        net = self.simulation.run(changes)
        assert net == self.engine.run(changes, self.watermark)
        assert self.engine.late == self.late
        patterns = [pattern.split() for pattern in self.play.scenario.patterns]
        assert self.simulation.late == sum(matched(patterns, triple) for triple in late)
        assert set(self.simulation.live().values()) <= {1}
        times = [change.time for change in changes if change.time is not None]
        self.latest = max([*times, *([] if self.latest is None else [self.latest])], default=None)
        for row, weight in net.items():
            self.total[row] += weight
        return net

    def rebuild(self, name: str) -> None:
        """Make the state anew in other buckets, as `rebuild` does; its answer is the whole one."""
        old, new = self.simulation, self._simulation(name, self.cuts.randint(1, 5))
        now = TaskMoment(Folder.local(old.folder), old.batch - 1)
        for bucket in range(old.buckets):
            part_behind(now, bucket)
        changes = [
            Change(*(row[key] for key in ("op", "s", "p", "o", "g")), offset=row["offset"], time=_micros(row))
            for bucket in range(old.buckets)
            for row in elements(now, bucket).to_pylist()
        ]
        carry(now, Folder.local(new.folder))
        new.batch, new.is_snapshot = now.batch, True
        answer = new.run(changes)
        assert answer == Counter({row: n for row, n in self.total.items() if n})
        new.is_snapshot = False
        assert new.live() == old.live()
        self.simulation = new

    def end(self) -> None:
        """Let time pass everything, and see that nothing is kept."""
        far = (self.latest or 0) + 1000 * SECOND
        changes = [Change("D", *quad, time=far) for quad in set(self.come)]
        changes = changes if isinstance(self.play.window, rdflive.Landmark) else []
        self.step([*changes, Change(*[None] * 5, time=far)])
        self.step([Change(*[None] * 5, time=far + 1000 * SECOND)])
        self.step([])
        self.simulation.compact()
        assert all(self.simulation.rows_held(name) == 0 for name in (WINDOW, LIVE, ARRANGED))
        assert not +self.total


def _micros(row: dict[str, Any]) -> int:
    return int(row["time"].timestamp() * SECOND + 0.5)


@contextmanager
def world(play: Play, hash: Hash) -> Iterator[World]:  # noqa: A002
    with tempfile.TemporaryDirectory() as folder:
        made = World(play, Path(folder), hash)
        yield made
        made.engine.close()


@pytest.mark.parametrize(
    ("hash", "least"),
    [(colliding, 0), pytest.param(steady, 1 << 18, marks=pytest.mark.hunted("the gate has the other case"))],
)
def test_a_window_holds_what_it_holds_in_one_process(
    hash: Hash,  # noqa: A002
    least: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After each micro-batch nets are those of a stream whose watermark is moved alike.

    Whatever is killed, run again or made from the live quads, nothing is left in the end.
    """
    monkeypatch.setattr(state, "_LEAST_BYTES", least)
    monkeypatch.setattr(state, "_STEP", 1 + least)
    told: Counter[str] = Counter()

    @settings(max_examples=examples(60, share=30), deadline=None, suppress_health_check=list(HealthCheck))
    @given(plays())
    @example(TELLING)
    def run(play: Play) -> None:
        with world(play, hash) as made:
            for number, size in enumerate(play.scenario.sizes):
                net = made.step(made.draw(size))
                told["steps"] += 1
                told["nets"] += bool(net)
                told["gone"] += any(weight < 0 for weight in net.values())
                if made.cuts.random() < 0.2:
                    made.rebuild(str(number + 1))
                if made.cuts.random() < 0.2:
                    made.simulation.compact()
            told["late"] += made.late
            made.end()

    run()
    assert told["nets"] > 0.05 * told["steps"], "too few micro-batches change an answer"
    assert told["gone"]
    assert told["late"]


ROW = ("<urn:a>", "<urn:p>", "<urn:b>", "")


def at(second: float, op: str = "A", quad: Quad = ROW, offset: int = 0) -> Change:
    return Change(op, *quad, offset=offset, time=int(second * SECOND))


def passing(second: float) -> Change:
    """An element that no pattern matches."""
    return Change(*[None] * 5, time=int(second * SECOND))


def small(folder: Path, window: TimeWindow, delay: int = 0, query: str = "SELECT * { ?x <urn:p> ?y }") -> Any:
    return Simulation(query, str(folder), 3, window=EventWindow(window, delay * 10**9, "at"))


def test_operations_at_one_time_need_an_order(tmp_path: Path) -> None:
    """By their times they have one; at one time positions tell, and the micro-batch."""
    simulation = small(tmp_path, rdflive.Sliding(10))
    simulation.run([at(3), at(4, "D")])
    with pytest.raises(ChangeError, match="inserted and deleted in one micro-batch, in unknown order"):
        simulation.run([at(5), at(5, "D")])
    with pytest.raises(ChangeError, match="the time of an element is NULL"):
        simulation.run([at(3)._replace(time=None)])
    simulation.run([at(5, "D"), at(5, offset=1)])
    simulation.run([at(5, "D"), passing(5.5)])
    assert not simulation.run([passing(6)])
    simulation.run([at(6, "D"), at(6, offset=1), passing(7)])
    assert simulation.run([]) == {("<urn:a>", "<urn:b>"): 1}


def test_the_group_of_everything_is_there_before_the_window_holds_anything(tmp_path: Path) -> None:
    """Its row comes with the first micro-batch, as without a window, and changes with what is held."""
    query = "SELECT (COUNT(*) AS ?n) { ?x <urn:p> ?y }"
    simulation = small(tmp_path, rdflive.Tumbling(10), query=query)
    zero, one = (f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>' for n in (0, 1))
    assert simulation.run([at(3), at(7)]) == {(zero,): 1}
    assert not simulation.run([passing(10)])
    assert simulation.run([]) == {(zero,): -1, (one,): 1}


def test_a_clock_that_is_lost_is_told(tmp_path: Path) -> None:
    """Without it nobody knows what is late. Those that no retry asks for are removed."""
    simulation = small(tmp_path, rdflive.Sliding(10))
    for second in range(6):
        simulation.run([at(second)])
    assert sorted(path.name for path in (tmp_path / CLOCK).iterdir()) == ["4", "5", "6"]
    (tmp_path / CLOCK / "6").unlink()
    with pytest.raises(StateError, match=f"{CLOCK}/6 is lost or damaged; begin again"):
        simulation.run([])


def test_expiry_reads_what_expires_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 quads that a window holds, those are read that come and go."""
    simulation = small(tmp_path, rdflive.Sliding(100))
    simulation.run([at(n / 4, quad=(f"<urn:{n}>", "<urn:p>", "<urn:b>", "")) for n in range(400)])
    simulation.run([passing(100)])
    simulation.run([])
    assert len(simulation.live()) == 400
    read: list[int] = []
    between = windowing._between

    def counted(*given: Any) -> Any:
        rows = between(*given)
        read.append(rows.num_rows)
        return rows

    monkeypatch.setattr(windowing, "_between", counted)
    simulation.run([passing(101)])
    assert simulation.run([]) == {(f"<urn:{n}>", "<urn:b>"): -1 for n in range(4)}
    assert sum(read) == 4


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_state_knows_its_window(window: TimeWindow, tmp_path: Path) -> None:
    """It is read from what is kept, and another window, or another delay, is refused; a name is not."""
    mine = EventWindow(window, 1_500_000_000, "at")
    told = json.loads(json.dumps(mine.description))
    assert EventWindow.read(told) == replace(mine, column="time")
    assert pickle.loads(pickle.dumps(mine)) == mine
    simulation = Simulation(PATH, str(tmp_path), 2, window=mine)
    folder, plan = Folder.local(str(tmp_path)), simulation.joint
    check(folder, describe(replace(plan, window=replace(mine, column="other")), 2))
    for other in (None, replace(mine, delay=0), replace(mine, window=rdflive.Sliding(77))):
        with pytest.raises(StateError, match=r"belongs to another window: .*; use that window, or"):
            check(folder, describe(replace(plan, window=other), 2))
