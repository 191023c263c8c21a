"""(z) The latest reading of each sensor, by several forms of the query and by the number of readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from time import process_time
from typing import Any, Final

from rdflib import Graph, Literal, URIRef

import rdflive
from bench.again import fail
from bench.child import apart
from bench.clock import interleave, middle, quiet, ratio, timed
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import FULL, Sizes
from bench.worlds import EX

__all__ = ["FORMS", "run"]

_READING: Final = "?o :sensor ?s ; :time ?t ; :value ?v"
_LATER: Final = "?p :sensor ?s ; :time ?u FILTER(?u > ?t)"
FORMS: Final = {
    "MAX": "{ SELECT ?s (MAX(?u) AS ?t) { ?p :sensor ?s ; :time ?u } GROUP BY ?s } " + _READING,
    "NOT EXISTS": f"{_READING} FILTER NOT EXISTS {{ {_LATER} }}",
    "NOT EXISTS, another one": f"{_READING} FILTER NOT EXISTS {{ {_LATER} FILTER(?p != ?o) }}",
    "OPTIONAL and !BOUND": f"{_READING} OPTIONAL {{ {_LATER} }} FILTER(!BOUND(?p))",
}
"""Each gives the same rows, ?s and ?v."""
SENSORS: Final = 5
CHANGES: Final = 50
"""Readings that come or go in one measurement."""
_BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)

PAGE = Page(
    "z",
    "The latest reading of 5 sensors, by the number of readings",
    "Readings of 5 sensors arrive one by one, and a query of two forms keeps the latest of each; "
    "pyoxigraph evaluates it once.",
    "The cost per reading hardly depends on the number of readings.",
    "form count open next evaluation",
    lambda row: row["count"] != FULL.latest[1] and row["form"] in ("MAX", "NOT EXISTS"),
)


def run(sizes: Sizes) -> Section:
    """Subscribe in each way to ever more readings, in a process for each number of them."""
    section = Section(
        "latest",
        f"The latest reading of {SENSORS} sensors, by the number of readings",
        sizes.latest[-1],
        "form | count: readings | open: µs of CPU to subscribe, per reading | "
        "next: µs per next reading | oldest: µs per oldest reading removed | "
        "again: µs per latest reading removed and put back | size: bytes of containers per reading | "
        "ratio: next reading, in times of MAX | evaluation: ms of one evaluation by pyoxigraph | "
        "over: evaluation / next reading",
        repeat=sizes.repeat,
    )
    for count in sizes.latest:
        judged = count <= sizes.latest[min(1, len(sizes.latest) - 1)]
        section.rows += apart(_measure, count=count, repeat=sizes.repeat, judged=judged)
    return section


class _Readings:
    """A graph of readings, a second apart, of the sensors in turn; one subscription at a time watches."""

    def __init__(self, count: int) -> None:
        self.graph = Graph()
        self.first, self.end = 0, 0
        for _ in range(count):
            self.add()

    def _triples(self, number: int) -> Iterable[Any]:
        reading = URIRef(f"{EX}o{number}")
        yield reading, URIRef(f"{EX}sensor"), URIRef(f"{EX}s{number % SENSORS}")
        yield reading, URIRef(f"{EX}time"), Literal(_BEGIN + timedelta(seconds=number))
        yield reading, URIRef(f"{EX}value"), Literal(number)

    def _write(self, write: Callable[[Any], Any], number: int) -> None:
        with rdflive.batch(self.graph):
            for triple in self._triples(number):
                write(triple)

    def add(self) -> None:
        """The next reading comes."""
        self._write(self.graph.add, self.end)
        self.end += 1

    def expire(self) -> None:
        """The oldest reading goes."""
        self._write(self.graph.remove, self.first)
        self.first += 1

    def repeat(self) -> None:
        """The latest reading goes and comes again."""
        self.end -= 1
        self._write(self.graph.remove, self.end)
        self.add()

    def check(self, subscription: rdflive.Subscription) -> None:
        """Compare the answer with the last readings."""
        values = sorted(solution.v.toPython() for solution in subscription.answers())
        if values != [*range(self.end - SENSORS, self.end)]:
            raise AssertionError(f"{values} are not the latest readings of {self.end}")


def _text(form: str) -> str:
    return f"PREFIX : <{EX}> SELECT ?s ?v {{ {FORMS[form]} }}"


def _measure(count: int, repeat: int, judged: bool) -> Iterable[dict[str, Any]]:
    readings = _Readings(count)
    rdflive.subscribe(readings.graph, _text("MAX"), initial=False).close()  # loads what is loaded once

    def once(form: str) -> dict[str, float]:
        seconds, subscription = timed(
            lambda: rdflive.subscribe(readings.graph, _text(form), _ignore, initial=False, on_error=fail),
            process_time,
        )
        found = {"open": seconds / count * 1e6, "size": subscription.stats.size / count}
        with subscription:
            steps = cells(next=readings.add, oldest=readings.expire, again=readings.repeat)
            for name, step in steps.items():
                with quiet():
                    start = process_time()
                    for _ in range(CHANGES):
                        step()
                    found[name] = (process_time() - start) / CHANGES * 1e6
            readings.check(subscription)
        return found

    rounds = interleave({form: lambda _, form=form: once(form) for form in FORMS}, repeat)
    for form, found in rounds.items():
        each = {name: [one[name] for one in found] for name in found[0]}
        row = cells(form=form, count=count, **{name: middle(some) for name, some in each.items()})
        row["ratio"] = ratio(each["next"], [one["next"] for one in rounds["MAX"]])
        if judged or form == "MAX":
            row["evaluation"] = _evaluation(readings.graph, _text(form)) * 1e3
            row["over"] = row["evaluation"] * 1e3 / row["next"]
        yield row


def _evaluation(graph: Graph, text: str) -> float:
    """Give the seconds in which pyoxigraph evaluates a query."""
    import pyoxigraph as ox

    store = ox.Store()
    store.load(graph.serialize(format="nt", encoding="utf-8"), ox.RdfFormat.N_TRIPLES)
    return timed(lambda: list(store.query(text)), process_time)[0]


def _ignore(delta: rdflive.Delta) -> None:
    """Read nothing."""
