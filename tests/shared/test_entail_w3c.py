"""The W3C entailment tests whose regime includes RDFS: triple by triple in, and out again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest
import rdflib

from entail.rules.naive import entailed
from rdflive.entail.rules import load_program
from support.effort import checked
from support.entailment import Triple, saturated
from support.shared import SHARED, shared
from support.solutions import State, folded, isomorphic, state_of
from support.w3c import Case
from support.w3c_world import ENGINES, Sum, World

pytestmark = pytest.mark.shared


FOLDER = "sparql11/entailment#"
BEYOND: dict[str, str] = {
    "paper-sparqldl-Q1-rdfs": "rdfs10: a class is a subclass of itself",
    "rdfs05": "rdfs10: a class is a subclass of itself",
    "rdfs11": "rdfs6: a property is a subproperty of itself",
    "sparqldl-02": "rdfs10: a class is a subclass of itself",
    "sparqldl-03": "rdfs10: a class is a subclass of itself",
}
"""Tests that the four constraints of the DB fragment do not answer, each with the rule that it needs."""
Entail: TypeAlias = Callable[[Iterable[Triple]], Iterable[Triple]]


def load() -> list[Case]:
    path = SHARED / "data" / "w3c" / "index.json"
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    cases = [Case(entry) for entry in entries if "RDFS" in (entry.get("regime") or ())]
    return [case for case in cases if case.cls.startswith("E ")]


CASES = load()
FRAGMENT = [case for case in CASES if case.id.removeprefix(FOLDER) not in BEYOND]
STRATEGIES = [(engine, strategy) for engine in ENGINES for strategy in ("saturate", "reformulate")]


def test_tests_are_there() -> None:
    """Of the 33 tests 28 are answered by the four constraints, and the others by the rules of RDFS."""
    shared("data", "w3c", "index.json")
    assert (len(CASES), len(FRAGMENT)) == (33, 28)


@pytest.mark.sampled(by="way")
@pytest.mark.parametrize("way", STRATEGIES, ids="-".join)
@pytest.mark.parametrize("case", FRAGMENT, ids=repr)
def test_fragment_answers(case: Case, way: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At each step that is compared the deltas add up to the full answer, and at full data to the result."""
    engine, strategy = way
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", engine != "memory")
    case = Case(case.entry)
    assert maintain(case, engine, saturated, entailment="rdfs", strategy=strategy)


@pytest.mark.sampled(4, by="case")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_rule_set_answers(case: Case, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rules of RDFS all are answered; the naive fixpoint is slow, so it is asked now and then."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", engine != "memory")
    case, program = Case(case.entry), load_program("rdfs")
    assert maintain(case, engine, lambda triples: entailed(program, triples), checks=4, rules="rdfs")


@pytest.mark.parametrize("case", [case for case in CASES if case not in FRAGMENT], ids=repr)
def test_fragment_does_not_answer(case: Case) -> None:
    """What is listed as beyond the fragment is beyond it."""
    assert not maintain(case, "memory", saturated, entailment="rdfs")


def maintain(case: Case, engine: str, closure: Entail, *, checks: int | None = None, **options: Any) -> bool:
    """Follow the query through all data, in and out; tell if the full data gave the W3C result.

    It is compared after each triple, or in the gate after some, or `checks` times on the way.
    """
    world = World(case, engine)
    follower = Sum(world.graph, case.query, **options)
    empty = follower.state

    def check() -> None:
        found, expected = follower.state, full(world, closure)
        assert isomorphic(found, expected), f"deltas add up to {found}, but the answer is {expected}"

    def follow(sign: int, quads: list[Any]) -> None:
        step = 0 if checks is None else max(1, 2 * len(quads) // checks)
        for number, (quad, is_compared) in enumerate(checked(quads), 1):
            world.write(sign, quad)
            if number == len(quads) or (number % step == 0 if step else is_compared):
                check()

    follow(1, case.shuffled("in"))
    reached = isomorphic(folded(follower.state), folded(case.expected))
    follow(-1, case.shuffled("out"))
    assert isomorphic(follower.state, empty)
    follower.close()
    return reached


def full(world: World, closure: Entail) -> State:
    """Evaluate the query over the closure of the data, with rdflib's engine."""
    graph = rdflib.Graph()
    for triple in closure(tuple(triple) for triple in world.graph):
        graph.add(triple)
    return state_of(graph.query(world.case.query))
