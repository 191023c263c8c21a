"""The shapes of Brick over a building: the results equal those of pySHACL and of a new validation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, Graph, URIRef

import rdflive
from bench.validate_data import BRICK, SITE, building
from support.effort import drawn_from, rounds
from support.shacl import SH

brickschema = pytest.importorskip("brickschema", reason="it has the shapes: pip install brickschema")
ONTOLOGY = Path(brickschema.__file__).parent / "ontologies" / "1.4" / "Brick.ttl"


@pytest.fixture(scope="module")
def ontology() -> Graph:
    """Read Brick."""
    return Graph().parse(ONTOLOGY)


def a_building(ontology: Graph) -> Graph:
    """Make a building beside the ontology, with some mistakes."""
    data = Graph()
    for each in (*ontology, *building(1)):
        data.add(each)
    data.add((SITE.b0_f0, BRICK.hasPoint, SITE.b0_room0_0))
    data.add((SITE.b0_room0_1, BRICK.hasPart, SITE.b0_ahu0))
    return data


def briefly(report: Graph) -> Counter[tuple[Any, ...]]:
    """Give what both say of each result."""
    found: Counter[tuple[Any, ...]] = Counter()
    for result in report.objects(None, SH.result):
        path = report.value(result, SH.resultPath)
        names = (SH.focusNode, SH.value, SH.sourceConstraintComponent, SH.resultSeverity)
        found[
            *(report.value(result, name) for name in names), path if isinstance(path, URIRef) else None
        ] += 1
    return found


@pytest.mark.hunted("pySHACL takes half a minute; the gate compares with a validation from scratch")
def test_results_are_those_of_pyshacl(ontology: Graph) -> None:
    """The same ones, as often."""
    pyshacl = pytest.importorskip("pyshacl", reason="it is compared with")
    data = a_building(ontology)
    _, report, _ = pyshacl.validate(data, shacl_graph=ontology)
    with rdflive.validate(data, ontology) as validation:
        assert briefly(validation.graph) == briefly(report)
        assert len(validation.answers()) > 300


def test_changes_of_a_building_are_followed(ontology: Graph) -> None:
    """Whatever comes and goes, the results are those of another validation that begins there."""
    data, chance = a_building(ontology), drawn_from("brick")
    triples = sorted(building(1))
    links = [BRICK.hasPart, BRICK.hasPoint, BRICK.isPointOf, BRICK.feeds, RDF.type]
    told: Counter[tuple[Any, ...]] = Counter()

    def take(delta: rdflive.Delta) -> None:
        told.update(map(tuple, delta.added))
        told.subtract(map(tuple, delta.removed))

    with rdflive.validate(data, ontology, take) as validation:
        before = Counter(map(tuple, validation.answers()))
        for _ in range(rounds(10)):
            gone = chance.sample(triples, 20)
            come = [
                (chance.choice(triples)[0], chance.choice(links), chance.choice(triples)[2])
                for _ in range(20)
            ]
            come = [each for each in come if each not in data]
            for each in gone:
                data.remove(each)
            for each in come:
                data.add(each)
            with rdflive.validate(data, ontology) as again:
                assert +told == Counter(map(tuple, again.answers()))
            for each in come:
                data.remove(each)
            for each in gone:
                data.add(each)
        assert Counter(map(tuple, validation.answers())) == before == +told
