"""What comes after the pattern, by the stages of Spark: examples whose deltas are those of one process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from rdflib import XSD

from dataflow.simulation import Quad, Simulation, in_order
from rdflive_stores.spark.dataflow import slices
from rdflive_stores.spark.dataflow import solutions as tables
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.finishing import folders
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import drawn_from, rounds
from support.one_process import OneProcess, Row, added

Operations = list[tuple[str, Quad]]


def literal(lexical: str, datatype: str) -> str:
    """Write a literal of a datatype of XML Schema."""
    return f'"{lexical}"^^<{XSD[datatype]}>'


def integer(number: int) -> str:
    """Write an integer."""
    return literal(str(number), "integer")


def operations(text: str) -> Operations:
    """Read operations such as `A a p 1; D a p b`: small names are IRIs, numbers are integers."""

    def term(word: str) -> str:
        return integer(int(word)) if word.lstrip("-").isdigit() else f"<urn:{word}>"

    words = (operation.split() for operation in text.split(";"))
    return [(op, (term(s), term(p), term(o), "")) for op, s, p, o in words]


def links(predicate: str, *ends: tuple[int, int]) -> str:
    """Write inserts of links between nodes that are called by numbers."""
    return ";".join(f"A n{s} {predicate} n{o}" for s, o in ends)


UP, DOWN = links("p", *((n, n + 1) for n in range(9))), links("q", *((n + 1, n) for n in range(9)))
EXAMPLES: dict[str, tuple[str, list[str]]] = {
    "rows that a projection makes equal come once": (
        "SELECT ?a { ?a <urn:p> ?b . ?c <urn:q> ?d FILTER(?b < ?d) }",
        ["A a p 1; A a p 2; A b q 3; A c q 3; A b q 4", "D a p 1; D b q 4"],
    ),
    "a new column of the name of a hidden one does not decide where rows meet": (
        "SELECT ?a ?b { { SELECT ?a { ?a <urn:p> ?b . ?c <urn:q> ?d FILTER(?b < ?d) } } BIND(?a AS ?b) }",
        ["A a p 1; A a p 2; A a p 3; A a p 4; A b q 9", "D a p 4"],
    ),
    "a variable that nothing binds is NULL": ("SELECT ?none ?a { ?a <urn:p> ?b }", ["A a p 1; A a p 2"]),
    "DISTINCT shows the first and the last copy": (
        "SELECT DISTINCT ?a { ?a <urn:p> ?b }",
        ["A a p 1; A a p 2", "A a p 3; D a p 1", "D a p 2; D a p 3"],
    ),
    "a group comes with its first row and goes with its last": (
        "SELECT ?a (COUNT(*) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a",
        ["A a p 1; A a p 2; A b p 1", "D a p 1", "D a p 2; A a p 3", "D a p 3; D b p 1"],
    ),
    "the group of all rows stays when they are gone": (
        "SELECT (COUNT(*) AS ?n) (MAX(?b) AS ?m) { ?a <urn:p> ?b }",
        ["A a q 1", "A a p 1", "D a p 1", "A a p 5"],
    ),
    "COUNT(DISTINCT *) counts solutions that differ": (
        "SELECT (COUNT(DISTINCT *) AS ?n) { { SELECT ?a { ?a <urn:p> ?b } } }",
        ["A a p 1; A a p 2; A b p 1", "D a p 1", "D a p 2"],
    ),
    "both sides come at once": ("SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }", [f"{UP};{DOWN}"]),
    "the right side comes later": ("SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }", [UP, DOWN]),
    "the left side comes later": (
        "SELECT * { ?x <urn:p> ?y MINUS { ?y <urn:q> ?x } }",
        [links("q", (1, 0), (3, 2)), UP],
    ),
    "a second partner changes nothing": (
        "SELECT * { ?x <urn:p> ?y FILTER EXISTS { ?y <urn:q> ?z } }",
        [UP, links("q", (1, 1), (1, 2)), links("q", (1, 3), (2, 2)), links("q", (1, 4))],
    ),
    "nor for NOT EXISTS that reads outer variables": (
        "SELECT * { ?x <urn:p> ?y FILTER NOT EXISTS { ?y <urn:q> ?z FILTER(?z != ?x) } }",
        [UP, links("q", (1, 0)), links("q", (1, 2)), links("q", (1, 3), (2, 2))],
    ),
    "the largest of each has none above it": (
        "SELECT * { ?x <urn:p> ?y FILTER NOT EXISTS { ?x <urn:p> ?z FILTER(?z > ?y) } }",
        ["A a p 1; A a p 3; A b p 2", "A a p 2; A b p 5", "D a p 3", "D a p 2; A a p 7"],
    ),
    "a condition reads what the left row may leave unbound": (
        "SELECT * { ?x <urn:p> ?y OPTIONAL { ?x <urn:q> ?m } "
        "BIND(EXISTS { ?z <urn:p> ?w ; <urn:q> ?m FILTER(?z != ?x && (?w > ?y || ?m = 2)) } AS ?e) }",
        ["A a p 1; A b p 3", "A b q 1", "A a q 2; A c p 9", "D b q 1; A c q 2", "D b p 3"],
    ),
    "an OPTIONAL without a match is a NOT EXISTS": (
        "SELECT * { ?x <urn:p> ?y OPTIONAL { ?z <urn:q> ?w FILTER(?w > ?y) } FILTER(!BOUND(?z)) }",
        ["A a p 1; A b p 3", "A c q 2; A d q 2", "D c q 2", "D d q 2; A c q 4"],
    ),
    "what is unbound fits everything": (
        "SELECT * { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } OPTIONAL { ?z <urn:r> ?w } }",
        [UP, links("r", (1, 2), (3, 4)), links("q", (1, 1), (2, 5)), links("r", (5, 6))],
    ),
    "rows of a stage without company are sent on": (
        "SELECT * { { SELECT DISTINCT ?y { ?x <urn:p> ?y } } { SELECT DISTINCT ?y { ?y <urn:q> ?z } } }",
        [UP, DOWN],
    ),
    "constants are in one place": (
        "SELECT * { VALUES (?x ?y) { (<urn:n1> <urn:n2>) (<urn:n2> UNDEF) (<urn:n3> <urn:n9>) } "
        "OPTIONAL { ?x <urn:p> ?y } }",
        [UP, DOWN],
    ),
    "branches have what others have not": (
        "SELECT * { { ?x <urn:p> ?y } UNION { ?y <urn:q> ?z } { ?y <urn:r> ?w } }",
        [UP, DOWN, links("r", *((n, n) for n in range(9)))],
    ),
    "a group is there without rows": (
        "SELECT (COUNT(*) AS ?n) (SUM(?k) AS ?s) { SELECT (COUNT(?y) AS ?k) { ?x <urn:p> ?y } GROUP BY ?x }",
        [UP, DOWN],
    ),
    "ASK tells of the first and the last": ("ASK { ?x <urn:p> ?y . ?y <urn:q> ?x }", [UP, DOWN]),
    "triples of a template are there once": (
        "CONSTRUCT { ?y <urn:of> <urn:all> . ?x <urn:to> ?y } { ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } }",
        [UP, DOWN, links("p", (5, 1), (6, 1))],
    ),
}


def check(text: str, batches: list[Operations], folder: Path) -> None:
    """Compare all deltas, with micro-batches that run twice; what comes in steps goes in others."""
    simulation, engine, told = Simulation(text, str(folder / "state")), OneProcess(text), 0
    gone: list[Operations] = [[("D", quad) for _, quad in batch] for batch in batches]
    for number, batch in enumerate([*batches, *gone[1:], gone[0]]):
        net = simulation.run(in_order(batch), 1 + number % 2)
        assert net == engine.run(in_order(batch))
        told += bool(net)
    assert told
    empty = Simulation(text, str(folder / "empty"))
    empty.run([])
    assert simulation.held() == empty.held()
    engine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_deltas_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    """The solutions of a micro-batch are net, and nothing is left of what has gone."""
    text, batches = EXAMPLES[name]
    check(text, [operations(batch) for batch in batches], tmp_path)


VALUES = (
    *map(integer, (1, 2, 3, -1)), literal("01", "integer"), literal("1.5", "decimal"),
    literal("2.50", "decimal"), literal("0.1", "double"), literal("1e16", "double"),
    literal("-1e16", "double"), literal("INF", "double"), literal("NaN", "double"), literal("0.5", "float"),
    '"x"', '"y\\n\\"z\\""', '"x"@en', literal("true", "boolean"), literal("many", "integer"),
    "<urn:a>", "<urn:b>", "_:n",
)  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"])
@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_group_keeps_every_set_function(name: str, distinct: str, tmp_path: Path) -> None:
    """What a group has kept between micro-batches takes every value back, however it is spelt."""
    text = f"SELECT ?a ({name}({distinct}?b) AS ?n) {{ ?a <urn:p> ?b }} GROUP BY ?a"
    inserts: Operations = [("A", ("<urn:a>", "<urn:p>", value, "")) for value in VALUES]
    check(text, [inserts[n : n + 3] for n in range(0, len(inserts), 3)], tmp_path)


def test_group_reads_and_writes_what_it_touches(tmp_path: Path) -> None:
    """A micro-batch takes one state per group that it touches away and adds one; nothing piles up."""
    simulation = Simulation("SELECT ?a (SUM(?b) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a", str(tmp_path))

    def run(text: str) -> None:
        simulation.run(in_order(operations(text)))

    run(";".join(f"A n{n} p {n}" for n in range(100)))
    (stage,) = folders(simulation.joint)
    assert simulation.rows_held(stage) == 100
    run("A n1 p 7; A n2 p 7; A n2 p 8")
    assert simulation.rows_held(stage) == 104
    for number in range(60):
        run(f"A n{number % 3} p {number}; D n{number % 3} p {number - 3}")
        assert simulation.rows_held(stage) <= 100 + 4 * 9
    assert simulation.held()[stage] == 100


def test_hash_rows_is_the_same_everywhere() -> None:
    """Texts decide the bucket, in every process and on every machine."""
    rows = tables.solutions([1, 1, 1], [["<urn:a>", None, "<urn:a>"], ["b", "b", "c"]])
    expected = [6589623424784014600, 1024051835814395140, -3225019816811378176]
    assert tables.hash_rows(rows, [0, 1]).tolist() == expected
    assert tables.hash_rows(rows, []).tolist() == [0, 0, 0]


SLICES = {
    "first": "SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY ?v ?x LIMIT 3",
    "last": "SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY DESC(?v) LIMIT 2 OFFSET 2",
    "rest": "SELECT ?x { ?x <urn:p> ?v } ORDER BY ?v OFFSET 4",
    "none": "SELECT ?x { ?x <urn:p> ?v } LIMIT 0",
    "twice": "SELECT ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 4",
    "in each graph": "SELECT * { GRAPH ?g { SELECT ?x ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 2 } }",
}


@pytest.mark.sampled(by="spare")
@pytest.mark.parametrize("spare", [0, 3])
@pytest.mark.parametrize("name", SLICES)
def test_slices_are_those_of_one_process(
    name: str, spare: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows grow, are cut, and are filled up from the whole partition; at last nothing is left."""
    monkeypatch.setattr(slices, "_SPARE", spare)
    draw, text = drawn_from("slices", name, spare), SLICES[name]
    graphs = ("<urn:g>", "<urn:h>") if "GRAPH" in text else ("",)
    simulation, engine, total = Simulation(text, str(tmp_path)), OneProcess(text), Counter[Row]()
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


def test_first_rows_are_filled_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 rows six are kept apart; four of them go, and the seventh is in the first three."""
    monkeypatch.setattr(slices, "_SPARE", 0)
    simulation = Simulation("SELECT ?v { ?x <urn:p> ?v } ORDER BY ?v LIMIT 3", str(tmp_path))
    quads = [("<urn:x>", "<urn:p>", f'"{number:02}"', "") for number in range(20)]
    simulation.run(in_order(("A", quad) for quad in quads))
    net = simulation.run(in_order(("D", quad) for quad in quads[:4]))
    assert net == {**{(f'"0{n}"',): -1 for n in range(3)}, **{(f'"0{n}"',): 1 for n in range(4, 7)}}


def test_deltas_are_not_sorted() -> None:
    """ORDER BY alone has no effect on Spark, so its plan does not speak of it; that of a slice does."""
    alone = "SELECT * { ?s <urn:p> ?o } ORDER BY DESC(?o)"
    assert "DESC" not in explain(plan_queries(alone), 2)
    assert "Slice LIMIT 3 by DESC(?o)" in explain(plan_queries(f"{alone} LIMIT 3"), 2)
