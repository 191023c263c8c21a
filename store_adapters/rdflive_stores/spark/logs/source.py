"""Spark's data source `rdf_patch`: logs of RDF Patch and signed N-Quads as change rows, batch and stream.

    spark.read.format("rdf_patch").load("changes.rdfp")
    spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", 50_000_000).load("logs/")

The columns are `op`, `s`, `p`, `o`, `g`, `file`, `offset` and `part` (see `change_rows`). `file` is the name
in the folder, `offset` the byte at which the row's transaction begins, `part` the number of its line in
there, from 0. A row outside of transactions is a unit of its own. Rows of aborted transactions are left out.

A folder is one log in several files, ordered by name: a file no longer grows after a later one was started. A
stream reads complete units, and leaves an unfinished transaction, or line, at the end of the last file for
later. A batch takes the log as it is, and raises an error there. Only batches read files compressed with
gzip, each in one partition; their positions count decompressed bytes.

An offset of the stream is `{file: {"end": bytes read, "check": CRC-32 of the last 4096 of them, "path": the
file's absolute path}}`. After a later file has been read, a file that was read to its end may be deleted, or
compressed in place.

As a sink, `df.write.format("rdf_patch").mode("append").save("logs/")` and
`df.writeStream.format("rdf_patch").option("path", "logs/")`, it takes the columns `s`, `p`, `o`, optionally
`g`, and `op` or, for deltas of a SELECT DISTINCT, `weight`. Each write, or micro-batch, is a file with one
transaction in RDF Patch, in which each quad should occur once.

Options for reading: `feed` ("rdf-patch" or "nquads"; by default the file's ending decides),
`maxBytesPerTrigger` (a micro-batch ends with the unit that reaches it) and `partitionBytes` (4 MiB).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from rdflive.errors import RdfliveError
from rdflive_stores.spark.change_rows import POSITIONED
from rdflive_stores.spark.logs.files import LogFiles
from rdflive_stores.spark.logs.reading import LogReader, LogSettings, LogStreamReader
from rdflive_stores.spark.logs.writing import PatchStreamWriter, PatchWriter

__all__ = ["RdfPatchDataSource"]

_NAME: Final = "rdf_patch"
_PARTITION_BYTES: Final = 4 << 20
_OPTIONS: Final = ("path", "feed", "maxBytesPerTrigger", "partitionBytes")


class RdfPatchDataSource(DataSource):
    """The data source; see the module."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return _NAME

    def schema(self) -> StructType:
        """Return the columns, after checking the options, so that `load` raises their errors."""
        _settings(self.options)
        return POSITIONED

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read the logs as they are now."""
        _check_schema(schema)
        return LogReader(_settings(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Read the logs as they grow."""
        _check_schema(schema)
        return LogStreamReader(_settings(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Write another file of a log."""
        return PatchWriter(self._folder(), schema, overwrite=overwrite)

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002
    ) -> DataSourceStreamWriter:
        """Write a file of a log for each micro-batch."""
        return PatchStreamWriter(self._folder(), schema)

    def _folder(self) -> str:
        for option in self.options:
            if option.lower() not in ("path", "checkpointlocation"):
                raise RdfliveError(f"format {_NAME!r} has no option {option!r} when it writes, only path")
        if "path" not in self.options:
            raise RdfliveError(f"format {_NAME!r} writes to one folder: give its path to save() or start()")
        return str(self.options["path"])


def _settings(options: Mapping[str, str]) -> LogSettings:
    """Read the options; raise `RdfliveError` for unknown or malformed ones."""
    known = {option.lower() for option in _OPTIONS}
    for option in options:
        if option.lower() not in known:
            raise RdfliveError(f"format {_NAME!r} has no option {option!r}; it has {', '.join(_OPTIONS)}")
    if "path" not in options:
        raise RdfliveError(f"format {_NAME!r} reads one file or folder: give its path to load()")
    return LogSettings(
        LogFiles.at(options["path"], options.get("feed")),
        _bytes(options, "partitionBytes") or _PARTITION_BYTES,
        _bytes(options, "maxBytesPerTrigger"),
    )


def _check_schema(schema: StructType) -> None:
    given = [(field.name, field.dataType) for field in schema.fields]
    if given != [(field.name, field.dataType) for field in POSITIONED.fields]:
        raise RdfliveError(
            f"format {_NAME!r} has the columns {POSITIONED.simpleString()} and no others: leave "
            f"schema() out and select from them, instead of {schema.simpleString()}"
        )


def _bytes(options: Mapping[str, str], option: str) -> int | None:
    given = options.get(option)
    if given is None:
        return None
    if not given.isdecimal() or not int(given):
        raise RdfliveError(f"option {option} must be a number of bytes above 0, got {given!r}")
    return int(given)
