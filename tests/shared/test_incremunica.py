"""The streaming scenarios of Incremunica: each step's additions and deletions, solution by solution."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from rdflib import Literal, URIRef

import rdflive
from support.shared import SHARED
from support.worlds import KINDS

pytestmark = pytest.mark.shared

BASE = "http://t/"
Deltas = Counter[tuple[str, frozenset[tuple[str, Any]]]]


def load() -> list[dict[str, Any]]:
    path = SHARED / "data" / "incremunica" / "deltas.json"
    return json.loads(path.read_text(encoding="utf-8"))["tests"] if path.exists() else []  # type: ignore[no-any-return]


SCENARIOS = load()


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["id"])
def test_each_step_gives_its_deltas(scenario: dict[str, Any], kind: str) -> None:
    """A step is one commit, and its delta is exactly the one listed."""
    graph = KINDS[kind]()
    deltas: list[rdflive.Delta] = []
    subscription = rdflive.subscribe(graph, scenario["query"], deltas.append)
    for step in scenario["steps"]:
        deltas.clear()
        with rdflive.batch(graph):
            for triple in step.get("del", ()):
                graph.remove(tuple(map(term, triple)))
            for triple in step.get("add", ()):
                graph.add(tuple(map(term, triple)))
        assert len(deltas) == bool(step["delta"])
        assert signed(deltas) == Counter(
            (sign, frozenset((name, term(value)) for name, value in solution.items()))
            for sign, solution in step["delta"]
        )
    subscription.close()


def signed(deltas: list[rdflive.Delta]) -> Deltas:
    return Counter(
        (sign, frozenset(solution.asdict().items()))
        for delta in deltas
        for sign, solutions in (("+", delta.added), ("-", delta.removed))
        for solution in solutions
    )


def term(value: str | int) -> URIRef | Literal:
    """Read a term of the scenarios: numbers are integers, a name without scheme is relative to the base."""
    if isinstance(value, int):
        return Literal(value)
    return URIRef(value if ":" in value else BASE + value)
