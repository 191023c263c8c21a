"""Corners of windows in which answers were once wrong."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import Graph, Namespace

import rdflive

EX = Namespace("http://example.org/")
QUERY = "SELECT * { ?x <http://example.org/in> ?y }"
TRANSITIVE = "@prefix : <http://example.org/> . { ?x :in ?y . ?y :in ?z } => { ?x :in ?z } ."
WAYS = ("labels", "keep-all", "dred", "recompute")
NANOSECOND = 1e-9


def fact(subject: str, value: str) -> tuple[Any, Any, Any]:
    return EX[subject], EX["in"], EX[value]


@pytest.mark.parametrize("expiry", WAYS)
def test_a_triple_that_the_graph_loses_is_held_as_long_as_it_came_lately(expiry: Any) -> None:
    """A triple of the stream and of the graph goes with the graph's, if its own arrival is out of date."""
    graph = Graph()
    graph.add(fact("a", "b"))
    stream = rdflive.Stream(graph)
    held = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(4), rules=TRANSITIVE, expiry=expiry)
    stream.add(fact("a", "b"), at=10)
    graph.remove(fact("a", "b"))
    assert len(held.answers()) == 1
    stream.advance_to(1000)
    assert held.answers() == []
    graph.add(fact("a", "b"))
    stream.add(fact("a", "b"), at=1001)
    stream.advance_to(2000)
    assert len(held.answers()) == 1
    graph.remove(fact("a", "b"))
    assert held.answers() == []


@pytest.mark.parametrize("expiry", WAYS)
def test_a_window_opened_beside_another_sees_what_that_has_not_reported(expiry: Any) -> None:
    """A change of the graph that waits for the report of one window is in that of a later one too."""
    graph = Graph()
    stream = rdflive.Stream(graph)
    options: dict[str, Any] = {"rules": TRANSITIVE, "expiry": expiry}
    first = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 4), **options)
    stream.advance_to(3)
    graph.add(fact("a", "b"))
    second = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(5, 4), **options)
    stream.advance_to(1000)
    assert (len(first.answers()), len(second.answers())) == (1, 1)


@pytest.mark.parametrize("lateness", [None, 6])
@pytest.mark.parametrize("others", [(), (3,)])
def test_a_window_begins_with_what_any_other_holds(lateness: int | None, others: tuple[int, ...]) -> None:
    """What a new window begins with does not depend on narrower ones that are open."""
    stream = rdflive.Stream(lateness=lateness)
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(40, 4))
    for width in others:
        rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(width))
    stream.add(fact("a", "b"), at=10)
    stream.advance_to(16)
    late = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(9))
    assert len(late.answers()) == 1


def test_a_window_is_closed_to_what_comes_a_nanosecond_late() -> None:
    """An element of before the last one's instant is late, however little."""
    stream = rdflive.Stream()
    reports: list[Any] = []
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(60))
    rdflive.subscribe(stream, QUERY, reports.append, window=rdflive.Tumbling(12))
    stream.add(fact("a", "b"), at=1)
    stream.add(fact("x", "b"), at=12)
    assert not stream.add(fact("y", "b"), at=12 - NANOSECOND)
    assert [len(delta.added) for delta in reports] == [0, 1]


def test_rstream_reports_while_the_window_holds_anything() -> None:
    """A jump of time makes no reports of an empty window, and each report is a whole answer."""
    stream = rdflive.Stream()
    reports: list[Any] = []
    rdflive.subscribe(stream, QUERY, reports.append, window=rdflive.Sliding(3, 1), output="rstream")
    stream.add(fact("a", "b"), at=1)
    stream.add(fact("a", "c"), at=2)
    stream.add(fact("a", "d"), at=1_700_000_000)
    assert [(delta.time, len(delta.added)) for delta in reports] == [(1, 1), (2, 2), (3, 2), (4, 1)]
    assert not any(delta.removed or delta.expired for delta in reports)


def test_rstream_answers_that_wait_replace_each_other() -> None:
    """Whoever iterates slowly gets the last whole answer."""
    stream = rdflive.Stream()
    whole = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(9, 1), output="rstream")
    deltas = whole.deltas(timeout=5)
    stream.add(fact("a", "b"), at=1)
    stream.advance_to(5)
    delta = next(deltas)
    assert (delta.time, len(delta.added)) == (5, 1)


def test_times_never_go_back() -> None:
    """A late element of one window does not take another's time back."""
    stream = rdflive.Stream(lateness=10)
    times: list[Any] = []
    rdflive.subscribe(stream, QUERY, lambda delta: times.append(delta.time), window=rdflive.Sliding(40))
    rdflive.subscribe(stream, QUERY, window=rdflive.Tumbling(5, closed="right"))
    stream.add(fact("a", "b"), at=138)
    stream.add(fact("a", "c"), at=134)
    stream.add(fact("a", "d"), at=135)
    known = [time for time in times if time is not None]
    assert known == sorted(known)


def test_windows_beside_different_graphs_share_no_closure() -> None:
    """One text reads the default graph, the other a named one, over one stream."""
    from rdflib import Dataset

    dataset = Dataset()
    dataset.add(fact("a", "b"))
    dataset.graph(EX.other).add(fact("a", "c"))
    stream = rdflive.Stream(dataset)
    text = "SELECT * {} FROM STREAM <http://e/s> [RANGE 9s] WHERE {{ ?x <http://example.org/in> ?y }}"
    options: dict[str, Any] = {"streams": {"http://e/s": stream}, "rules": TRANSITIVE}
    one = rdflive.register(text.format(""), **options)
    other = rdflive.register(text.format("FROM <http://example.org/other>"), **options)
    stream.add(fact("b", "z"), at=1)
    assert {str(s["y"])[-1] for s in one.answers()} == {"b", "z"}
    assert {str(s["y"])[-1] for s in other.answers()} == {"c", "z"}


def test_streams_made_alone_can_be_read_together() -> None:
    """Two streams that stand beside no graph are brought together by the query that reads both."""
    one, other = rdflive.Stream(), rdflive.Stream()
    text = """PREFIX : <http://example.org/> SELECT * FROM NAMED WINDOW :v ON :s [RANGE 9s]
        FROM NAMED WINDOW :w ON :t [RANGE 9s] { WINDOW :v { ?x :in ?y } WINDOW :w { ?y :in ?z } }"""
    both = rdflive.register(text, streams={EX.s: one, EX.t: other})
    one.add(fact("a", "b"), at=1)
    other.add(fact("b", "c"), at=2)
    assert len(both.answers()) == 1
    third = rdflive.Stream()
    alone = rdflive.subscribe(third, QUERY, window=rdflive.Sliding(9))
    with pytest.raises(ValueError, match="the same graph"):
        rdflive.register(text, streams={EX.s: one, EX.t: third})
    alone.close()
    assert rdflive.register(text, streams={EX.s: one, EX.t: third}).answers() == []


def test_a_text_with_windows_is_for_register() -> None:
    """A stream that is subscribed to with such a text points there."""
    with pytest.raises(rdflive.QuerySyntaxError, match=r"rdflive\.register"):
        rdflive.subscribe(rdflive.Stream(), "ASK FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o }")
