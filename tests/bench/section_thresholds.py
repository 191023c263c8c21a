"""(m) The experiments of Goasdoué et al., Figures 14 to 17, on the bibliography: when saturation pays off."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any, Final, Literal

from rdflib import Graph

import rdflive
from bench.bibliography import SCHEMA, instances, to_graph
from bench.child import apart
from bench.clock import interleave, timed
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.thresholds import Thresholds, UpdateTimes, thresholds
from bench.worlds import EX

__all__ = ["QUERIES", "run"]

QUERIES: Final = {
    "everything": "SELECT * { ?x ?p ?y }",
    "publications and all they say": "SELECT * { ?x a :Publication ; ?p ?y }",
    "all types": "SELECT * { ?x a ?c }",
    "things": "SELECT * { ?x a :Thing }",
    "documents and their agents": "SELECT * { ?x a :Document ; :contributor ?y . ?y a :Agent }",
    "persons of documents at venues": "SELECT * { ?x a :Document ; :creator ?y ; :partOf ?v . "
    "?y a :Person . ?v a :Venue }",
    "who cites a work of theirs": "SELECT * { ?x :creator ?y ; :cites ?z . ?z :creator ?y }",
    "types of the cited": "SELECT * { ?x :cites ?z . ?z a ?c }",
    "articles": "SELECT * { ?x a :Article ; :author ?y ; :inJournal ?v }",
    "works of one person": "SELECT * { ?x :contributor :n1000 ; a :Document }",
    "types of one person": "SELECT * { :n1000 a ?c }",
    "colleagues of one person": "SELECT * { :n1000 :worksFor ?o . ?x :worksFor ?o ; a :Person }",
    "students at work": "SELECT * { ?x a :Student ; :worksFor ?o }",
    "heads": "SELECT * { ?x :headOf ?o }",
    "titles": "SELECT * { ?x :title ?t ; :year ?n }",
}
"""From those that everything is entailed for to those that nothing is; some are about one node."""

_SHOWN = (
    "publications and all they say",
    "things",
    "documents and their agents",
    "works of one person",
    "types of one person",
)
"""What the page shows."""
PAGE = Page(
    "m",
    "Saturation or reformulation: 25,000 triples of the bibliography, 41 of them schema",
    "Queries run over the saturation of a bibliography, t(sat), and reformulated over its explicit "
    "triples, t(ref).",
    "`st` is the number of runs after which saturating the graph has paid off, and n/a means never.",
    "what members sat ref st",
    lambda row: row["what"] in _SHOWN,
)


def run(sizes: Sizes) -> Section:
    """Measure saturation by size, and each query by either strategy."""
    count = sizes.entailed[0] // 4
    section = Section(
        "thresholds",
        f"Saturation or reformulation: {count:,} triples of the bibliography, {len(SCHEMA)} of them schema",
        count,
        "what | triples | entailed | members: members of the union | answers | sat: t(sat), ms | "
        "ref: t(ref), ms | saturation: t(sat+), ms | paths: t(sat+) with path counts, ms | "
        "plain: graph alone, µs | maintained: with its saturation, µs | st | "
        "st_instance_insert: st, instance insert | st_instance_delete: instance delete | "
        "st_schema_insert: schema insert | st_schema_delete: schema delete",
        repeat=sizes.repeat,
    )
    section.rows += apart(_saturation, count=max(sizes.entailed), repeat=sizes.repeat)
    section.rows += apart(_queries, count=count, repeat=sizes.repeat)
    return section


def _saturation(count: int, repeat: int) -> Iterable[dict[str, Any]]:
    """Figure 14: saturation by size, with supports and with paths counted."""
    for size in (count // 4, count // 2, count):
        graph = to_graph([*SCHEMA, *instances(size)])
        rdflive.saturate(graph).close()

        def seconds(number: int, counts: Literal["support", "paths"], graph: Graph = graph) -> float:
            taken, saturated = timed(lambda: rdflive.saturate(graph, counts=counts))
            saturated.close()
            return taken

        found = interleave(
            cells(saturation=lambda n: seconds(n, "support"), paths=lambda n: seconds(n, "paths")),
            repeat,
        )
        yield cells(
            what="saturation", triples=size, **{name: median(taken) * 1e3 for name, taken in found.items()}
        )


def _queries(count: int, repeat: int) -> Iterable[dict[str, Any]]:
    """Figures 15, 16 and 17."""
    graph = to_graph([*SCHEMA, *instances(count)])
    found: dict[str, Thresholds] = {}
    for name, text in QUERIES.items():
        found[name] = thresholds(f"PREFIX : <{EX}> {text}", graph, runs=repeat)
        yield _query_row(name, found[name])
    for what in ("instance_insert", "instance_delete", "schema_insert", "schema_delete"):
        times: list[UpdateTimes] = [getattr(measured, what) for measured in found.values()]
        yield cells(
            what=what.replace("_", " "),
            triples=count,
            plain=median(t.plain for t in times) * 1e6,
            maintained=median(t.maintained for t in times) * 1e6,
        )


def _query_row(name: str, measured: Thresholds) -> dict[str, Any]:
    row = cells(
        what=name,
        triples=measured.explicit,
        entailed=measured.entailed,
        members=measured.members,
        answers=measured.answers,
        sat=measured.on_saturated * 1e3,
        ref=measured.reformulated * 1e3,
        saturation=measured.saturation * 1e3,
    )
    names = ("st", "st_instance_insert", "st_instance_delete", "st_schema_insert", "st_schema_delete")
    return row | {threshold: getattr(measured, threshold) for threshold in names}
