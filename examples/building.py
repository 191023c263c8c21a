"""Validate a small building with the shapes of Brick at each write: pip install brickschema."""

from pathlib import Path

import brickschema
import rdflib

import rdflive

BRICK = rdflib.Namespace("https://brickschema.org/schema/Brick#")
SITE = rdflib.Namespace("urn:site#")

ontology = rdflib.Graph().parse(Path(brickschema.__file__).parent / "ontologies" / "1.4" / "Brick.ttl")
building = rdflib.Graph()
building += ontology  # the shapes look up classes there
building.bind("", SITE)


def show(delta):
    """Print the violations that a change caused and removed."""
    for sign, results in (("+", delta.added), ("-", delta.removed)):
        for row in results:
            print(f"  {sign} {row.focus.n3(building.namespace_manager)}: {row.message}")


with rdflive.validate(building, ontology, show, initial=False) as validation:
    print(f"{len(validation.shapes):,} shapes, {len(validation.answers())} results in the ontology itself.")
    print("A sensor is a point of a room:")
    building.add((SITE.sensor, rdflib.RDF.type, BRICK.Zone_Air_Temperature_Sensor))
    building.add((SITE.room, rdflib.RDF.type, BRICK.Room))
    building.add((SITE.sensor, BRICK.isPointOf, SITE.room))
    print("It is a part of itself:")
    building.add((SITE.room, BRICK.hasPart, SITE.sensor))
    print("No more:")
    building.remove((SITE.room, BRICK.hasPart, SITE.sensor))
