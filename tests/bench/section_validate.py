"""(v) SHACL: buildings by Brick's shapes, validated at first and after each change."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.child import call_module
from bench.report import Section
from bench.sizes import Sizes
from bench.stream import SEED

__all__ = ["run"]

VERSION: Final = "1.4"
PEERS: Final = {"pySHACL": "pyshacl", "rudof": "pyrudof"}
LONGEST: Final = 600
"""Seconds that a peer may take."""


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
        for name, what in (
            ("untouched", "an add that no shape asks for"), ("point", "a sensor more"),
            ("link", "a relation more"), ("broken", "a relation that breaks a shape"),
        ):  # fmt: skip
            section.rows.append({
                "what": what, **shared, "way": "rdflive", "micros": ours[name] * 1e6,
                "ratio": None if anew is None else anew / ours[name],
                "over_bare": ours[name] / ours["bare"] if name == "untouched" else None,
            })  # fmt: skip
    section.notes += [
        "The data are the ontology and the buildings, in rdflib's Memory; the shapes are the ontology. "
        "Reading files is not in the times, reading the shapes is.",
        "maplib's validation is not part of what its package offers.",
    ]
    return section


def _peer(task: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return call_module("bench.validate_child", task, seconds=LONGEST)
    except subprocess.TimeoutExpired:
        return None
