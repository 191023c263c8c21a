"""The W3C query tests of class `1 BGP only`: triple by triple in, and out again."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib.query import Result

from support.shared import SHARED, shared
from support.worlds import KINDS, Face, Follower, _row


def load() -> list[dict[str, Any]]:
    path = SHARED / "data" / "w3c" / "index.json"
    tests = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [
        t for t in tests if t["cls"] == "1 BGP only" and t["trusted"] and "construct" not in t["features"]
    ]


TESTS = load()
ENGINES = {"memory": "graph", "oxigraph": "oxigraph graph"}
OWN_ANSWER = {
    ("sparql10/basic#term-6", "memory"): "rdflib normalises 456. in data and query differently",
    ("sparql10/basic#term-7", "memory"): "rdflib normalises 456. in data and query differently",
    ("sparql10/distinct#distinct-2", "memory"): "rdflib keeps a plain literal and an xsd:string apart",
    ("sparql10/distinct#no-distinct-9", "oxigraph"): "the result is of RDF 1.0: plain literals apart",
}
"""Where the engine's own full evaluation is not the W3C result: the subscription follows its engine."""


def test_w3c_tests_are_there() -> None:
    """All 47 trusted SELECT and ASK tests of the class are run below."""
    shared("data", "w3c", "index.json")
    assert len(TESTS) == 47


def folder() -> Path:
    return shared("data", "w3c")


def expected(path: Path) -> Counter[Any] | bool:
    """Read a result set, also in the RDF vocabulary for result sets."""
    if path.suffix == ".ttl":
        graph = rdflib.Graph().parse(path)
        rs = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
        rows = [
            _row(
                (graph.value(b, rs.variable), graph.value(b, rs.value)) for b in graph.objects(s, rs.binding)
            )
            for s in graph.objects(None, rs.solution)
        ]
        return Counter(rows)
    with path.open("rb") as source:
        result = Result.parse(source, format={".srx": "xml", ".srj": "json"}[path.suffix])
    return (
        bool(result.askAnswer) if result.type == "ASK" else Counter(_row(b.items()) for b in result.bindings)
    )


def shape(state: Counter[Any] | bool) -> Counter[Any] | bool:
    """Forget the labels of blank nodes."""
    if isinstance(state, bool):
        return state
    return Counter(
        frozenset((name, "_:" if isinstance(t, rdflib.BNode) else str(t)) for name, t in row)
        for row in state.elements()
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("test", TESTS, ids=lambda t: t["id"])
def test_w3c_query_is_maintained(test: dict[str, Any], engine: str) -> None:
    """At every step the deltas add up to the engine's own answer, and at full data to the W3C result."""
    face = Face(KINDS[ENGINES[engine]]())
    text = (folder() / test["query"]).read_text(encoding="utf-8")
    plain = text.replace("REDUCED", "")  # which duplicates an engine drops is its own choice
    data = rdflib.Graph()
    for name in test["data"]:
        data.parse(folder() / name)
    triples = sorted(data)
    choice = random.Random(test["id"])
    choice.shuffle(triples)
    follower = Follower(face, text)
    empty = face.evaluate(plain)
    assert follower.state() == empty
    for triple in triples:
        face.graph.add(triple)
        assert follower.state() == face.evaluate(plain)
    official = shape(expected(folder() / test["result"]))
    agrees = (test["id"], engine) not in OWN_ANSWER
    assert (shape(follower.state()) == official) is agrees
    choice.shuffle(triples)
    for triple in triples:
        face.graph.remove(triple)
        assert follower.state() == face.evaluate(plain)
    assert follower.state() == empty
    follower.subscription.close()
