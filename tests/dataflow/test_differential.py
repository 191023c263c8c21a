"""Patterns matched by the stages of Spark, and by the engine of one process: equal nets."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dataflow.simulation import Change, Hash, Quad, Simulation, colliding, in_order, steady
from rdflive_stores.spark.dataflow import walking
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.walking import ARRANGED
from support.effort import examples
from support.one_process import OneProcess

NODES = ("<urn:a>", "<urn:b>", "_:n")
VALUES = ('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"2"', '"z"@en')
LINKS = ("<urn:p>", "<urn:q>")
GRAPHS = ("<urn:g>", "<urn:a>")
TERMS = ((*NODES[:2], *NODES), LINKS, (*NODES[:2] * 2, *NODES, *VALUES))
ENDS = st.one_of(
    *[st.sampled_from(["?x", "?y", "?z", "?b0", "_:b"])] * 9,
    st.just("?g"),
    st.sampled_from([n for n in NODES if n[0] == "<"]),
)
PATTERNS = st.tuples(
    ENDS,
    st.one_of(*[st.sampled_from(LINKS)] * 5, st.sampled_from(["?v", "?x"])),
    st.one_of(*[ENDS] * 5, st.sampled_from(VALUES)),
).map(" ".join)
TESTS = (
    "{0} != <urn:a>", "isIRI({0})", "{0} != {1}", "{0} = {1} || {0} = <urn:b>", "{0} > 0",
    "sameTerm({0}, {1})", "1 = 1", "STR({0}) < STR({1})",
)  # fmt: skip


Operations: TypeAlias = list[tuple[str, Quad]]


@dataclass(frozen=True)
class Scenario:
    """A query, how many operations each micro-batch has, and the seed of what they are and where they go."""

    text: str
    patterns: list[str]
    graph: str
    sizes: list[int]
    buckets: int
    seed: int
    salted: tuple[str, ...] = ()


TELLING = Scenario(
    "SELECT * { ?x <urn:p> ?y . ?y <urn:q> ?z }", ["?x <urn:p> ?y", "?y <urn:q> ?z"], "", [20] * 5, 2, 1
)
"""The answer changes in each micro-batch: the gate draws few queries, of which almost none may tell."""


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Stars, paths, cycles, products, self-joins and ground patterns, in a graph or in all, with filters."""
    size = draw(st.sampled_from([1, 2, 2, 3, 3, 4, 5, 6]))
    patterns = draw(st.lists(PATTERNS, min_size=size, max_size=size, unique=True))
    graph = draw(st.sampled_from(["", "", "<urn:g>", "?g"]))
    body = " . ".join(patterns)
    names = sorted({word for word in body.split() if word.startswith("?")})
    if names and draw(st.booleans()):
        test = draw(st.sampled_from(TESTS))
        body += f" FILTER({test.format(draw(st.sampled_from(names)), draw(st.sampled_from(names)))})"
    shown = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    text = f"SELECT {' '.join(shown) or '*'} {{ {f'GRAPH {graph} {{ {body} }}' if graph else body} }}"
    sizes = draw(st.lists(st.sampled_from([20, 40, 4, 1, 0]), min_size=1, max_size=5))
    salted = draw(st.sampled_from([(), LINKS[:1], LINKS]))
    return Scenario(
        text, patterns, graph, sizes, draw(st.integers(1, 5)), draw(st.integers(0, 1 << 32)), salted
    )


def operate(scenario: Scenario, size: int, present: set[Quad], cuts: random.Random) -> Operations:
    """Insert quads of the patterns, now and then again, and delete what is there, or not."""
    operations: Operations = []
    for _ in range(size):
        if present and cuts.random() < 0.3:
            operations.append((cuts.choice("AD"), cuts.choice(sorted(present))))
        else:
            operations.append((cuts.choice("AAAAAD"), matching(scenario, cuts)))
        op, quad = operations[-1]
        (present.add if op == "A" else present.discard)(quad)
    return operations


def matching(scenario: Scenario, cuts: random.Random) -> Quad:
    """Make a quad that a pattern matches, but for repeated variables; some are in another graph."""
    words = cuts.choice(scenario.patterns).split()
    terms = (cuts.choice(of) if word[0] in "?_" else word for word, of in zip(words, TERMS, strict=True))
    home = cuts.choice(GRAPHS) if scenario.graph == "?g" else scenario.graph
    return (*terms, cuts.choice([home] * 7 + ["", *GRAPHS]))  # type: ignore[return-value]  # three terms


@contextmanager
def both(scenario: Scenario, hash: Hash, cuts: random.Random) -> Iterator[tuple[Simulation, OneProcess]]:  # noqa: A002
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(scenario.text, folder, scenario.buckets, hash, cuts, salted=scenario.salted)
        engine = OneProcess(scenario.text)
        yield simulation, engine
        engine.close()


def scattered(operations: Operations, cuts: random.Random) -> list[Change]:
    """Spread operations over streams and offsets that keep their order, and mix the rows."""
    changes: list[Change] = []
    stream, offset, part = 0, 0, 0
    for op, quad in operations:
        step = cuts.randrange(4)
        if step == 0:
            stream, offset, part = stream + 1, cuts.randrange(9), cuts.randrange(3)
        elif step == 1:
            offset, part = offset + cuts.randint(1, 3), cuts.randrange(3)
        else:
            part += 1
        changes.append(
            Change(cuts.choice("A+" if op == "A" else "D-"), *quad, f"log-{stream:03}", offset, part)
        )
    cuts.shuffle(changes)
    return changes


@pytest.mark.parametrize(
    ("hash", "partners", "pairs", "salts"), [(steady, 256, 1 << 18, 16), (colliding, 1, 3, 2)]
)
def test_nets_are_those_of_one_process(
    hash: Hash,  # noqa: A002
    partners: int,
    pairs: int,
    salts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After every micro-batch, some of them run twice or killed half-way, nets equal those of the engine."""
    monkeypatch.setattr(walking, "MOST_PARTNERS", partners)
    monkeypatch.setattr(walking, "_MOST_PAIRS", pairs)
    monkeypatch.setattr(walking, "MOST_SALTS", salts)
    share: Counter[bool] = Counter()

    @settings(max_examples=examples(80, share=20), deadline=None, suppress_health_check=list(HealthCheck))
    @given(scenarios())
    @example(TELLING)
    def run(scenario: Scenario) -> None:
        cuts, present = random.Random(scenario.seed), set[Quad]()
        with both(scenario, hash, cuts) as (simulation, engine):
            for size in scenario.sizes:
                share[check(simulation, engine, operate(scenario, size, present, cuts), cuts)] += 1
                assert set(simulation.live()) <= present
                assert set(simulation.live().values()) <= {1}
            check(simulation, engine, [("D", quad) for quad in sorted(present)], cuts)
            simulation.compact()
            assert simulation.rows_held(LIVE) == simulation.rows_held(ARRANGED) == 0

    run()
    assert share[True] > 0.05 * share.total(), "too few micro-batches change an answer"


def check(simulation: Simulation, engine: OneProcess, operations: Operations, cuts: random.Random) -> bool:
    """Run one micro-batch in both, after attempts that end early or are not committed; is there a net?"""
    changes = scattered(operations, cuts)
    for _ in range(cuts.randrange(3)):
        simulation.attempt(changes, cuts.choice([None, *range(1, simulation.length + 1)]))
    net = simulation.run(changes)
    assert net == engine.run(in_order(operations))
    return bool(net)
