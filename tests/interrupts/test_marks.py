"""What is left where a write or a delivery was interrupted, and who mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.delivering import Delivering
from rdflive.engine.view import View
from rdflive.store import Capture

QUERY = "SELECT ?s { ?s <urn:p> ?o }"


def triple(name: str) -> Any:
    return URIRef(f"urn:{name}"), URIRef("urn:p"), URIRef("urn:o")


def once(raised: type[BaseException], function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that raises at its first call."""
    left = [raised]

    def called(*arguments: Any, **options: Any) -> Any:
        if left:
            raise left.pop()
        return function(*arguments, **options)

    return called


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_a_write_that_was_interrupted_inside_a_batch_is_mended_at_its_end(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the batch caught it and went on: its end reads the store again."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    rdflive.subscribe(graph, QUERY, deltas.append)
    monkeypatch.setattr(Capture, "record", once(raised, Capture.record))
    with rdflive.batch(graph):
        with pytest.raises(raised):
            graph.add(triple("a"))
        graph.add(triple("b"))
    assert deltas[-1].initial
    assert {solution.s for solution in deltas[-1].added} == {URIRef("urn:a"), URIRef("urn:b")}


@pytest.mark.parametrize("way", ["write", "answers", "iterator", "close"])
def test_a_write_that_was_interrupted_is_mended_by_whoever_comes_next(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write without a change, a look at the answer, an iterator, or the end of another subscription."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    followed, other = rdflive.subscribe(graph, QUERY, deltas.append), rdflive.subscribe(graph, "ASK {}")
    monkeypatch.setattr(View, "take", once(KeyboardInterrupt, View.take))
    with pytest.raises(KeyboardInterrupt):
        graph.add(triple("a"))
    assert len(deltas) == 1
    if way == "write":
        graph.remove(triple("nothing"))
    elif way == "answers":
        assert len(followed.answers()) == 1
    elif way == "iterator":
        assert len(next(followed.deltas(5.0)).added) == 1
    else:
        other.close()
    assert [(delta.initial, len(delta.added)) for delta in deltas[1:]] == [(True, 1)]


def test_a_callback_that_was_interrupted_is_told_the_whole_answer_next() -> None:
    """Nobody knows what it has taken; a failure of its own is its own affair."""
    graph, told = rdflib.Graph(), list[tuple[bool, int]]()
    raised: list[BaseException] = []

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, len(delta.added)))
        if raised:
            raise raised.pop()

    rdflive.subscribe(graph, QUERY, take, on_error="ignore")
    raised.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        graph.add(triple("a"))
    graph.add(triple("b"))
    raised.append(MemoryError())
    graph.add(triple("c"))
    graph.add(triple("d"))
    raised.append(KeyError())
    graph.add(triple("e"))
    graph.add(triple("f"))
    assert told == [
        (True, 0), (False, 1), (True, 2), (False, 1), (True, 4), (False, 1), (False, 1),
    ]  # fmt: skip


def test_a_delivery_goes_on_with_the_step_that_was_interrupted() -> None:
    """What was done is not done again, and it has run when all is done."""
    done: list[str] = []
    second = once(KeyboardInterrupt, lambda: done.append("second"))
    steps = [lambda: done.append("first"), second, lambda: done.append("third")]
    delivery = Delivering(lambda _: steps, Any)
    with pytest.raises(KeyboardInterrupt):
        delivery()
    assert not delivery.has_run
    delivery()
    assert delivery.has_run
    assert done == ["first", "second", "third"]
