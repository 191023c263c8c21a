"""A graph validated by shapes, in a process of its own: by rdflive, pySHACL or rudof."""

from __future__ import annotations

import gc
import json
import logging
import resource
import sys
from pathlib import Path
from time import process_time
from typing import Any, Final

from rdflib import RDF, Graph, Namespace

import rdflive
from bench.histories import Changes
from bench.validate_data import Case, buildings, devices, vocabulary

__all__ = ["case"]

SH: Final = Namespace("http://www.w3.org/ns/shacl#")
BLOCKS: Final = 8


def case(name: str, number: int) -> Case:
    """Give so many buildings, devices with shapes of their own, or schema.org's vocabulary."""
    if name == "schema.org":
        return vocabulary()
    return (devices if name == "devices" else buildings)(number)


def _measure(way: str, name: str, number: int) -> dict[str, Any]:
    # first of all: the notes of rdflib on ill-typed literals, and of pySHACL on its loads
    logging.disable(logging.CRITICAL)
    found = case(name, number)
    measure = {"rdflive": _rdflive, "pySHACL": _pyshacl, "rudof": _rudof}[way]
    return {"triples": found.size, **measure(found)}


def _rdflive(case: Case) -> dict[str, Any]:
    gc.collect()
    before, begin = _resident(), process_time()
    validation = rdflive.validate(case.data, case.shapes, lambda _: None)
    first = process_time() - begin
    gc.collect()
    kept = _resident() - before
    results = len(validation.answers())
    fresh = Graph()
    for each in case.data:
        fresh.add(each)
    bare = _each(fresh, next(iter(case.changes.values())), live=False)
    nodes = len(set(case.data.subjects(RDF.type)))
    times = {kind: _each(case.data, batches, live=True) for kind, batches in case.changes.items()}
    return {"first": first, "results": results, "bytes": kept / nodes, "bare": bare, **times}


def _each(graph: Graph, batches: list[Changes], *, live: bool) -> float:
    """Give the median of blocks, so that what is counted or compiled once does not count."""
    each = len(batches) // BLOCKS
    blocks = []
    for block in range(BLOCKS):
        begin = process_time()
        for batch in batches[block * each : (block + 1) * each]:
            if live and len(batch) > 1:
                with rdflive.batch(graph):
                    _apply(graph, batch)
            else:
                _apply(graph, batch)
        blocks.append((process_time() - begin) / each)
    return sorted(blocks)[BLOCKS // 2]


def _apply(graph: Graph, batch: Changes) -> None:
    for sign, triple in batch:
        if sign > 0:
            graph.add(triple)
        else:
            graph.remove(triple)


def _pyshacl(case: Case) -> dict[str, Any]:
    import pyshacl

    begin = process_time()
    _, report, _ = pyshacl.validate(case.data, shacl_graph=case.shapes)
    return {"first": process_time() - begin, "results": len(list(report.objects(None, SH.result)))}


def _rudof(case: Case) -> dict[str, Any]:
    import pyrudof

    texts = case.data.serialize(format="nt"), case.shapes.serialize(format="turtle")
    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_data(texts[0], pyrudof.RDFFormat.NTriples)
    begin = process_time()
    rudof.read_shacl(texts[1])
    report = rudof.validate_shacl()
    return {"first": process_time() - begin, "results": len(list(report))}


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    print(json.dumps(_measure(**json.load(sys.stdin))))
