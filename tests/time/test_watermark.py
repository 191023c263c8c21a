"""Streams that share a watermark, and what a query over several of them is told."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from support.effort import drawn_from, rounds

QUERY = (
    "SELECT ?x ?z "
    "FROM NAMED WINDOW <urn:w1> ON <urn:s1> [{one}] FROM NAMED WINDOW <urn:w2> ON <urn:s2> [{two}] "
    "WHERE {{ WINDOW <urn:w1> {{ ?x <urn:p> ?y }} WINDOW <urn:w2> {{ ?y <urn:p> ?z }} }}"
)
P = URIRef("urn:p")


def triple(x: str, y: str) -> Any:
    return URIRef(f"urn:{x}"), P, URIRef(f"urn:{y}")


def opened(count: int, **options: Any) -> tuple[rdflive.Watermark, list[rdflive.Stream]]:
    watermark = rdflive.Watermark()
    return watermark, [rdflive.Stream(watermark=watermark, **options) for _ in range(count)]


def register(streams: list[rdflive.Stream], told: list[Any], one: str, two: str = "") -> rdflive.Subscription:
    named = {f"urn:s{number}": stream for number, stream in enumerate(streams, 1)}
    text = QUERY.format(one=one, two=two or one)
    return rdflive.register(text, told.append, streams=named, initial=False)


def test_a_query_reports_when_all_streams_have_reached_the_instant() -> None:
    """A stream that is ahead waits for the other, and the report is over one instant in both."""
    _, (one, two) = opened(2)
    told: list[Any] = []
    subscription = register([one, two], told, "RANGE PT4S STEP PT2S")
    for at, name in ((1, "a"), (3, "b"), (5, "c")):
        one.add(triple(name, name), at=at)
    assert told == []
    two.add(triple("b", "z"), at=1)
    two.add(triple("c", "z"), at=4)  # the instants up to 3 are complete in both
    two.add(triple("c", "y"), at=5)  # and 4
    assert [(d.time, [(s.x, s.z) for s in d.added]) for d in told] == [
        (4, [(URIRef("urn:b"), URIRef("urn:z"))])
    ]
    two.advance_to(20)
    assert len(told) == 1  # `one` says nothing of the instants behind 5
    one.advance_to(20)
    assert [d.time for d in told] == [4, 6, 8, 10]
    assert subscription.answers() == []
    subscription.close()


def test_a_stream_that_has_not_begun_or_is_idle() -> None:
    """A stream without elements holds the others up until it is marked idle, advanced or closed."""
    for go_on in ("mark_idle", "advance_to", "close"):
        _, (one, two) = opened(2)
        told: list[Any] = []
        subscription = rdflive.subscribe(
            one, "SELECT * { ?x ?p ?y }", told.append, window=rdflive.Tumbling(2)
        )
        told.clear()
        one.add(triple("a", "b"), at=1)
        one.add(triple("b", "c"), at=5)
        assert (told, one.late) == ([], 0)
        getattr(two, go_on)(*([9] if go_on == "advance_to" else []))
        assert [(d.time, len(d.added), len(d.expired)) for d in told] == [(2, 1, 0), (4, 0, 1)]
        if go_on == "mark_idle":
            assert not two.add(triple("b", "d"), at=3)  # the others have passed
            assert two.late == 1
            one.add(triple("a", "b"), at=9)
            assert len(told) == 2  # it is not idle any more, though what it brought was too late
            two.add(triple("b", "d"), at=9)
            assert [d.time for d in told[2:]] == [6, 8]
        subscription.close()


def test_streams_of_one_watermark_stand_beside_one_graph() -> None:
    """Another graph, a wall clock and what is no watermark are refused; lone streams move together."""
    graph = rdflib.Graph()
    watermark, (one, two) = opened(2)
    assert one.graph is two.graph
    for error, options in (
        (ValueError, {"graph": graph, "watermark": watermark}),
        (ValueError, {"clock": "wall", "watermark": watermark}),
        (TypeError, {"watermark": one}),
    ):
        with pytest.raises(error):
            rdflive.Stream(**options)
    third = rdflive.Stream(graph)
    register([one, third], [], "RANGE PT2S STEP PT2S").close()
    assert one.graph is two.graph is graph
    assert repr(watermark) == "<Watermark of 2 streams>"


def test_what_goes_at_an_instant_goes_with_what_comes_then() -> None:
    """Windows that report every change are told of one instant in all streams at once."""
    _, (one, two) = opened(2)
    told: list[Any] = []
    subscription = register([one, two], told, "RANGE PT4S")
    two.add(triple("b", "c"), at=1)
    one.add(triple("a", "b"), at=2)
    two.advance_to(3)
    one.add(triple("d", "b"), at=5)
    assert [d.time for d in told] == [2]
    two.add(triple("b", "e"), at=5)  # both elements of 5 are taken, and the first of `two` goes
    assert [(d.time, len(d.added), len(d.removed)) for d in told[1:]] == [(5, 0, 1), (5, 2, 0)]
    subscription.close()


def _content(elements: list[Any], begin: float, end: float) -> set[tuple[str, str]]:
    labels: dict[tuple[str, str], int] = {}
    for at, _, sign, pair in sorted(elements):
        if at <= end:
            if sign > 0:
                labels[pair] = at
            else:
                labels.pop(pair, None)
    return {pair for pair, at in labels.items() if at > begin}


def _answer(given: list[list[Any]], sizes: list[int], now: int) -> Counter[Any]:
    held = [_content(elements, now - size, now) for elements, size in zip(given, sizes, strict=True)]
    return Counter((x, z) for x, y in held[0] for w, z in held[1] if w == y)


@pytest.mark.parametrize("step", [1, 2, 3, None])
def test_deltas_do_not_depend_on_which_stream_is_ahead(step: int | None) -> None:
    """However the elements of two streams come, each report is over the same instant in both."""
    for number in range(rounds(25)):
        random = drawn_from(step or 0, number)
        sizes = [random.choice((3, 4, 6)) for _ in range(2)]
        texts = [f"RANGE PT{size}S" + ("" if step is None else f" STEP PT{step}S") for size in sizes]
        _follow(random, texts, sizes, step)


def _follow(random: Random, texts: list[str], sizes: list[int], step: int | None) -> None:
    delays = [random.choice((0, 0, 3)) for _ in range(2)]
    watermark = rdflive.Watermark()
    streams = [rdflive.Stream(delay=delay or None, watermark=watermark) for delay in delays]
    told: list[Any] = []
    subscription = register(streams, told, *texts)
    given: list[list[Any]] = [[], []]
    latest = [4, 4]
    for number in range(60):
        which = random.choice((0, 0, 0, 1)) if number % 20 < 10 else random.choice((0, 1, 1, 1))
        kind = random.choices(("add", "remove", "advance", "idle"), (12, 3, 1, 1))[0]
        stream, pair = streams[which], (random.choice("abc"), random.choice("abc"))
        at = max(0, latest[which] + random.choice((0, 1, 1, 2)) - random.choice((0, delays[which])))
        if kind == "idle":
            stream.mark_idle()
            continue
        latest[which] = max(at, latest[which])
        if kind == "advance":
            stream.advance_to(at)
        elif (stream.add if kind == "add" else stream.remove)(triple(*pair), at=at):
            given[which].append((at, number, 1 if kind == "add" else -1, pair))
    for stream in streams:
        stream.advance_to(max(latest) + 20)
    found: Counter[Any] = Counter()
    times = []
    for delta in told:
        times.append(delta.time)
        for solution, weight in delta.weights().items():
            found[delta.time, solution.x[4:], solution.z[4:]] += weight
    assert times == sorted(times)
    before: Counter[Any] = Counter()
    wanted = {}
    for now in range(-(step or 1), max(latest) + 21, step or 1):
        answer = _answer(given, sizes, now)
        changed = {key: answer[key] - before[key] for key in answer | before}
        wanted |= {(now, *key): weight for key, weight in changed.items() if weight}
        before = answer
    assert {key: weight for key, weight in found.items() if weight} == wanted
    assert not before
    if step is not None:
        assert len(times) == len(set(times))  # one delta for each report
    assert subscription.answers() == []
    subscription.close()
    assert not any(watermark.groups)
