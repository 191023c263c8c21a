"""A Kafka broker of the run's own, and the jars by which Spark reads from it.

The environment variable RDFLIVE_KAFKA_JARS names a folder with the jars of these artifacts of Maven and of
all that they need at runtime (`mvn dependency:copy-dependencies -DincludeScope=runtime` makes it):

- `org.apache.spark:spark-sql-kafka-0-10_2.13`, of the version of PySpark;
- `org.apache.kafka:kafka_2.13`, of the version of the `kafka-clients` that the former needs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

__all__ = ["broker", "connector_jars", "needs_kafka"]

FOLDER = "RDFLIVE_KAFKA_JARS"
PATIENCE = 60.0
needs_kafka = pytest.mark.skipif(
    not os.environ.get(FOLDER),
    reason=f"no Kafka: {FOLDER} names no folder with its jars and those of Spark's connector",
)
_ATTEMPTS = 3
_CONNECTOR = (
    "spark-sql-kafka-0-10_*",
    "spark-token-provider-kafka-0-10_*",
    "kafka-clients-*",
    "commons-pool2-*",
)
"""What Spark does not have itself."""
_CLUSTER = "cmRmbGl2ZS10ZXN0cy0wMA"
_SETTINGS = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
controller.quorum.voters=1@127.0.0.1:{control}
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions={partitions}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def connector_jars() -> list[str]:
    """List the jars that a session needs as `spark.jars`; none without the folder."""
    if not os.environ.get(FOLDER):
        return []
    folder = Path(os.environ[FOLDER])
    found = [sorted(folder.glob(f"{name}.jar")) for name in _CONNECTOR]
    if not all(found):
        lacking = ", ".join(name for name, jars in zip(_CONNECTOR, found, strict=True) if not jars)
        raise FileNotFoundError(f"{FOLDER}={folder} lacks {lacking}")
    return [str(jar) for jars in found for jar in jars]


@contextmanager
def broker(folder: Path, *, partitions: int) -> Iterator[str]:
    """Run a broker that makes topics of so many partitions as they are written to; give its address."""
    for attempt in range(_ATTEMPTS):
        with _attempt(folder / f"broker{attempt}", partitions) as (process, port):
            if _answers(process, port):
                yield f"127.0.0.1:{port}"
                return
    log = (folder / f"broker{_ATTEMPTS - 1}" / "log").read_text(errors="replace")
    pytest.fail(f"the broker did not start: {log[-2000:]}")


@contextmanager
def _attempt(folder: Path, partitions: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a broker; another process may take its ports first, and then it ends at once."""
    folder.mkdir()
    port, control = _free_ports(2)
    settings = folder / "server.properties"
    text = _SETTINGS.format(port=port, control=control, logs=folder / "logs", partitions=partitions)
    settings.write_text(text)
    with (folder / "log").open("wb") as log:
        formatting = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings))
        subprocess.run(_java(*formatting), check=True, stdout=log, stderr=log)
        process = subprocess.Popen(_java("kafka.Kafka", str(settings)), stdout=log, stderr=log)
    try:
        yield process, port
    finally:
        process.kill()  # what it has is thrown away
        process.wait()


def _java(*arguments: str) -> list[str]:
    from rdflive_stores.spark.java import find_java

    options = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return [str(find_java().home / "bin/java"), *options, "-cp", f"{os.environ[FOLDER]}/*", *arguments]


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the broker takes connections; False where it has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return True
        assert time.monotonic() < deadline, "the broker takes no connections"
        time.sleep(0.05)
    return False


def _free_ports(count: int) -> list[int]:
    """Find ports that nobody has: the address of a broker is part of its settings, before it binds one."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]
