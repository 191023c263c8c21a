"""Entailment by the stages of Spark, and by the engine of one process: equal nets."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS

from rdflive.feeds.writing import write_term
from rdflive_stores.spark.dataflow import conclusions, entailing
from rdflive_stores.spark.dataflow.counting import COUNTED
from rdflive_stores.spark.dataflow.entailing import SCHEMA
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.walking import ARRANGED
from spark.dataflow.simulation import Hash, Quad, Simulation, colliding, steady
from spark.dataflow.test_differential import Engine, Operations, check
from support.effort import examples
from support.entailment import EX, make_commits, world

PREFIXES = f"PREFIX : <{EX}> PREFIX rdf: <{RDF}> PREFIX rdfs: <{RDFS}> "
PATTERNS = (
    "?x a ?c",
    "?x a :B",
    "?x a :C",
    "?x ?p ?y",
    ":a ?p ?y",
    "?x :q ?y",
    "?x :r ?y . ?y a :C",
    "?x a ?c . ?c rdfs:subClassOf ?d",
    "?x rdfs:subClassOf ?y",
    "?p rdfs:domain ?c",
    "?p rdfs:subPropertyOf :r",
    "?x :isA ?c",
    "?x :isA :B . ?x a :C",
    "?x a ?x",
    "?x a ?c . ?y :r ?x",
    "?x :p ?y FILTER(isIRI(?y))",
)
GRAPHS = ("", "", f"<{EX}g>")
"""Of the default graph and a named one, each of which entails by itself."""


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, str, int, int, int, bool]:
    """Draw a query, its graph, the number of buckets and of commits, a seed, and whether the schema may speak
    of RDF's and RDFS's own words.
    """
    graph, body = draw(st.sampled_from(GRAPHS)), draw(st.sampled_from(PATTERNS))
    text = f"{PREFIXES} SELECT * {{ {f'GRAPH {graph} {{ {body} }}' if graph else body} }}"
    return (
        text, graph, draw(st.integers(1, 4)), draw(st.integers(2, 24)), draw(st.integers(0, 1 << 32)),
        draw(st.booleans()),
    )  # fmt: skip


def commits(chance: random.Random, count: int, graph: str, *, meta: bool) -> list[Operations]:
    """Make commits of schema and data, now and then with a quad of another graph."""
    made = []
    for writes in make_commits(chance, world(), count, meta=meta):
        operations: Operations = []
        for sign, triple in writes:
            s, p, o = map(write_term, triple)
            place = graph if chance.random() < 0.9 else chance.choice(GRAPHS)
            operations.append(("A" if sign > 0 else "D", (s, p, o, place)))
        made.append(operations)
    return made


@pytest.mark.parametrize(("hash", "pairs", "rows"), [(steady, 1 << 18, 1 << 16), (colliding, 3, 2)])
def test_nets_are_those_of_one_process(
    hash: Hash,  # noqa: A002
    pairs: int,
    rows: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: Any,
) -> None:
    """After every micro-batch, some of them run twice or killed half-way; in the end nothing is left."""
    monkeypatch.setattr(conclusions, "_MOST_PAIRS", pairs)
    monkeypatch.setattr(entailing, "_MOST_ROWS", rows)
    share: Counter[bool] = Counter()

    @settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
    @given(worlds())
    def run(drawn: tuple[str, str, int, int, int, bool]) -> None:
        text, graph, buckets, count, seed, meta = drawn
        chance = random.Random(seed)
        folder = str(tmp_path_factory.mktemp("state"))
        simulation = Simulation(text, folder, buckets, hash, chance, entailment="rdfs")
        engine = Engine(text, entailment="rdfs")
        present: dict[Quad, None] = {}
        for operations in commits(chance, count, graph, meta=meta):
            share[check(simulation, engine, operations, chance)] += 1
            for op, quad in operations:
                if op == "A":
                    present[quad] = None
                else:
                    present.pop(quad, None)
            assert set(simulation.live()) == {quad for quad in present if quad[3] == graph}
        check(simulation, engine, [("D", quad) for quad in present], chance)
        simulation.compact()
        for name in (LIVE, SCHEMA, COUNTED, ARRANGED):
            assert simulation.rows_held(name) == 0, name
        engine.close()

    run()
    assert share[True] > 0.1 * share.total(), "too few micro-batches change an answer"
