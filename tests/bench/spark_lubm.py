"""LUBM by RDFS on Spark: the stream of (k) with the ontology in it, and what its micro-batches cost."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import rdflib
from pyspark.sql import DataFrame, SparkSession
from rdflib import RDFS

from bench.spark_files import read, to_table, write
from bench.spark_stream import LUBM, LUBM_LOAD, LUBM_SMALL, Update
from rdflive.feeds.terms import write_term
from rdflive_stores.spark import subscribe

__all__ = ["measure"]

QUERIES: Final = (1, 3, 4, 5, 14)
"""Those that RDFS answers in full, so that the official answers tell whether all is right."""
_ROUNDS: Final = 4
_LOWER: Final = ("FullProfessor", "worksFor", "Article")
"""What is said to be below something else; that goes and comes back."""
_ABOVE: Final = (write_term(RDFS.subClassOf), write_term(RDFS.subPropertyOf))

Row: TypeAlias = tuple[str, str, str]


def measure(spark: SparkSession, folder: Path, copies: int) -> dict[str, Any]:
    """Load so many universities, each a copy of LUBM's under another name, then change data and schema.

    Gives the seconds of the load, and of a micro-batch of each kind behind it.
    """
    schema = [_texts(triple) for triple in rdflib.Graph().parse(LUBM / "univ-bench.ttl")]
    data = list(dict.fromkeys(row for number in range(copies) for row in _university(number)))
    loads = [data[begin : begin + LUBM_LOAD] for begin in range(0, len(data), LUBM_LOAD)]
    batches = [_signed("A", schema), *(_signed("A", load) for load in loads)]
    for number in range(_ROUNDS):
        some = data[number * LUBM_SMALL : number * LUBM_SMALL + LUBM_SMALL]
        batches += [_signed("D", some), _signed("A", some)]
    for name in _LOWER:
        (above,) = [row for row in schema if row[0].endswith(f"#{name}>") and row[1] in _ABOVE]
        batches += [_signed("D", [above]), _signed("A", [above])]
    write(folder, map(to_table, batches))

    texts = {str(number): (LUBM / "queries" / f"q{number}.rq").read_text("utf-8") for number in QUERIES}
    total: Counter[str] = Counter()

    def take(deltas: DataFrame, _: int) -> None:
        for row in deltas.groupBy("query").sum("weight").collect():
            total[row["query"]] += row["sum(weight)"]

    found = subscribe(read(spark, folder, 1), texts, checkpoint=folder / "checkpoint", entailment="rdfs")
    query = found.start(take, trigger={"availableNow": True})
    query.awaitTermination()
    # a query that names the first university has no answer from another
    times = {number: 1 if "University0" in text else copies for number, text in texts.items()}
    assert total == {number: times[number] * _answers(int(number)) for number in texts}, total
    seconds = [p.durationMs["triggerExecution"] / 1e3 for p in query.recentProgress if p.numInputRows]
    load, rest = seconds[1 : 1 + len(loads)], seconds[1 + len(loads) :]
    return {
        "triples": len(data),
        "load": sum(load),
        "rate": len(data) / sum(load),
        "small": rest[: 2 * _ROUNDS],
        "schema": rest[2 * _ROUNDS :],
        "state": found.state_size,
    }


def _university(number: int) -> Iterator[Row]:
    """Read LUBM's university; another number is another name."""
    for path in sorted((LUBM / "data").glob("*.nt.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            text = lines.read()
        if number:
            text = text.replace("University0.edu", f"University{1000 + number}.edu")
        yield from map(_texts, rdflib.Graph().parse(data=text, format="nt"))


def _texts(triple: Any) -> Row:
    s, p, o = map(write_term, triple)
    return s, p, o


def _signed(op: str, triples: list[Row]) -> list[Update]:
    return [(op, *triple) for triple in triples]


def _answers(number: int) -> int:
    with (LUBM / "answers" / f"answers_query{number}.csv").open(encoding="utf-8", newline="") as lines:
        return len(list(csv.reader(lines))) - 1
