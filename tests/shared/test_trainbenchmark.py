"""The Train Benchmark: faults put into a railway and mended again, with every query watching."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from support.effort import drawn_from, rounds
from support.shared import shared
from support.worlds import KINDS, Face, Follower

pytestmark = pytest.mark.shared

FOLDER = ("data", "trainbenchmark")
MODELS = ("railway-batch-1", "railway-inject-1")
CONSTRAINTS = ("ConnectedSegments", "PosLength", "SwitchMonitored", "SwitchSet")
FAULTS = rounds(6)
"""How many faults of each kind are put in."""
PREFIX = "PREFIX base: <http://www.semanticweb.org/ontologies/2015/trainbenchmark#> "

INJECT = {
    "ConnectedSegments": """
        DELETE DATA {{ {segment1} base:connectsTo {segment3} }} ;
        INSERT DATA {{ {segment1} base:connectsTo {new} . {new} a base:Segment , base:TrackElement ;
            base:length 1 ; base:monitoredBy {sensor} ; base:connectsTo {segment3} }}""",
    "PosLength": """
        DELETE {{ {segment} base:length ?old }} INSERT {{ {segment} base:length {length} }}
        WHERE {{ {segment} base:length ?old }}""",
    "SwitchMonitored": "DELETE WHERE {{ {sw} base:monitoredBy ?sensor }}",
    "SwitchSet": """
        DELETE {{ {sw} base:currentPosition ?old }} INSERT {{ {sw} base:currentPosition base:{position} }}
        WHERE {{ {sw} base:currentPosition ?old }}""",
}
"""How to put in a fault, where a row of the query `<constraint>Inject` says."""

REPAIR = {
    "ConnectedSegments": """
        DELETE WHERE {{ {segment2} ?p ?o }} ; DELETE WHERE {{ ?s ?p {segment2} }} ;
        INSERT DATA {{ {segment1} base:connectsTo {segment3} }}""",
    "PosLength": """
        DELETE {{ {segment} base:length ?old }} INSERT {{ {segment} base:length ?new }}
        WHERE {{ {segment} base:length ?old BIND (1 - ?old AS ?new) }}""",
    "SwitchMonitored": "INSERT DATA {{ {sw} base:monitoredBy {new} . {new} a base:Sensor }}",
    "SwitchSet": """
        DELETE DATA {{ {sw} base:currentPosition {currentPosition} }} ;
        INSERT DATA {{ {sw} base:currentPosition {position} }}""",
}
"""How to mend a fault that a row of the constraint's query reports."""


class Railway:
    """A model in a graph, all queries subscribed, and each compared with the engine after each change."""

    def __init__(self, model: str, kind: str) -> None:
        self.face = Face(KINDS[kind]())
        load(self.face, model)
        self.queries = {path.stem: path.read_text(encoding="utf-8") for path in query_paths()}
        self.followers = {name: Follower(self.face, text) for name, text in self.queries.items()}
        self.choice = drawn_from(model, kind)
        self.made = 0
        self.check()

    def rows(self, name: str) -> list[dict[str, str]]:
        """List a query's solutions as its deltas tell, in an order that does not depend on hashes."""
        state: Any = self.followers[name].state()
        return sorted(
            ({variable: written(term) for variable, term in row} for row in state.elements()),
            key=lambda row: sorted(row.items()),
        )

    def change(self, template: str, row: dict[str, str]) -> None:
        """Run an update made of a template and a row, and compare."""
        self.made += 1
        position = self.choice.choice(["POSITION_STRAIGHT", "POSITION_LEFT", "POSITION_RIGHT"])
        facts = {
            "new": f"base:new{self.made}",
            "position": position,
            "length": f"{-self.choice.randint(0, 9)}",
        }
        self.face.update(PREFIX + template.format(**{**facts, **row}))
        self.check()

    def check(self) -> None:
        for name, follower in self.followers.items():
            assert follower.state() == self.face.evaluate(self.queries[name]), name


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", ["oxigraph graph", "live store"])
@pytest.mark.parametrize("model", MODELS)
def test_faults_come_and_go(model: str, kind: str) -> None:
    """After each fault and each repair all queries equal the engine's evaluation, and all ends well."""
    railway = Railway(model, kind)
    plan = [constraint for constraint in CONSTRAINTS for _ in range(FAULTS)]
    railway.choice.shuffle(plan)
    for constraint in plan:
        railway.change(INJECT[constraint], railway.choice.choice(railway.rows(constraint + "Inject")))
    found = {constraint: len(railway.rows(constraint)) for constraint in CONSTRAINTS}
    assert min(found.values()) > 0, found
    for constraint, row in faults(railway):
        railway.change(REPAIR[constraint], row)
    assert not any(railway.followers[constraint].state() for constraint in CONSTRAINTS)


def faults(railway: Railway) -> Iterator[tuple[str, dict[str, str]]]:
    """Give one fault after the other, until there are none: one repair can mend several, or bring others."""
    for _ in range(400):
        broken = [constraint for constraint in CONSTRAINTS if railway.followers[constraint].state()]
        if not broken:
            return
        constraint = railway.choice.choice(broken)
        yield constraint, railway.choice.choice(railway.rows(constraint))
    pytest.fail("the repairs do not come to an end")


def query_paths() -> Any:
    paths = sorted(shared(*FOLDER, "queries").glob("*.sparql"))
    assert len(paths) == 2 * len(CONSTRAINTS)
    return paths


def load(face: Face, model: str) -> None:
    with gzip.open(shared(*FOLDER, model + ".nt.gz")) as source:
        if face.native:
            import pyoxigraph as ox

            face.graph.load(source, format=ox.RdfFormat.N_TRIPLES)
        else:
            face.graph.parse(source, format="nt")


def written(term: Any) -> str:
    """Write a term as SPARQL does, whichever library it is of."""
    return str(term.n3()) if hasattr(term, "n3") else str(term)
