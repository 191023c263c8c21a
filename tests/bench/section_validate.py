"""(v) SHACL: buildings by Brick's shapes, validated at first and after each change."""

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
from bench.report import Section
from bench.sizes import Sizes
from bench.stream import SEED
from bench.validate_child import building

__all__ = ["run"]

VERSION: Final = "1.4"
PEERS: Final = {"pySHACL": "pyshacl", "rudof": "pyrudof"}
LONGEST: Final = 600
"""Seconds that a peer may take."""
RDF4J: Final = "RDFLIVE_RDF4J"
"""Names the folder with what tests/bench/rdf4j.xml fetches."""
CHANGES: Final = {
    "untouched": "an add that no shape asks for",
    "point": "a sensor more",
    "link": "a relation more",
    "broken": "a relation that breaks a shape",
}


def run(sizes: Sizes) -> Section:
    """Measure each way in a process of its own."""
    section = Section(
        "validate",
        f"SHACL: buildings by the shapes of Brick {VERSION}",
        max(sizes.buildings),
        SEED,
        1,
        {
            "what": "what",
            "triples": "triples of buildings",
            "way": "way",
            "seconds": "s of CPU time",
            "micros": "µs a change",
            "ratio": "times as fast as pySHACL anew",
            "over_bare": "of a bare add",
            "bytes": "bytes a typed node",
            "results": "results",
        },
    )
    if find_spec("brickschema") is None:
        section.notes.append("brickschema is not installed, so nothing was measured.")
        return section
    import brickschema

    ontology = str(Path(brickschema.__file__).parent / "ontologies" / VERSION / "Brick.ttl")
    is_late: set[str] = set()
    for copies in sizes.buildings:
        task = {"ontology": ontology, "copies": copies}
        ours = call_module("bench.validate_child", {"way": "rdflive", **task})
        shared = {"triples": ours["triples"]}
        anew = None
        for way, package in PEERS.items():
            if find_spec(package) is None:
                continue
            found = _peer({"way": way, **task}) if way not in is_late else None
            row: dict[str, Any] = {"what": "first validation", **shared, "way": way}
            if found is None:
                is_late.add(way)
                section.rows.append({**row, "way": f"{way}, more than {LONGEST} s"})
                continue
            section.rows.append({**row, "seconds": found["first"], "results": found["results"]})
            if way == "pySHACL":
                anew = found["first"]
        section.rows.append({
            "what": "first validation", **shared, "way": "rdflive", "seconds": ours["first"],
            "bytes": ours["bytes"], "results": ours["results"],
            "ratio": None if anew is None else anew / ours["first"],
        })  # fmt: skip
        in_java = _rdf4j(ontology, copies) if os.environ.get(RDF4J) else None
        if in_java is not None:
            row = {"what": "first validation", **shared, "way": "ShaclSail, all at once"}
            section.rows.append({**row, "seconds": in_java["first"]})
        for name, what in CHANGES.items():
            row = {"what": what, **shared}
            section.rows.append({
                **row, "way": "rdflive", "micros": ours[name] * 1e6,
                "ratio": None if anew is None else anew / ours[name],
                "over_bare": ours[name] / ours["bare"] if name == "untouched" else None,
            })  # fmt: skip
            if in_java is not None:
                section.rows.append({**row, "way": "ShaclSail", "micros": in_java[name] * 1e6})
    section.notes += [
        "The data are the ontology and the buildings, in rdflib's Memory; the shapes are the ontology. "
        "Reading files is not in the times, reading the shapes is.",
        "maplib's validation is not part of what its package offers.",
        "ShaclSail is RDF4J's, a transaction a change, behind 30 of the kind, by the clock."
        if os.environ.get(RDF4J)
        else f"No ShaclSail: {RDF4J} names no folder with RDF4J.",
    ]
    return section


def _peer(task: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return call_module("bench.validate_child", task, seconds=LONGEST)
    except subprocess.TimeoutExpired:
        return None


def _rdf4j(ontology: str, copies: int) -> dict[str, float] | None:
    data = Graph().parse(ontology)
    for each in building(copies):
        data.add(each)
    with tempfile.NamedTemporaryFile(suffix=".nt") as file:
        data.serialize(file, format="nt", encoding="utf-8")
        file.flush()
        program = str(Path(__file__).with_name("ValidatePeer.java"))
        command = ["java", "-Xmx6g", "-cp", f"{os.environ[RDF4J]}/*", program, ontology, file.name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return None
    found: dict[str, float] = json.loads(done.stdout)
    return found
