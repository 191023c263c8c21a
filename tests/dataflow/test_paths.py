"""Paths of `*` and `+` with so many steps at most, by the stages of Spark, and paths in one process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.simulation import Quad, Simulation, in_order
from dataflow.test_differential import Operations, check
from rdflive.errors import BudgetError, UnsupportedQueryError
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import examples
from support.one_process import OneProcess

PREFIXES = "PREFIX : <urn:> "
NODES = tuple(f"<urn:{name}>" for name in "abcde")


def make_operations(chance: random.Random, count: int) -> Operations:
    """Make operations on few edges, so that many are deleted again."""
    predicates = "<urn:p>", "<urn:p>", "<urn:q>"
    return [
        (chance.choice("AAD"), (chance.choice(NODES), chance.choice(predicates), chance.choice(NODES), ""))
        for _ in range(count)
    ]


def longest(live: set[Quad], path: str) -> int:
    """Tell in how many steps the farthest node of all that `<urn:a>` reaches is reached."""
    reached, now, steps = {NODES[0]} if path == "*" else set[str](), {NODES[0]}, 0
    while now := {o for s, _, o, _ in live if s in now} - reached:
        reached, steps = reached | now, steps + 1
    return steps


def test_a_longer_path_is_an_error(tmp_path_factory: Any) -> None:
    """Only a node beyond the maximal length is an error; a state rebuilt for longer paths goes on."""
    errors = {True: 0, False: 0}

    @settings(max_examples=examples(60, share=20), deadline=None, suppress_health_check=list(HealthCheck))
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
            operations = make_operations(chance, chance.choice((1, 3, 6)))
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
                simulation, _ = simulation.rebuilt(str(folder / str(steps)), 2)
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
