"""The data source `rdf_patch` in Spark, batch and stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's documentation calls it

from rdflive import RdfliveError
from rdflive_stores.spark.change_rows import POSITIONED, stream_columns, stream_offsets
from rdflive_stores.spark.logs.source import RdfPatchDataSource
from rdflive_stores.spark.session import register
from support.effort import drawn_from
from support.logs import Row, rows_of

pytestmark = pytest.mark.sampled(3)

_OBJECTS = ("<urn:o>", "_:b.1", '"é\\t\\"x\\" 😀"@en-GB', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')


@pytest.fixture(autouse=True)
def _registered(spark: SparkSession) -> None:
    register(spark)


def random_log(seed: int, units: int = 40) -> bytes:
    """Make a log of transactions, aborted ones, and rows outside of any."""
    random_ = drawn_from("log", seed)

    def rows() -> list[str]:
        return [
            f"{random_.choice('AD')} <urn:s{random_.randrange(9)}> <urn:p> {random_.choice(_OBJECTS)}"
            f"{random_.choice(['', ' <urn:g>'])} ."
            for _ in range(random_.randrange(5))
        ]

    lines = ["H version <urn:v1> ."]
    for _ in range(units):
        begin, end = random_.choice([(["TX ."], ["TC ."]), (["TX ."], ["TA ."]), (["# loose"], [])])
        lines += [*begin, *rows(), *end]
    return "".join(f"{line}\n" for line in lines).encode()


def load(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    return spark.read.format("rdf_patch").options(**options).load(str(path))


def to_rows(changes: DataFrame) -> list[Row]:
    return [tuple(row[name] for name in row.asDict() if name != "file") for row in changes.collect()]  # type: ignore[misc]  # as POSITIONED says


def test_a_batch_has_the_rows_of_all_files_in_order(spark: SparkSession, tmp_path: Path) -> None:
    """However small the partitions are, rows come as the decoder reads them, file by file."""
    logs = {name: random_log(seed) for seed, name in enumerate(["a.rdfp", "b.patch"])}
    for name, content in logs.items():
        (tmp_path / name).write_bytes(content)
    changes = load(spark, tmp_path, partitionBytes=500)
    assert changes.schema == POSITIONED
    found = [tuple(row) for row in changes.collect()]
    assert found == [(*row[:5], name, *row[5:]) for name in logs for row in rows_of(logs[name])]


def test_a_file_is_a_stream_of_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """The rows of a file that is loaded by itself, compressed or not, stand in a stream of its name."""
    (tmp_path / "log.nq").write_text("+ <urn:s> <urn:p> <urn:o> .\n- <urn:s> <urn:p> <urn:o> .\n")
    (tmp_path / "log").write_bytes(random_log(3))
    changes = load(spark, tmp_path / "log.nq")
    assert [(row.op, row.file, row.offset) for row in changes.collect()] == [
        ("A", "log.nq", 0),
        ("D", "log.nq", 28),
    ]
    assert to_rows(load(spark, tmp_path / "log", feed="rdf-patch")) == rows_of(random_log(3))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"path": "/nowhere/log.rdfp"}, "/nowhere/log.rdfp: there is no such file or folder"),
        ({}, "reads one file or folder: give its path to load"),
        ({"path": "hdfs://x/y"}, "logs are read as files, so give a path that every executor can open"),
        (
            {"path": "/", "feed": "neptune"},
            "feed='neptune' cannot be read in pieces; supported are rdf-patch",
        ),
        ({"path": "/", "maxBytes": "1"}, "has no option 'maxBytes'; it has path, feed, maxBytesPerTrigger"),
        (
            {"path": "/", "partitionBytes": "0"},
            "option partitionBytes must be a number of bytes above 0, got '0'",
        ),
        (
            {"path": "/", "maxBytesPerTrigger": "1m"},
            "option maxBytesPerTrigger must be a number of bytes above 0",
        ),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, str], reason: str) -> None:
    """What is wrong with the options is said before anything is read."""
    with pytest.raises(RdfliveError, match=reason):
        RdfPatchDataSource(options).schema()


def test_load_refuses_wrong_options_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """The error of a wrong path or option comes from `load`, that of a schema from the first action."""
    for reader in (spark.read, spark.readStream):
        with pytest.raises(AnalysisException, match="there is no such file or folder"):
            reader.format("rdf_patch").load(str(tmp_path / "none.rdfp"))
    (tmp_path / "log.rdfp").touch()
    with pytest.raises(PySparkException, match="leave schema\\(\\) out and select from them"):
        spark.read.format("rdf_patch").schema("s string").load(str(tmp_path)).collect()


def test_a_bad_row_fails_the_query_with_its_place(spark: SparkSession, tmp_path: Path) -> None:
    """The error of a query says the file, the line and the byte of a row that is malformed."""
    log = tmp_path / "log.rdfp"
    log.write_text("A <urn:s> <urn:p> <urn:o> .\nA <urn:s> .\n")
    with pytest.raises(
        PySparkException, match=r"FeedError: .*log.rdfp, line 2: the predicate is missing \(byte 28\)"
    ):
        load(spark, log).collect()


def test_streams_are_known_by_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of files and of Kafka say where they stand; others do not."""
    (tmp_path / "log.rdfp").write_text("A <urn:s> <urn:p> <urn:o> .\n")
    files = load(spark, tmp_path)
    kafka = files.select("op", F.lit("t").alias("topic"), F.lit(3).alias("partition"), F.col("offset") + 7)
    kafka = kafka.withColumnRenamed("(offset + 7)", "offset")
    for changes, place in ((files, ("log.rdfp", 0, 0)), (kafka, ("t/3", 7, 0))):
        columns = stream_columns(changes)
        assert columns is not None
        assert [tuple(row) for row in changes.select(*columns).collect()] == [place]
    assert stream_columns(files.drop("part")) is None


@pytest.mark.parametrize("offset", [{"logOffset": 3}, {"a": 1, "b": {"end": 1, "check": 2}}])
def test_an_offset_of_another_source_is_refused(offset: dict[str, Any]) -> None:
    """What is neither the offset of files nor Kafka's is an error."""
    assert stream_offsets({"a": {"end": 7, "check": 2, "path": "/a"}}) == {"a": 7}
    with pytest.raises(RdfliveError, match="is not an offset of a positioned source"):
        stream_offsets(offset)
