"""(p) Events matched one by one, beside a store per event; large events; windows, lazily and eagerly."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import process_time
from typing import Any, Final

import pyoxigraph
from rdflib import Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery

from bench.again import to_native
from bench.clock import interleave, ratio, timed
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX
from rdflive.api.matching import Matcher
from rdflive.time.windows import Tumbling

LOCATION, POWER, KIND, VALUE, NOISE = (
    URIRef(EX + name) for name in ("location", "powerS", "appType", "value", "noise")
)
QUERIES: Final = {
    "star": "?h :location ?l ; :powerS ?p ; :value ?total",
    "chain": "?h :powerS ?p . ?p :appType ?a . ?a :value ?v",
    "complex": "?h :location ?l ; :powerS ?p ; :value ?total . ?p :appType ?a . ?a :value ?v FILTER(?v > 90)",
}
WINDOW_QUERY: Final = "?post :location ?l ; :powerS ?p ; :appType ?a ; :value ?v"
RDFLIB_SHARE: Final = 20
"""rdflib evaluates one event of so many; it takes milliseconds for each."""
REEVALUATIONS: Final = 3

Triple = tuple[Any, Any, Any]

_SHOWN = ("matcher, rdflib", "matcher, rdflib graphs", "matcher, rdflib cold")
"""What the page shows."""
PAGE = Page(
    "p",
    "Small graphs matched one by one",
    "A `Matcher` reads events of 10 to 15 triples, and the peer fills a pyoxigraph store with each event "
    "and queries it.",
    "The *cold* rows have new terms and a new matcher, and the *graphs* rows read rdflib graphs in place "
    "of tuples.",
    "case way rate faster",
    lambda row: row["way"] in _SHOWN and row["case"] in ("star", "complex"),
)


def run(sizes: Sizes) -> Section:
    """Measure the three experiments of SPECTRA's Section 6."""
    section = Section(
        "match",
        f"{sizes.events:,} events of 10 to 15 triples, events of other sizes, and windows",
        sizes.events,
        "experiment | case | way | matching: % of events that match | rate: events per second | "
        "faster: × as fast as the faster peer | triple: ns per triple | update: µs per update | "
        "joins: joins per update",
        repeat=sizes.repeat,
    )
    for name, pattern in QUERIES.items():
        section.rows += _events(name, _query(pattern), sizes)
    for size in sizes.event_triples:
        section.rows += _large(size, sizes.repeat)
    for size in sizes.window_triples:
        for late in (False, True):
            section.rows += _windows(size, sizes.repeat, late=late)
    return section


def _query(pattern: str) -> str:
    return f"PREFIX : <{EX}> SELECT * {{ {pattern} }}"


def _house(rng: random.Random, number: int) -> list[Triple]:
    """Make one event of 10 to 15 triples; in half of them something lacks."""
    house = URIRef(f"{EX}house{number}")
    event: list[Triple] = [(house, LOCATION, URIRef(f"{EX}place{rng.randrange(50)}"))]
    if rng.random() < 0.7:
        event.append((house, VALUE, Literal(rng.randrange(300))))
    for i in range(rng.randint(2, 3)):
        socket, appliance = URIRef(f"{EX}socket{number}-{i}"), URIRef(f"{EX}appliance{number}-{i}")
        event += [(house, POWER, socket), (socket, KIND, appliance)]
        if rng.random() < 0.8:
            event.append((appliance, VALUE, Literal(rng.randrange(100))))
    while len(event) < 10 + number % 6:
        event.append((house, NOISE, Literal(f"note {len(event)}")))
    return event


def _parsed(term: Any) -> Any:
    return URIRef(str(term)) if isinstance(term, URIRef) else Literal(str(term), datatype=term.datatype)


def _events(case: str, query: str, sizes: Sizes) -> Iterator[dict[str, Cell]]:
    rng = random.Random(SEED)
    events = [_house(rng, number) for number in range(sizes.events)]
    native = [[pyoxigraph.Triple(*map(to_native, triple)) for triple in event] for event in events]
    quads = [[pyoxigraph.Quad(*triple) for triple in event] for event in native]
    sample = events[::RDFLIB_SHARE]
    prepared = prepareQuery(query)

    def ask_store(event: Sequence[Any]) -> int:
        store = pyoxigraph.Store()
        store.extend(event)
        return _values(store.query(query))

    def ask_graph(event: Sequence[Triple]) -> int:
        return _values(_graph(event).query(prepared))

    def solving() -> Callable[[Any], int]:
        matcher = Matcher(query)
        return lambda event: _values(matcher.match(event).solutions)

    shuffled = [rng.sample(event, len(event)) for event in events]
    ways: dict[str, tuple[Callable[[Any], int], Sequence[Any]]] = {
        "peer: pyoxigraph store": (ask_store, quads),
        "peer: rdflib graph": (ask_graph, sample),
        "matcher, rdflib": (_reader(query), events),
        "matcher, rdflib, solutions": (solving(), events),
        "matcher, rdflib shuffled": (_reader(query), shuffled),
        "matcher, rdflib shuffled, solutions": (solving(), shuffled),
        "matcher, rdflib parsed": (_reader(query), [[tuple(map(_parsed, t)) for t in e] for e in events]),
        "matcher, pyoxigraph tuples": (_reader(query), [[tuple(triple) for triple in e] for e in native]),
        "matcher, pyoxigraph triples": (_reader(query), native),
        "matcher, rdflib graphs": (_reader(query), [_graph(event) for event in events]),
    }
    counts = {way: [count(event) for event in given] for way, (count, given) in ways.items()}
    for way, found in counts.items():
        expected = counts["matcher, rdflib"]
        if found != (expected[::RDFLIB_SHARE] if way == "peer: rdflib graph" else expected):
            raise AssertionError(f"{case}: {way} finds other solutions")
    share = 100 * sum(map(bool, counts["matcher, rdflib"])) / len(events)
    runs = {way: _timing(count, given) for way, (count, given) in ways.items()}
    runs["matcher, rdflib first"] = _first(query, events, lambda term: term)
    runs["matcher, rdflib cold"] = _first(query, events, _parsed)
    seconds = interleave(runs, sizes.repeat)
    peer = min((way for way in ways if way.startswith("peer")), key=lambda way: median(seconds[way]))
    for way, found_in in seconds.items():
        yield cells(
            experiment="10 to 15 triples",
            case=case,
            way=way,
            matching=share,
            rate=1 / median(found_in),
            faster=ratio(seconds[peer], found_in),
        )


def _first(
    query: str, events: Sequence[Sequence[Triple]], copy: Callable[[Any], Any]
) -> Callable[[int], float]:
    """Make a run that gives the seconds per event of the first pass of a matcher, its making included."""

    def one(_: int) -> float:
        new = [[tuple(map(copy, triple)) for triple in event] for event in events]

        def work() -> None:
            read = _reader(query)
            for event in new:
                read(event)

        return timed(work, process_time)[0] / len(events)

    return one


def _reader(query: str) -> Callable[[Any], int]:
    matcher = Matcher(query)
    return lambda event: _values(matcher.match(event).rows)


def _values(rows: Any) -> int:
    """Read all values of the solutions; gives their number."""
    values = 0
    for row in rows:
        for _ in row:
            values += 1
    return values


def _graph(triples: Sequence[Triple]) -> Graph:
    graph = Graph()
    for triple in triples:
        graph.add(triple)
    return graph


def _timing(count: Callable[[Any], int], events: Sequence[Any]) -> Callable[[int], float]:
    """Make a run that gives the seconds per event."""

    def work() -> None:
        for event in events:
            count(event)

    return lambda _: timed(work, process_time)[0] / len(events)


def _large(size: int, repeat: int) -> Iterator[dict[str, Cell]]:
    """One event of many houses, so many triples."""
    rng = random.Random(SEED)
    triples: list[Triple] = []
    number = 0
    while len(triples) < size:
        triples += _house(rng, number)
        number += 1
    triples = triples[:size]
    for case, pattern in QUERIES.items():
        matcher = Matcher(_query(pattern))
        matcher.match(triples)
        seconds = median(timed(lambda: matcher.match(triples), process_time)[0] for _ in range(repeat))  # noqa: B023
        yield cells(
            experiment="large events",
            case=f"{case}, {size:,} triples",
            way="matcher, rdflib",
            triple=1e9 * seconds / size,
        )


def _posts(size: int, *, late: bool) -> list[list[Triple]]:
    """Updates of 10 to 50 triples about posts; a post's triples come in several updates."""
    rng = random.Random(SEED)
    predicates = (LOCATION, POWER, KIND, VALUE)
    triples = [
        (URIRef(f"{EX}post{i // 4}"), predicates[i % 4], URIRef(f"{EX}value{rng.randrange(1000)}"))
        for i in range(size)
    ]
    if late:
        cut = len(triples) * 9 // 10
        head = [triple for triple in triples if triple[1] != VALUE]
        tail = [triple for triple in triples if triple[1] == VALUE][: len(triples) - cut]
        triples = head + tail
    else:
        for start in range(0, len(triples), 200):
            block = triples[start : start + 200]
            rng.shuffle(block)
            triples[start : start + 200] = block
    updates = []
    start = 0
    while start < len(triples):
        length = rng.randint(10, 50)
        updates.append(triples[start : start + length])
        start += length
    return updates


def _windows(size: int, repeat: int, *, late: bool) -> Iterator[dict[str, Cell]]:
    updates = _posts(size, late=late)
    found: dict[str, list[int]] = {}
    joins: dict[str, int] = {}
    query = _query(WINDOW_QUERY)

    def follow(way: str, *, lazy: bool) -> Callable[[int], float]:
        def one(_: int) -> float:
            matcher = Matcher(query, window=Tumbling("1h"), lazy=lazy)
            counts: list[int] = []
            seconds, _ = timed(
                lambda: counts.extend(len(matcher.match((update, 0))) for update in updates), process_time
            )
            found[way], joins[way] = counts, matcher.stats.joins
            return seconds / len(updates)

        return one

    def again(_: int) -> float:
        matcher = Matcher(query)
        held = [triple for update in updates for triple in update]
        moments = [len(held) * (i + 1) // REEVALUATIONS for i in range(REEVALUATIONS)]
        return median(timed(lambda: matcher.match(held[:moment]), process_time)[0] for moment in moments)  # noqa: B023

    runs = {way: follow(way, lazy=way == "lazy") for way in ("lazy", "eager")}
    seconds = interleave({**runs, "again": again}, min(repeat, 3))
    total = len(Matcher(query).match([triple for update in updates for triple in update]))
    if found["lazy"] != found["eager"] or sum(found["lazy"]) != total:
        raise AssertionError(f"a window of {size} triples: lazy, eager and again differ")
    for way, each in seconds.items():
        yield cells(
            experiment="window",
            case=f"{size:,} triples{', one pattern late' * late}",
            way=way,
            update=1e6 * median(each),
            joins=joins[way] / len(updates) if way in joins else None,
        )
