"""The widget of a subscription: what it sends to its views, and when."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import rdflib
from rdflib import XSD, BNode, Literal, Namespace, URIRef

import rdflive
from rdflive.delivery import widget as widgets
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


def rows(widget: Any) -> list[list[Any]]:
    return [[row["sign"], *row["cells"], row["label"], row["number"]] for row in widget.shown["rows"]]


def is_behind(widget: Any, sequence: int) -> bool:
    return bool(widget.shown["caption"].endswith((f"#{sequence}", f"–{sequence}")))


def test_a_widget_shows_bars_and_rows_and_what_changes(
    graph: rdflib.Graph, late: rdflive.Subscription
) -> None:
    """A row that came has a +, one that went a −; the bar is as long as the number of its variable."""
    widget = late.widget("minutes")
    assert (widget.shown["titles"], widget.shown["chart"]) == (["?train", "?minutes"], 1)
    assert widget.shown["caption"] == "late: 2 solutions"
    assert widget.shown["prefixes"] == ": <http://example.org/>"
    assert rows(widget) == [["", ":T201", "7", ":T201", 7.0], ["", ":T101", "4", ":T101", 4.0]]
    # in another thread, as the feeds of a notebook write
    thread = threading.Thread(target=delay, args=(graph, "T101", 9))
    thread.start()
    thread.join()
    until(lambda: is_behind(widget, 1))
    assert rows(widget) == [
        ["+", ":T101", "9", ":T101", 9.0],
        ["", ":T201", "7", ":T201", 7.0],
        ["−", ":T101", "4", ":T101", 4.0],
    ]


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
        assert [float(row[2]) for row in rows(widget)] == [row[4] for row in rows(widget)]
        assert len(rows(widget)) <= 40


def _shows(widget: Any, answer: list[list[str]]) -> bool:
    return [row[1:3] for row in rows(widget) if row[0] != "−"] == answer


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
    before = rows(widget)
    delay(graph, "T101", 9)
    until(lambda: is_behind(other, 1))
    assert rows(widget) == before
    assert [row[4] for row in rows(other)] == [None, None, None]
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
    assert first.shown["caption"] == "late: 2 solutions"


def test_a_widget_outlives_its_subscription(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """What it shows stays; a closed subscription makes none."""
    widget = late.widget("minutes")
    late.close()
    delay(graph, "T101", 9)
    until(lambda: all(thread.name != "rdflive-display" for thread in threading.enumerate()))
    assert rows(widget)[0][:2] == ["", ":T201"]
    with pytest.raises(rdflive.ClosedError):
        late.widget("minutes")


def test_a_chart_is_of_a_variable(graph: rdflib.Graph, late: rdflive.Subscription) -> None:
    """Anything else is refused with those that there are."""
    with pytest.raises(ValueError, match=r"\(train, minutes\), got 'delay'"):
        late.widget("delay")
    with rdflive.subscribe(graph, "ASK { ?s ?p 7 }") as asked:
        with pytest.raises(ValueError, match=r"\(none\), got 'p'"):
            asked.widget("p")
        assert (asked.widget().shown["caption"], rows(asked.widget())) == ("ASK { ?s ?p 7 }: true", [])
    with rdflive.subscribe(graph, "CONSTRUCT WHERE { ?s :delay 7 }") as made:
        shown = made.widget().shown
        assert (shown["titles"], shown["chart"]) == (["subject", "predicate", "object"], None)
        assert shown["rows"][0]["cells"] == [":T201", ":delay", "7"]


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
    glimpse = Glimpse(Header("SELECT", ("x", "y")), [((E.s, term), 1)])
    (row,) = widgets.contents(glimpse, None, "title", "y")["rows"]
    assert row["number"] == number
    assert len(row["cells"]) == 2


def test_labels_of_bars_are_without_quotes() -> None:
    """They are the terms of the other variables."""
    terms = (Literal("Coast Line", lang="en"), E.T1, None, Literal(4))
    glimpse = Glimpse(Header("SELECT", ("a", "b", "c", "d"), prefixes=lambda: {"": str(E)}), [(terms, 1)])
    (row,) = widgets.contents(glimpse, None, "title", "d")["rows"]
    assert row["label"].split() == ["Coast", "Line", ":T1"]
    assert row["cells"] == ['"Coast Line"@en', ":T1", "", "4"]


def test_numbers_of_pyoxigraph_have_bars_too() -> None:
    """They are read as those of rdflib are."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    glimpse = Glimpse(Header("SELECT", ("x",)), [((pyoxigraph.Literal(7),), 1)])
    assert widgets.contents(glimpse, None, "title", "x")["rows"][0]["number"] == 7.0


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_terms_are_sent_as_printable_texts(term: Any) -> None:
    """Nothing turns the writing round, and everything can be sent as JSON."""
    glimpse = Glimpse(Header("SELECT", ("x", "y")), [((term, Literal(1)), 1)])
    shown = widgets.contents(glimpse, None, "a\u202eb", "y")
    for text in (*shown["rows"][0]["cells"], shown["rows"][0]["label"], shown["caption"]):
        assert text.isprintable()
    json.dumps(shown, ensure_ascii=False, allow_nan=False).encode()


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
            until(lambda: [row["cells"] for row in widget.shown["rows"]] == [[":T101"]])


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
