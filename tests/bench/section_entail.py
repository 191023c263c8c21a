"""(l) What entailment costs: updates of data and schema, and saturation, beside other reasoners."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, Final

from rdflib import Graph

import rdflive
from bench import deep_schemas
from bench.bibliography import SCHEMA, instances, number, term, to_graph
from bench.child import apart
from bench.clock import quiet, timed
from bench.page import Page
from bench.peer_dred import DRed
from bench.peer_reasoners import owlrl_seconds, reasonable_seconds
from bench.report import Section, cells
from bench.sizes import FULL, Sizes
from bench.stream import SEED
from bench.worlds import EX, Edge

CHANGED: Final = ("Student", "Publication", "InProceedings", "firstAuthor", "creator", "cites", "worksFor")
"""Whose schema triples are deleted and inserted again: classes and properties from low to high."""
IDLE: Final = f"SELECT * {{ ?s <{EX}idle> ?o }}"
"""Hooks the store, and matches nothing."""

_SHOWN = ("instance", "schema: Student", "schema: Publication", "schema: firstAuthor", "bulk saturation")
"""What the page shows."""
PAGE = Page(
    "l",
    "Entailment by RDFS on a bibliography with 41 schema triples",
    "One triple leaves a saturated graph of a million triples and returns, and the graph is saturated at "
    "once; peers are a textbook DRed (delete and rederive) and reasonable.",
    "The last columns say how many times as fast rdflive is; below 1 it is slower.",
    "what unit rdflive ratio_recompute ratio_dred ratio_reasonable",
    lambda row: row["what"].startswith(_SHOWN) and row["triples"] == FULL.entailed[-1],
)


def run(sizes: Sizes) -> Section:
    """Measure every size in a process of its own."""
    section = Section(
        "entail",
        f"Entailment by RDFS on a bibliography with {len(SCHEMA)} schema triples",
        max(sizes.entailed),
        "what | triples | unit | rdflive | whole: with the write itself | dred: DRed | reasonable | "
        "owlrl | ratio_recompute: times as fast as recomputing | ratio_dred: as DRed | "
        "ratio_reasonable: as reasonable",
        repeat=sizes.repeat,
    )
    for count in sizes.entailed:
        task = {"count": count, "toggles": sizes.toggles, "repeat": sizes.repeat}
        rows, note = apart(_measure, **task)
        section.rows += rows
        section.notes.append(note)
    section.rows += apart(deep_schemas.measure, size=min(1_000, sizes.entailed[0] // 50), repeat=sizes.repeat)
    section.rows.append(apart(_by_owlrl, count=max(200, sizes.entailed[0] // 20)))
    return section


@dataclass
class _Rounds:
    """The timings of one kind of update, in seconds per triple, over the rounds."""

    own: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    dred: list[float] = field(default_factory=list)

    def row(self, what: str, count: int, recompute: float) -> dict[str, Any]:
        """Give the figures as medians, and the ratios of those."""
        own, dred = median(self.own), median(self.dred)
        return cells(
            what=what,
            triples=count,
            unit="µs",
            rdflive=own * 1e6,
            whole=median(self.whole) * 1e6,
            dred=dred * 1e6,
            ratio_recompute=recompute / own,
            ratio_dred=dred / own,
        )


def _measure(count: int, toggles: int, repeat: int) -> tuple[list[dict[str, Any]], str]:
    edges = instances(count)
    graph = to_graph([*SCHEMA, *edges])
    gc.collect()
    gc.freeze()
    bulk_dred, dred = timed(lambda: DRed([*SCHEMA, *edges]))
    rng = random.Random(SEED)
    found: dict[str, _Rounds] = {}
    bulk: list[float] = []
    with rdflive.subscribe(graph, IDLE):
        rdflive.saturate(graph).close()  # loads what is loaded once
        for _ in range(repeat):
            some = rng.sample(edges, toggles)
            seconds, saturated = timed(lambda: rdflive.saturate(graph))
            bulk.append(seconds)
            update = saturated._view.entailment.update
            for what, triples in (("instance", some), *_of_schema()):
                away, back = partial(_told, update, -1), partial(_told, update, 1)
                _toggle(found, what, "own", away, back, list(map(_terms, triples)))
                _toggle(found, what, "whole", graph.remove, graph.add, list(map(_terms, triples)))
                delete, insert = (lambda t: dred.delete([t])), (lambda t: dred.insert([t]))
                _toggle(found, what, "dred", delete, insert, triples)
            size = _check(saturated, dred)
            saturated.close()
    rows = [rounds.row(what, count, median(bulk)) for what, rounds in found.items()]
    rows.append(_bulk_row(graph, count, bulk, bulk_dred))
    increase = (size - len(graph)) / len(graph)
    return rows, f"{count:,} triples: the saturation has {size:,}, {increase:.0%} more."


def _told(update: Callable[[Any], Iterable[Any]], sign: int, triple: Any) -> None:
    """Tell an entailment of a change, and take what it comes to."""
    list(update([(sign, triple)]))


def _of_schema() -> Iterable[tuple[str, list[Edge]]]:
    for name in CHANGED:
        s, p, o = next(edge for edge in SCHEMA if edge[0] == number(name))
        words = (str(term(t)).removeprefix(EX).rpartition("#")[2] for t in (s, p, o))
        yield f"schema: {' '.join(words)}", [(s, p, o)]


def _terms(triple: Edge) -> Any:
    s, p, o = triple
    return term(s), term(p), term(o)


def _toggle(
    found: dict[str, _Rounds],
    what: str,
    who: str,
    delete: Callable[[Any], object],
    insert: Callable[[Any], object],
    triples: list[Any],
) -> None:
    """Delete some triples one by one, and insert them again."""
    for name, operation in (("delete", delete), ("insert", insert)):
        with quiet():
            start = perf_counter()
            for triple in triples:
                operation(triple)
            seconds = perf_counter() - start
        getattr(found.setdefault(f"{what}, {name}", _Rounds()), who).append(seconds / len(triples))


def _check(saturated: Graph, dred: DRed) -> int:
    """Count entailed triples: beyond the schema both must have as many."""
    size = len(saturated)
    schema = sum(len(list(saturated.triples((None, term(p), None)))) for p in (2, 3, 4, 5))
    if size - schema != len(dred) - len(SCHEMA):
        raise AssertionError(f"rdflive entails {size - schema:,} triples, DRed {len(dred) - len(SCHEMA):,}")
    return size


def _bulk_row(graph: Graph, count: int, bulk: list[float], dred: float) -> dict[str, Any]:
    row: dict[str, Any] = cells(
        what="bulk saturation",
        triples=count,
        unit="s",
        rdflive=median(bulk),
        dred=dred,
        ratio_dred=dred / median(bulk),
    )
    seconds = reasonable_seconds(graph)
    if not isinstance(seconds, str):
        row |= {"reasonable": seconds, "ratio_reasonable": seconds / median(bulk)}
    return row


def _by_owlrl(count: int) -> dict[str, Any]:
    """Saturate a graph that is small enough for owlrl too."""
    graph = to_graph([*SCHEMA, *instances(count)])
    rdflive.saturate(graph).close()  # loads what is loaded once
    seconds, saturated = timed(lambda: rdflive.saturate(graph))
    saturated.close()
    row = cells(what="bulk saturation", triples=count, unit="s", rdflive=seconds)
    theirs = owlrl_seconds(to_graph([*SCHEMA, *instances(count)]))
    return row if isinstance(theirs, str) else {**row, "owlrl": theirs}
