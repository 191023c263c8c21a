"""The checkpoint of a subscription: its location, Spark's commits, and the folder of the state."""

from __future__ import annotations

import json
import os
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

from rdflive.errors import RdfliveError
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import FIRST, PLAN, generation_of, is_unmade, known
from rdflive_stores.spark.dataflow.state import Home, StateError

__all__ = ["Checkpoint", "LocationError"]

_S3: Final = ("s3a", "s3", "s3n")
_OPTIONS: Final = {
    "endpoint": "endpoint_override",
    "endpoint.region": "region",
    "access.key": "access_key",
    "secret.key": "secret_key",
    "session.token": "session_token",
}
"""Arrow's names for Hadoop's S3 settings, `spark.hadoop.fs.s3a.…`."""


class LocationError(RdfliveError, ValueError):
    """A location that this machine or its settings cannot reach."""


class Checkpoint:
    """The folder that holds Spark's own checkpoint and, in `rdflive`, the state.

    A path, or a URL that starts with `file:`, is on disk. `s3a:` uses the session's settings
    `spark.hadoop.fs.s3a.…`, and without keys those of AWS's environment. Arrow reads `hdfs:`, `gs:` and
    `abfs:`, configured by their environment on each machine.

    Raises `LocationError` if Arrow has no file system for the location.
    """

    def __init__(self, location: str | os.PathLike[str], spark: SparkSession | None = None) -> None:
        self.folder, self.location = _locate(os.fspath(location), spark)
        self.root = self.folder / "rdflive"

    @property
    def query(self) -> str | None:
        """The id that Spark assigned to the query; None before its first start."""
        try:
            return str(json.loads(self.folder.text("metadata"))["id"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{self.folder}/metadata is not in Spark's format: {error}") from error

    @property
    def committed(self) -> int | None:
        """The last micro-batch in Spark's commit log; None before the first."""
        commits = self.folder / "commits"
        last = max((int(name) for name in commits.names() if name.isdigit()), default=-1)
        while (commits / str(last + 1)).is_there():  # a listing may lag
            last += 1
        return None if last < 0 else last

    @property
    def state(self) -> Folder | None:
        """The folder with the generations of the query's state; None before its first start."""
        query = self.query
        return None if query is None else self.root / query

    @property
    def home(self) -> Home:
        """The location at which tasks find the state."""
        state = self.state
        return Home(self.root, FIRST if state is None else generation_of(state))

    @property
    def held(self) -> dict[str, Any] | None:
        """The recorded plan of the present state; None if there is no state."""
        state = self.state
        return None if state is None else known(state / generation_of(state))

    @property
    def is_half_begun(self) -> bool:
        """True if a start from a snapshot was interrupted before its state was complete."""
        state = self.state
        if state is None or generation_of(state) != FIRST or (state / FIRST / PLAN).is_there():
            return False
        return any(name[0].isdigit() and not is_unmade(name) for name in state.names())

    def begin(self) -> Folder:
        """Assign an id to the query, as its first start would; return the folder for its state."""
        if self.query is None:
            self.folder.make()
            self.folder.write_text("metadata", json.dumps({"id": str(uuid4())}))
        return self.root / str(self.query)


def _locate(text: str, spark: SparkSession | None) -> tuple[Folder, str]:
    """Return the folder as tasks reach it, and the location in Spark's form."""
    parts = urlsplit(text)
    if parts.scheme == "file" or len(parts.scheme) < 2:  # a drive of Windows
        path = unquote(parts.path) if parts.scheme == "file" else os.path.abspath(text)
        # with its scheme, since a cluster may default to another file system
        return Folder.local(path), f"file://{path}"
    try:
        if parts.scheme in _S3:
            return Folder(
                fs.S3FileSystem(**_settings(spark)), f"{parts.netloc}{parts.path}".rstrip("/")
            ), text
        system, path = fs.FileSystem.from_uri(text)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LocationError(
            f"the checkpoint {text!r} cannot be reached: {error}; give a path that all executors see, or a "
            "location in s3a:, hdfs:, gs: or abfs:, with what Arrow needs for it installed"
        ) from error
    return Folder(system, path.rstrip("/")), text


def _settings(spark: SparkSession | None) -> dict[str, Any]:
    if spark is None:
        return {}
    prefix = "spark.hadoop.fs.s3a."
    found = {name: spark.conf.get(f"{prefix}{key}", None) for key, name in _OPTIONS.items()}
    settings: dict[str, Any] = {name: value for name, value in found.items() if value}
    endpoint = str(settings.get("endpoint_override", ""))
    if endpoint.startswith("http:") or spark.conf.get(f"{prefix}connection.ssl.enabled", None) == "false":
        settings["scheme"] = "http"
    return settings
