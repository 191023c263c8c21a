"""Stars at objects with many subjects: quads are spread over buckets, and the answers are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.simulation import Quad, Simulation, in_order
from dataflow.test_differential import Operations
from rdflive_stores.spark.dataflow import walking
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.query_plan import TYPE, plan_queries
from rdflive_stores.spark.dataflow.walking import ARRANGED
from support.effort import drawn_from, rounds
from support.one_process import OneProcess

QUERY = f"""SELECT * {{
    ?s {TYPE} ?c ; <urn:p> ?v . ?c <urn:label> ?l ; <urn:sub> ?d . ?d <urn:label> ?e . ?t {TYPE} ?d
}}"""
BUCKETS = 6


def world() -> list[Quad]:
    """Make 280 instances of one class and 30 of another, classes with labels, and superclasses."""
    types = [(f"<urn:s{n}>", TYPE, "<urn:c0>" if n < 280 else "<urn:c1>", "") for n in range(310)]
    values = [(f"<urn:s{n}>", "<urn:p>", f'"{n % 3}"', "") for n in range(0, 310, 7)]
    labels = [(f"<urn:c{n}>", "<urn:label>", f'"{n}{end}"', "") for n in range(4) for end in ("", " again")]
    links = [(f"<urn:c{n}>", "<urn:sub>", f"<urn:c{n + 1}>", "") for n in range(3)]
    return [*types, *values, *labels, *links]


def spread_of_types(simulation: Simulation) -> list[int]:
    """Count the instances of the large class that each bucket keeps by their class."""
    shapes = simulation.joint.matching.arrangements
    wanted = next(n for n, shape in enumerate(shapes) if TYPE in shape.match and shape.key == 1)
    return [
        sum(index == wanted for run in runs for index in run.table["index"].to_pylist())
        for runs in simulation.states(ARRANGED)
    ]


@pytest.mark.parametrize(
    ("partners", "salts"),
    [(2, 16), pytest.param(256, 2, marks=pytest.mark.hunted("the gate has another pair"))],
)
def test_a_salted_star_gives_what_one_process_does(
    partners: int, salts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quads come and go in any order; rows with many partners take detours where there are some."""
    monkeypatch.setattr(walking, "MOST_PARTNERS", partners)
    monkeypatch.setattr(walking, "MOST_SALTS", salts)
    draw, engine = drawn_from("salting", partners, salts), OneProcess(QUERY)
    simulation = Simulation(QUERY, str(tmp_path), BUCKETS, salted=(TYPE,))
    there: set[Quad] = set()
    told = 0

    def run(operations: Operations) -> None:
        nonlocal told
        net = simulation.run(in_order(operations))
        assert net == engine.run(in_order(operations))
        told += len(net)

    quads = world()
    draw.shuffle(quads)
    for begin in range(0, len(quads), 120):
        run([("A", quad) for quad in quads[begin : begin + 120]])
    there.update(quads)
    used = [count for count in spread_of_types(simulation) if count]
    assert len(used) >= salts if salts < BUCKETS else len(used) == BUCKETS
    assert max(used) < 0.7 * sum(used)
    for _ in range(rounds(6, share=3)):
        operations: Operations = []
        for quad in draw.sample(quads, 12):
            operations.append(("D" if quad in there else "A", quad))
            there ^= {quad}
        run(operations)
    run([("D", quad) for quad in sorted(there)])
    assert told > 200
    simulation.compact()
    assert simulation.rows_held(ARRANGED) == 0
    engine.close()


def test_the_plan_tells_what_is_salted() -> None:
    """It is a part of what state belongs to, too: another choice is another arrangement."""
    text = explain(plan_queries(QUERY), BUCKETS)
    assert f"kept: the matches of _ {TYPE} _, by object, salted by subject" in text
    assert "kept: the matches of _ <urn:label> _, by subject, in each partition of a salted star" in text
    assert "salted" not in explain(plan_queries(QUERY, salted=()), BUCKETS)
