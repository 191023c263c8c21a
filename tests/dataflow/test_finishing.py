"""What comes after the pattern, run by the stages of Spark and by the engine of one process: equal deltas."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import dataclass
from re import findall
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import XSD

from dataflow.simulation import Change, Quad, Simulation, in_order
from rdflive.errors import UnsupportedQueryError
from rdflive_stores.spark.dataflow import solutions as tables
from rdflive_stores.spark.dataflow import state as files
from rdflive_stores.spark.dataflow.finishing import folders
from rdflive_stores.spark.dataflow.query_plan import plan_query
from support.effort import examples
from support.one_process import OneProcess, Row, added


def literal(lexical: str, datatype: str) -> str:
    """Write a literal of a datatype of XML Schema."""
    return f'"{lexical}"^^<{XSD[datatype]}>'


def integer(number: int) -> str:
    """Write an integer."""
    return literal(str(number), "integer")


NODES = ("<urn:a>", "<urn:b>", "<urn:c>", "_:n")
NUMBERS = (
    *map(integer, (1, 2, 3, -1)), literal("01", "integer"), literal("1.5", "decimal"),
    literal("2.50", "decimal"), literal("0.1", "double"), literal("1e16", "double"),
    literal("-1e16", "double"), literal("INF", "double"), literal("NaN", "double"), literal("0.5", "float"),
)  # fmt: skip
OTHERS = ('"x"', '"y\\n\\"z\\""', '"x"@en', literal("true", "boolean"), literal("many", "integer"))
LINKS = ("<urn:p>", "<urn:q>")
PATTERNS = {
    "?a <urn:p> ?b": "ab",
    "?a <urn:p> ?b . ?a <urn:q> ?c": "abc",
    "?a <urn:p> ?b . ?c <urn:q> ?d": "abcd",
    "?a ?b ?c": "abc",
}
"""With the variables of each."""
VALUES = (
    "?b + 1", "?b * ?c", "STR(?b)", "?b > ?c", "ABS(?b)", "COALESCE(?b + 1, ?a)", "IF(?b < 2, ?a, 1/0)",
    "?a", "7", "UCASE(?d)", "?b / 2", "DATATYPE(?b)",
)  # fmt: skip
TESTS = (
    "?b != ?c", "?c < ?d", "?b > 0", "isIRI(?b)", "?a != <urn:a>", "?x != ?b", "bound(?x)",
    "!sameTerm(?a, ?c)", "!isBlank(?a) && ?b != ?c", "?a = <urn:b> || ?b < ?c",
)  # fmt: skip
KEYS = (
    ("", ""), ("?a", " GROUP BY ?a"), ("?b ?a", " GROUP BY ?a ?b"), ("", " GROUP BY ?a"),
    ("?k", " GROUP BY (?b + 1 AS ?k)"),
)  # fmt: skip
OF_ALL = "SELECT (MAX(?n0) AS ?m) (COUNT(*) AS ?c) { { "
ABOVE = (
    "…", "…", "SELECT DISTINCT ?n0 { { … } }", f"{OF_ALL}… }} }}",
    "SELECT ?n0 { { … } FILTER(?n0 != 1) BIND(?n0 + 1 AS ?y) }",
)  # fmt: skip
"""What may stand around a query with aggregates."""
SET_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
ARGUMENTS = ("?b", "?c", "?b + ?c", "?x", "?a", "STRLEN(?b)")


class Scenario(NamedTuple):
    """A query, and per micro-batch the operations in order."""

    text: str
    batches: list[list[tuple[str, Quad]]]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """SELECT with FILTER, BIND, DISTINCT, GROUP BY and HAVING, one inside another."""

    def chance(one_in: int) -> bool:
        return draw(st.integers(1, one_in)) == 1

    def some(expressions: tuple[str, ...]) -> str:
        return draw(st.sampled_from([text for text in expressions if {*findall(r"\?(.)", text)} <= names]))

    body = draw(st.sampled_from(sorted(PATTERNS)))
    names = set(PATTERNS[body])
    if chance(2):
        body += f" BIND({some(VALUES)} AS ?x)"
        names.add("x")
    if chance(3):
        body += f" FILTER({some(TESTS)})"
    shown = " ".join(
        f"?{name}" for name in draw(st.lists(st.sampled_from(sorted(names)), min_size=1, unique=True))
    )
    distinct = draw(st.sampled_from(["", "DISTINCT "]))
    if chance(3):
        return f"SELECT {distinct}{shown} {{ {body} }}"
    if chance(3):
        body = f"{{ SELECT {distinct}{shown} {{ {body} }} }}"
    return _grouped(draw, body)


def _grouped(draw: st.DrawFn, body: str) -> str:
    key, by = draw(st.sampled_from(KEYS))
    aggregates = " ".join(f"({_aggregate(draw)} AS ?n{n})" for n in range(draw(st.integers(1, 3))))
    having = draw(st.sampled_from(["", "", " HAVING(COUNT(*) > 1)", " HAVING(COUNT(?b) < 4)"]))
    return draw(st.sampled_from(ABOVE)).replace("…", f"SELECT {key} {aggregates} {{ {body} }}{by}{having}")


def _aggregate(draw: st.DrawFn) -> str:
    distinct = draw(st.sampled_from(["", "DISTINCT "]))
    if draw(st.integers(1, 4)) == 1:
        return f"COUNT({distinct}*)"
    separator = "; separator='|'" if draw(st.booleans()) else ""
    name = draw(st.sampled_from(SET_FUNCTIONS))
    return f"{name}({distinct}{draw(st.sampled_from(ARGUMENTS))}{separator * (name == 'GROUP_CONCAT')})"


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A query and operations, some of which change nothing."""
    chance = random.Random(draw(st.integers(0, 1 << 32)))  # hypothesis's own leans to what is small
    objects = (*NODES, *chance.sample(NUMBERS, 4), chance.choice(OTHERS))
    often = chance.choice((8, 16))
    live: list[Quad] = []
    batches = []
    for _ in range(draw(st.integers(2, 6))):
        operations = []
        for _ in range(chance.randrange(often // 2, often) + 1):
            if live and chance.random() < 0.35:
                operations.append(("D", chance.choice(live)))
            else:
                live.append((chance.choice(NODES), chance.choice(LINKS), chance.choice(objects), ""))
                operations.append(("A", live[-1]))
        batches.append(operations)
    return Scenario(draw(queries()), batches)


def check(scenario: Scenario, folder: str) -> bool:
    """Compare all deltas, with micro-batches that run twice, and then empty the graph; tells if any came."""
    simulation, engine = Simulation(scenario.text, folder), OneProcess(scenario.text)
    initial, total = OneProcess(scenario.text).run([]), Counter[Row]()
    quads = dict.fromkeys(quad for batch in scenario.batches for _, quad in batch)
    for number, batch in enumerate([*scenario.batches, [("D", quad) for quad in quads]]):
        changes = in_order(batch)
        expected = engine.run(changes)
        assert simulation.run(changes, 1 + number % 2) == expected
        total = added(total, expected)
    assert total == initial
    steps = simulation.joint.queries[0].plan.steps
    stays = any(getattr(step.node, "seeds", None) is not None for step in steps)
    assert sum(simulation.held().values()) <= len(folders(simulation.joint)) * stays
    return bool(quads)


@pytest.mark.parametrize("collide", [False, True])
def test_operations_give_what_one_process_gives(collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each micro-batch the solutions are those of the engine, also where hashes are alike."""
    monkeypatch.setattr(files, "_LEAST_BYTES", 2)
    if collide:
        monkeypatch.setattr(tables, "_hash", lambda text: len(text or "") & 1)
    outcomes: Counter[str] = Counter()

    @settings(max_examples=examples(35), deadline=None, suppress_health_check=list(HealthCheck))
    @given(scenarios())
    def run(scenario: Scenario) -> None:
        try:
            plan_query(scenario.text)
        except UnsupportedQueryError as refusal:
            outcomes[refusal.construct] += 1
            return
        with tempfile.TemporaryDirectory() as folder:
            outcomes["some" if check(scenario, folder) else "none"] += 1

    run()
    print(dict(outcomes))
    assert outcomes["some"] >= examples(35) * 2 // 7


@dataclass(frozen=True)
class Example:
    """A query and, per micro-batch, what it does and what comes of it."""

    text: str
    steps: tuple[tuple[str, dict[Row, int]], ...]


def changes_of(text: str) -> list[Change]:
    """Read operations such as `A a p 1; D a p b`: small names are IRIs, numbers are integers."""

    def term(word: str) -> str:
        return integer(int(word)) if word.lstrip("-").isdigit() else f"<urn:{word}>"

    words = (operation.split() for operation in text.split(";"))
    return in_order([(op, (term(s), term(p), term(o), "")) for op, s, p, o in words])


EXAMPLES = {
    "rows that a projection makes equal come once": Example(
        "SELECT ?a { ?a <urn:p> ?b . ?c <urn:q> ?d FILTER(?b < ?d) }",
        (
            ("A a p 1; A a p 2; A b q 3; A c q 3; A b q 4", {("<urn:a>",): 6}),
            ("D a p 1; D b q 4", {("<urn:a>",): -4}),
        ),
    ),
    "a new column of the name of a hidden one does not decide where rows meet": Example(
        "SELECT ?a ?b { { SELECT ?a { ?a <urn:p> ?b . ?c <urn:q> ?d FILTER(?b < ?d) } } BIND(?a AS ?b) }",
        (
            ("A a p 1; A a p 2; A a p 3; A a p 4; A b q 9", {("<urn:a>", "<urn:a>"): 4}),
            ("D a p 4", {("<urn:a>", "<urn:a>"): -1}),
        ),
    ),
    "a variable that nothing binds is NULL": Example(
        "SELECT ?none ?a { ?a <urn:p> ?b }", (("A a p 1; A a p 2", {(None, "<urn:a>"): 2}),)
    ),
    "an expression that fails binds nothing": Example(
        "SELECT ?x { ?a <urn:p> ?b BIND(?b + 1 AS ?x) }",
        (("A a p 1; A a p b; A a p c", {(integer(2),): 1, (None,): 2}), ("D a p b; D a p c", {(None,): -2})),
    ),
    "DISTINCT shows the first and the last copy": Example(
        "SELECT DISTINCT ?a { ?a <urn:p> ?b }",
        (
            ("A a p 1; A a p 2", {("<urn:a>",): 1}),
            ("A a p 3; D a p 1", {}),
            ("D a p 2; D a p 3", {("<urn:a>",): -1}),
        ),
    ),
    "DISTINCT counts unbound values": Example(
        "SELECT DISTINCT ?x { ?a <urn:p> ?b BIND(?b + 1 AS ?x) }",
        (("A a p b", {(None,): 1}), ("A a p c", {}), ("D a p b", {}), ("D a p c", {(None,): -1})),
    ),
    "DISTINCT of no columns is whether there is a match": Example(
        "SELECT DISTINCT * { <urn:a> <urn:p> <urn:b> }", (("A a p b", {(): 1}), ("D a p b", {(): -1}))
    ),
    "a group comes with its first row and goes with its last": Example(
        "SELECT ?a (COUNT(*) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a",
        (
            ("A a p 1; A a p 2; A b p 1", {("<urn:a>", integer(2)): 1, ("<urn:b>", integer(1)): 1}),
            ("D a p 1", {("<urn:a>", integer(2)): -1, ("<urn:a>", integer(1)): 1}),
            ("D a p 2; A a p 3", {}),
            ("D a p 3; D b p 1", {("<urn:a>", integer(1)): -1, ("<urn:b>", integer(1)): -1}),
        ),
    ),
    "the group of all rows stays when they are gone": Example(
        "SELECT (COUNT(*) AS ?n) (MAX(?b) AS ?m) { ?a <urn:p> ?b }",
        (
            ("A a q 1", {(integer(0), None): 1}),
            ("A a p 1", {(integer(0), None): -1, (integer(1), integer(1)): 1}),
            ("D a p 1", {(integer(1), integer(1)): -1, (integer(0), None): 1}),
            ("A a p 5", {(integer(0), None): -1, (integer(1), integer(5)): 1}),
        ),
    ),
    "HAVING hides groups": Example(
        "SELECT ?a { ?a <urn:p> ?b } GROUP BY ?a HAVING(COUNT(*) > 1)",
        (
            ("A a p 1", {}),
            ("A a p 2", {("<urn:a>",): 1}),
            ("A a p 3", {}),
            ("D a p 1; D a p 2", {("<urn:a>",): -1}),
        ),
    ),
    "COUNT(DISTINCT *) counts solutions that differ": Example(
        "SELECT (COUNT(DISTINCT *) AS ?n) { { SELECT ?a { ?a <urn:p> ?b } } }",
        (
            ("A a p 1; A a p 2; A b p 1", {(integer(2),): 1}),
            ("D a p 1", {}),
            ("D a p 2", {(integer(2),): -1, (integer(1),): 1}),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_operations_give_what_the_book_says(name: str, tmp_path: Any) -> None:
    """The solutions of a micro-batch are net, and the same when it runs again."""
    example = EXAMPLES[name]
    simulation = Simulation(example.text, str(tmp_path))
    for text, expected in example.steps:
        assert simulation.run(changes_of(text), attempts=2) == expected


@pytest.mark.sampled(by="distinct")
@pytest.mark.parametrize("name", SET_FUNCTIONS)
@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_group_keeps_every_set_function(name: str, distinct: str, tmp_path: Any) -> None:
    """What a group has kept between micro-batches takes every value back, however it is spelt."""
    text = f"SELECT ?a ({name}({distinct}?b) AS ?n) {{ ?a <urn:p> ?b }} GROUP BY ?a"
    values = [*NUMBERS, *OTHERS, *NODES]
    batches = [[("A", ("<urn:a>", "<urn:p>", value, ""))] for value in values]
    batches += [[("D", quad) for _, quad in batch] for batch in reversed(batches)]
    assert check(Scenario(text, batches), str(tmp_path))


def test_group_reads_and_writes_what_it_touches(tmp_path: Any) -> None:
    """A micro-batch takes one state per group that it touches away and adds one; nothing piles up."""
    simulation = Simulation("SELECT ?a (SUM(?b) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a", str(tmp_path))
    simulation.run(changes_of(";".join(f"A n{n} p {n}" for n in range(100))))
    (stage,) = folders(simulation.joint)
    assert simulation.rows_held(stage) == 100
    simulation.run(changes_of("A n1 p 7; A n2 p 7; A n2 p 8"))
    assert simulation.rows_held(stage) == 104
    for number in range(60):
        simulation.run(changes_of(f"A n{number % 3} p {number}; D n{number % 3} p {number - 3}"))
        assert simulation.rows_held(stage) <= 100 + 4 * 9
    assert simulation.held()[stage] == 100


def test_hash_rows_is_the_same_everywhere() -> None:
    """Texts decide the bucket, in every process and on every machine."""
    rows = tables.solutions([1, 1, 1], [["<urn:a>", None, "<urn:a>"], ["b", "b", "c"]])
    expected = [6589623424784014600, 1024051835814395140, -3225019816811378176]
    assert tables.hash_rows(rows, [0, 1]).tolist() == expected
    assert tables.hash_rows(rows, []).tolist() == [0, 0, 0]
