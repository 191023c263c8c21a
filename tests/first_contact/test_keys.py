"""A subscription with a key tells which row came in place of which."""

from __future__ import annotations

import io
import json
import pickle
from queue import SimpleQueue
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, Namespace

import rdflive
from rdflive.feeds import Line, read_bindings
from rdflive.model import Delta, Header
from rdflive.sinks import NdjsonSink
from rdflive.sinks.events.log import EventLog
from support.event_server import event_server, stay, written
from support.serving import serving
from support.sinks import read_events

E = Namespace("http://example.org/")
DELAYS = "SELECT ?train ?delay { ?train <http://example.org/delay> ?delay }"


def set_delay(graph: rdflib.Graph, train: Any, delay: int) -> None:
    with rdflive.batch(graph):
        graph.set((train, E.delay, Literal(delay)))


def delta_of(weights: dict[Any, int]) -> Delta:
    return Delta(Header("SELECT", ("train", "delay"), key=("train",)), weights, sequence=1)


def test_a_row_that_replaces_another_is_a_change() -> None:
    """The rest is in `added` and `removed`."""
    graph = rdflib.Graph()
    graph.add((E.IC5, E.delay, Literal(7)))
    deltas: list[Delta] = []
    with rdflive.subscribe(graph, DELAYS, deltas.append, key=("train",)):
        set_delay(graph, E.IC5, 9)
        with rdflive.batch(graph):
            set_delay(graph, E.IC5, 12)
            set_delay(graph, E.IC7, 1)
        graph.remove((E.IC7, None, None))
    assert (deltas[0].changed, len(deltas[0].added)) == ((), 1)
    ((old, new),) = deltas[1].changed
    assert (old.train, old.delay, new.train, new.delay) == (E.IC5, Literal(7), E.IC5, Literal(9))
    assert (deltas[1].added, deltas[1].removed) == ((), ())
    assert [pair.new.delay for pair in deltas[2].changed] == [Literal(12)]
    assert deltas[2].added == ((E.IC7, Literal(1)),)
    assert (deltas[3].changed, deltas[3].removed) == ((), ((E.IC7, Literal(1)),))


def test_several_rows_of_a_key_are_not_paired() -> None:
    """Which came in place of which cannot be told."""
    delta = delta_of({("IC5", 1): -1, ("IC5", 2): 1, ("IC5", 3): 1, ("IC7", 1): -2, ("IC7", 2): 1})
    assert delta.changed == ()
    assert (len(delta.added), len(delta.removed)) == (3, 3)


def test_the_whole_change_is_kept() -> None:
    """Weights, truth, the opposite, sums and pickles are those of all rows."""
    first, second = delta_of({("IC5", 1): -1, ("IC5", 2): 1}), delta_of({("IC5", 2): -1, ("IC5", 3): 1})
    assert first
    assert first.weights() == {("IC5", 1): -1, ("IC5", 2): 1}
    assert (-first).changed == ((("IC5", 2), ("IC5", 1)),)
    assert (first + second).changed == ((("IC5", 1), ("IC5", 3)),)
    assert pickle.loads(pickle.dumps(first)).changed == first.changed
    assert first.native.changed == first.changed
    assert (first.unpaired.changed, len(first.unpaired.added)) == ((), 1)
    assert repr(first) == "<Delta #1: 0 added, 0 removed, 1 changed>"
    assert str(first) == "#1  + IC5 2  − IC5 1"


ROWS = st.tuples(st.sampled_from("abc"), st.integers(0, 3))


@given(st.dictionaries(ROWS, st.integers(-2, 2).filter(bool)))
def test_no_row_is_lost_and_none_is_told_twice(weights: dict[Any, int]) -> None:
    """What is paired and the rest are the whole delta; a key is paired once at most."""
    delta = delta_of(weights)
    told = [*delta.added, *(new for _, new in delta.changed)]
    went = [*delta.removed, *(old for old, _ in delta.changed)]
    net = {row: told.count(row) - went.count(row) for row in {*told, *went}}
    assert net == weights
    keys = [new.train for _, new in delta.changed]
    assert keys == [old.train for old, _ in delta.changed]
    assert len(keys) == len(set(keys))
    for key in keys:
        assert all(row.train != key for row in (*delta.added, *delta.removed))


NO_KEY = r"key=\('train',\)"
NOT_SHOWN = r"\?stop, which SELECT does not show; it shows: \?train"


@pytest.mark.parametrize(
    ("query", "key", "error", "said"),
    [
        (DELAYS, ("stop",), rdflive.PlanError, NOT_SHOWN),
        (DELAYS, ("train", "stop"), rdflive.PlanError, NOT_SHOWN),
        ("ASK { ?train ?p ?o }", ("train",), rdflive.PlanError, "is for SELECT queries"),
        ("CONSTRUCT WHERE { ?train ?p ?o }", ("train",), rdflive.PlanError, "is for SELECT queries"),
        (DELAYS, "train", TypeError, NO_KEY),  # it would be taken for its letters
        (DELAYS, 5, TypeError, NO_KEY),
        (DELAYS, (), ValueError, NO_KEY),
        (DELAYS, (5,), ValueError, NO_KEY),
    ],
)
def test_what_is_no_key_is_refused(query: str, key: Any, error: type[Exception], said: str) -> None:
    """It is of variables that SELECT shows; the error lists them, or gives an example."""
    with pytest.raises(error, match=said):
        rdflive.subscribe(rdflib.Graph(), query, key=key)


def test_lines_of_json_have_the_pairs() -> None:
    """They can be read again as the same change."""
    graph, text = rdflib.Graph(), io.StringIO()
    graph.add((E.IC5, E.delay, Literal(7)))
    with rdflive.subscribe(graph, DELAYS, NdjsonSink(text), key=("train",)):
        set_delay(graph, E.IC5, 9)
    first, second = map(json.loads, text.getvalue().splitlines())
    assert first["changed"] == []
    assert (second["added"], second["removed"]) == ([], [])
    ((old, new),) = [(pair["old"], pair["new"]) for pair in second["changed"]]
    assert (old["delay"]["value"], new["delay"]["value"]) == ("7", "9")
    lines = [Line(line, number) for number, line in enumerate(text.getvalue().splitlines())]
    again = list(read_bindings(lines, "x", format="sparql-incremental"))
    assert again[1].weights() == {(E.IC5, Literal(7)): -1, (E.IC5, Literal(9)): 1}


def test_events_of_a_server_have_the_pairs() -> None:
    """Also those that are merged for a slow client."""
    graph, log = rdflib.Graph(), EventLog()
    graph.add((E.IC5, E.delay, Literal(7)))
    with rdflive.subscribe(graph, DELAYS, log.publish, key=("train",)):
        reader = log.join()
        first = log.next_for(reader)
        set_delay(graph, E.IC5, 9)
        set_delay(graph, E.IC5, 12)
        graph.add((E.IC7, E.delay, Literal(1)))
        event = log.next_for(reader)
    assert first is not None
    assert (len(first.added), first.changed) == (1, ())
    assert event is not None
    members = json.loads(b"".join(event.pieces()).split(b"data: ")[1])
    assert (len(members["added"]), members["removed"]) == (1, [])
    ((old, new),) = [(pair["old"], pair["new"]) for pair in members["changed"]]
    assert (old["delay"]["value"], new["delay"]["value"]) == ("7", "12")


def binding(delay: int) -> dict[str, Any]:
    number = {"type": "literal", "value": str(delay), "datatype": str(rdflib.XSD.integer)}
    return {"train": {"type": "uri", "value": str(E.IC5)}, "delay": number}


def test_a_client_of_a_server_pairs_by_a_key() -> None:
    """`connect(...).subscribe` takes it too, whatever the server knows of keys."""
    head = {"form": "SELECT", "head": {"vars": ["train", "delay"]}, "subscription": "a", "initial": True}
    first = written("initial", "1-e", sequence=1, added=[binding(7)], removed=[], **head)
    second = written("update", "2-e", sequence=2, added=[binding(9)], removed=[binding(7)])
    told: SimpleQueue[Delta] = SimpleQueue()
    with event_server() as server:
        server.play(stay(first, second))
        with server.client().subscribe(DELAYS, told.put, key=("train",)) as delays:
            assert delays.variables == ("train", "delay")
            assert told.get(timeout=20).changed == ()
            ((old, new),) = told.get(timeout=20).changed
        assert (old.delay, new.delay) == (Literal(7), Literal(9))
        server.play(stay(first))
        with pytest.raises(rdflive.PlanError, match=r"\?stop"):
            server.client().subscribe(DELAYS, key=("stop",))


@pytest.mark.posix("the server forks")
def test_a_server_pairs_by_a_key() -> None:
    """The parameter `key` asks for it; another key is another subscription."""
    with serving() as server:
        server.dataset.default_graph.add((E.IC5, E.delay, Literal(7)))
        url = f"{server.url}/subscribe?{urlencode({'query': DELAYS, 'key': 'train'})}"
        with urlopen(url, timeout=20) as stream:
            events = read_events(stream)
            assert next(events).data["changed"] == []
            set_delay(server.dataset.default_graph, E.IC5, 9)
            (pair,) = next(event for event in events if event.kind == "update").data["changed"]
            assert (pair["old"]["delay"]["value"], pair["new"]["delay"]["value"]) == ("7", "9")
        with pytest.raises(HTTPError) as refused:
            urlopen(f"{server.url}/subscribe?{urlencode({'query': DELAYS, 'key': 'stop'})}", timeout=20)
        assert refused.value.code == 400
        with refused.value:
            assert "?stop" in json.load(refused.value)["detail"]
