"""Entailment by the stages of Spark, and by the engine of one process: equal nets."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS

from dataflow.simulation import Hash, Quad, Simulation, colliding, in_order, steady
from dataflow.test_differential import Operations, check
from rdflive.feeds.terms import write_term
from rdflive_stores.spark.dataflow import conclusions, entailing
from rdflive_stores.spark.dataflow.entailing import COUNTED
from support.effort import drawn_from, examples, rounds
from support.entailment import EX, make_commits, world
from support.one_process import OneProcess, Row, added
from support.spark_streams import by_query

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
    """Draw a query, its graph, the numbers of buckets and of micro-batches, a seed, and whether the schema
    may speak of RDF's and RDFS's own words.
    """
    graph, body = draw(st.sampled_from(GRAPHS)), draw(st.sampled_from(PATTERNS))
    text = f"{PREFIXES} SELECT * {{ {f'GRAPH {graph} {{ {body} }}' if graph else body} }}"
    return (
        text, graph, draw(st.integers(1, 4)), draw(st.integers(2, 8)), draw(st.integers(0, 1 << 32)),
        draw(st.booleans()),
    )  # fmt: skip


TELLING = (f"{PREFIXES} SELECT * {{ ?x a ?c }}", "", 3, 8, 1, True)
"""The answer changes with nearly each micro-batch: the gate draws few queries, and some tell little."""


def commits(chance: random.Random, count: int, graph: str, *, meta: bool) -> Iterator[Operations]:
    """Make micro-batches of schema and data, now and then with a quad of another graph."""
    commits = make_commits(chance, world(), 8 * count, meta=meta)
    for _ in range(count):
        operations: Operations = []
        for writes in islice(commits, chance.choice((1, 4, 8))):
            for sign, triple in writes:
                s, p, o = map(write_term, triple)
                place = graph if chance.random() < 0.9 else chance.choice(GRAPHS)
                operations.append(("A" if sign > 0 else "D", (s, p, o, place)))
        yield operations


@pytest.mark.parametrize(
    ("hash", "pairs", "rows"),
    [
        (colliding, 3, 2),
        pytest.param(steady, 1 << 18, 1 << 16, marks=pytest.mark.hunted("the gate has the other case")),
    ],
)
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

    @settings(max_examples=examples(80, share=16), deadline=None, suppress_health_check=list(HealthCheck))
    @given(worlds())
    @example(TELLING)
    def run(drawn: tuple[str, str, int, int, int, bool]) -> None:
        text, graph, buckets, count, seed, meta = drawn
        chance = random.Random(seed)
        folder = str(tmp_path_factory.mktemp("state"))
        simulation = Simulation(text, folder, buckets, hash, chance, entailment="rdfs")
        engine = OneProcess(text, entailment="rdfs")
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
        assert not simulation.held()
        engine.close()

    run()
    assert share[True] > 0.1 * share.total(), "too few micro-batches change an answer"


CLASS, SUBPROPERTY = f"<{RDF.type}>", f"<{RDFS.subPropertyOf}>"


def counted(simulation: Simulation) -> Counter[Any]:
    """Give the entailed quads with their counts."""
    held: Counter[Any] = Counter()
    for table in (run.table for runs in simulation.states(COUNTED) for run in runs):
        quads = zip(*(table[f"v{place}"].to_pylist() for place in range(4)), strict=True)
        for quad, weight in zip(quads, table["weight"].to_pylist(), strict=True):
            held[quad] += weight
    return Counter({quad: n for quad, n in held.items() if n})


def test_data_do_not_become_schema(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A property below one of RDFS's own is in the graph, entails nothing, and is logged once."""
    lower: Quad = ("<urn:below>", SUBPROPERTY, f"<{RDFS.subClassOf}>", "")
    data: list[Quad] = [("<urn:A>", "<urn:below>", "<urn:B>", ""), ("<urn:x>", CLASS, "<urn:A>", "")]
    text = "SELECT * { ?s ?p ?o }"
    simulation = Simulation(text, str(tmp_path), 3, entailment="rdfs")
    engine = OneProcess(text, entailment="rdfs")
    for operations in ([("A", quad) for quad in data], [("A", lower)], [("D", data[0])], [("D", lower)]):
        assert simulation.run(in_order(operations)) == engine.run(in_order(operations))
        assert counted(simulation).keys() == simulation.live().keys()
    engine.close()
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("not reasoned with: <urn:below> is declared") for message in messages) == 1


def test_words_of_the_schema_are_data_too(tmp_path: Path) -> None:
    """What is said of RDFS's own properties concerns the closed schema: here its triples are types, too."""
    below, domain = f"<{RDFS.subClassOf}>", f"<{RDFS.domain}>"
    quads: list[Quad] = [
        (below, SUBPROPERTY, CLASS, ""),
        *((f"<urn:{low}>", below, f"<urn:{high}>", "") for low, high in ("CD", "BC", "AB", "DB")),
        (domain, SUBPROPERTY, CLASS, ""),
        (below, SUBPROPERTY, f"<{EX}>", ""),
        ("<urn:p>", domain, "<urn:A>", ""),
        (CLASS, domain, "<urn:E>", ""),
        ("<urn:x>", "<urn:p>", "<urn:y>", ""),
    ]
    chance = drawn_from("words of the schema")
    # B is a D by `B subClassOf C`, which stays when `C subClassOf D` goes
    orders = [(quads[:3], [quads[1], quads[0], quads[2]])]
    orders += [(chance.sample(quads, 10), chance.sample(quads, 10)) for _ in range(rounds(20, share=10))]
    for number, (adds, deletes) in enumerate(orders):
        text = "SELECT * { ?s ?p ?o }"
        simulation = Simulation(text, str(tmp_path / str(number)), 2, entailment="rdfs")
        engine = OneProcess(text, entailment="rdfs")
        for operation in [*(("A", quad) for quad in adds), *(("D", quad) for quad in deletes)]:
            assert simulation.run(in_order([operation])) == engine.run(in_order([operation]))
        assert not simulation.held()
        engine.close()


def test_several_queries_and_rebuilding(tmp_path: Path) -> None:
    """Queries over several graphs share a state, which can be made anew from its live quads."""
    bodies = {"default": "* { ?x a ?c ; ?p ?y }", "classes": "DISTINCT ?c { ?x a ?c }"}
    bodies["named"] = "DISTINCT ?x { GRAPH :g { ?x a :C } }"
    bodies["both"] = "* { ?x a :C OPTIONAL { GRAPH :g { ?x a ?c } } }"
    texts = {name: f"{PREFIXES} SELECT {body}" for name, body in bodies.items()}
    simulation = Simulation(texts, str(tmp_path / "0"), 3, entailment="rdfs")
    engines = {name: OneProcess(text, entailment="rdfs") for name, text in texts.items()}
    chance, total = drawn_from("several entailed"), Counter[Row]()
    for number, operations in enumerate(commits(chance, 8, GRAPHS[-1], meta=True)):
        spread: Operations = [(op, (*quad[:3], chance.choice(GRAPHS))) for op, quad in operations]
        found = simulation.run(in_order(spread))
        total.update(found)
        nets = by_query(simulation.joint, found)
        assert nets == {name: engine.run(in_order(spread)) for name, engine in engines.items()}
        if number % 4 == 3:
            simulation, answer = simulation.rebuilt(str(tmp_path / str(number)), 1 + number % 3)
            assert answer == added(total)
    for engine in engines.values():
        engine.close()
