"""A local Spark session, configured for small streaming batches and for rdflive's formats."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import pyspark
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rdflive.errors import RdfliveError
from rdflive_stores.spark.aws.kinesis import KinesisDataSource
from rdflive_stores.spark.aws.neptune import NeptuneDataSource
from rdflive_stores.spark.connectors import CONNECTORS, PACKAGES, connecting
from rdflive_stores.spark.installed import OLDEST, release
from rdflive_stores.spark.java import find_java
from rdflive_stores.spark.logs.source import RdfPatchDataSource

__all__ = ["SessionError", "register", "session", "settings"]


def register(spark: SparkSession) -> None:
    """Register the formats "rdf_patch", "kinesis" and "neptune_stream" with a session; idempotent."""
    for source in (RdfPatchDataSource, KinesisDataSource, NeptuneDataSource):
        spark.dataSource.register(source)


_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_ENVIRONMENT = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")
_LONGEST = 45
"""Longest folder name for sockets, in characters: the path of a socket has about 100 at most."""
_one_at_a_time = threading.Lock()


class SessionError(RdfliveError, RuntimeError):
    """The running Spark session is unusable, or its settings differ from the requested ones."""


def session(
    master: str = "local[2]",
    *,
    app_name: str = "rdflive",
    config: Mapping[str, object] | None = None,
    connectors: Iterable[str] = (),
) -> SparkSession:
    """Return the running Spark session, or start one with `settings(master)` overridden by `config`.

    `connectors` lists sources of pipelines: "kafka", "delta" or "s3". Spark downloads their packages from
    Maven the first time, and keeps them in the user's folder `.ivy2.5.2`.

    The session knows the format "rdf_patch". To use a session of your own, call `register` for that format:
    the functions of `rdflive_stores.spark` use the session of their DataFrame.
    A running session is returned unchanged, whatever its master.
    On a cluster, the Python of the executors needs rdflive too.

    Ctrl-C interrupts only the call of Spark in which Python waits. Queries run until they are stopped, and
    the JVM until Python ends or is killed.

    Raises `JavaNotFoundError` if no Java is found, and `ConnectorError` for a connector that this PySpark
    does not have. Raises `SessionError` if the running session contradicts `config` or lacks a connector, if
    its Spark is too old, if it does not start, and for Spark Connect.
    """
    wanted = {name: _text(value) for name, value in (config or {}).items()}
    connectors = list(connectors)
    needed = connecting(connectors, wanted, pyspark.__version__)
    settled = settings(master) | wanted
    if _JAVA_OPTIONS in wanted:
        settled[_JAVA_OPTIONS] = f"{settings(master).get(_JAVA_OPTIONS, '')} {wanted[_JAVA_OPTIONS]}".strip()
    with _one_at_a_time:
        _refuse_connect(wanted)
        if SparkContext._active_spark_context is None:
            found = _checked(_started(master, app_name, settled | needed))
        else:
            found = _running({name: settled[name] for name in wanted})
            _check_connectors(connectors, found)
        register(found)
        return found


@cache
def _socket_folder(process: int) -> str | None:
    """Make a folder for a process's Unix sockets, removed at its exit; None if paths would be too long."""
    for folder in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - a folder of our own is made there
        if os.name == "posix" and len(folder) <= _LONGEST and os.access(folder, os.W_OK):
            made = tempfile.mkdtemp(prefix="spark-", dir=folder)
            atexit.register(_remove, made, process)
            return made
    return None


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _sockets() -> dict[str, str]:
    """Return settings for Unix sockets to the workers: TCP costs each task about 40 ms of delayed ACKs."""
    folder = _socket_folder(os.getpid())
    if folder is None:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def settings(master: str) -> dict[str, str]:
    """Return the settings of a new session; `local[n]` runs Spark in one JVM, with small batches.

    >>> settings("local[3]")["spark.sql.shuffle.partitions"]
    '3'
    >>> settings("spark://board:7077")["spark.sql.session.timeZone"]
    'UTC'
    """
    common = {"spark.sql.session.timeZone": "UTC"}
    if not master.startswith("local"):
        return common
    return {
        **common,
        **_sockets(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Every partition of a stateful query costs a task and a state store per micro-batch; the usual 200
        # make a batch of any size take 13 s.
        "spark.sql.shuffle.partitions": str(_cores(master)),
        # Streaming queries run without it, and warn.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # The other manager, FileContextBased, takes half the time of a small batch.
        "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
        ".checkpointing.FileSystemBasedCheckpointFileManager",
        _JAVA_OPTIONS: _java_options(),
    }


def _java_options() -> str:
    # With the default stack, stopping a query within a batch overflows it. The other two options save a third
    # of the start, and of small and large batches.
    log = files("rdflive_stores.spark").joinpath("log4j2.properties")
    return f'-Xss8m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Dlog4j2.configurationFile={log}"'


def _cores(master: str) -> int:
    """Return the number of threads of a local master.

    >>> _cores("local"), _cores("local[4]"), _cores("local[4, 2]")
    (1, 4, 4)
    """
    threads = re.match(r"local\[\s*(\d+|\*)", master)
    if threads is None:
        return 1
    return (os.cpu_count() or 1) if threads[1] == "*" else int(threads[1])


def _refuse_connect(wanted: Mapping[str, str]) -> None:
    """Refuse Spark Connect: its server runs callbacks in another process, without this one's graphs."""
    asked = is_remote() or "SPARK_REMOTE" in os.environ or "spark.remote" in wanted
    mode = wanted.get("spark.api.mode") or os.environ.get("SPARK_API_MODE", "")
    if asked or mode.lower() == "connect":
        raise SessionError(
            "Spark Connect (SPARK_REMOTE, spark.remote, or the API mode 'connect') is on: its callbacks run "
            "in the server, away from the graphs of this process; use a classic session"
        )


def _started(master: str, app_name: str, settled: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in settled.items():
        builder = builder.config(name, value)
    _spare_connections()
    with _environment(local=master.startswith("local")), _own_interrupts():
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            if error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            message = "Spark did not start; its own message is above"
            if packages := settled.get(PACKAGES):
                message += f"; it downloads {packages} from Maven, unless they are cached"
            raise SessionError(message) from error


def _running(wanted: Mapping[str, str]) -> SparkSession:
    """Return the running session; raise `SessionError` if one of its settings is not the wanted one."""
    found = _checked(SparkSession.getActiveSession() or SparkSession.builder.getOrCreate())
    for name, value in wanted.items():
        has = found.conf.get(name, None)
        if has != value:
            raise SessionError(
                f"a Spark session runs already, with {name}={has!r}, not {value!r}: stop it first, "
                "or leave the setting out"
            )
    return found


def _check_connectors(names: Sequence[str], found: SparkSession) -> None:
    """Raise `SessionError` if the running session was started without a connector."""
    for name in names:
        jar = CONNECTORS[name].package.split(":")[1]
        if jar not in f"{found.conf.get(PACKAGES, '')} {found.conf.get('spark.jars', '')}":
            raise SessionError(
                f"a Spark session runs already, without the connector {name!r}: stop it first, or begin the "
                f"program with rdflive_stores.spark.session(connectors={[*names]!r})"
            )


def _checked(found: SparkSession) -> SparkSession:
    if release(found.version) < OLDEST:
        raise SessionError(
            f"the session runs Spark {found.version}: rdflive needs {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    return found


@contextmanager
def _environment(*, local: bool) -> Iterator[None]:
    """Set the environment variables that a starting JVM and its workers read."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    # A JVM exists already if a session of this process was stopped, or spark-submit runs this program.
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["JAVA_HOME"] = str(find_java().home)
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Otherwise Spark warns if the host name resolves to a loopback address.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the program's own Ctrl-C handler.

    SparkContext's handler cancels all jobs, so streaming queries fail. While Python waits for the JVM, it
    also calls the JVM a second time over the same connection, which breaks.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _spare_connections() -> None:
    """Make a call that Ctrl-C interrupts close only its own connection to the JVM.

    Py4J requests the JVM to cancel the call, and some time later the JVM closes all connections: the one that
    Python uses next, and those of other threads, whose calls Py4J then repeats.
    """
    ClientServerConnection.shutdown_socket = _close_interrupted


def _close_interrupted(connection: Any, port: int, _java_port: int) -> None:
    """Close the connection from `port`, which was interrupted; return any other to Py4J's queue."""
    if connection.socket is None or connection.socket.getsockname()[1] == port:
        connection.close()
    else:
        connection.java_client.deque.appendleft(connection)


def _text(value: object) -> str:
    """Return a setting as Spark writes it.

    >>> _text(True), _text(2), _text("8g")
    ('true', '2', '8g')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
