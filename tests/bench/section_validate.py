"""(v) SHACL: buildings by Brick's shapes and schema.org's vocabulary, at first and after each change."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rdflib import Graph

from bench.child import call_module
from bench.histories import DATA
from bench.report import Section
from bench.sizes import Sizes
from bench.stream import SEED
from bench.validate_child import case
from bench.validate_data import VERSION

__all__ = ["RDF4J", "run", "shacl_sail"]

PEERS: Final = {"pySHACL": "pyshacl", "rudof": "pyrudof"}
MOST: Final = 102
"""Transactions of a kind that the peer in Java makes: 30 before it is timed."""
RDF4J: Final = "RDFLIVE_RDF4J"
"""Names the folder with what tests/bench/rdf4j.xml fetches."""
CHANGES: Final = {
    "untouched": "an add that no shape asks for",
    "point": "a sensor more",
    "link": "a relation more",
    "broken": "a relation that breaks a shape",
    "reading": "a reading of a device with a shape of its own, of a form that all have",
    "transaction": "a transaction of its history",
}


def run(sizes: Sizes) -> Section:
    """Measure each way in a process of its own."""
    section = Section(
        "validate",
        f"SHACL: buildings by the shapes of Brick {VERSION}, schema.org by its maintainers' queries",
        max((*sizes.buildings, *sizes.devices)),
        SEED,
        1,
        {
            "data": "data",
            "triples": "triples",
            "what": "what",
            "way": "way",
            "seconds": "s of CPU time",
            "micros": "µs a change",
            "ratio": "times as fast as pySHACL anew",
            "over_bare": "of a bare add",
            "bytes": "bytes a typed node",
            "results": "results",
        },
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
        ours = call_module("bench.validate_child", {"way": "rdflive", **task})
        shared = {"data": name if name == "schema.org" else f"{number:,} {name}", "triples": ours["triples"]}
        anew = None
        for way, package in PEERS.items():
            if find_spec(package) is None:
                continue
            found = _peer({"way": way, **task}, sizes.longest) if (name, way) not in is_late else None
            row: dict[str, Any] = {"what": "first validation", **shared, "way": way}
            if found is None:
                is_late.add((name, way))
                section.rows.append({**row, "way": f"{way}, more than {sizes.longest} s"})
                continue
            section.rows.append({**row, "seconds": found["first"], "results": found["results"]})
            if way == "pySHACL":
                anew = found["first"]
        section.rows.append({
            "what": "first validation", **shared, "way": "rdflive", "seconds": ours["first"],
            "bytes": ours["bytes"], "results": ours["results"],
            "ratio": None if anew is None else anew / ours["first"],
        })  # fmt: skip
        in_java = shacl_sail(**task, longest=sizes.longest) if os.environ.get(RDF4J) else None
        if in_java is not None:
            row = {"what": "first validation", **shared, "way": "ShaclSail, all at once"}
            section.rows.append({**row, "seconds": in_java["first"]})
        for kind, what in CHANGES.items():
            if kind not in ours:
                continue
            row = {"what": what, **shared}
            section.rows.append({
                **row, "way": "rdflive", "micros": ours[kind] * 1e6,
                "ratio": None if anew is None else anew / ours[kind],
                "over_bare": ours[kind] / ours["bare"] if kind == "untouched" else None,
            })  # fmt: skip
            if in_java is not None:
                section.rows.append({**row, "way": "ShaclSail", "micros": in_java[kind] * 1e6})
    section.notes += [
        "The data are the ontology and the buildings, in rdflib's Memory; the shapes are the ontology. "
        "Reading files is not in the times, reading the shapes is.",
        "maplib's validation is not part of what its package offers.",
        "ShaclSail is RDF4J's, a transaction a change, behind 30 of the kind, by the clock."
        if os.environ.get(RDF4J)
        else f"No ShaclSail: {RDF4J} names no folder with RDF4J.",
    ]
    return section


def _peer(task: dict[str, Any], longest: int) -> dict[str, Any] | None:
    try:
        return call_module("bench.validate_child", task, seconds=longest)
    except subprocess.TimeoutExpired:
        return None


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
