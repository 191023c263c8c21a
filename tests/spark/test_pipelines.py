"""The examples of pipelines against the real thing: PostgreSQL, Debezium, Kafka, and Delta Lake.

What they need comes from the registries: connectors and servers from Maven, PostgreSQL from the system.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.effort import drawn_from
from support.maven import succeeded
from support.shared import ROOT

PIPELINES = ROOT / "examples" / "spark" / "pipelines"
PATIENCE = 120.0
RAIL = "http://example.org/railway/"

pytestmark = [
    pytest.mark.hunted(
        "servers and connectors from the registries; the gate has the same events without them"
    ),
    pytest.mark.posix("Hadoop needs winutils.exe on Windows"),
    pytest.mark.timeout(600),
]


def load(name: str) -> Any:
    """Import an example."""
    spec = importlib.util.spec_from_file_location(name, PIPELINES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def servers() -> Iterator[Any]:
    """PostgreSQL, Kafka and Kafka Connect; a skip says what is missing."""
    for program in ("mvn", "java"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on the PATH")
    module = load("servers")
    try:
        module.fetch()
        module.postgresql()
    except (subprocess.CalledProcessError, RuntimeError) as error:
        pytest.skip(f"the servers cannot be had: {error}")
    # not in pytest's own folder, which each run of pytest closes to others: PostgreSQL runs as another user
    with tempfile.TemporaryDirectory(prefix="servers-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with module.Servers(Path(folder)) as found:
            yield found


def until(holds: Callable[[], bool], program: subprocess.Popen[bytes], log: Path) -> float:
    """Wait until something holds, while a program runs; gives the seconds."""
    start = time.monotonic()
    while not holds():
        assert program.poll() is None, log.read_text(errors="replace")[-3000:]
        assert time.monotonic() < start + PATIENCE, log.read_text(errors="replace")[-3000:]
        time.sleep(0.1)
    return time.monotonic() - start


class Trains:
    """A table, changed at random."""

    def __init__(self, servers: Any) -> None:
        self._servers = servers
        self._random = drawn_from("pipeline")
        servers.psql("CREATE TABLE trains (number int PRIMARY KEY, stop text, delay int)")

    def change(self, transactions: int) -> None:
        """Write so many transactions, some of which are rolled back."""
        script = []
        for _ in range(transactions):
            script.append("BEGIN;")
            for _ in range(self._random.randint(1, 5)):
                number, delay = self._random.randrange(200), self._random.randrange(60)
                script.append(
                    self._random.choice(
                        [
                            f"INSERT INTO trains VALUES ({number}, 'S{delay}', {delay}) "
                            f"ON CONFLICT (number) DO UPDATE SET delay = {delay};",
                            f"UPDATE trains SET stop = 'S{delay}' WHERE number % 17 = {number % 17};",
                            f"DELETE FROM trains WHERE number = {number};",
                        ]
                    )
                )
            script.append(self._random.choice(["COMMIT;", "COMMIT;", "ROLLBACK;"]))
        self._servers.psql("\n".join(script))

    def selected(self) -> set[tuple[str, str, str]]:
        """Give the triples that the graph should have."""
        found = set()
        for line in self._servers.psql("SELECT number, stop, delay FROM trains").splitlines():
            number, stop, delay = line.split("|")
            train = f"{RAIL}T{number}"
            found |= {
                (train, "nextStop", f"{RAIL}{stop}"),
                (train, "delay", delay),
                (train, "type", f"{RAIL}Train"),
            }
        return found


def held(store: Path) -> set[tuple[str, str, str]]:
    """Read what a store on disk has, while another program writes it."""
    import pyoxigraph

    if not store.exists():
        return set()
    try:
        opened = pyoxigraph.Store.read_only(str(store))
    except (OSError, RuntimeError):  # the program is making it
        return set()
    return {
        (q.subject.value, q.predicate.value.rpartition("#")[2].rpartition("/")[2], q.object.value)
        for q in opened
        if q.predicate.value.startswith((RAIL, "http://www.w3.org/1999/02/22-rdf-syntax-ns#"))
    }


def test_a_graph_follows_a_database_through_kafka(
    servers: Any, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    """From its snapshot on, over a kill and a TRUNCATE, the graph becomes what SELECT says."""
    pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    trains, store, log = Trains(servers), tmp_path / "rail.db", tmp_path / "log"
    trains.change(100)
    servers.follow("public.trains")
    command = [sys.executable, str(PIPELINES / "mirror_kafka.py"), servers.bootstrap, str(store)]

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path)

    def is_level() -> bool:
        return held(store) == trains.selected()

    program = start()
    try:
        until(is_level, program, log)
        for kill in (False, True, False):
            trains.change(100)
            if kill:
                time.sleep(drawn_from("kill").random())
                program.kill()
                program.wait()
                trains.change(50)
                # workers of the one that was killed may still say that they have no reader
                log = tmp_path / "log of the next"
                program = start()
            until(is_level, program, log)
        servers.psql("UPDATE trains SET delay = 99")
        record_property("seconds from a change to the graph", until(is_level, program, log))
        servers.psql("TRUNCATE trains")
        until(is_level, program, log)
        assert not held(store)
        trains.change(50)
        until(is_level, program, log)
        program.send_signal(signal.SIGINT)
        assert program.wait(PATIENCE) == 0
        assert "Traceback" not in log.read_text(errors="replace")
    finally:
        program.kill()
        program.wait()


def test_a_query_begins_with_a_snapshot_and_goes_on_with_changes(servers: Any, tmp_path: Path) -> None:
    """What is printed adds up to what SELECT says, over a kill; a TRUNCATE is told, not passed over."""
    trains, log = Trains(servers), tmp_path / "log"
    servers.psql("ALTER TABLE trains REPLICA IDENTITY FULL")
    trains.change(100)
    servers.follow("public.trains", snapshot_mode="no_data")
    servers.psql("INSERT INTO trains VALUES (999, 'S1', 11)")  # makes the topic
    program = str(PIPELINES / "jdbc_then_kafka.py")
    addresses = [f"127.0.0.1:{servers.postgresql}", servers.bootstrap]
    command = [sys.executable, program, *addresses, str(tmp_path / "checkpoint")]

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path)

    def is_level() -> bool:
        told = set(re.findall(r"^(-?\d+) ([+-]\d) (\S+): (\d+) late$", log.read_text(errors="replace"), re.M))
        answer: Counter[tuple[str, str]] = Counter()
        for _, weight, stop, count in told:  # a micro-batch that was told twice counts once
            answer[stop, count] += int(weight)
        late = "SELECT stop, count(*) FROM trains WHERE delay > 10 AND stop IS NOT NULL GROUP BY stop"
        expected = {tuple(line.split("|")) for line in servers.psql(late).splitlines()}
        return {key for key, weight in answer.items() if weight} == expected

    running = start()
    try:
        until(is_level, running, log)
        trains.change(100)
        time.sleep(drawn_from("kill").random())
        running.kill()
        running.wait()
        trains.change(50)
        running = start()
        until(is_level, running, log)
        servers.psql("TRUNCATE trains")
        assert running.wait(PATIENCE) != 0
        assert "the table was truncated: begin again" in log.read_text(errors="replace")
    finally:
        running.kill()
        running.wait()


def test_a_graph_follows_a_table_of_delta_lake(tmp_path: Path) -> None:
    """A MERGE is one delta; a column that the table gets, and a row that it loses, come too."""
    command = [sys.executable, str(PIPELINES / "mirror_delta.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 2, cwd=tmp_path)
    lines = succeeded(done).splitlines()
    merged = lines.index("101 goes on and 201 is new, by one MERGE:")
    assert lines[merged + 1 : merged + 7] == [
        "  - T101 delay 4", "  - T101 nextStop Lighthouse",
        "  + T101 delay 6", "  + T101 nextStop Dunes", "  + T201 delay 7", "  + T201 nextStop Mill",
    ]  # fmt: skip
    assert lines[-5:] == [
        "  + T201 driver Lovelace",
        "102 is cancelled:", "  - T102 delay 0", "  - T102 nextStop Central",
        "the graph holds 7 triples",
    ]  # fmt: skip
