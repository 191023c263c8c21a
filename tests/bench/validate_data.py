"""What (v) validates: buildings by Brick's shapes, schema.org's vocabulary by its queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from bench.histories import Changes, schema_org

__all__ = ["Case", "buildings", "devices", "vocabulary"]

BRICK: Final = Namespace("https://brickschema.org/schema/Brick#")
SITE: Final = Namespace("urn:building#")
SH: Final = Namespace("http://www.w3.org/ns/shacl#")
VERSION: Final = "1.4"
"""Of Brick."""
FLOORS, ROOMS = 5, 20
POINTS: Final = (
    "Zone_Air_Temperature_Sensor", "Zone_Air_Temperature_Setpoint", "Damper_Position_Command",
    "Supply_Air_Flow_Sensor", "Occupancy_Sensor",
)  # fmt: skip
EACH: Final = 400
"""Changes of each kind."""

NO_CONSTRAINT: Final = frozenset({
    "BaseTypeExists", "BaseTypeIsUnique", "evenNumberOfInverseOf", "foundSixPlusInverseOf",
})  # fmt: skip
"""Their maintainers look at how many solutions these have."""
FORBIDDEN: Final = frozenset({"isPartOf", "properClassPropertyStructuring", "EnumerationWithoutEnums"})
"""MINUS and VALUES, which SHACL-SPARQL forbids, and one that is not SPARQL."""


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, shapes for it, and changes of several kinds."""

    data: Graph
    shapes: Graph
    size: int
    changes: dict[str, list[Changes]]


def buildings(copies: int) -> Case:
    """Give so many buildings beside the ontology, which holds the shapes."""
    import brickschema

    ontology = Path(brickschema.__file__).parent / "ontologies" / VERSION / "Brick.ttl"
    shapes, data = Graph().parse(ontology), Graph()
    size = sum(1 for _ in building(copies))
    for each in (*shapes, *building(copies)):
        data.add(each)
    new = [SITE[f"new{number}"] for number in range(EACH + 1)]
    sensor, link, part = BRICK.Zone_Air_Temperature_Sensor, BRICK.hasPoint, BRICK.isPointOf
    return Case(data, shapes, size, {
        "untouched": _singles(lambda n: (SITE.x, URIRef("urn:note"), Literal(n))),
        "point": _singles(lambda n: (new[n], RDF.type, sensor)),
        "link": _singles(lambda n: (SITE.b0_vav0_0, link, new[n])),
        "broken": _singles(lambda n: (new[n], part, new[n + 1])),
    })  # fmt: skip


def _singles(triple: Callable[[int], Any]) -> list[Changes]:
    return [[(1, triple(number))] for number in range(EACH)]


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


def devices(number: int) -> Case:
    """Give so many devices that have a shape of their own, all of one form, among 2,000 that measure."""
    data, shapes = Graph(), Graph()
    reading = SITE.reading
    for at in range(2_000):
        data.add((SITE[f"device{at}"], RDF.type, BRICK.Sensor))
        data.add((SITE[f"device{at}"], reading, Literal(at % 50)))
    for at in range(number):
        shape, values = SITE[f"shape{at}"], SITE[f"values{at}"]
        for each in (
            (shape, SH.targetNode, SITE[f"device{at}"]), (shape, SH.property, values),
            (values, SH.path, reading), (values, SH.maxInclusive, Literal(at % 70)),
            (values, SH.maxCount, Literal(9)),
        ):  # fmt: skip
            shapes.add(each)
    return Case(data, shapes, len(data), {
        "untouched": _singles(lambda n: (SITE.x, URIRef("urn:note"), Literal(n))),
        "reading": _singles(lambda n: (SITE[f"device{n * 7 % 1_000}"], reading, Literal(-n))),
    })  # fmt: skip


def vocabulary() -> Case:
    """Give schema.org's vocabulary; each query of its maintainers is a shape."""
    history = schema_org()
    shapes = Graph()
    for name, query in history.queries.items():
        if name not in NO_CONSTRAINT | FORBIDDEN:
            shapes.parse(data=_shape(name, query), format="turtle")
    # one of the queries asks for all triples, so none is untouched
    return Case(history.base, shapes, len(history.base), {"transaction": history.changes})


def _shape(name: str, query: str) -> str:
    """Let `$this` be what the query selects first."""
    text = re.sub(r"ORDER BY \?\w+\s*$", "", query)
    (first,) = re.findall(r"SELECT (?:DISTINCT )?\?(\w+)", text)
    text = re.sub(rf"\?{first}\b", "$this", text).replace("\\", "\\\\")
    return f"""
        PREFIX sh: <http://www.w3.org/ns/shacl#> PREFIX rdf: <{RDF}> PREFIX rdfs: <{RDFS}>
        <urn:shape:{name}> a sh:NodeShape ; sh:targetClass rdfs:Class, rdf:Property ;
            sh:sparql [ sh:select '''{text}''' ] ."""
