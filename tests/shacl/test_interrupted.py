"""Ctrl-C at any line of a write to data or to shapes, while a validation is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from rdflib import RDF, Graph, Literal, Namespace

import rdflive
from interrupts.lines import lines_of, raising_at
from shacl.worlds import result
from support.effort import drawn_from, rounds
from support.shacl import SH, Result, Validator

EX = Namespace("http://e/")
SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:S sh:targetClass :C ; sh:property :P , [ sh:path :q ; sh:class :D ; sh:minCount 1 ] .
:T sh:targetSubjectsOf :p ; sh:not [ sh:class :D ] .
:P sh:path :p ; sh:maxCount 1 ; sh:datatype xsd:integer .
"""


@dataclass
class World:
    """Data, shapes, a validation, and what it told: an initial delta replaces what was told before."""

    data: Graph = field(default_factory=Graph)
    shapes: Graph = field(default_factory=lambda: Graph().parse(data=SHAPES, format="turtle"))
    told: Counter[Result] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Begin with some data."""
        self.data.add((EX.a, RDF.type, EX.C))
        self.data.add((EX.a, EX.p, Literal(1)))
        self.validation = rdflive.validate(self.data, self.shapes, self.take)

    def take(self, delta: Any) -> None:
        """Add a delta up."""
        if delta.initial:
            self.told.clear()
        self.told.update(map(result, delta.added))
        self.told.subtract(map(result, delta.removed))

    def wrong(self) -> str:
        """Say what is wrong behind one more commit of each graph."""
        self.data.add((EX.z, RDF.type, EX.C))
        self.shapes.add((EX.P, SH.name, Literal("p")))
        wanted = Validator(self.data, self.shapes).results()
        if Counter(map(result, self.validation.answers())) != wanted:
            return "answers"
        if +self.told != wanted or min(self.told.values(), default=0) < 0:
            return "told"
        report = self.validation.graph
        return "" if len(list(report.subjects(RDF.type, SH.ValidationResult))) == wanted.total() else "report"


OPERATIONS: dict[str, Callable[[World], object]] = {
    "a value": lambda made: made.data.add((EX.a, EX.p, Literal("x"))),
    "a type": lambda made: made.data.add((EX.a, RDF.type, EX.D)),
    "a removal": lambda made: made.data.remove((EX.a, None, None)),
    "a limit": lambda made: made.shapes.add((EX.P, SH.maxInclusive, Literal(0))),
    "a shape less": lambda made: made.shapes.remove((EX.S, None, None)),
    "a shape that is ill-formed": lambda made: made.shapes.add((EX.P, SH.maxCount, Literal(3))),
}


@pytest.mark.timeout(1800)
@pytest.mark.sampled(by="error")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_write_is_interrupted_at_any_line(operation: str, error: type[BaseException]) -> None:
    """The deltas delivered afterwards add up to the results of a new validation."""
    act = OPERATIONS[operation]
    before = World()
    places = lines_of(lambda: act(before))
    before.validation.close()
    places = drawn_from("shacl", operation, error.__name__).sample(
        places, min(len(places), rounds(100, share=20))
    )
    wrong = {}
    for place in places:
        made = World()
        try:
            raising_at(place, error, lambda made=made: act(made))  # type: ignore[misc]
        except BaseException as raised:  # noqa: BLE001 - told below
            wrong[place] = repr(raised)
            continue
        found = made.wrong()
        if found:
            wrong[place] = found
        made.validation.close()
    assert wrong == {}
