"""A capture tells each listener what concerns it: a graph, the union, or the quads of all graphs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.model import Batch
from rdflive.store import NAMED, UNION, Capture

A, B = ("a", "p", "o"), ("b", "p", "o")


class Log:
    """A listener that writes down what it hears."""

    def __init__(self, events: list[Any], name: str) -> None:
        self.events, self.name = events, name

    def apply(self, sign: int, change: tuple[Any, ...], /) -> bool:
        self.events.append((self.name, sign, change))
        return True

    def apply_all(self, changes: Any) -> bool:
        return max(tuple(self.apply(*change) for change in changes))

    def commit(self, sequence: int) -> None:
        self.events.append((self.name, sequence))


@pytest.fixture
def events() -> list[Any]:
    return []


def test_a_listener_to_quads_hears_every_graph_but_the_union(events: list[Any]) -> None:
    """Under `NAMED` comes each quad with the key of its graph, and nothing of the union."""
    capture = Capture()
    capture.listeners[NAMED] = Log(events, "named")
    with capture.batch():
        capture.record(1, *A, "g")
        capture.record(1, *A, UNION)
        capture.record(1, *B, "default")
    capture.record(-1, *A, "g")
    capture.record(-1, *A, UNION)
    assert events == [
        ("named", 1, (*A, "g")),
        ("named", 1, (*B, "default")),
        ("named", 1),
        ("named", -1, (*A, "g")),
        ("named", 2),
    ]


@pytest.mark.parametrize("batch", [True, False])
def test_all_listeners_apply_before_any_commits(events: list[Any], batch: bool) -> None:
    """No listener commits while another has yet to hear of the same batch."""
    capture = Capture()
    for key in ("g", NAMED):
        capture.listeners[key] = Log(events, str(key))
    if batch:
        with capture.batch():
            capture.record(1, *A, "g")
            capture.record(1, *B, "g")
    else:
        capture.record(1, *A, "g")
    assert [len(event) for event in events] == [3] * (4 if batch else 2) + [2, 2]
    assert {event[0] for event in events[-2:]} == {"g", str(NAMED)}


def test_a_listener_under_several_keys_commits_once(events: list[Any]) -> None:
    """One that follows a graph, the union and the quads hears of each, and commits once per batch."""
    capture = Capture()
    log = Log(events, "all")
    capture.listeners |= {"g": log, UNION: log, NAMED: log}
    with capture.batch():
        capture.record(1, *A, "g")
        capture.record(1, *A, UNION)
    capture.record(-1, *A, "g")
    assert [event[1:] for event in events] == [
        *((1, A), (1, A), (1, (*A, "g"))),
        *((1,), (-1, A), (-1, (*A, "g")), (2,)),
    ]


def test_pending_quads_are_the_open_net_changes() -> None:
    """Inside a batch the quads changed so far can be asked for, without the union and what cancelled."""
    capture = Capture()
    with capture.batch():
        capture.record(1, *A, "g")
        capture.record(1, *A, UNION)
        capture.record(-1, *B, "h")
        capture.record(1, *B, "i")
        capture.record(-1, *B, "i")
        assert capture.pending_quads() == {(*A, "g"): 1, (*B, "h"): -1}
        assert capture.pending("g") == {A: 1}
        capture.record(-1, *A, "g")
        capture.record(1, *B, "g")
        assert capture.pending("g") == {B: 1}
    assert not capture.pending_quads()


def test_batches_are_announced_as_quads_of_graphs() -> None:
    """A listener for batches receives each commit, even of one quad, without the quads of the union."""
    batches: list[Batch] = []
    capture = Capture()
    capture.on_batch = batches.append
    with capture.batch():
        capture.record(1, *A, "g")
        capture.record(1, *A, UNION)
        capture.record(1, *A, "h")
    capture.record(-1, *A, "g")
    assert [batch.sequence for batch in batches] == [1, 2]
    assert [list(batch.changes) for batch in batches] == [
        [(1, (*A, "g")), (1, (*A, "h"))],
        [(-1, (*A, "g"))],
    ]


def test_what_a_block_did_is_undone_and_nothing_else() -> None:
    """A block that raises is given its own net changes to reverse, also of what the open batch had done."""
    undone: list[Any] = []
    capture = Capture()

    def fail() -> None:
        with capture.undoing(undone.append):
            capture.record(-1, *A, "g")
            capture.record(-1, *A, UNION)
            capture.record(1, *B, "g")
            capture.record(1, *A, "h")
            raise KeyError

    with capture.batch():
        capture.record(1, *A, "g")
        capture.record(-1, *B, "g")
        with pytest.raises(KeyError):
            fail()
    assert undone == [{(*A, "g"): -1, (*B, "g"): 1, (*A, "h"): 1}]


QUADS = st.tuples(st.sampled_from("ab"), st.just("p"), st.sampled_from("xy"), st.sampled_from("gh"))


@given(st.lists(st.lists(QUADS, min_size=1, max_size=6), max_size=8))
def test_quads_heard_add_up_to_the_store(batches: list[list[Any]]) -> None:
    """Over random batches, single changes among them, what is heard is what the graphs hold."""
    events: list[Any] = []
    capture = Capture()
    capture.listeners[NAMED] = Log(events, "named")
    capture.listeners["g"] = Log([], "g")
    held: set[Any] = set()

    def toggle(quad: Any) -> None:
        capture.record(-1 if quad in held else 1, *quad)
        held.symmetric_difference_update({quad})

    for batch in batches:
        before = set(held)
        del events[:]
        if len(batch) == 1:
            toggle(batch[0])
        else:
            with capture.batch():
                for quad in batch:
                    toggle(quad)
        changes = {event[2]: event[1] for event in events if len(event) == 3}
        assert changes == {quad: 1 if quad in held else -1 for quad in before ^ held}
        assert [event for event in events if len(event) == 2] == [("named", capture.sequence)] * bool(changes)
