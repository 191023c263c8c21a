"""Corners of windows in which answers were once wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rdflib import RDFS, Graph, Namespace

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


def test_a_query_opened_later_sees_what_its_window_has_reported() -> None:
    """What a window with shorter steps has taken in already is not in the first answer over a slower one."""
    stream = rdflive.Stream()
    slow: dict[str, Any] = {"window": rdflive.Sliding(10, 5), "rules": TRANSITIVE}
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 1))
    rdflive.subscribe(stream, QUERY.replace("/in>", "/on>"), **slow)
    stream.add([fact("a", "b"), (EX.a, EX.on, EX.b)], at=1)
    stream.advance_to(5)
    stream.add(fact("b", "c"), at=6)
    stream.advance_to(7)
    late = rdflive.subscribe(stream, QUERY, **slow)
    assert len(late.answers()) == 1
    stream.advance_to(10)
    assert len(late.answers()) == 3


def test_a_change_of_the_graph_that_waits_puts_off_no_expiry() -> None:
    """Until a window reports, what it holds goes as if the graph beside it had not changed."""
    graph = Graph()
    stream = rdflive.Stream(graph)
    options: dict[str, Any] = {"window": rdflive.Sliding(10, 4), "expires": True}
    with rdflive.subscribe(stream, QUERY, **options) as first:
        stream.add(fact("a", "b"), at=1)
        stream.advance_to(4)
        graph.add(fact("a", "b"))
        (added,) = next(rdflive.subscribe(stream, QUERY, **options).deltas()).added
        assert added.expires == 12
        stream.advance_to(12)
        assert len(first.answers()) == 1


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


@pytest.mark.parametrize(
    ("window", "held"),
    [
        (rdflive.Sliding(4), "5678"),
        (rdflive.Sliding(4, closed="both"), "45678"),
        (rdflive.Sliding(4, 2), "5678"),
        (rdflive.Sliding(4, 2, closed="left"), "4567"),
        (rdflive.Sliding(4, 2, closed="both"), "45678"),
        (rdflive.Sliding(4, 2, closed="neither"), "567"),
        (rdflive.Sliding(4, 2, start=1), "4567"),
        (rdflive.Sliding(2, 3), "56"),
        (rdflive.Tumbling(4), "4567"),
        (rdflive.Tumbling(4, closed="right"), "5678"),
        (rdflive.Tumbling(3, start=1), "456"),
        (rdflive.Landmark(3), "345678"),
        (rdflive.Landmark(3, step=4), "34567"),
        (rdflive.Count(3), "678"),
        (rdflive.Count(3, 2), "567"),
        (rdflive.Count(4, 3, of="triples"), "5678"),
    ],
)
def test_a_window_holds_what_its_ends_let_in(window: Any, held: str) -> None:
    """At its last report a window holds what came between its ends, and at them where it is closed."""
    stream = rdflive.Stream()
    told: Counter[Any] = Counter()
    subscription = rdflive.subscribe(stream, QUERY, lambda d: told.update(d.weights()), window=window)
    for at in range(9):
        stream.add(fact("a", str(at)), at=at)
    stream.advance_to(8)
    for found in (subscription.answers(), told.elements()):
        assert "".join(sorted(str(solution["y"])[-1] for solution in found)) == held


def test_a_removal_is_no_element_of_a_count() -> None:
    """It takes nothing out of the window but what it names."""
    stream = rdflive.Stream()
    last = rdflive.subscribe(stream, QUERY, window=rdflive.Count(2))
    stream.add(fact("a", "b"), at=1)
    stream.remove(fact("x", "y"), at=2)
    stream.add(fact("a", "c"), at=3)
    assert len(last.answers()) == 2


def test_windows_that_are_one_graph_hold_a_triple_once() -> None:
    """It lasts as long as the window that holds it longest, and a later query finds it once."""
    text = """SELECT * FROM STREAM <http://e/s> [RANGE 4s STEP 1s] FROM STREAM <http://e/t> [RANGE 9s STEP 1s]
        { ?x <http://example.org/in> ?y }"""
    one, other = rdflive.Stream(), rdflive.Stream()
    options: dict[str, Any] = {"streams": {"http://e/s": one, "http://e/t": other}, "expires": True}
    deltas: list[Any] = []
    first = rdflive.register(text, deltas.append, **options)
    for stream in (one, other):
        stream.add(fact("a", "b"), at=1)
        stream.advance_to(1)
    assert len(rdflive.register(text.replace("?x", "?z"), **options).answers()) == 1
    assert len(first.answers()) == 1
    assert next(rdflive.register(text, **options).deltas()).added[0].expires == 10


@pytest.mark.parametrize("lateness", [None, 2])
def test_windows_that_report_together_are_told_at_once(lateness: int | None) -> None:
    """A query over two windows gets one delta of an instant at which both report."""
    text = """PREFIX : <http://example.org/> SELECT * FROM NAMED WINDOW :v ON :s [RANGE 9s STEP 3s]
        FROM NAMED WINDOW :w ON :s [RANGE 6s STEP 3s] { WINDOW :v { ?x :in ?y } WINDOW :w { ?x :in ?z } }"""
    stream = rdflive.Stream(lateness=lateness)
    deltas: list[Any] = []
    rdflive.register(text, deltas.append, streams={EX.s: stream})
    for value, at in (("b", 1), ("c", 2), ("d", 4)):
        stream.add(fact("a", value), at=at)
    stream.advance_to(20)
    told = [(delta.time, len(delta.added), len(delta.removed)) for delta in deltas[1:]]
    assert told == [(3, 4, 0), (6, 5, 0), (9, 0, 6), (12, 0, 3)]


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
    assert all(delta.initial for delta in reports)


def test_rstream_answers_wait_beside_each_other() -> None:
    """A slow iterator gets the full answer of each report."""
    stream = rdflive.Stream()
    whole = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(9, 1), output="rstream")
    deltas = whole.deltas(timeout=5)
    stream.add(fact("a", "b"), at=1)
    stream.advance_to(5)
    told = [next(deltas) for _ in range(5)]
    assert [(delta.time, len(delta.added)) for delta in told] == [(time, 1) for time in range(1, 6)]


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


STEPPED = (
    rdflive.Sliding(10, 2),
    rdflive.Tumbling(10),
    rdflive.Tumbling(10, closed="right"),
    rdflive.Landmark(0, step=5),
)


@pytest.mark.parametrize("expiry", WAYS)
@pytest.mark.parametrize("first", ["element", "advance"])
@pytest.mark.parametrize("delay", [None, 3])
@pytest.mark.parametrize("window", STEPPED, ids=repr)
def test_what_changed_before_the_first_instant_is_in_the_last_report_up_to_it(
    window: Any, delay: int | None, first: str, expiry: Any
) -> None:
    """A change of the graph beside a stream that has no time yet waits for no element after it."""
    graph = Graph()
    stream = rdflive.Stream(graph, delay=delay)
    told: list[tuple[float, int]] = []
    options: dict[str, Any] = {"window": window, "rules": TRANSITIVE, "expiry": expiry}
    with rdflive.subscribe(
        stream, QUERY, lambda delta: told.append((delta.time, len(delta.added))), **options
    ) as held:
        graph.add(fact("a", "b"))
        assert held.answers() == []
        if first == "element":
            stream.add((EX.x, EX.other, EX.y), at=105)
        else:
            stream.advance_to(105)
        complete = 105 if first == "advance" else 105 - (delay or 0) - NANOSECOND
        step, lag = window.cadence.step / 1e9, window.cadence.lag * NANOSECOND
        assert told[-1:] == [((complete + lag) // step * step, 1)]
        assert len(held.answers()) == 1
        graph.add(fact("b", "c"))
        stream.advance_to(200)
        assert len(held.answers()) == 3


@pytest.mark.parametrize("expiry", WAYS)
@pytest.mark.parametrize("window", [rdflive.Count(2), rdflive.Count(2, of="triples")], ids=repr)
def test_a_change_of_the_graph_shows_at_once_with_windows_that_report_each_element(
    window: Any, expiry: Any
) -> None:
    """Before the first element, between two, and after some have left."""
    graph = Graph()
    stream = rdflive.Stream(graph)
    with rdflive.subscribe(stream, QUERY, window=window, rules=TRANSITIVE, expiry=expiry) as held:
        graph.add(fact("a", "b"))
        assert len(held.answers()) == 1
        stream.add(fact("b", "c"), at=1)
        assert len(held.answers()) == 3
        graph.remove(fact("a", "b"))
        assert len(held.answers()) == 1
        stream.add([fact("x", "y")], at=2)
        stream.add([fact("y", "z")], at=2)
        assert len(held.answers()) == 3
        graph.add(fact("z", "a"))
        assert len(held.answers()) == 6


def test_what_comes_at_the_instant_that_was_advanced_to_is_late() -> None:
    """All up to there has come, it included; a lateness lets it correct the last report."""
    for lateness, answers in ((None, 0), (2, 1)):
        stream = rdflive.Stream(lateness=lateness)
        held = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 5))
        stream.advance_to(10)
        assert stream.add(fact("a", "b"), at=10) is bool(answers)
        assert (stream.late, len(held.answers())) == (1 - answers, answers)
        assert stream.add(fact("a", "c"), at=10 + NANOSECOND)
        assert stream.add(fact("a", "d"), at=10 + NANOSECOND)
        assert not stream.remove(fact("a", "b"), at=7)


def test_an_rstream_is_not_ahead_of_its_reports() -> None:
    """After reports at which nothing was held it does not show an element that came after its window."""
    stream = rdflive.Stream()
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(3))
    told: list[Any] = []
    rdflive.subscribe(stream, QUERY, told.append, window=rdflive.Tumbling(2), output="rstream")
    stream.add(fact("a", "b"), at=57)
    stream.add([], at=69)
    del told[:]
    stream.add(fact("b", "c"), at=72)
    assert told == []
    stream.advance_to(80)
    assert [(delta.time, len(delta.added)) for delta in told] == [(74, 1)]


@pytest.mark.parametrize("window", [rdflive.Sliding(3), rdflive.Sliding(3, 1)])
def test_what_comes_late_is_told_where_the_last_report_holds_it(window: Any) -> None:
    """That is so too where that report had nothing to tell: those before it are over."""
    stream = rdflive.Stream(lateness=9)
    told: list[Any] = []
    rdflive.subscribe(stream, QUERY, told.append, window=window)
    stream.advance_to(5)
    del told[:]
    assert stream.add(fact("a", "b"), at=1)
    assert told == []
    assert stream.add(fact("b", "c"), at=4)
    assert [(delta.time, len(delta.added), len(delta.removed)) for delta in told] == [(5, 1, 0)]
    stream.advance_to(20)
    assert [(delta.time, len(delta.expired)) for delta in told[1:]] == [(7, 1)]


def test_a_removal_counts_after_what_came_later_and_happened_earlier() -> None:
    """With a delay, elements that wait are put in the order of their instants for windows that count too."""
    stream = rdflive.Stream(delay=5)
    held = rdflive.subscribe(stream, QUERY, window=rdflive.Count(4, 2))
    stream.remove(fact("a", "b"), at=3)
    stream.add(fact("a", "b"), at=2)
    stream.add(fact("b", "c"), at=4)
    stream.advance_to(10)
    assert [row.x for row in held.answers()] == [EX.b]


@pytest.mark.parametrize("before", ["nothing", "an element without triples"])
def test_what_a_report_without_a_change_held_decides_what_expires(before: str) -> None:
    """A report that was passed over counts: what came after it and passed before the next one expires.

    The answer about a is owed to the graph, then to the stream as well; the graph loses it first.
    """
    graph = Graph()
    graph.add(fact("a", "b"))
    stream = rdflive.Stream(graph)
    other = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(4, 3))
    stream.advance_to(12)
    if before != "nothing":
        stream.add([], at=13)
    told: list[rdflive.Delta] = []
    query = "SELECT DISTINCT ?x { ?x ?p ?y }"
    subscription = rdflive.subscribe(stream, query, told.append, window=rdflive.Sliding(2, 5))
    stream.add([fact("c", "d")], at=17)
    stream.add([fact("a", "d")], at=18)
    graph.remove(fact("a", "b"))
    stream.advance_to(21)
    assert [(len(delta.added), len(delta.removed), len(delta.expired)) for delta in told] == [
        (1, 0, 0),
        (0, 1, 1),
    ]
    assert other.answers()
    assert subscription.answers() == []


def test_a_triple_that_came_twice_between_two_reports_has_come() -> None:
    """What a window with shorter steps saw come and be renewed is new to one with longer steps."""
    stream = rdflive.Stream()
    slow = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 5))
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 1))
    for instant in (6, 7):
        stream.add(fact("a", "b"), at=instant)
        stream.advance_to(instant)
    assert slow.answers() == []
    stream.advance_to(10)
    assert len(slow.answers()) == 1


def test_a_triple_that_came_and_went_between_two_reports_leaves_no_terms() -> None:
    """What a slower window is still to be told is held until then, and no longer."""
    stream = rdflive.Stream()
    slow = rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 5))
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding(10, 1))
    dictionary = slow._live().dictionary
    bare = len(dictionary)
    stream.add(fact("a", "b"), at=6)
    stream.advance_to(6)
    stream.remove(fact("a", "b"), at=7)
    stream.advance_to(7)
    assert len(dictionary) > bare
    stream.advance_to(10)
    assert len(dictionary) == bare


@pytest.mark.parametrize("window", [rdflive.Tumbling(5), rdflive.Sliding(10, 5)])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?x <http://example.org/in> <http://example.org/b> }",
        "SELECT ?x ?y { ?x <http://example.org/in> <http://example.org/b> ; <http://example.org/of> ?y }",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_who_joins_before_a_report_takes_nothing_from_others(window: Any, text: str, first: bool) -> None:
    """A change of the graph that waits for a report is told to each member, by rules or not."""
    graph = Graph()
    graph.add((EX.of, RDFS.subPropertyOf, EX["in"]))
    stream = rdflive.Stream(graph)
    told: list[Counter[Any]] = []

    def follow(asked: str) -> rdflive.Subscription:
        net = Counter[Any]()
        told.append(net)

        def take(delta: rdflive.Delta) -> None:
            net.update(delta.added)
            net.subtract(delta.removed)
            assert min(net.values(), default=0) >= 0

        return rdflive.subscribe(stream, asked, take, window=window, entailment="rdfs")

    opened = [follow(text.replace("org/b>", "org/c>") if first else text)]
    graph.add((EX.a, EX.of, EX.b))
    graph.add((EX.c, EX["in"], EX.b))
    opened.append(follow(text))
    for at, (x, y) in ((1, "zz"), (7, "db"), (30, "zz"), (60, "zz")):
        stream.add((EX[x], EX.of, EX[y]), at=at)
    for net, subscription in zip(told, opened, strict=True):
        assert +net == Counter(subscription.answers())
    assert sum(told[1].values()) == 1


def test_what_the_graph_entails_beside_windows_is_held_for_who_asks_for_it_later() -> None:
    graph = Graph()
    graph.add((EX.of, RDFS.subPropertyOf, EX["in"]))
    stream = rdflive.Stream(graph)
    text = f"PREFIX : <{EX}> SELECT ?x ?y {{ ?x :in :%s . ?x :of ?y }}"
    options: Any = {"window": rdflive.Count(4), "entailment": "rdfs"}
    told, at = Counter[Any](), iter(range(99))

    def take(delta: rdflive.Delta) -> None:
        told.update(delta.added)
        told.subtract(delta.removed)

    def push(*names: str) -> None:
        for x, p, y in names:
            stream.add((EX[x], EX["of" if p == "o" else "in"], EX[y]), at=next(at))

    push("coc", "cib", "aib")
    rdflive.subscribe(stream, text % "a", lambda _: None, **options)
    graph.add((EX.a, EX.of, EX.b))
    later = rdflive.subscribe(stream, text % "b", take, **options)
    graph.add((EX.b, EX.of, EX.c))
    push("bob", "boc", "aoc", "bia", "aob", "cic")
    graph.add((EX.a, EX.of, EX.a))
    push("bob", "coc", "bic", "cib", "boc")
    graph.remove((EX.b, EX.of, None))
    push("zzz", "zzz", "zzz", "zzz", "zzz")
    assert set(+told) == set(later.answers()) == {(EX.a, EX.a), (EX.a, EX.b)}


@pytest.mark.parametrize("pattern", [":a :p ?x", "?x :p :a"])
def test_a_pattern_with_a_constant_takes_the_triples_of_a_slide(pattern: str) -> None:
    """It has the constant itself, as that stands elsewhere in the query too."""
    stream, told = rdflive.Stream(), Counter[Any]()

    def tell(delta: rdflive.Delta) -> None:
        told.update(row.x for row in delta.added)
        told.subtract(row.x for row in delta.removed)

    a, b, c = EX.a, EX.b, EX.c
    p = EX.p
    text = f"PREFIX : <{EX}> SELECT ?x {{ {pattern} VALUES ?x {{ :a :b }} }}"
    rdflive.subscribe(stream, text, tell, window=rdflive.Tumbling(10), algorithm="whole")
    for triple in ((a, p, b), (b, p, a), (c, p, c), (b, p, c)):
        stream.add(triple, at=1)
    stream.advance_to(10)
    assert +told == Counter([b])
    stream.advance_to(30)
    assert +told == Counter()
