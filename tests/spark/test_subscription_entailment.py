"""Subscriptions on Spark over what the graph entails, against those of one process."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's documentation calls it
from rdflib import RDF, RDFS

import rdflive
from rdflive import UnsupportedQueryError
from rdflive.feeds.terms import write_term
from rdflive_stores.spark.dataflow.state import StateError
from rdflive_stores.spark.inspection import inspect
from rdflive_stores.spark.snapshots import rebuild
from rdflive_stores.spark.subscription import subscribe
from spark.world import World
from support.effort import drawn_from
from support.entailment import EX, make_commits, world
from support.spark_streams import AT_ONCE, Nets, Operation, live_quads

PREFIXES = f"PREFIX : <{EX}> PREFIX rdf: <{RDF}> PREFIX rdfs: <{RDFS}> "
QUERY = f"{PREFIXES} SELECT * {{ ?x a ?c ; ?p ?y }}"
OTHER = f"{PREFIXES} SELECT DISTINCT ?c {{ ?x a ?c . ?c rdfs:subClassOf ?d }}"


def commits(chance: random.Random, count: int) -> list[list[Operation]]:
    """Make commits of schema and data, with deletes."""
    return [
        [Operation("A" if sign > 0 else "D", *map(write_term, triple)) for sign, triple in writes]
        for writes in make_commits(chance, world(), count, meta=False)
    ]


def test_nets_are_those_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    """Over a restart, and a rebuilding of the state in other partitions and for another query."""
    play = World(spark, tmp_path, QUERY, 71, "rdfs")
    batches = commits(drawn_from("entailed on Spark"), 40)
    merged = [[o for batch in batches[n : n + 5] for o in batch] for n in range(0, 40, 5)]
    for batch in merged[:3]:
        play.write(batch)
    subscription = play.subscribe(partitions=3)
    assert "then come their rdfs entailments" in subscription.explain()
    subscription.start(play.found, trigger=AT_ONCE).awaitTermination()
    for batch in merged[3:6]:
        play.write(batch)
    play.run()
    play.check()
    with pytest.raises(StateError, match="belongs to another entailment: rdfs, not none"):
        play.subscribe(entailment=None).start(play.found, trigger=AT_ONCE)

    folders = {part.folder for part in inspect(play.checkpoint, spark).parts}
    assert {"live", "schema", "entailed"} <= folders
    answer = Nets()
    rebuild(play.checkpoint, spark=spark, partitions=2, sink=answer)
    assert answer.total == play.found.total
    for batch in merged[6:]:
        play.write(batch)
    a, b, c = (f"<{EX}{name}>" for name in "ABC")
    schema, instance = (a, f"<{RDFS.subClassOf}>", b), (c, f"<{RDF.type}>", a)
    play.write([Operation("A", *schema), Operation("A", *instance)])
    play.run()
    play.check()
    assert sum(map(bool, play.found.list)) > 2
    with pytest.raises(StateError, match="does not hold all quads of <urn:g>"):
        rebuild(play.checkpoint, "SELECT * { GRAPH <urn:g> { ?x ?p ?y } }", spark=spark)
    rebuild(play.checkpoint, OTHER, spark=spark, sink=Nets())
    other = World(spark, tmp_path, OTHER, 72, "rdfs")
    other.files, other.batches = play.files, play.batches
    present = live_quads(play.checkpoint)
    other.write([Operation("D", *quad[:3]) for quad in present])
    other.run()
    (last,) = other.found.found.values()
    assert last
    assert set(last.values()) == {-1}


def test_a_snapshot_is_entailed_from(spark: SparkSession, tmp_path: Path) -> None:
    """Its answer is number -1, and a change of its schema concerns its instances."""
    play = World(spark, tmp_path, f"{PREFIXES} SELECT ?x {{ ?x a :C }}", 73, "rdfs")
    a, b, c = (f"<{EX}{name}>" for name in "ABC")
    schema = [(a, f"<{RDFS.subClassOf}>", b), (b, f"<{RDFS.subClassOf}>", c)]
    initial = spark.createDataFrame(
        [*schema, ("<urn:x>", f"<{RDF.type}>", a)], "s string, p string, o string"
    )
    play.write([Operation("D", *schema[0])])
    subscription = play.subscribe(initial=initial, partitions=2)
    subscription.start(play.found, trigger=AT_ONCE).awaitTermination()
    assert play.found.list == [Counter({("<urn:x>",): 1}), Counter({("<urn:x>",): -1})]


def test_what_cannot_be_entailed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """By the same words as in one process."""
    play: Any = World(spark, tmp_path, QUERY, 74)
    with pytest.raises(ValueError, match="entailment must be None or 'rdfs', got 'owl'"):
        play.subscribe(entailment="owl")
    with pytest.raises(UnsupportedQueryError, match="each graph entails by itself; name the graph"):
        play.subscribe("SELECT * { GRAPH ?g { ?x ?p ?y } }", entailment="rdfs")
    timed = play.files.stream(spark).withColumn("time", F.current_timestamp())
    window = {"window": rdflive.Tumbling("PT1H"), "time": "time"}
    with pytest.raises(ValueError, match="entailment= does not go with a window on Spark"):
        subscribe(timed, QUERY, checkpoint=tmp_path / "other", entailment="rdfs", **window)  # type: ignore[arg-type]
