"""One example of each operator on Spark, in a few micro-batches: its deltas are those of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.simulation import Simulation, in_order
from rdflive_stores.spark.dataflow import slices
from support.one_process import OneProcess

NODES = range(9)


def link(predicate: str, *ends: tuple[int, int]) -> list[tuple[str, tuple[str, str, str, str]]]:
    return [("A", (f"<urn:{s}>", f"<urn:{predicate}>", f"<urn:{o}>", "")) for s, o in ends]


LADDER = link("p", *((n, n + 1) for n in NODES)), link("q", *((n + 1, n) for n in NODES))
EXAMPLES = {
    "both sides come at once": (
        "SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }",
        [[*LADDER[0], *LADDER[1]]],
    ),
    "the right side comes later": ("SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }", LADDER),
    "the left side comes later": (
        "SELECT * { ?x <urn:p> ?y MINUS { ?y <urn:q> ?x } }",
        [link("q", (1, 0), (3, 2)), LADDER[0]],
    ),
    "a second partner changes nothing": (
        "SELECT * { ?x <urn:p> ?y FILTER EXISTS { ?y <urn:q> ?z } }",
        [LADDER[0], link("q", (1, 1), (1, 2)), link("q", (1, 3), (2, 2)), link("q", (1, 4))],
    ),
    "nor for NOT EXISTS that reads outer variables": (
        "SELECT * { ?x <urn:p> ?y FILTER NOT EXISTS { ?y <urn:q> ?z FILTER(?z != ?x) } }",
        [LADDER[0], link("q", (1, 0), (1, 2)), link("q", (1, 3), (2, 2))],
    ),
    "what is unbound fits everything": (
        "SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } OPTIONAL { ?z <urn:r> ?w } }",
        [LADDER[0], link("r", (1, 2), (3, 4)), link("q", (1, 1), (2, 5)), link("r", (5, 6))],
    ),
    "rows of a stage without company are sent on": (
        "SELECT * { { SELECT DISTINCT ?y { ?x <urn:p> ?y } } { SELECT DISTINCT ?y { ?y <urn:q> ?z } } }",
        LADDER,
    ),
    "constants are in one place": (
        "SELECT * { VALUES (?x ?y) { (<urn:1> <urn:2>) (<urn:2> UNDEF) (<urn:3> <urn:9>) } "
        "OPTIONAL { ?x <urn:p> ?y } }",
        LADDER,
    ),
    "branches have what others have not": (
        "SELECT * { { ?x <urn:p> ?y } UNION { ?y <urn:q> ?z } { ?y <urn:r> ?w } }",
        [*LADDER, link("r", *((n, n) for n in NODES))],
    ),
    "a group is there without rows": (
        "SELECT (COUNT(*) AS ?n) (SUM(?k) AS ?s) { SELECT (COUNT(?y) AS ?k) { ?x <urn:p> ?y } GROUP BY ?x }",
        LADDER,
    ),
    "ASK tells of the first and the last": ("ASK { ?x <urn:p> ?y . ?y <urn:q> ?x }", LADDER),
    "triples of a template are there once": (
        "CONSTRUCT { ?y <urn:of> <urn:all> . ?x <urn:to> ?y } { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }",
        [*LADDER, link("p", (5, 1), (6, 1))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_deltas_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    """What comes in steps goes in steps, in another order; nothing is left."""
    text, batches = EXAMPLES[name]
    simulation, engine, told = Simulation(text, str(tmp_path / "state")), OneProcess(text), 0
    gone = [[("D", quad) for _, quad in batch] for batch in batches]
    for batch in [*batches, *gone[1:], gone[0]]:
        net = simulation.run(in_order(batch))
        assert net == engine.run(in_order(batch))
        told += bool(net)
    assert told
    empty = Simulation(text, str(tmp_path / "empty"))
    empty.run([])
    assert simulation.held() == empty.held()
    engine.close()


def test_first_rows_are_filled_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 rows six are kept apart; four of them go, and the seventh is in the first three."""
    monkeypatch.setattr(slices, "_SPARE", 0)
    simulation = Simulation("SELECT ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 3", str(tmp_path))
    quads = [("<urn:x>", "<urn:p>", f'"{number:02}"', "") for number in range(20)]
    simulation.run(in_order(("A", quad) for quad in quads))
    net = simulation.run(in_order(("D", quad) for quad in quads[:4]))
    assert net == {**{(f'"0{n}"',): -1 for n in range(3)}, **{(f'"0{n}"',): 1 for n in range(4, 7)}}
