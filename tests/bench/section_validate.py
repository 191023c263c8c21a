"""(v) SHACL: buildings by Brick's shapes and schema.org's vocabulary, at first and after each change."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, Final

from rdflib import RDF, Graph, Namespace

import rdflive
from bench.child import apart, resident
from bench.histories import DATA, Changes
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from bench.validate_data import VERSION, Case, buildings, devices, vocabulary

__all__ = ["RDF4J", "run", "shacl_sail"]

PEERS: Final = {"pySHACL": "pyshacl", "rudof": "pyrudof"}
MOST: Final = 102
"""Transactions of a kind that the peer in Java makes: 30 before it is timed."""
RDF4J: Final = "RDFLIVE_RDF4J"
"""Names the folder with what tests/bench/rdf4j.xml fetches."""
SH: Final = Namespace("http://www.w3.org/ns/shacl#")
BLOCKS: Final = 8
CHANGES: Final = {
    "untouched": "an add that no shape reads",
    "point": "a sensor more",
    "link": "a relation more",
    "broken": "a relation that breaks a shape",
    "reading": "a reading of a device with a shape of its own, of a form that all have",
    "transaction": "a transaction of its history",
}

_SHOWN = ("first validation", "an add that no shape reads", "a sensor more", "a transaction of its history")
"""What the page shows."""
_SAILS = ("first validation", "a sensor more")
PAGE = Page(
    "v",
    "SHACL, at first and after each change",
    "Brick's shapes validate a building of 2,716 triples, and schema.org's own queries its vocabulary, at "
    "first and after each change.",
    "pySHACL validates everything again; ShaclSail is RDF4J's, with a transaction for each change.",
    "data what way seconds micros ratio",
    lambda row: (
        row["data"] in ("1 building", "schema.org")
        and row["what"] in _SHOWN
        and (
            row["way"] in ("rdflive", "pySHACL")
            or (row["what"] in _SAILS and row["way"].startswith("ShaclSail"))
        )
    ),
)


def run(sizes: Sizes) -> Section:
    """Measure each way in a process of its own."""
    section = Section(
        "validate",
        f"SHACL: buildings by the shapes of Brick {VERSION}, schema.org by its maintainers' queries",
        max((*sizes.buildings, *sizes.devices)),
        "data | triples | what | way | seconds: s of CPU time | micros: µs a change | "
        "ratio: times as fast as pySHACL again | over_bare: of a bare add | bytes: bytes a typed node | "
        "results",
    )
    cases: list[tuple[str, int]] = []
    if find_spec("brickschema") is None:
        section.notes.append("brickschema is not installed, so no building was measured.")
    else:
        cases += [("buildings", number) for number in sizes.buildings]
    if DATA.exists():
        cases.append(("schema.org", 1))
    else:
        section.notes.append(f"schema.org was not measured: {DATA} is absent (set RDFLIVE_SHARED).")
    cases += [("devices", number) for number in sizes.devices]
    is_late: set[tuple[str, str]] = set()
    for name, number in cases:
        task = {"name": name, "number": number}
        ours = apart(measure, way="rdflive", **task)
        shared = {"data": _named(name, number), "triples": ours["triples"]}
        first = {"what": "first validation", **shared}
        peer = None
        for way, package in PEERS.items():
            if find_spec(package) is None:
                continue
            found = None
            if (name, way) not in is_late:
                with suppress(subprocess.TimeoutExpired):
                    found = apart(measure, seconds=sizes.longest, way=way, **task)
            if found is None:
                is_late.add((name, way))
                section.add(**first, way=f"{way}, more than {sizes.longest} s")
                continue
            section.add(**first, way=way, seconds=found["first"], results=found["results"])
            if way == "pySHACL":
                peer = found["first"]
        ratio = None if peer is None else peer / ours["first"]
        figures = {key: ours[key] for key in ("bytes", "results")}
        section.add(**first, way="rdflive", seconds=ours["first"], **figures, ratio=ratio)
        in_java = shacl_sail(**task, longest=sizes.longest) if os.environ.get(RDF4J) else None
        if in_java is not None:
            section.add(**first, way="ShaclSail, all at once", seconds=in_java["first"])
        for kind, what in CHANGES.items():
            if kind not in ours:
                continue
            ratio = None if peer is None else peer / ours[kind]
            over = ours[kind] / ours["bare"] if kind == "untouched" else None
            section.add(
                what=what, **shared, way="rdflive", micros=ours[kind] * 1e6, ratio=ratio, over_bare=over
            )
            if in_java is not None:
                section.add(what=what, **shared, way="ShaclSail", micros=in_java[kind] * 1e6)
    if not os.environ.get(RDF4J):
        section.notes.append(f"No ShaclSail: {RDF4J} names no folder with RDF4J.")
    return section


def _named(name: str, number: int) -> str:
    if name == "schema.org":
        return name
    return f"{number:,} {name if number > 1 else name.removesuffix('s')}"


def shacl_sail(name: str, number: int, longest: int) -> dict[str, float] | None:
    """Have ShaclSail of RDF4J make the changes of a case; None where it takes longer than so many seconds."""
    found_case = case(name, number)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("shapes.ttl", "data.nt", "changes")]
        found_case.shapes.serialize(paths[0], format="turtle")
        found_case.data.serialize(paths[1], format="nt", encoding="utf-8")
        with Path(paths[2]).open("w", encoding="utf-8") as file:
            for kind, batches in found_case.changes.items():
                for number, batch in enumerate(batches[:MOST]):
                    for sign, triple in batch:
                        line = Graph().add(triple).serialize(format="nt").strip()
                        print(kind, number, "+" if sign > 0 else "-", line, file=file)
        program = str(Path(__file__).with_name("ValidatePeer.java"))
        command = ["java", "-Xmx6g", "-cp", f"{os.environ[RDF4J]}/*", program, *paths]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=longest)
        except subprocess.TimeoutExpired:
            return None
    found: dict[str, float] = json.loads(done.stdout)
    return found


def case(name: str, number: int) -> Case:
    """Give so many buildings, devices with shapes of their own, or schema.org's vocabulary."""
    if name == "schema.org":
        return vocabulary()
    return (devices if name == "devices" else buildings)(number)


def measure(way: str, name: str, number: int) -> dict[str, Any]:
    # first of all: the notes of rdflib on ill-typed literals, and of pySHACL on its loads
    logging.disable(logging.CRITICAL)
    found = case(name, number)
    by = {"rdflive": _rdflive, "pySHACL": _pyshacl, "rudof": _rudof}[way]
    try:
        return {"triples": found.size, **by(found)}
    finally:
        logging.disable(logging.NOTSET)


def _rdflive(case: Case) -> dict[str, Any]:
    gc.collect()
    before, begin = resident(), process_time()
    validation = rdflive.validate(case.data, case.shapes, lambda _: None)
    first = process_time() - begin
    gc.collect()
    kept = resident() - before
    results = len(validation.answers())
    fresh = Graph()
    for each in case.data:
        fresh.add(each)
    bare = _each(fresh, next(iter(case.changes.values())), live=False)
    nodes = len(set(case.data.subjects(RDF.type)))
    times = {kind: _each(case.data, batches, live=True) for kind, batches in case.changes.items()}
    return {"first": first, "results": results, "bytes": kept / nodes, "bare": bare, **times}


def _each(graph: Graph, batches: list[Changes], *, live: bool) -> float:
    """Return the median of blocks, which leaves out work that is done once."""
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
