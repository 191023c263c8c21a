"""Deltas of a subscription in sinks of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyspark.sql import DataFrame, SparkSession
from rdflib import Literal, URIRef

import rdflive
from rdflive import RdfliveError
from rdflive.feeds import UnwritableError
from rdflive_stores.spark.delta_sink import DeltaSink, delta_rows
from support.worlds import KINDS

E = "http://example.org/"
S, P = URIRef(f"{E}s"), URIRef(f"{E}p")
PREFIX = "PREFIX : <http://example.org/> "


def graph_of(*numbers: int) -> rdflib.Graph:
    graph = rdflib.Graph()
    for number in numbers:
        graph.add((S, P, Literal(str(number))))
    return graph


def tables(graph: Any, query: str, *writes: Any) -> list[Any]:
    """Give the rows of each delta."""
    found: list[Any] = []
    with rdflive.subscribe(graph, query, lambda delta: found.append(delta_rows(delta).to_pylist())):
        for write in writes:
            write()
    return found


def test_a_delta_is_signed_solutions() -> None:
    """Rows say their weight, NULL for unbound variables, and which delta is the whole answer."""
    graph = graph_of(1)
    query = f"{PREFIX}SELECT ?o ?n {{ ?s :p ?o OPTIONAL {{ ?s :n ?n }} }}"
    named = (S, URIRef(f"{E}n"), Literal("x", lang="en-GB"))
    first, second = tables(graph, query, lambda: graph.add(named))
    assert first == [{"sequence": 0, "weight": 1, "initial": True, "o": '"1"', "n": None}]
    assert sorted(second, key=str) == [
        {"sequence": 1, "weight": -1, "initial": False, "o": '"1"', "n": None},
        {"sequence": 1, "weight": 1, "initial": False, "o": '"1"', "n": '"x"@en-gb'},
    ]


def test_a_solution_that_repeats_is_one_row() -> None:
    """The multiplicity of a solution is its weight."""
    graph = graph_of(1, 2)
    (first,) = tables(graph, f"{PREFIX}SELECT ?s {{ ?s :p ?o }}")
    assert [row["weight"] for row in first] == [2]


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", "live store"])
def test_other_forms_of_query_have_their_columns(kind: str) -> None:
    """CONSTRUCT gives triples, ASK a row that comes and goes, whatever the library of the terms."""
    graph = KINDS[kind]()

    def insert() -> None:
        graph.update(f"INSERT DATA {{ <{E}s> <{E}p> 1 }}")

    s, p = f"<{E}s>", f"<{E}p>"
    place = {"sequence": 1, "weight": 1, "initial": False}
    assert tables(KINDS[kind](), "ASK { ?s ?p ?o }") == [[]]
    construct = tables(graph, "CONSTRUCT { ?o ?p ?s } { ?s ?p ?o FILTER (!isLiteral(?o)) }", insert)
    assert construct == [[]]
    graph.update("DELETE WHERE { ?s ?p ?o }")
    asked = tables(graph, "ASK { ?s ?p ?o }", insert)
    assert asked[0] == []
    assert [{**row, "sequence": 1} for row in asked[1]] == [place]
    (made,) = tables(graph, "CONSTRUCT { ?s ?p ?s } { ?s ?p ?o }")
    assert [row[name] for name in ("subject", "predicate", "object") for row in made] == [s, p, s]


@pytest.mark.parametrize("names", ["?weight", "?Initial", "?a ?A"])
def test_variables_that_cannot_be_columns_are_refused(names: str) -> None:
    """A variable named as another column, but for the case of its letters, is refused with a way out."""
    with rdflive.subscribe(graph_of(), f"SELECT {names} {{ }}") as subscription:
        delta = next(subscription.deltas())
    with pytest.raises(RdfliveError, match=r"cannot be a column: .* rename it with"):
        delta_rows(delta)


def test_a_term_that_cannot_be_written_is_refused() -> None:
    """A delta with a term that N-Triples cannot hold raises as a whole."""
    graph = rdflib.Graph()
    graph.add((S, P, URIRef("no absolute IRI")))
    with rdflive.subscribe(graph, "SELECT * { ?s ?p ?o }") as subscription:
        delta = next(subscription.deltas())
    with pytest.raises(UnwritableError):
        delta_rows(delta)


def test_a_sink_takes_a_function() -> None:
    """Anything but a function is refused when the sink is made."""
    with pytest.raises(TypeError, match="write must be a function of a DataFrame and a number, got 'out'"):
        DeltaSink(None, "out")  # type: ignore[arg-type]  # on purpose


@pytest.mark.sampled(3)
def test_deltas_add_up_in_a_parquet_table(spark: SparkSession, tmp_path: Path) -> None:
    """Signed rows that were appended to a table sum up to the answer."""
    graph = graph_of(1, 2)
    path = str(tmp_path / "deltas")
    sink = DeltaSink(spark, lambda rows, _: rows.write.mode("append").parquet(path))
    with rdflive.subscribe(
        graph, f"{PREFIX}SELECT ?o {{ ?s :p ?o }}", sink, on_error=_raised
    ) as subscription:
        graph.remove((S, P, Literal("1")))
        graph.add((S, P, Literal("3")))
        answers = {solution.o.n3() for solution in subscription.answers()}
    sink.close()
    table = spark.read.parquet(path)
    sums = {row.o: row["sum(weight)"] for row in table.groupBy("o").sum("weight").collect()}
    assert sums == {'"1"': 0, **dict.fromkeys(answers, 1)}
    assert {row.sequence for row in table.where("initial").collect()} == {0}


@pytest.mark.sampled(3)
def test_a_delta_that_comes_again_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """With `resume`, what was not acknowledged is written again under its number, over what was written."""
    graph = graph_of(1)
    path, resume = tmp_path / "deltas", tmp_path / "resume.sqlite"

    def write(rows: DataFrame, sequence: int) -> None:
        rows.write.mode("overwrite").parquet(str(path / f"run={sequence}"))

    class Killed(BaseException):
        pass

    def write_and_die(rows: DataFrame, sequence: int) -> None:
        write(rows, sequence)
        raise Killed

    def subscribe(write: Any) -> rdflive.Subscription:
        sink = DeltaSink(spark, write)
        return rdflive.subscribe(
            graph, f"{PREFIX}SELECT ?o {{ ?s :p ?o }}", sink, name="table", resume=resume, on_error=_raised
        )

    subscribe(write).close()
    subscription = subscribe(write_and_die)
    with pytest.raises(Killed):
        graph.add((S, P, Literal("2")))
    subscription.close()
    with subscribe(write):
        graph.add((S, P, Literal("3")))
    rows = spark.read.parquet(str(path)).collect()
    assert sorted((row.sequence, row.weight, row.o) for row in rows) == [
        (1, 1, '"1"'),
        (2, 1, '"2"'),
        (3, 1, '"3"'),
    ]


def _raised(subscription: rdflive.Subscription, error: Exception) -> None:
    raise AssertionError(f"the sink failed: {error}")
