"""Queries of a store on disk: each reads a checkpoint in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib

import rdflive
from rdflive.server.isolation.checkpoints import Checkpoints
from rdflive.server.isolation.disk_forks import DiskForks
from support.protocol import answered, updated
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

COUNT = "SELECT (COUNT(DISTINCT ?n) AS ?c) (COUNT(*) AS ?rows) { ?s <urn:n> ?n }"


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[rdflib.Dataset]:
    """A dataset on disk."""
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(tmp_path / "store"))
    yield dataset
    dataset.close()


@pytest.fixture
def server(dataset: rdflib.Dataset, tmp_path: Path) -> Iterator[Serving]:
    """A server whose checkpoints are beside the store."""
    with serving(dataset, scratch=tmp_path / "checkpoints") as running:
        yield running


def template(server: Serving) -> int:
    """Give the process that children are forked from."""
    forks = server.service.children._maker
    assert isinstance(forks, DiskForks)
    return forks._template._process.pid


def test_queries_see_one_state_while_a_writer_writes_and_compacts(server: Serving) -> None:
    """None fails, and each sees all of a commit or nothing, whatever RocksDB's threads are doing."""
    ended = threading.Event()
    failures: list[bytes] = []

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            with rdflive.batch(server.dataset):
                for i in range(20):
                    name = rdflib.URIRef(f"urn:pair{i}")
                    server.dataset.default_graph.set((name, rdflib.URIRef("urn:n"), rdflib.Literal(number)))
            if not number % 20:
                server.dataset.store._inner.optimize()

    def ask() -> None:
        for _ in range(25):
            reply = answered(server, COUNT)
            row = reply.json["results"]["bindings"][0] if reply.status == 200 else None
            if not row or (row["c"]["value"], row["rows"]["value"]) not in (("1", "20"), ("0", "0")):
                failures.append(reply.body)

    threads = [threading.Thread(target=function) for function in (write, ask, ask)]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    ended.set()
    threads[0].join()
    assert not failures


def test_query_sees_all_that_was_committed_before(server: Serving) -> None:
    """A checkpoint that was taken before a commit is not used after it."""
    for number in range(10):
        assert updated(server, f"INSERT DATA {{ <urn:s> <urn:n> {number} }}").status == 204
        reply = answered(server, COUNT)
        assert reply.json["results"]["bindings"][0]["rows"]["value"] == str(number + 1)


def test_template_that_has_ended_is_started_again(server: Serving) -> None:
    """The next query is answered, by the children of another."""
    first = template(server)
    os.kill(first, signal.SIGKILL)
    assert answered(server, "ASK {}").status == 200
    assert template(server) != first


def test_ctrl_c_leaves_the_template_to_its_server(server: Serving) -> None:
    """The interrupt of a terminal reaches all processes of it, and answers may finish."""
    assert answered(server, "ASK {}").status == 200
    first = template(server)
    os.kill(first, signal.SIGINT)
    assert answered(server, "ASK {}").status == 200
    assert template(server) == first


def test_checkpoints_are_shared_until_a_commit(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """Who only reads the same state has the same; the last user of an old one removes it."""
    checkpoints = Checkpoints.of(dataset, tmp_path / "checkpoints")
    assert checkpoints is not None
    with rdflive.subscribe(dataset, "ASK { ?s ?p ?o }"):
        first, second = checkpoints.take(alone=False), checkpoints.take(alone=False)
        alone = checkpoints.take(alone=True)
        assert first is second is not alone
        checkpoints.release(alone)
        checkpoints.release(first)
        assert first.folder.exists()
        assert not alone.folder.exists()
        dataset.add((rdflib.URIRef("urn:s"),) * 3)
        third = checkpoints.take(alone=False)
        assert third is not second
        assert second.folder.exists()
        checkpoints.release(second)
        assert not second.folder.exists()
        checkpoints.release(third)
        assert third.folder.exists()
        dataset.add((rdflib.URIRef("urn:t"),) * 3)
        checkpoints.release(checkpoints.take(alone=False))
        assert not third.folder.exists()
    checkpoints.close()
    assert not (tmp_path / "checkpoints").exists()


def test_checkpoints_share_the_files_of_the_store(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """Beside the store they cost no copy of it."""
    dataset.parse(data="".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(100)), format="turtle")
    checkpoints = Checkpoints.of(dataset, tmp_path / "checkpoints")
    assert checkpoints is not None
    tables = list(Path(checkpoints.take(alone=False).path).glob("*.sst"))
    assert tables
    assert any(table.stat().st_nlink > 1 for table in tables)  # others may be compacted by now
    checkpoints.close()


def test_checkpoints_leave_other_files_alone(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """What an earlier server left is removed at the start, and what is not of one stays."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "checkpoints" / "rdflive-left").mkdir(parents=True)
    (tmp_path / "checkpoints" / "mine").touch()
    checkpoints = Checkpoints.of(dataset, tmp_path / "checkpoints")
    assert checkpoints is not None
    assert not (tmp_path / "checkpoints" / "rdflive-left").exists()
    checkpoints.close()
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_is_named(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """The error says which, and what it is for."""
    (tmp_path / "file").touch()
    with pytest.raises(rdflive.RdfliveError, match=r"file.* beside the store"):
        Checkpoints.of(dataset, tmp_path / "file" / "checkpoints")


def test_store_in_memory_has_no_checkpoints(tmp_path: Path) -> None:
    """Its children are forks."""
    for store in ("default", "Oxigraph"):
        assert Checkpoints.of(rdflib.Dataset(store), tmp_path / "checkpoints") is None
    assert not (tmp_path / "checkpoints").exists()


KILLED = """
import sys, rdflib, time
sys.path[:0] = {path!r}
from pathlib import Path
from support.serving import serving
from support.protocol import answered
dataset = rdflib.Dataset("Oxigraph")
dataset.open({store!r})
with serving(dataset, scratch=Path({store!r} + ".queries")) as server:
    answered(server, "ASK {{}}")
    print(server.service.children._maker._template._process.pid, flush=True)
    time.sleep(600)
"""


def test_template_ends_with_its_server(tmp_path: Path) -> None:
    """When the server is killed nothing of it stays but files, which the next one removes."""
    program = KILLED.format(path=sys.path, store=str(tmp_path / "store"))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        waiting = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        process.kill()
    if waiting is not None:
        import select

        assert select.select([waiting], [], [], 30)[0]
        os.close(waiting)
    assert list((tmp_path / "store.queries").iterdir())
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(tmp_path / "store"))
    with serving(dataset, scratch=tmp_path / "store.queries") as server:
        assert answered(server, "ASK {}").status == 200
    assert not (tmp_path / "store.queries").exists()
    dataset.close()
