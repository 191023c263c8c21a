"""Spark's entries in the checkpoint of a query: its id, and the offsets of its micro-batches."""

from __future__ import annotations

import json
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rdflive.errors import RdfliveError
from rdflive_stores.spark.mirroring.cursor import Given, Offsets

__all__ = ["MirrorCheckpoint"]


class MirrorCheckpoint:
    """Reads Spark's checkpoint through Hadoop, since the path may be on any of its file systems.

    Creates the folder at once; raises `RdfliveError` if that fails.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        hadoop: Any = getattr(spark, "_jvm", None)
        if hadoop is None:
            raise RdfliveError("Spark Connect would run the mirror in another process; use a classic session")
        self._jvm = hadoop
        session: Any = spark._jsparkSession
        try:
            given = hadoop.org.apache.hadoop.fs.Path(path)
            self._files = given.getFileSystem(session.sessionState().newHadoopConf())
            self._root = given.makeQualified(self._files.getUri(), self._files.getWorkingDirectory())
            self._files.mkdirs(self._root)
        except (Py4JError, PySparkException) as error:
            raise RdfliveError(
                f"checkpoint={path!r} cannot be a folder: {_reason(error)}; give a path that Spark "
                "can write to"
            ) from error
        self._query = ""
        self._ends: dict[int, Offsets] = {}

    @property
    def path(self) -> str:
        """Its absolute location."""
        return str(self._root.toString())

    def has_commits(self) -> bool:
        """True if Spark has recorded a micro-batch as done."""
        commits = self._jvm.org.apache.hadoop.fs.Path(self._root, "commits")
        return bool(self._files.exists(commits) and len(self._files.listStatus(commits)))

    def given(self, batch: int) -> Given:
        """Return the micro-batch with a number, as the checkpoint describes it."""
        if not self._query:
            self._query = json.loads(self._read("metadata"))["id"]
        # each is read once: Spark does not change the logged offsets of a micro-batch
        start = None if batch == 0 else self._ends.get(batch - 1) or self._offsets(batch - 1)
        end = self._offsets(batch)
        self._ends = {batch: end}
        return Given(self._query, batch, start, end)

    def _offsets(self, batch: int) -> Offsets:
        """Read the end of a micro-batch from the log that Spark writes before it runs one."""
        name = f"offsets/{batch}"
        version, _, *offsets = self._read(name).splitlines()
        if version != "v1":
            raise RdfliveError(
                f"{self.path}/{name} has the format {version!r}, but rdflive reads 'v1': unset "
                "spark.sql.streaming.queryEvolution.enableSourceEvolution, which adds names of sources"
            )
        return [None if text == "-" else json.loads(text) for text in offsets]

    def _read(self, name: str) -> str:
        stream = self._files.open(self._jvm.org.apache.hadoop.fs.Path(self._root, name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()


def _reason(error: Exception) -> str:
    """Return the first line of Java's message."""
    text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    return str(text).partition("\n")[0]
