"""The widget of a subscription: what it sends to its views, and when."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
import rdflib
from rdflib import XSD, BNode, Literal, Namespace, URIRef

import rdflive
from rdflive.delivery import widget as widgets
from rdflive.delivery.widget import bars
from rdflive.model import Glimpse, Header
from support.effort import drawn_from, rounds
from support.event_server import event_server, stay, written
from support.waiting import until

E = Namespace("http://example.org/")
LATE = "SELECT ?train ?minutes { ?train :delay ?minutes } ORDER BY DESC(?minutes) ?train"
HOSTILE = [
    Literal("<img src=x onerror=alert(1)>"),
    Literal("\x1b[2J\r\n\u202egnp.exe\u2028"),
    Literal("\ud800", lang="en"),
    URIRef("http://example.org/\x1b]0;x\x07<i>"),
    BNode("<b>&amp;"),
]


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.bind("", E)
    graph.update("INSERT DATA { :T101 :delay 4 . :T201 :delay 7 }")
    return graph


@pytest.fixture
def late(graph: rdflib.Graph) -> Iterator[rdflive.Subscription]:
    pytest.importorskip("anywidget", reason="the extra notebook")
    with rdflive.subscribe(graph, LATE, name="late") as subscription:
        yield subscription


def delay(graph: rdflib.Graph, train: str, minutes: int) -> None:
    with rdflive.batch(graph):
        graph.set((E[train], E.delay, Literal(minutes)))


def rows(html: str) -> list[list[str]]:
    """List the rows of the table, each with its sign."""
    table = ElementTree.fromstring(f"<div>{html}</div>").iter("tr")
    texts = [[cell.text or "" for cell in row] for row in table]
    signed = bool(texts) and texts[0][0] == ""
    return [row if signed else ["", *row] for row in texts[1:]]


def bars_of(html: str) -> list[tuple[str, str, float, float]]:
    """List the bars: the label, the number, and where the bar begins and how long it is, in percent."""
    (figure,) = ElementTree.fromstring(f"<div>{html}</div>").findall("div[@role='img']")
    parts = [(part.text or "", [each.get("style", "") for each in part]) for part in figure]
    places = [
        [float(n) for n in re.findall(r"(?:left|width):([\d.]+)%", track[0])] for _, track in parts[1::3]
    ]
    return [
        (label, number, left, width)
        for (label, _), (number, _), (left, width) in zip(parts[::3], parts[2::3], places, strict=True)
    ]


def is_behind(widget: Any, sequence: int) -> bool:
    return bool(re.search(rf"[#–]{sequence}</caption>", widget.html))


def test_a_widget_shows_bars_and_rows_and_what_changes(
    graph: rdflib.Graph, late: rdflive.Subscription
) -> None:
    """A row that came has a +, one that went a −; the bar is as long as the number of its variable."""
    widget = late.widget("minutes")
    assert ">late: 2 solutions</caption>" in widget.html
    assert "?train" in widget.html
    assert ": &lt;http://example.org/&gt;" in widget.html
    assert 'aria-label="?minutes as bars"' in widget.html
    assert rows(widget.html) == [["", ":T201", "7"], ["", ":T101", "4"]]
    assert bars_of(widget.html) == [(":T201", "7", 0, 100), (":T101", "4", 0, 57.14)]
    # in another thread, as the feeds of a notebook write
    thread = threading.Thread(target=delay, args=(graph, "T101", 9))
    thread.start()
    thread.join()
    until(lambda: is_behind(widget, 1))
    assert rows(widget.html) == [["+", ":T101", "9"], ["", ":T201", "7"], ["−", ":T101", "4"]]
    assert [bar[:2] for bar in bars_of(widget.html)] == [(":T101", "9"), (":T201", "7")]
    assert widget.bundle["text/plain"].splitlines()[1:] == [":T101   9", ":T201   7"]


def test_a_widget_shows_the_first_rows_after_each_of_many_changes(
    graph: rdflib.Graph, late: rdflive.Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there, without what went, is the answer; of more than 20 rows the first 20, and no more go."""
    for seconds in ("_GATHER", "_PAUSE"):
        monkeypatch.setattr(f"rdflive.delivery.widget.{seconds}", 0)
    widget = late.widget("minutes")
    drawn = drawn_from("a widget")
    for number in range(rounds(200, share=20)):
        with rdflive.batch(graph):
            for _ in range(drawn.choice([1, 2, 30])):
                train, minutes = E[f"T{drawn.randrange(40)}"], Literal(drawn.randrange(9))
                graph.remove((train, E.delay, None))
                if minutes.value:
                    graph.add((train, E.delay, minutes))
            graph.set((E.clock, E.shows, Literal(number)))
        answer = [[f":{row.train.removeprefix(E)}", str(row.minutes)] for row in late.answers()[:20]]
        until(partial(_shows, widget, answer))
        assert [list(bar[:2]) for bar in bars_of(widget.html)] == answer
        assert len(rows(widget.html)) <= 40


def _shows(widget: Any, answer: list[list[str]]) -> bool:
    return [row[1:] for row in rows(widget.html) if row[0] != "−"] == answer


def _displays(earlier: set[threading.Thread]) -> list[threading.Thread]:
    """List the threads of widgets that were not there before: those of another test may still be ending."""
    return [t for t in threading.enumerate() if t.name == "rdflive-display" and t not in earlier]


def test_a_closed_widget_follows_no_more(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """Its thread ends, and the subscription keeps nothing for it."""
    earlier = set(threading.enumerate())
    widget, other = late.widget("minutes"), late.widget()
    threads = _displays(earlier)
    assert len(threads) == 2
    widget.close()
    until(lambda: sum(thread.is_alive() for thread in threads) == 1)
    before = widget.html
    delay(graph, "T101", 9)
    until(lambda: is_behind(other, 1))
    assert widget.html == before
    assert "as bars" not in other.html
    late.widget("train")
    assert sum(mailbox.is_stopped for mailbox, _ in late._followers) == 0


def test_however_often_a_cell_is_run_one_widget_of_a_chart_follows(
    graph: rdflib.Graph, late: rdflive.Subscription
) -> None:
    """The last one; that of another chart follows beside it."""
    earlier = set(threading.enumerate())
    first, other = late.widget("minutes"), late.widget("train")
    for _ in range(20):
        last = late.widget("minutes")
    until(lambda: len(_displays(earlier)) == 2)
    delay(graph, "T101", 9)
    until(lambda: is_behind(last, 1) and is_behind(other, 1))
    assert ">late: 2 solutions</caption>" in first.html


def test_a_widget_outlives_its_subscription(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """What it shows stays; a closed subscription makes none."""
    widget = late.widget("minutes")
    late.close()
    delay(graph, "T101", 9)
    until(lambda: all(thread.name != "rdflive-display" for thread in threading.enumerate()))
    assert rows(widget.html)[0] == ["", ":T201", "7"]
    with pytest.raises(rdflive.ClosedError):
        late.widget("minutes")


def test_a_chart_is_of_a_variable(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """Anything else is refused with those that there are."""
    with pytest.raises(ValueError, match=r"\(train, minutes\), got 'delay'"):
        late.widget("delay")
    with rdflive.subscribe(graph, "ASK { ?s ?p 7 }") as asked:
        with pytest.raises(ValueError, match=r"\(none\), got 'p'"):
            asked.widget("p")
        assert (">ASK { ?s ?p 7 }: true<" in asked.widget().html, rows(asked.widget().html)) == (True, [])
    with rdflive.subscribe(graph, "CONSTRUCT WHERE { ?s :delay 7 }") as made:
        assert rows(made.widget().html) == [["", ":T201", ":delay", "7"]]


@pytest.mark.parametrize(
    ("term", "number"),
    [
        (Literal(7), 7.0),
        (Literal(Decimal("1.5")), 1.5),
        (Literal("-2.5e3", datatype=XSD.double), -2500.0),
        (Literal("INF", datatype=XSD.double), None),
        (Literal("NaN", datatype=XSD.double), None),
        (Literal(10**400), None),
        (Literal(True), None),
        (Literal("7"), None),
        (Literal("soon", datatype=XSD.integer), None),
        (URIRef("urn:7"), None),
        (None, None),
    ],
    ids=str,
)
def test_bars_are_finite_numbers(term: Any, number: float | None) -> None:
    """All else has none, and is a row of the table."""
    html = bars(Glimpse(Header("SELECT", ("x", "y")), [((E.s, term), 1)]), None, "y")
    share = 0 if number == 0 else 100
    drawn = [(left, width) for _, _, left, width in bars_of(html)]
    assert drawn == ([] if number is None else [(0, share)])


def test_bars_of_a_negative_number_go_to_the_left() -> None:
    """All begin at the same place, and the longest two fill the space together."""
    numbers = [-5, 15, 0]
    glimpse = Glimpse(Header("SELECT", ("x",)), [((Literal(number),), 1) for number in numbers])
    assert bars_of(bars(glimpse, None, "x")) == [
        ("", "-5", 0, 25),
        ("", "15", 25, 75),
        ("", "0", 25, 0),
    ]


def test_labels_of_bars_are_without_quotes() -> None:
    """They are the terms of the other variables."""
    terms = (Literal("Coast Line", lang="en"), E.T1, None, Literal(4))
    glimpse = Glimpse(Header("SELECT", ("a", "b", "c", "d"), prefixes=lambda: {"": str(E)}), [(terms, 1)])
    ((label, number, _, _),) = bars_of(bars(glimpse, None, "d"))
    assert (label.split(), number) == (["Coast", "Line", ":T1"], "4")


def test_numbers_of_pyoxigraph_have_bars_too() -> None:
    """They are read as those of rdflib are."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    glimpse = Glimpse(Header("SELECT", ("x",)), [((pyoxigraph.Literal(7),), 1)])
    assert bars_of(bars(glimpse, None, "x")) == [("", "7", 0, 100)]


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_terms_are_printable_texts(term: Any) -> None:
    """Nothing turns the writing round, and no term becomes HTML."""
    glimpse = Glimpse(Header("SELECT", ("x", "y\u202ez")), [((term, Literal(1)), 1)])
    html = bars(glimpse, None, "y\u202ez")
    assert html.isprintable()
    assert {each.tag for each in ElementTree.fromstring(html).iter()} == {"div"}
    assert len(bars_of(html)) == 1


def test_a_subscription_of_a_server_has_a_widget(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """It follows what the server sends."""
    row = {"x": {"type": "uri", "value": f"{E}T101"}}
    about = {"form": "SELECT", "head": {"vars": ["x"]}, "prefixes": {"": str(E)}}
    initial = written("initial", "1-e", sequence=1, added=[], removed=[], **about)
    update = written("update", "2-e", sequence=2, first_sequence=2, added=[row], removed=[])
    with event_server() as server:
        server.play(stay(initial, update))
        with server.client().subscribe("SELECT ?x { ?x :p ?y }", initial=False) as subscription:
            widget = subscription.widget()
            until(lambda: [row[1:] for row in rows(widget.html)] == [[":T101"]])


def test_without_anywidget_the_error_says_what_to_install(
    graph: rdflib.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is kept for a widget that was not made."""
    widgets.widget_type.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with rdflive.subscribe(graph, LATE, print, initial=False) as subscription:
        with pytest.raises(rdflive.MissingExtraError, match=r"a widget needs anywidget: .*install"):
            subscription.widget("minutes")
        assert subscription._followers == ()
