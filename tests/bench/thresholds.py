"""When saturation pays off for a query: the thresholds of Goasdoué et al., Section 7.4, measured."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeAlias

import rdflib

from rdflive.api.reformulate import Reformulation, reformulate
from rdflive.api.saturated import saturate
from rdflive.entail.schema import RdfsTerms
from rdflive.errors import RdfliveError, ReformulationSizeError
from rdflive.plugins import manager
from rdflive.query.given import namespaces, read_query
from rdflive.store import GraphLike

__all__ = ["MOST_MEMBERS", "Thresholds", "UpdateTimes", "runs_to_amortise", "thresholds"]

_RUNS: Final = 5
_UPDATES: Final = 100
_LONGEST: Final = 10.0
"""Seconds after which a measurement is not repeated any more."""
_SEED: Final = 0
MOST_MEMBERS: Final = 10_000
"""So many members of a reformulation are counted."""
_SCHEMA: Final = RdfsTerms().schema

_Triples: TypeAlias = Sequence[tuple[Any, Any, Any]]
_Report: TypeAlias = Callable[[str], object]
_Rewritten: TypeAlias = Callable[[Any], Reformulation]


@dataclass(frozen=True, slots=True)
class UpdateTimes:
    """What it takes to insert, or to delete, one triple, in seconds."""

    plain: float
    """In the graph alone."""
    maintained: float
    """In the graph and its saturation."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a query and the changes of a graph cost with and without saturation, and when it pays off.

    Times are medians in seconds. A threshold is the least number of runs of the query whose gain makes up
    for the saturation, or for maintaining it through one change; None where that never happens, or where
    the graph holds no such triple to measure a change with.
    """

    explicit: int
    """Triples of the graph."""
    entailed: int
    """Triples of its saturation, the explicit ones among them."""
    answers: int
    """Solutions of the query over the saturation."""
    members: int | None
    """Queries that the reformulation is the union of; None where they are more than are counted."""
    saturation: float
    """Time to saturate the graph, t(sat+)."""
    on_saturated: float
    """Time to answer the query over the saturation, t(sat); it is parsed already."""
    reformulated: float
    """Time to reformulate the query and to answer that over the graph, t(ref); the schema is read already."""
    instance_insert: UpdateTimes | None
    instance_delete: UpdateTimes | None
    schema_insert: UpdateTimes | None
    schema_delete: UpdateTimes | None

    @property
    def st(self) -> int | None:
        """The saturation threshold: runs until the whole saturation has paid off."""
        return runs_to_amortise(self.saturation, self.gain)

    @property
    def st_instance_insert(self) -> int | None:
        """Runs until an inserted instance triple has paid off, st(i+)."""
        return self._after(self.instance_insert)

    @property
    def st_instance_delete(self) -> int | None:
        """Runs until a deleted instance triple has paid off, st(i-)."""
        return self._after(self.instance_delete)

    @property
    def st_schema_insert(self) -> int | None:
        """Runs until an inserted schema triple has paid off, st(s+)."""
        return self._after(self.schema_insert)

    @property
    def st_schema_delete(self) -> int | None:
        """Runs until a deleted schema triple has paid off, st(s-)."""
        return self._after(self.schema_delete)

    @property
    def gain(self) -> float:
        """The time that a run of the query saves by saturation."""
        return self.reformulated - self.on_saturated

    @property
    def recommendation(self) -> str:
        """Say in one sentence what to do."""
        if self.entailed == self.explicit:
            return "neither: the graph holds all that it entails, and the query needs no help"
        if self.st is None:
            return (
                "reformulate: over the graph itself the query is answered no slower than over its saturation"
            )
        changes = {
            "an instance triple": (self.st_instance_insert, self.st_instance_delete),
            "a schema triple": (self.st_schema_insert, self.st_schema_delete),
        }
        runs = ((max(n for n in found if n), kind) for kind, found in changes.items() if any(found))
        each = " and ".join(f"{_times(number)} per change of {kind}" for number, kind in runs)
        least = ", ".join(filter(None, [_times(self.st), each]))
        return f"saturate if the query is run at least {least}; else reformulate"

    def _after(self, times: UpdateTimes | None) -> int | None:
        return None if times is None else runs_to_amortise(times.maintained - times.plain, self.gain)


def runs_to_amortise(price: float, gain: float) -> int | None:
    """Give the least number of runs, from 1 on, whose gains together exceed a price; None if none does.

    >>> runs_to_amortise(10.0, 4.0), runs_to_amortise(8.0, 4.0), runs_to_amortise(8.0, 0.0)
    (3, 3, None)
    """
    if gain <= 0:
        return None
    return max(1, int(price // gain) + 1)


def thresholds(
    query: str | os.PathLike[str],
    graph: GraphLike,
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the name of rdflib's Graph.query
    runs: int = _RUNS,
    on_step: _Report | None = None,
) -> Thresholds:
    """Measure for a query when saturating a graph pays off against reformulating the query.

    `query` is one that `reformulate` takes, `graph` any that can be subscribed to, with its schema in it.
    The measurements are made on copies in memory. Each is repeated `runs` times, updates up to 100 times
    with triples drawn with a fixed seed, and no more after 10 seconds. `on_step` is told what is measured
    next.

    Raises what `reformulate` raises, and `RdfliveError` for a graph with terms that rdflib does not have.

    >>> graph = rdflib.Graph().parse(format="turtle", data='''
    ...     @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    ...     <urn:Poster> rdfs:subClassOf <urn:Paper> . <urn:p1> a <urn:Poster> . ''')
    >>> measured = thresholds("SELECT ?x { ?x a <urn:Paper> }", graph, runs=1)
    >>> measured.explicit, measured.entailed, measured.answers, measured.members
    (2, 3, 1, 2)
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise ValueError(f"runs must be a whole number from 1 on, got {runs!r}")
    names = namespaces(graph, initNs)
    given = read_query(query)

    def rewritten(schema: Any) -> Reformulation:
        return reformulate(given.text, schema, initNs=names, limit=MOST_MEMBERS)

    with given.naming():
        rewritten(())  # refuses the query before anything is copied
    return _measured(rewritten, _copy(graph), runs, on_step or (lambda _: None))


def _measured(rewritten: _Rewritten, copy: rdflib.Graph, runs: int, step: _Report) -> Thresholds:
    instance, schema = _drawn(copy)
    step("changes of the graph alone")  # first: nobody watches it yet
    plain = _update_times(copy, instance), _update_times(copy, schema)
    step("reformulation")
    reformulation = rewritten(copy)
    reformulated = _time(lambda: reformulation.evaluate(copy), runs)
    step("saturation")
    saturation = _saturation_time(copy, runs)
    with saturate(copy) as saturated:
        # a copy: `evaluate` cannot attach to the store of a saturated graph
        over = _filled(saturated)
        step("the query over the saturation")
        # without a schema it asks for what is there, and both ways are timed by the same evaluator
        plain_query = rewritten(())
        on_saturated = _time(lambda: plain_query.evaluate(over), runs)
        step("changes of the graph and its saturation")
        maintained = _update_times(copy, instance), _update_times(copy, schema)
    pairs = [_paired(*times) for times in zip(plain, maintained, strict=True)]
    return Thresholds(
        explicit=len(copy),
        entailed=len(over),
        answers=len(plain_query.evaluate(over)),
        members=_count(reformulation),
        saturation=saturation,
        on_saturated=on_saturated,
        reformulated=reformulated,
        instance_insert=pairs[0][0],
        instance_delete=pairs[0][1],
        schema_insert=pairs[1][0],
        schema_delete=pairs[1][1],
    )


def _copy(graph: GraphLike) -> rdflib.Graph:
    """Copy what a query on the graph sees into a graph in memory, which may be changed."""
    with manager.locked(manager.store_of(graph)) as adapter:
        convert = adapter.to_rdflib() or _same
        found = adapter.triples(adapter.graph_key(graph), (None, None, None))
        try:
            return _filled(tuple(map(convert, triple)) for triple in found)
        except ValueError as error:
            raise RdfliveError(f"the graph cannot be copied to measure it: {error}") from error


def _filled(triples: Iterable[Any]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(triple)
    return graph


def _drawn(graph: rdflib.Graph) -> tuple[_Triples, _Triples]:
    """Draw instance triples and schema triples of a graph."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for triple in graph:
        # False is 0, the instance triples; True is 1, those of the schema
        parts[triple[1] in _SCHEMA].append(triple)
    draw = random.Random(_SEED)
    instance, schema = (draw.sample(part, min(_UPDATES, len(part))) for part in parts)
    return instance, schema


def _timed(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def _repeated(measure: Callable[[], float], runs: int) -> float:
    """Give the median of several measurements, fewer where they take long."""
    seconds: list[float] = []
    while len(seconds) < runs and sum(seconds) < _LONGEST:
        seconds.append(measure())
    return median(seconds)


def _time(action: Callable[[], object], runs: int) -> float:
    return _repeated(lambda: _timed(action), runs)


def _saturation_time(graph: rdflib.Graph, runs: int) -> float:
    """Time how a graph is saturated; letting go of the saturation does not count."""

    def measure() -> float:
        start = perf_counter()
        with saturate(graph):
            return perf_counter() - start

    return _repeated(measure, runs)


def _update_times(graph: rdflib.Graph, triples: _Triples) -> tuple[float, float] | None:
    """Time an insert and a delete of a triple: each is taken out and put back."""
    inserts: list[float] = []
    deletes: list[float] = []
    for triple in triples:
        if sum(inserts) + sum(deletes) > _LONGEST:
            break
        deletes.append(_timed(partial(graph.remove, triple)))
        inserts.append(_timed(partial(graph.add, triple)))
    return (median(inserts), median(deletes)) if inserts else None


def _paired(
    plain: tuple[float, float] | None, maintained: tuple[float, float] | None
) -> tuple[UpdateTimes | None, UpdateTimes | None]:
    """Put together what inserts and deletes take either way."""
    if plain is None or maintained is None:
        return None, None
    return UpdateTimes(plain[0], maintained[0]), UpdateTimes(plain[1], maintained[1])


def _count(reformulation: Reformulation) -> int | None:
    try:
        return len(reformulation)
    except ReformulationSizeError:
        return None


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _same(term: Any) -> Any:
    return term
