"""Paths of `*` and `+` with so many steps at most, by the stages of Spark, and paths in one process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.simulation import Quad, Simulation, colliding, in_order, steady
from dataflow.test_differential import Operations, check
from dataflow.test_rebuilding import rebuilt
from rdflive.errors import BudgetError, UnsupportedQueryError
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import examples
from support.one_process import OneProcess

PREFIXES = "PREFIX : <urn:> "
NODES = tuple(f"<urn:{name}>" for name in "abcde")
QUERIES = (
    "SELECT * { :a :p+ ?x }",
    "SELECT * { ?x :p* :a }",
    "SELECT * { :a :p* :b }",
    "ASK { :a :p+ :a }",
    "SELECT * { ?x :p+ ?x }",
    "SELECT (COUNT(*) AS ?n) { _:b :p* _:b }",
    "SELECT (COUNT(*) AS ?n) { :a :p+ [] }",
    "SELECT ?b0 { ?b0 :p+ [ :q [] ] }",
    "SELECT * { ?x :p+ ?y }",
    "SELECT * { ?x :q ?y . ?y :p* ?z }",
    "SELECT * { :a (:p|^:q)+ ?x }",
    "SELECT * { :a (:p/:q)* ?x . ?x :q+ ?y }",
    "SELECT * { GRAPH ?g { :a :p+ ?x } }",
    "SELECT * { VALUES ?a { :a :c } ?a :p+ ?x OPTIONAL { ?x :q ?y } }",
    "SELECT ?x (COUNT(*) AS ?n) { ?x :p+/:q ?y } GROUP BY ?x",
    "SELECT * { ?x :q ?y FILTER NOT EXISTS { ?y :p+ ?x } }",
)


GRAPHS = ("", "", "", "<urn:g>")


def make_operations(chance: random.Random, count: int, graphs: tuple[str, ...] = GRAPHS) -> Operations:
    """Make operations on few edges, so that many are deleted again."""
    return [
        (
            chance.choice("AAD"),
            (chance.choice(NODES), chance.choice(("<urn:p>", "<urn:p>", "<urn:q>")), chance.choice(NODES), g),
        )
        for g in chance.choices(graphs, k=count)
    ]


@pytest.mark.parametrize("hash", [steady, colliding])
def test_nets_are_those_of_one_process(hash: Any, tmp_path_factory: Any) -> None:  # noqa: A002
    """Random edges come and go; some micro-batches are killed, and the state is made anew in between."""
    told = {True: 0, False: 0}

    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(QUERIES), st.integers(0, 1 << 32))
    def run(query: str, seed: int) -> None:
        chance, text = random.Random(seed), PREFIXES + query
        folder = tmp_path_factory.mktemp("state")
        # a step that reaches no other node is the last one
        options: dict[str, Any] = {"hash": hash, "cuts": chance, "path_steps": len(NODES)}
        simulation = Simulation(text, str(folder / "0"), chance.randint(1, 4), **options)
        engine, present = OneProcess(text), dict[Quad, None]()
        for number in range(4):
            operations = make_operations(chance, chance.choice((4, 8, 16)))
            told[check(simulation, engine, operations, chance)] += 1
            present |= dict.fromkeys(quad for _, quad in operations)
            if number == 1 and chance.random() < 0.3:
                simulation, _ = rebuilt(simulation, str(folder / "1"), 2)
        check(simulation, engine, [("D", quad) for quad in present], chance)
        engine.close()
        assert not simulation.live()

    run()
    assert told[True] > 0.1 * told[False], "too few micro-batches change an answer"


def longest(live: set[Quad], path: str) -> int:
    """Tell in how many steps the farthest node of all that `<urn:a>` reaches is reached."""
    reached, now, steps = {NODES[0]} if path == "*" else set[str](), {NODES[0]}, 0
    while now := {o for s, _, o, _ in live if s in now} - reached:
        reached, steps = reached | now, steps + 1
    return steps


def test_a_longer_path_is_an_error(tmp_path_factory: Any) -> None:
    """Exactly where a node is farther away than the steps; made anew for more of them, the state goes on."""
    errors = {True: 0, False: 0}

    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 1 << 32))
    def run(seed: int) -> None:
        chance = random.Random(seed)
        path = chance.choice("+*")
        text = f"{PREFIXES} SELECT * {{ :a :p{path} ?x }}"
        folder = tmp_path_factory.mktemp("state")
        simulation, engine = Simulation(text, str(folder / "1"), 2, path_steps=1), OneProcess(text)
        check(simulation, engine, [], chance)
        live: set[Quad] = set()
        for _ in range(6):
            operations = make_operations(chance, chance.choice((1, 3, 6)), ("",))
            for op, quad in operations:
                (live.add if op == "A" else live.discard)(quad)
            steps = longest({quad for quad in live if quad[1] == "<urn:p>"}, path)
            is_longer = steps > (simulation.path_steps or 0)
            errors[is_longer] += 1
            if is_longer:
                limit = f"a path of more steps than path_steps={simulation.path_steps} reaches <urn:.>:"
                with pytest.raises(BudgetError, match=limit):
                    simulation.run(in_order(operations))
                simulation.path_steps = steps
                simulation, _ = rebuilt(simulation, str(folder / str(steps)), 2)
            check(simulation, engine, operations, chance)
        check(simulation, engine, [("D", quad) for quad in live], chance)
        engine.close()
        assert not simulation.live()

    run()
    assert min(errors.values()) > 0.05 * max(errors.values())


def test_a_longer_way_beside_a_short_one_is_no_error(tmp_path: Path) -> None:
    """Whether they come one after the other or together, or go again in the micro-batch that they came in."""
    a, b, c = NODES[:3]
    short, round_, further = ((s, "<urn:p>", o, "") for s, o in ((a, b), (b, b), (b, c)))
    simulation = Simulation(PREFIXES + "SELECT * { :a :p+ ?x }", str(tmp_path), path_steps=1)
    assert simulation.run(in_order([("A", short), ("A", round_)])) == {(b,): 1}
    assert not simulation.run(in_order([("A", further), ("D", further)]))
    assert simulation.run(in_order([("D", short), ("A", further)])) == {(b,): -1}
    with pytest.raises(BudgetError, match="a path of more steps than path_steps=1 reaches <urn:c>:"):
        simulation.attempt(in_order([("A", short)]))


def test_a_step_is_a_shuffle(tmp_path: Path) -> None:
    """From a constant; what a query without paths has is the same whatever the steps."""
    texts = [explain(plan_queries("SELECT * { <urn:a> <urn:p>+ ?x }", path_steps=n), 2) for n in (3, 4)]
    assert "on Spark: 7 shuffles" in texts[0]
    assert "on Spark: 8 shuffles" in texts[1]
    assert "no path is longer than 4 steps" in texts[1]
    plain = "SELECT * { <urn:a> <urn:p> ?x OPTIONAL { ?x <urn:p> ?y } }"
    assert explain(plan_queries(plain, path_steps=3), 2) == explain(plan_queries(plain), 2)
    wrong: list[Any] = [0, -1, 51, "8", 2.5, True]
    for steps in wrong:
        with pytest.raises(ValueError, match="path_steps must be a whole number from 1 to 50, got "):
            plan_queries(plain, path_steps=steps)
    assert plan_queries("SELECT * { <urn:a> <urn:p>+ ?x }", path_steps=50)
    with pytest.raises(UnsupportedQueryError, match="sent to the executors: give fewer path_steps"):
        plan_queries("SELECT * { <urn:a> (<urn:p>+/<urn:q>)* ?x }", path_steps=40)
