"""Parameters of a query that are rows: of another query, of a stream, or of a table."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyspark.sql import DataFrame, SparkSession
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive.feeds.terms import RowReader, write_term
from rdflive.query.algebra import Values, topological
from rdflive.query.parse import parse_query
from rdflive_stores.spark import rebuild, subscribe
from rdflive_stores.spark.parameters import as_query
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, Row, node, number

LATE = """SELECT ?train ?minutes ?stop {
    { ?train <urn:line> ?line ; <urn:delay> ?minutes FILTER(?minutes >= ?least) }
    OPTIONAL { ?train <urn:to> ?stop }
}"""
WATCHED = "SELECT ?line ?least { ?user <urn:watches> ?line ; <urn:least> ?least }"
SCHEMA = "op string, line string, least string, file string, offset long, part int"


class Told:
    """A subscription of one process to a query for the rows of another: the net of each batch."""

    def __init__(self, query: str) -> None:
        self.graph = rdflib.Graph()
        self._net: Counter[Row] = Counter()
        rdflive.prepare(query).subscribe(self.graph, self._take, WATCHED)

    def _take(self, delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            self._net[tuple(None if term is None else write_term(term) for term in solution)] += weight

    def rows(self) -> set[tuple[str, ...]]:
        """Give the present parameters."""
        return {tuple(map(write_term, row)) for row in self.graph.query(WATCHED)}

    def run(self, batch: list[Operation]) -> Counter[Row]:
        """Apply a batch."""
        with rdflive.batch(self.graph):
            for change in batch:
                triple: Any = tuple(RowReader(text).term("term") for text in change[1:4])
                (self.graph.add if change.op == "A" else self.graph.remove)(triple)
        found, self._net = self._net, Counter()
        return Counter({row: weight for row, weight in found.items() if weight})


def drawn(chance: Any, *, watching: bool) -> list[Operation]:
    """Draw changes of trains, or of who watches what."""
    batch = []
    for _ in range(chance.choice((3, 8))):
        thing = node(f"u{chance.randrange(3)}" if watching else f"t{chance.randrange(4)}")
        links = [
            ("watches" if watching else "line", node(f"l{chance.randrange(3)}")),
            ("least" if watching else "delay", number(chance.randrange(6))),
            *([] if watching else [("to", node(f"s{chance.randrange(2)}"))]),
        ]
        link, value = chance.choice(links)
        batch.append(Operation(chance.choice("AAD"), thing, node(link), value))
    return batch


class Rows:
    """Files of rows that come and go, one per micro-batch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count, self.held = folder, 0, set[tuple[str, ...]]()
        folder.mkdir()

    def become(self, rows: set[tuple[str, ...]]) -> None:
        """Write what leads to these rows."""
        changes = [("A", row) for row in rows - self.held] + [("D", row) for row in self.held - rows]
        self.held, path = rows, self.folder / f"{self.count:04}.json"
        lines = [
            {"op": op, "line": row[0], "least": row[1], "file": "rows", "offset": self.count, "part": place}
            for place, (op, row) in enumerate(changes)
        ]
        path.write_text("\n".join(map(json.dumps, lines)))
        os.utime(path, (1_700_000_000 + self.count,) * 2)
        self.count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read them as a stream."""
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.folder))


@pytest.mark.parametrize("kind", ["query", "stream"])
def test_rows_are_parameters(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Rows come and go, with the same deltas as in one process; restarted half-way, then emptied."""
    chance, told = drawn_from("parameters", kind), Told(LATE)
    files, rows, found = ChangeFiles(tmp_path / "changes"), Rows(tmp_path / "rows"), Nets()
    expected: list[Counter[Row]] = []
    held: dict[tuple[str, ...], None] = {}

    def step(batch: list[Operation]) -> None:
        held.update(dict.fromkeys(change[1:4] for change in batch))
        expected.append(told.run(batch))
        if kind == "stream":
            batch = [change for change in batch if not change.s.startswith("<urn:u")]
            rows.become(told.rows())
        files.add(batch)

    def run() -> None:
        parameters = WATCHED if kind == "query" else rows.stream(spark)
        subscription = subscribe(
            files.stream(spark), LATE, checkpoint=tmp_path / "checkpoint", parameters=parameters
        )
        subscription.start(found, trigger=AT_ONCE).awaitTermination()

    for _ in range(4):
        step([*drawn(chance, watching=True), *drawn(chance, watching=False)])
    run()
    while len(expected) < 7 or not any(expected):
        step([*drawn(chance, watching=True), *drawn(chance, watching=False)])
    step([Operation("D", *quad) for quad in held])
    run()
    assert found.list == expected
    assert not found.total


def test_a_table_is_a_part_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """Of one subscription with several queries; rebuilt, state has the same parameters."""
    chance, files = drawn_from("parameters", "table"), ChangeFiles(tmp_path / "changes")
    given = [(node("l0"), number(2)), (node("l1"), number(0))]
    table = spark.createDataFrame(given, "line string, least string")
    queries = {"late": LATE, "any": LATE.replace("SELECT ?train ?minutes ?stop", "ASK")}
    told = {name: Told(query) for name, query in queries.items()}
    for place, (line, least) in enumerate(given):
        user = node(f"u{place}")
        for one in told.values():
            one.run([Operation("A", user, node("watches"), line), Operation("A", user, node("least"), least)])
    expected: list[Counter[Row]] = []
    # until both have told something, after 4 micro-batches as a rule
    while len(expected) < 4 or {row[0] for net in expected for row in net} != set(queries):
        batch = drawn(chance, watching=False)
        nets = {name: one.run(batch) for name, one in told.items()}
        width = 5
        expected.append(
            Counter(
                {
                    (name, *row, *[None] * (width - len(row))): weight
                    for name, net in nets.items()
                    for row, weight in net.items()
                }
            )
        )
        files.add(batch)
    found = Nets()

    def run() -> None:
        subscription = subscribe(
            files.stream(spark), queries, checkpoint=tmp_path / "checkpoint", parameters=table
        )
        subscription.start(found, trigger=AT_ONCE).awaitTermination()

    run()
    assert found.list == expected
    # the same rows as one process takes them, so the state is theirs
    terms = [tuple(RowReader(text).term("term") for text in row) for row in reversed(given)]
    rows = [{"?line": line, "least": least} for line, least in terms]
    again = subscribe(files.stream(spark), queries, checkpoint=tmp_path / "checkpoint", parameters=rows)
    again.start(found, trigger=AT_ONCE).awaitTermination()
    assert found.list == expected
    answer = Nets()
    rebuild(tmp_path / "checkpoint", spark=spark, partitions=3, sink=answer)
    assert answer.total == found.total


def test_what_cannot_be_a_parameter_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A column that is no string, a NULL, none at all, and a variable that the query does not have."""
    files = ChangeFiles(tmp_path / "changes")

    def table(schema: str, *row: Any) -> DataFrame:
        return spark.createDataFrame([row] if row else [], schema)

    line: Any = URIRef("urn:l0")
    refused: list[tuple[Any, type[Exception], str]] = [
        (table("line int", 1), ValueError, "must hold strings, not int"),
        (table("line string"), ValueError, "parameters has no row"),
        (table("`li.ne` string", node("l0")), ValueError, "is not a variable name: 'li.ne'"),
        (table("line string", None), ValueError, "a parameter is NULL"),
        (table("lin string", node("l0")), ValueError, "lin"),
        (table("line string", "l0"), ValueError, "is not a term in N-Triples: 'l0'"),
        (table("line string", "<urn:a>) } ?x ?p ?o { (<urn:b>"), ValueError, "must be one IRI or literal"),
        (table("line string", "_:b"), ValueError, "must be one IRI or literal"),
        ([], ValueError, "has no row"),
        ([{"li ne": line}], ValueError, "is not a variable name: 'li ne'"),
        ([{"line": line}, {}], ValueError, "every row of parameters must have line"),
        ([{"lin": line}], ValueError, "lin"),
        ({"line": BNode("b")}, ValueError, "must be one IRI or literal"),
        ({"line": 3}, TypeError, "must be a URIRef, Literal or BNode"),
        (["<urn:l0>"], TypeError, "a row of parameters maps variables to terms"),
        (7, TypeError, "parameters must be a query, the path of its file, a DataFrame, or rows"),
    ]
    changes, query = files.stream(spark), LATE.replace("?least", "3")
    for given, error, message in refused:
        with pytest.raises(error, match=message):
            subscribe(changes, query, checkpoint=tmp_path / "checkpoint", parameters=given)


def test_terms_of_rows_are_read_as_they_are() -> None:
    """Tabs, quotation marks, and what stands behind two backslashes are the same in the query."""
    for text in ("tab\t", "x\\u0022", "a\\\\U00000041b", '"quoted"\n\\', "\\\tu0041"):
        query = parse_query(as_query({"line": Literal(text)}))
        (values,) = (node for node in topological(query.root) if isinstance(node, Values))
        assert values.rows == ((Literal(text),),)
