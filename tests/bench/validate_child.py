"""A building validated by Brick's shapes, in a process of its own: by rdflive, pySHACL or rudof."""

from __future__ import annotations

import gc
import json
import logging
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, Final

from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

import rdflive

__all__ = ["building"]

BRICK: Final = Namespace("https://brickschema.org/schema/Brick#")
SITE: Final = Namespace("urn:building#")
SH: Final = Namespace("http://www.w3.org/ns/shacl#")
FLOORS, ROOMS = 5, 20
POINTS: Final = (
    "Zone_Air_Temperature_Sensor", "Zone_Air_Temperature_Setpoint", "Damper_Position_Command",
    "Supply_Air_Flow_Sensor", "Occupancy_Sensor",
)  # fmt: skip


def building(copies: int) -> Iterator[tuple[Node, URIRef, Node]]:
    """Describe buildings that are alike: five floors of twenty rooms, each with a box and its points."""
    for number in range(copies):

        def name(local: str, number: int = number) -> URIRef:
            return SITE[f"b{number}_{local}"]

        yield name("site"), RDF.type, BRICK.Building
        for floor in range(FLOORS):
            level, handler = name(f"f{floor}"), name(f"ahu{floor}")
            yield level, RDF.type, BRICK.Floor
            yield name("site"), BRICK.hasPart, level
            yield handler, RDF.type, BRICK.Air_Handling_Unit
            for room in range(ROOMS):
                here = f"{floor}_{room}"
                box, zone = name(f"vav{here}"), name(f"zone{here}")
                yield box, RDF.type, BRICK.VAV
                yield handler, BRICK.feeds, box
                yield box, BRICK.feeds, zone
                yield zone, RDF.type, BRICK.HVAC_Zone
                yield zone, BRICK.hasPart, name(f"room{here}")
                yield name(f"room{here}"), RDF.type, BRICK.Room
                yield level, BRICK.hasPart, name(f"room{here}")
                for kind in POINTS:
                    point = name(f"{kind}{here}")
                    yield point, RDF.type, BRICK[kind]
                    yield point, BRICK.isPointOf, box
                    yield point, RDFS.label, Literal(f"{kind} {here}")
                    yield box, BRICK.hasPoint, point


def _measure(way: str, ontology: str, copies: int) -> dict[str, Any]:
    # first of all: the notes of rdflib on ill-typed literals, and of pySHACL on its loads
    logging.disable(logging.CRITICAL)
    shapes = Graph().parse(Path(ontology))
    data = Graph()
    for each in (*shapes, *building(copies)):
        data.add(each)
    found = {"triples": sum(1 for _ in building(copies))}
    return found | {"rdflive": _rdflive, "pySHACL": _pyshacl, "rudof": _rudof}[way](data, shapes)


def _rdflive(data: Graph, shapes: Graph) -> dict[str, Any]:
    gc.collect()
    before, begin = _resident(), process_time()
    validation = rdflive.validate(data, shapes, lambda _: None)
    first = process_time() - begin
    gc.collect()
    kept = _resident() - before
    results = len(validation.answers())
    fresh = Graph()
    for each in building(1):
        fresh.add(each)
    nodes = len(set(data.subjects(RDF.type)))
    return {
        "first": first,
        "results": results,
        "bytes": kept / nodes,
        "untouched": _each(lambda n: data.add((SITE.x, URIRef("urn:note"), Literal(n)))),
        "bare": _each(lambda n: fresh.add((SITE.x, URIRef("urn:note"), Literal(n)))),
        "point": _each(lambda n: data.add((SITE[f"new{n}"], RDF.type, BRICK.Zone_Air_Temperature_Sensor))),
        "link": _each(lambda n: data.add((SITE.b0_vav0_0, BRICK.hasPoint, SITE[f"new{n}"]))),
        "broken": _each(lambda n: data.add((SITE[f"new{n}"], BRICK.isPointOf, SITE[f"new{n + 1}"]))),
    }


def _each(change: Callable[[int], object], count: int = 400) -> float:
    """Give the median of blocks, so that what is counted or compiled once does not count."""
    blocks = []
    for block in range(8):
        begin = process_time()
        for number in range(count // 8):
            change(block * count + number)
        blocks.append((process_time() - begin) / (count // 8))
    return sorted(blocks)[4]


def _pyshacl(data: Graph, shapes: Graph) -> dict[str, Any]:
    import pyshacl

    begin = process_time()
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes)
    return {"first": process_time() - begin, "results": len(list(report.objects(None, SH.result)))}


def _rudof(data: Graph, shapes: Graph) -> dict[str, Any]:
    import pyrudof

    texts = data.serialize(format="nt"), shapes.serialize(format="turtle")
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
