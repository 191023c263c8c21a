"""Elements that come late correct the last report of windows that hold them, and change nothing else."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from rdflib import Graph, Namespace

import rdflive
from support.effort import drawn_from, rounds

EX = Namespace("http://example.org/")
TRANSITIVE = "@prefix : <http://example.org/> . { ?x :p ?y . ?y :p ?z } => { ?x :p ?z } ."
ALL = "SELECT * { ?x <http://example.org/p> ?y }"
WINDOWS: tuple[rdflive.Window, ...] = (
    rdflive.Sliding(3, 5), rdflive.Sliding(4, 2, closed="left"), rdflive.Sliding(5, 1),
    rdflive.Sliding(4), rdflive.Tumbling(3), rdflive.Tumbling(4, closed="right"),
    rdflive.Landmark(5, step=3), rdflive.Landmark(5),
)  # fmt: skip
"""None of them holds what is older than the present by 9 seconds, or is of before the instant 5."""
OUTPUTS = ("delta", "istream", "dstream", "rstream")
ENTAILING: tuple[dict[str, Any], ...] = (
    {},
    {"rules": TRANSITIVE, "expiry": "labels"},
    {"rules": TRANSITIVE, "expiry": "keep-all"},
)
TEXTS = (
    "SELECT * FROM STREAM :s [RANGE 3s] FROM STREAM :s [RANGE 5s STEP 2s] WHERE { ?x :p ?y }",
    """SELECT * FROM NAMED WINDOW :v ON :s [RANGE PT5S STEP PT2S]
    WHERE { WINDOW :v { ?x :p ?y } OPTIONAL { ?y :p ?z } }""",
    """SELECT * FROM NAMED WINDOW :v ON :s [RANGE PT5S STEP PT2S]
    FROM NAMED WINDOW :w ON :s [RANGE PT3S STEP PT3S]
    WHERE { WINDOW :v { ?x :p ?y } WINDOW :w { ?y :p ?z } }""",
    """SELECT * FROM NAMED WINDOW :v ON :s [RANGE PT5S STEP PT2S]
    FROM NAMED WINDOW :w ON :s [RANGE PT3S]
    WHERE { { WINDOW :v { ?x :p ?y } } UNION { WINDOW :w { ?x :p ?y } } UNION { ?x :q ?y } }""",
)
"""Windows that are merged, and windows beside patterns of the graph."""

Told = list[tuple[Any, bool, list[Any], list[Any]]]


class _World:
    """A graph and a stream beside it, with what one subscription was told."""

    def __init__(self, asked: rdflive.Window | str, options: dict[str, Any]) -> None:
        self.graph = Graph()
        self.stream = rdflive.Stream(self.graph, lateness=1000)
        self.told: Told = []
        if isinstance(asked, str):
            text = f"PREFIX : <{EX}> {asked}"
            rdflive.register(text, self._take, streams={EX.s: self.stream}, initial=False, **options)
        else:
            rdflive.subscribe(self.stream, ALL, self._take, window=asked, initial=False, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        self.told.append((delta.time, delta.initial, sorted(delta.added), sorted(delta.removed)))


def _triple(random: Random) -> tuple[Any, ...]:
    return EX[random.choice("abcd")], EX[random.choice("ppq")], EX[random.choice("abcd")]


def _play(asked: rdflive.Window | str, options: dict[str, Any], seed: str) -> int:
    """Have the same happen to two streams, one of which is given late elements that no window holds too."""
    random = Random(seed)
    plain, late = (_World(asked, options) for _ in range(2))
    worlds, now, tried = (plain, late), 5, 0
    for _ in range(40):
        act: Callable[[_World], object]
        kind, triple = random.choice(("add", "add", "remove", "advance", "write", "delete")), _triple(random)
        if kind in ("add", "remove", "advance"):
            now += random.choice((0, 1, 1, 2, 5))
        at = now
        if kind == "write":
            act = lambda world, triple=triple: world.graph.add(triple)  # noqa: E731
        elif kind == "delete":
            act = lambda world, triple=triple: world.graph.remove(triple)  # noqa: E731
        elif kind == "advance":
            act = lambda world, at=at: world.stream.advance_to(at)  # noqa: E731
        elif kind == "add":
            act = lambda world, triple=triple, at=at: world.stream.add(triple, at=at)  # noqa: E731
        else:
            act = lambda world, triple=triple, at=at: world.stream.remove(triple, at=at)  # noqa: E731
        for world in worlds:
            act(world)
        assert late.told == plain.told
        is_landmark = isinstance(asked, rdflive.Landmark)
        if now >= 16:
            before = len(late.told)
            old = random.choice((0, 1, 4) if is_landmark else (0, 4, now - 11))
            put = late.stream.add if random.random() < 0.7 else late.stream.remove
            assert put([_triple(random), _triple(random)], at=old)
            assert len(late.told) == before
            tried += 1
    for world in worlds:
        world.stream.advance_to(now + 60)
    assert late.told == plain.told
    return tried if plain.told else 0


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_what_no_window_holds_changes_nothing(window: rdflive.Window, output: str) -> None:
    """Neither then nor later, and what waits beside the window shows at the report at which it is due."""
    tried = 0
    for options in ENTAILING:
        for number in range(rounds(24)):
            seed = str(drawn_from(window, output, options, number).random())
            tried += _play(window, {**options, "output": output}, seed)
    assert tried


@pytest.mark.parametrize("text", TEXTS)
def test_what_none_of_several_windows_holds_changes_nothing(text: str) -> None:
    """The same goes for windows that a text has merged or named."""
    options = ({}, {"rules": TRANSITIVE})
    tried = [
        _play(text, options[number % 2], str(drawn_from(text, number).random()))
        for number in range(rounds(80))
    ]
    assert sum(tried)


@pytest.mark.parametrize("options", ENTAILING, ids=str)
def test_a_late_removal_does_not_look_at_the_graph_since(options: dict[str, Any]) -> None:
    """The triple goes from the last report, and comes back with the next, as the graph has it by then."""
    graph = Graph()
    stream = rdflive.Stream(graph, lateness=5)
    told: Told = []
    rdflive.subscribe(
        stream, ALL, lambda delta: told.append((delta.time, len(delta.added), len(delta.removed))),
        window=rdflive.Sliding(5, 5), initial=False, **options,
    )  # fmt: skip
    stream.add((EX.a, EX.p, EX.b), at=8)
    stream.advance_to(11)
    graph.add((EX.a, EX.p, EX.b))
    stream.remove((EX.a, EX.p, EX.b), at=9)
    stream.advance_to(30)
    assert told == [(10, 1, 0), (10, 0, 1), (15, 1, 0)]


def test_a_window_that_reports_every_change_is_corrected_too() -> None:
    """Beside one with steps, for whose next report the graph waits."""
    graph = Graph()
    stream = rdflive.Stream(graph, lateness=50)
    told: Told = []
    rdflive.register(
        f"PREFIX : <{EX}> {TEXTS[0]}",
        lambda delta: told.append((delta.time, len(delta.added), len(delta.removed))),
        streams={EX.s: stream}, initial=False,
    )  # fmt: skip
    stream.add((EX.a, EX.p, EX.b), at=11)
    graph.add((EX.g, EX.p, EX.g))
    stream.add((EX.b, EX.p, EX.c), at=9)
    assert told == [(11, 1, 0), (11, 1, 0)]
    stream.advance_to(11)
    graph.remove((EX.g, EX.p, EX.g))
    stream.advance_to(60)
    assert [each[1:] for each in told[2:]] == [(0, 1), (0, 1)]


def test_what_no_window_holds_gets_no_label() -> None:
    """Time drops labels below all windows unreported, so rules would look for terms that are gone."""
    assert _play(TEXTS[2], {"rules": TRANSITIVE}, "0.2741307718019862")


def test_a_window_that_has_not_begun_has_no_other_report_again() -> None:
    """It may hold what has come late, and one that has reported does not."""
    stream = rdflive.Stream(lateness=1000)
    told: list[Any] = []
    window = rdflive.Sliding(3, 5)
    rdflive.subscribe(stream, ALL, told.append, window=window, output="rstream")
    stream.add((EX.a, EX.p, EX.b), at=9)
    stream.advance_to(11)
    later = rdflive.subscribe(stream, ALL, window=window, rules=TRANSITIVE)
    assert len(told) == 1
    stream.add((EX.b, EX.p, EX.c), at=5)
    assert len(told) == 1
    stream.add((EX.c, EX.p, EX.d), at=8)
    assert [(delta.time, len(delta.added)) for delta in told[1:]] == [(10, 2)]
    later.close()


@pytest.mark.parametrize("options", ENTAILING, ids=str)
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_report_is_corrected_beside_the_graph_as_it_was(output: str, options: dict[str, Any]) -> None:
    """What has changed in the graph since that report waits for the next one."""
    graph = Graph()
    stream = rdflive.Stream(graph, lateness=5)
    told: Told = []
    rdflive.subscribe(
        stream, ALL, lambda delta: told.append((delta.time, len(delta.added), len(delta.removed))),
        window=rdflive.Sliding(5, 5), initial=False, output=output, **options,
    )  # fmt: skip
    graph.add((EX.g, EX.p, EX.g))
    stream.add((EX.a, EX.p, EX.b), at=6)
    stream.advance_to(11)
    del told[:]
    graph.add((EX.b, EX.p, EX.c))
    graph.remove((EX.g, EX.p, EX.g))
    assert told == []
    stream.add((EX.c, EX.p, EX.d), at=8)
    expected = {"delta": [(10, 1, 0)], "istream": [(10, 1, 0)], "dstream": [], "rstream": [(10, 3, 0)]}
    assert told == expected[output]
    del told[:]
    stream.advance_to(15)
    expected = {
        "delta": [(15, 1, 3)],
        "istream": [(15, 1, 0)],
        "dstream": [(15, 0, 3)],
        "rstream": [(15, 1, 0)],
    }
    assert told == expected[output]
