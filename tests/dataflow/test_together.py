"""Several queries over the same changes: each gives what it gives alone, and equal patterns are kept once."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from dataflow.simulation import Simulation, in_order
from rdflive.errors import QuerySyntaxError
from rdflive_stores.spark.dataflow import walking
from rdflive_stores.spark.dataflow.query_plan import TYPE, plan_queries
from rdflive_stores.spark.dataflow.walking import ARRANGED
from support.effort import HUNT, drawn_from
from support.one_process import OneProcess
from support.spark_streams import by_query

QUERIES = {
    "one": "SELECT * { ?a <urn:p> ?b }",
    "turned": "SELECT ?b ?a { ?a <urn:p> ?b }",
    "path": f"SELECT * {{ ?a <urn:p> ?b . ?b {TYPE} ?c }}",
    "filtered": f"SELECT ?a ?c {{ ?a <urn:p> ?b . ?b {TYPE} ?c FILTER(?a != ?c) }}",
    "star": f"SELECT * {{ ?b <urn:p> ?a ; {TYPE} ?c }}",
    "cycle": f"SELECT * {{ ?x <urn:p> ?y . ?y <urn:p> ?z . ?z {TYPE} ?x }}",
    "distinct": f"SELECT DISTINCT ?c {{ ?a <urn:p> ?b . ?b {TYPE} ?c }}",
    "groups": f"SELECT ?a (COUNT(*) AS ?n) {{ ?a <urn:p> ?b . ?b {TYPE} ?c }} GROUP BY ?a",
    "groups of groups": """SELECT ?n (COUNT(*) AS ?m) {
        SELECT ?a (COUNT(*) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a
    } GROUP BY ?n""",
    "apart": f"SELECT * {{ ?a <urn:p> ?b . ?c {TYPE} ?d }}",
    "any": "SELECT * { ?a ?p <urn:1> }",
    "long": "SELECT ?d ?e { <urn:0> <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d . ?d <urn:p> ?e }",
    "longer": f"SELECT * {{ <urn:0> <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p>/<urn:p>/{TYPE} ?d }}",
    "constants": "SELECT ?x { ?x <urn:p> <urn:1> . <urn:0> <urn:p> ?x }",
}


def operations(random: Any, size: int) -> list[Any]:
    def node() -> str:
        return f"<urn:{random.randrange(4)}>"

    quads = ((node(), random.choice(["<urn:p>", TYPE]), node(), "") for _ in range(size))
    return in_order((random.choice("AAD"), quad) for quad in quads)


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", range(12))
def test_queries_give_together_what_each_gives_alone(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, also the same one twice; micro-batches come again, and rows take detours."""
    random = drawn_from("together", seed)
    monkeypatch.setattr(walking, "MOST_PARTNERS", random.choice([1, 256]))
    labels = random.sample(sorted(QUERIES), random.randint(1, 5))
    queries = {label: QUERIES[label] for label in labels} | {"again": QUERIES[labels[0]]}
    simulation = Simulation(queries, str(tmp_path), random.randint(1, 4))
    engines = {label: OneProcess(text) for label, text in queries.items()}
    told = 0
    for _ in range(8 if HUNT else 5):
        changes = operations(random, random.choice([1, 10, 30]))
        nets = by_query(simulation.joint, simulation.run(changes, random.randint(1, 2)))
        assert nets == {label: engine.run(changes) for label, engine in engines.items()}
        told += sum(map(len, nets.values()))
    assert told
    nodes = [f"<urn:{number}>" for number in range(4)]
    everything = itertools.product(nodes, ("<urn:p>", TYPE), nodes, [""])
    simulation.run(in_order(("D", quad) for quad in everything))
    assert simulation.held() == {}, "all that the queries keep goes with the quads"


def test_rows_take_the_detours_of_their_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two queries has detours of its own, and many rows take them."""
    monkeypatch.setattr(walking, "MOST_PARTNERS", 1)
    queries = {
        "cycle": QUERIES["cycle"],
        "path": QUERIES["path"].replace("}", f". ?c <urn:p> ?d . ?d {TYPE} ?e }}"),
    }
    simulation = Simulation(queries, str(tmp_path))
    detours = simulation.joint.matching.ways[len(simulation.joint.matching.patterns) :]
    assert {simulation.joint.matching.leaves[way.seed] for way in detours} == {0, 1}
    engines = {label: OneProcess(text) for label, text in queries.items()}
    for number in range(4):
        changes = operations(drawn_from("detours", number), 40)
        nets = by_query(simulation.joint, simulation.run(changes))
        assert nets == {label: engine.run(changes) for label, engine in engines.items()}


def test_equal_patterns_are_kept_once(tmp_path: Path) -> None:
    """A second query of the same patterns keeps nothing more, and one with a pattern more only that."""
    held = {}
    for name, labels in {"path": ["path"], "both": ["path", "distinct"], "more": ["path", "star"]}.items():
        simulation = Simulation({label: QUERIES[label] for label in labels}, str(tmp_path / name))
        simulation.run(operations(drawn_from("kept"), 40))
        held[name] = simulation.joint.matching.arrangements, simulation.rows_held(ARRANGED)
    assert held["path"] == held["both"]
    assert set(held["path"][0]) < set(held["more"][0])
    assert len(held["more"][0]) == 3


def test_names_and_texts_are_looked_at() -> None:
    """No query at all, and one that cannot be read, are refused."""
    with pytest.raises(ValueError, match="there is no query"):
        plan_queries({})
    with pytest.raises(QuerySyntaxError):
        plan_queries({"one": QUERIES["one"], "other": "SELECT"})
    assert plan_queries(QUERIES["one"]).columns == ("a", "b")
    assert plan_queries({"x": QUERIES["one"], "y": QUERIES["path"]}).columns == ("query", "a", "b", "c")
