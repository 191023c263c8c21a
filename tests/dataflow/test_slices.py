"""LIMIT and OFFSET on Spark: more rows than are kept apart, as they come and go."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dataflow.simulation import Simulation, in_order
from rdflive_stores.spark.dataflow import slices
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import drawn_from, rounds
from support.one_process import OneProcess, added

QUERIES = {
    "first": "SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY ?v ?x LIMIT 3",
    "last": "SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY DESC(?v) LIMIT 2 OFFSET 2",
    "rest": "SELECT ?x { ?x <urn:p> ?v } ORDER BY ?v OFFSET 4",
    "none": "SELECT ?x { ?x <urn:p> ?v } LIMIT 0",
    "twice": "SELECT ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 4",
    "in each graph": "SELECT * { GRAPH ?g { SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 2 } }",
}


@pytest.mark.parametrize("spare", [0, 3])
@pytest.mark.parametrize("name", QUERIES)
def test_slices_are_those_of_one_process(
    name: str, spare: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows grow, are cut, and are filled up from the whole partition; at last nothing is left."""
    monkeypatch.setattr(slices, "_SPARE", spare)
    draw, text = drawn_from("slices", name, spare), QUERIES[name]
    graphs = ("<urn:g>", "<urn:h>") if "GRAPH" in text else ("",)
    simulation, engine, total = Simulation(text, str(tmp_path)), OneProcess(text), Counter[Any]()
    quads = [
        (f"<urn:{node}>", "<urn:p>", f'"{value}"', graph)
        for node in range(8)
        for value in range(6)
        for graph in graphs
    ]
    for number in range(rounds(12)):
        # there are many at first, then few, then many again
        often = 0.9 if number % 8 < 4 else 0.15
        batch = [("A" if draw.random() < often else "D", quad) for quad in draw.sample(quads, 25)]
        net = simulation.run(in_order(batch))
        assert net == engine.run(in_order(batch))
        total = added(total, net)
    assert total or name == "none"
    last = in_order(("D", quad) for quad in quads)
    assert simulation.run(last) == engine.run(last)
    assert simulation.held() == {}
    engine.close()


def test_nobody_is_promised_sorted_deltas() -> None:
    """ORDER BY alone has no effect on Spark, so its plan does not speak of it; that of a slice does."""
    alone = "SELECT * { ?s <urn:p> ?o } ORDER BY DESC(?o)"
    assert "DESC" not in explain(plan_queries(alone), 2)
    assert "Slice LIMIT 3 by DESC(?o)" in explain(plan_queries(f"{alone} LIMIT 3"), 2)
