"""`rdflive.match`: matches a query with events one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rdflib import Graph

from rdflive.matching.events import EventError
from rdflive.matching.explanation import MatchStats
from rdflive.matching.match import Match
from rdflive.matching.matcher import Matcher
from rdflive.matching.streams import events_of
from rdflive.matching.workers import match_in_processes
from rdflive.query.given import read_query
from rdflive.time.windows import Tumbling

__all__ = ["EventError", "Match", "MatchStats", "Matcher", "match"]


def match(
    query: str | os.PathLike[str],
    events: Any,
    *,
    background: Graph | Sequence[Any] | None = None,
    workers: int = 1,
    window: Tumbling | None = None,
    lazy: bool = True,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
) -> Iterator[Match]:
    """Match a query with each event of a stream, lazily and in order.

    An event is a small graph: an rdflib Graph, or an iterable of triples in terms of rdflib or pyoxigraph.
    A stream is an iterable of events, a Dataset (each named graph is an event), or a file of N-Quads, by path
    or open in binary mode (each run of quads with the same graph name is an event), which is read lazily.

    `background` is a graph whose triples join those of every event, `workers` the number of processes. With
    `window`, events are pairs `(event, at)`, each an update that adds to its tumbling window, and each match
    has the new solutions; `lazy=False` joins also while some pattern has no match in the window.

    The query is parsed at once and raises like `Matcher`. An event that cannot be matched raises
    `EventError`; if `events` is an iterator, matching it again continues with the next event.

    >>> from rdflib import URIRef
    >>> a, b, p = (URIRef(f"http://e/{name}") for name in "abp")
    >>> for found in match("SELECT ?x { ?x <http://e/p> ?y }", [[(a, p, b)], [(b, p, a), (a, p, a)]]):
    ...     print(found.number, len(found))
    0 1
    1 2
    """
    # True is an int too
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers is {workers!r}; give the number of processes, 1 or more")
    if workers > 1 and window is not None:
        raise ValueError(
            f"workers={workers} and a window exclude each other: the updates of a window depend on each other"
        )
    options: dict[str, Any] = {"initNs": initNs, "initBindings": initBindings}
    matcher = Matcher(query, background=background, window=window, lazy=lazy, **options)
    stream = events_of(events)
    if workers == 1:
        return map(matcher.match, stream)
    if background is not None:
        background = list(background)  # not every store can be sent to another process
    text = read_query(query).text  # for processes that may not have the file
    make = partial(Matcher, text, background=background, lazy=lazy, **options)
    return match_in_processes(make, stream, workers)
