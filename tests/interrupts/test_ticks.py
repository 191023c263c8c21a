"""Exceptions at any line of a clock's tick: the next use of the graph repairs the state."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from interrupts.lines import LineRun, drawn, lines_of, raising_at
from interrupts.worlds import Follower

E = "http://e/"
START = datetime(2026, 11, 28, tzinfo=UTC)
QUERIES = {
    "rows": f"SELECT ?s {{ ?s <{E}t> ?t FILTER(?t > NOW()) }}",
    "count": f"SELECT ?late (COUNT(*) AS ?n) {{ ?s <{E}t> ?t BIND(?t < NOW() AS ?late) }} GROUP BY ?late",
    "exists": f"SELECT ?s {{ ?s <{E}p> ?o FILTER NOT EXISTS {{ ?s <{E}t> ?t FILTER(?t > NOW()) }} }}",
}
ERRORS = {error.__name__: error for error in (KeyboardInterrupt, MemoryError, RecursionError)}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)  # each failure would be logged at length
    yield
    logging.disable(logging.NOTSET)


def triple(name: str, hours: int) -> Any:
    return URIRef(E + name), URIRef(E + "t"), Literal(START + timedelta(hours=hours))


class World:
    """A graph with a clock, and subscriptions with NOW()."""

    def __init__(self) -> None:
        self.graph = rdflib.Graph()
        self.clock = rdflive.ManualClock(START)
        for number in range(6):
            self.graph.add(triple(f"s{number}", number // 2))
            self.graph.add((URIRef(f"{E}s{number}"), URIRef(E + "p"), Literal(1)))
        self.followers = {name: Follower() for name in QUERIES}
        self.subscriptions = {
            name: rdflive.subscribe(self.graph, text, self.followers[name].told.append, clock=self.clock)
            for name, text in QUERIES.items()
        }

    def check(self) -> list[str]:
        """Write in another thread, move the clock, and list the wrong answers of subscribers."""
        writer = threading.Thread(target=self.graph.add, args=(triple("x", 9),), daemon=True)
        writer.start()
        writer.join(30)
        if writer.is_alive():
            return ["another thread cannot write"]
        self.clock.advance("1h")
        wrong = []
        for name, text in QUERIES.items():
            with rdflive.subscribe(self.graph, text, clock=rdflive.ManualClock(self.clock.now)) as fresh:
                expected = Counter(fresh.answers())
            if Counter(self.subscriptions[name].answers()) != expected:
                wrong.append(f"the answers of {name}")
            if self.followers[name].answer != expected:
                wrong.append(f"the deltas of {name}: {self.followers[name].answer} instead of {expected}")
        return wrong

    def tick(self) -> None:
        self.clock.advance("1h")

    def close(self) -> None:
        for subscription in self.subscriptions.values():
            subscription.close()


@cache
def lines_run() -> list[LineRun]:
    """List the lines that a tick runs."""
    world = World()
    try:
        return lines_of(world.tick)
    finally:
        world.close()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("error", ERRORS)
def test_an_exception_at_any_line_of_a_tick_is_mended(error: str) -> None:
    """Other threads can write at once, and after the next tick each subscriber has the right answer."""
    places = drawn(lines_run(), 400, "ticks", error)
    assert len(places) > 20
    wrong = {}
    for place in places:
        world = World()
        try:
            if raising_at(place, ERRORS[error], world.tick) and (found := world.check()):
                wrong[place] = found
        finally:
            world.close()
    assert not wrong, f"{len(wrong)} of {len(places)} lines: {wrong}"
