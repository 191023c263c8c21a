"""The W3C tests of SHACL: triple by triple in and out, of the data and of the shapes."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, BNode, Graph, Namespace
from rdflib.compare import isomorphic
from rdflib.term import Node

import rdflive
from shacl.worlds import Sum, order, result
from support.effort import HUNT, checked, drawn_from
from support.shacl import SH, Validator
from support.shared import SHARED, shared

pytestmark = pytest.mark.shared

SHT = Namespace("http://www.w3.org/ns/shacl-test#")
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
FOLDER = SHARED / "data" / "shacl"
INDEX = FOLDER / "index.json"
CASES: list[str] = json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else []
CORE = [case for case in CASES if case.startswith("core/")]
MOST = 150 if HUNT else 60
"""Of the graph of a test so many triples go and come."""
REFUSED = {"sparql/pre-binding/shapesGraph-001": "reads $shapesGraph, which an engine need not offer"}
SPELLED = {
    "core/node/maxExclusive-001": "Oxigraph spells 4.0 as 4",
    "core/node/minExclusive-001": "Oxigraph spells 4.0 as 4",
}
"""Tests whose results have other terms on Oxigraph, each with the reason."""


@pytest.fixture(autouse=True)
def literals_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read `"none"^^xsd:boolean` as it is: rdflib makes another literal of it otherwise."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    monkeypatch.setattr("rdflib.term.rdflib.NORMALIZE_LITERALS", False)


class Case:
    """One test: its data, its shapes, and what is expected of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        shared("data", "shacl", f"{name}.ttl")
        self._path = FOLDER / f"{name}.ttl"
        self.manifest = _read(self._path)
        self.test = next(self.manifest.subjects(RDF.type, SHT.Validate))
        action = self.manifest.value(self.test, MF.action)
        self.data, self.shapes = (
            self._graph(self.manifest.value(action, SHT[part])) for part in ("dataGraph", "shapesGraph")
        )
        self.expected = self.manifest.value(self.test, MF.result)

    def _graph(self, name: Any) -> Graph:
        path = Path(str(name).removeprefix("file://"))
        return self.manifest if path == self._path else _read(path)


def _read(path: Path) -> Graph:
    return Graph().parse(path, format="turtle", publicID=path.as_uri())


def report_of(graph: Graph, node: Node) -> Graph:
    """Cut a report out of a graph, without messages, which engines word as they like."""
    found, waiting, seen = Graph(), [node], set()
    outside = (SH.sourceShape, SH.focusNode, SH.value, SH.sourceConstraint)
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        for predicate, value in graph.predicate_objects(each):
            if predicate != SH.resultMessage:
                found.add((each, predicate, value))
                if isinstance(value, BNode) and predicate not in outside:
                    waiting.append(value)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_the_expected_one(name: str) -> None:
    """At full data; what fails by the test, or cannot be maintained, is refused."""
    case = Case(name)
    if case.expected == SHT.Failure or name in REFUSED:
        with pytest.raises(rdflive.ShapesError):
            rdflive.validate(case.data, case.shapes)
        return
    with rdflive.validate(case.data, case.shapes) as validation:
        mine = report_of(validation.graph, next(validation.graph.subjects(RDF.type, SH.ValidationReport)))
        assert isomorphic(mine, report_of(case.manifest, case.expected))
        conforms, _, text = validation.as_pyshacl()
        assert str(case.manifest.value(case.expected, SH.conforms)) == str(conforms).lower()
        passes = "Conforms" if validation.validates else "Nothing was validated"
        assert text.startswith(passes if conforms else "Does not conform")


@pytest.mark.sampled(8, by="name")
@pytest.mark.parametrize("store", ["Memory", "Oxigraph"])
@pytest.mark.parametrize("moving", ["data", "shapes"])
@pytest.mark.parametrize("name", CORE)
def test_each_step_is_that_of_validation_anew(
    name: str, moving: str, store: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In random order out, and in another one in."""
    if store != "Memory" and name in SPELLED:
        pytest.skip(SPELLED[name])
    caplog.set_level(logging.CRITICAL, "rdflive")  # shapes that are half there are told in the log
    case = Case(name)
    data, copy, shapes = Graph(store), Graph(), Graph()
    source = sorted(case.data if moving == "data" else case.shapes, key=order)
    chance = drawn_from("shacl", name, moving, store)
    chance.shuffle(source)
    for target, triples in ((shapes, case.shapes), (data, case.data), (copy, case.data)):
        for each in triples:
            target.add(each)
    told = Sum()
    with rdflive.validate(data, shapes, told) as validation:
        for (sign, each), compares in checked(_out_and_in(source[:MOST], chance)):
            for target in (shapes,) if moving == "shapes" else (data, copy):
                target.add(each) if sign > 0 else target.remove(each)
            if compares:
                wanted = Validator(copy, shapes).results()
                assert Counter(map(result, validation.answers())) == wanted
                assert told.total == wanted


@pytest.mark.sampled(3, by="name")
@pytest.mark.parametrize("moving", ["data", "shapes"])
@pytest.mark.parametrize("name", [name for name in CASES if name not in CORE and name not in REFUSED])
def test_each_step_of_sparql_is_that_of_another_validation(
    name: str, moving: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In random order out and in: what a validation that begins there finds."""
    caplog.set_level(logging.CRITICAL, "rdflive")
    case = Case(name)
    if case.expected == SHT.Failure:
        pytest.skip("the suite expects it to be refused, as the test of its report shows")
    data, shapes = Graph(), Graph()
    for target, triples in ((shapes, case.shapes), (data, case.data)):
        for each in triples:
            target.add(each)
    target = data if moving == "data" else shapes
    chance = drawn_from("shacl", name, moving)
    moved = sorted(target, key=order)
    chance.shuffle(moved)
    told = Sum()
    with rdflive.validate(data, shapes, told) as validation:
        for (sign, each), compares in checked(_out_and_in(moved[:MOST], chance)):
            target.add(each) if sign > 0 else target.remove(each)
            if compares and not validation.errors:
                with rdflive.validate(data, shapes) as again:
                    assert told.total == Counter(map(result, again.answers()))


def _out_and_in(triples: list[Any], chance: Any) -> Iterator[tuple[int, Any]]:
    yield from ((-1, each) for each in triples)
    back = list(triples)
    chance.shuffle(back)
    yield from ((1, each) for each in back)
