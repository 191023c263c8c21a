"""Queries of a store on disk: each reads a checkpoint in a process of its own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib

import rdflive
from rdflive.server.isolation.checkpoints import Checkpoints
from rdflive.server.isolation.disk_forks import DiskForks
from support.effort import rounds
from support.protocol import answered, updated
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[rdflib.Dataset]:
    """A dataset on disk."""
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(tmp_path / "store"))
    yield dataset
    dataset.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server of a store on disk whose checkpoints are beside the store."""
    folder, dataset = tmp_path_factory.mktemp("disk"), rdflib.Dataset("Oxigraph")
    dataset.open(str(folder / "store"))
    with serving(dataset, scratch=folder / "checkpoints") as running:
        yield running
    dataset.close()


def template(server: Serving) -> int:
    """Give the process that children are forked from."""
    forks = server.service.children._maker
    assert isinstance(forks, DiskForks)
    return forks._template._process.pid


def test_query_sees_all_that_was_committed_before(server: Serving) -> None:
    """A checkpoint that was taken before a commit is not used after it."""
    for number in range(rounds(10)):
        assert updated(server, f"INSERT DATA {{ <urn:s> <urn:n> {number} }}").status == 204
        assert answered(server, f"ASK {{ <urn:s> <urn:n> {number} }}").json["boolean"] is True


def test_template_that_has_ended_is_started_again(server: Serving) -> None:
    """The next query is answered, by the children of another.

    The interrupt of a terminal reaches all processes of it; it leaves the template, so answers may finish.
    """
    assert answered(server, "ASK {}").status == 200
    first = template(server)
    for number, is_kept in ((signal.SIGINT, True), (signal.SIGKILL, False)):
        os.kill(first, number)
        assert answered(server, "ASK {}").status == 200
        assert (template(server) == first) is is_kept


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


def test_checkpoints_leave_other_files_alone(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """What an earlier server left is removed at the start, and what is not of one stays.

    Checkpoints share the files of the store, so beside it they cost no copy. A store in memory has none.
    """
    folder = tmp_path / "checkpoints"
    (folder / "rdflive-left").mkdir(parents=True)
    (folder / "mine").touch()
    for store in ("default", "Oxigraph"):
        assert Checkpoints.of(rdflib.Dataset(store), folder) is None
    dataset.parse(data="".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(100)), format="turtle")
    checkpoints = Checkpoints.of(dataset, folder)
    assert checkpoints is not None
    assert not (folder / "rdflive-left").exists()
    tables = list(Path(checkpoints.take(alone=False).path).glob("*.sst"))
    assert any(table.stat().st_nlink > 1 for table in tables)  # others may be compacted by now
    checkpoints.close()
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_is_named(dataset: rdflib.Dataset, tmp_path: Path) -> None:
    """The error says which, and what it is for."""
    (tmp_path / "file").touch()
    with pytest.raises(rdflive.RdfliveError, match=r"file.* beside the store"):
        Checkpoints.of(dataset, tmp_path / "file" / "checkpoints")


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
        assert select.select([waiting], [], [], 30)[0]
        os.close(waiting)
    assert list((tmp_path / "store.queries").iterdir())
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(tmp_path / "store"))
    with serving(dataset, scratch=tmp_path / "store.queries") as server:
        assert answered(server, "ASK {}").status == 200
    assert not (tmp_path / "store.queries").exists()
    dataset.close()
