"""(s) What rows that come and go by a clock cost, beside evaluating the query again at each tick."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import median
from time import process_time
from typing import Any, Final

import pyoxigraph as ox

import rdflive
from bench.child import apart, resident
from bench.clock import timed
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import FULL, Sizes

EX: Final = "urn:example:"
DATE_TIME: Final = ox.NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
START: Final = datetime(2026, 11, 28, tzinfo=UTC)
SPAN: Final = timedelta(days=30)
"""The times of all rows lie in it."""
TICKS: Final = 20
SHARES: Final = (0.0001, 0.01)
"""Of the rows that are left so many change at a tick."""
QUERIES: Final = {
    "rows that go": f"SELECT ?s {{ ?s <{EX}t> ?t FILTER(?t > NOW()) }}",
    "rows that come": f"SELECT ?s {{ ?s <{EX}t> ?t FILTER(?t <= NOW()) }}",
    "counted": f"SELECT (COUNT(*) AS ?n) {{ ?s <{EX}t> ?t FILTER(?t > NOW()) }}",
    "in the last day": (
        f"SELECT ?s {{ ?s <{EX}t> ?t "
        'FILTER(?t > NOW() - "P1D"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>) }'
    ),
}
PLAIN: Final = f'SELECT ?s {{ ?s <{EX}t> ?t FILTER(?t > "2000-01-01T00:00:00Z"^^{DATE_TIME}) }}'
"""The same without a clock."""

PAGE = Page(
    "s",
    "Rows that come and go by a clock",
    "A million rows wait in a `LiveStore`, and each tick of a `ManualClock` makes some of them due.",
    "Oxigraph evaluates the query at each tick, with the time in the place of `NOW()`, and gives its "
    "whole answer.",
    "query changed each polled ratio",
    lambda row: row["due"] == FULL.due[-1] and row["query"].startswith("rows"),
)


def run(sizes: Sizes) -> Section:
    """Measure each query in a process of its own."""
    section = Section(
        "clock",
        "Rows that come and go by a clock",
        max(sizes.due),
        "query | due: rows due at random times | changed: rows that a tick changes | "
        "each: µs per row that a tick changes | polled: Oxigraph at each tick, ms | "
        "ratio: times as fast as Oxigraph | write: µs per add | plain: µs per add without NOW() | "
        "memory: bytes per row that waits",
        repeat=TICKS,
    )
    for due in sizes.due:
        for query in QUERIES:
            section.rows += apart(_measure, query=query, due=due)
    return section


def _quad(number: int, at: datetime) -> ox.Quad:
    time = ox.Literal(f"{at:%Y-%m-%dT%H:%M:%S.%f}Z", datatype=DATE_TIME)
    return ox.Quad(ox.NamedNode(f"{EX}s{number}"), ox.NamedNode(EX + "t"), time)


def _times(count: int) -> list[datetime]:
    random = Random(count)
    return [START + timedelta(seconds=random.uniform(0, SPAN.total_seconds())) for _ in range(count)]


def _measure(query: str, due: int) -> list[dict[str, Cell]]:
    native = ox.Store()
    times = _times(due)
    native.bulk_extend(_quad(number, at) for number, at in enumerate(times))
    store, text = rdflive.LiveStore(native), QUERIES[query]
    plain = rdflive.subscribe(store, PLAIN, lambda _: None, initial=False)
    written = _write(store, due)
    plain.close()
    changed = [0]

    def take(delta: rdflive.Delta) -> None:
        changed[0] += len(delta.added) + len(delta.removed)

    clock = rdflive.ManualClock(START)
    gc.collect()
    before = resident()
    subscription = rdflive.subscribe(store, text, take, clock=clock, initial=False)
    gc.collect()
    memory = (resident() - before) / due
    writing = _write(store, 2 * due)
    gc.freeze()
    lag = timedelta(days=1) if "P1D" in text else timedelta(0)
    waiting, rows = sorted(at + lag for at in times), []
    for share in SHARES:
        number = max(1, round(due * share))
        own, polled = [], []
        for _ in range(TICKS):
            due_now, waiting = waiting[:number], waiting[number:]
            changed[0] = 0
            own.append(timed(lambda at=due_now[-1]: clock.set(at), process_time)[0])
            if "COUNT" not in text and changed[0] != number:
                raise AssertionError(f"{changed[0]} rows changed, not {number}: {query}")
            asked = text.replace("NOW()", f'"{clock.now.isoformat()}"^^{DATE_TIME}')
            if len(polled) < TICKS // 5:  # the store takes long
                polled.append(timed(lambda asked=asked: len(list(native.query(asked))), process_time)[0])
        rows.append(
            cells(
                query=query,
                due=due,
                changed=number,
                each=median(own) / number * 1e6,
                polled=median(polled) * 1e3,
                ratio=median(polled) / median(own),
                write=writing * 1e6,
                plain=written * 1e6,
                memory=memory,
            )
        )
    answers = len(list(native.query(asked)))
    if len(subscription.answers()) != answers:
        raise AssertionError(f"the answers of {query} are not those of the store")
    subscription.close()
    gc.unfreeze()
    return rows


def _write(store: Any, first: int) -> float:
    """Give the seconds that an add takes, of rows that are removed again."""
    quads = [_quad(first + number, START + timedelta(hours=number)) for number in range(500)]
    seconds, _ = timed(lambda: [store.add(quad) for quad in quads], process_time)
    for quad in quads:
        store.remove(quad)
    return seconds / len(quads)
