"""A live graph's changes, in a log and as a stream."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from rdflib import RDF, BNode, Literal, URIRef

import rdflive
from rdflive import RdfliveError, UnsupportedStoreError
from rdflive.api.target import GraphTarget
from rdflive_stores.spark.graph_changes import ChangeLog, changes
from rdflive_stores.spark.logs.files import STOPPED
from support.feeds import QUADS
from support.worlds import KINDS

E = "http://example.org/"
S, P = URIRef(f"{E}s"), URIRef(f"{E}p")


def quads(graph: Any) -> set[Any]:
    return set(GraphTarget(graph).quads())


def copy_of(path: str, kind: str) -> Any:
    """Mirror a log into a new graph of a kind."""
    graph = KINDS[kind]()
    rdflive.mirror(graph, path)
    return graph


def write(graph: Any, *rows: str) -> None:
    """Apply rows of RDF Patch in one commit."""
    patch = "".join(f"{row} .\n" for row in ("TX", *rows, "TC"))
    rdflive.mirror(graph, io.BytesIO(patch.encode()), "rdf-patch", cursor="")


def transactions(path: str) -> int:
    return Path(path).read_text().count("TX .\n")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_log_leads_another_graph_to_the_same_content(kind: str, tmp_path: Path) -> None:
    """Content and changes of any kind of graph are in the log, and of no other graph in its store."""
    graph = KINDS[kind]()
    is_dataset = not isinstance(graph, rdflib.Graph) or isinstance(graph, rdflib.ConjunctiveGraph)
    write(graph, "A <urn:a> <urn:p> 'x'@en-GB".replace("'", '"'), "A <urn:a> <urn:p> <urn:o>")
    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        write(graph, "A <urn:b> <urn:p> _:b", f"A <urn:c> <urn:p> _:b{' <urn:g>' * is_dataset}")
        write(graph, "D <urn:a> <urn:p> <urn:o>")
        if isinstance(graph, rdflib.Graph) and graph.store.context_aware:
            rdflib.Graph(graph.store, URIRef("urn:other")).add((S, P, Literal("other")))
        assert log.error is None
        assert transactions(log.path) == (4 if isinstance(graph, rdflib.ConjunctiveGraph) else 3)
        expected = quads(graph)
    assert quads(copy_of(log.path, "dataset" if is_dataset else "graph")) == expected
    assert is_dataset or {quad.graph for quad in expected} == {None}


_WRITES = st.lists(st.tuples(st.sampled_from(["add", "remove", "restart", "unseen"]), st.integers(0, 3)))


@given(st.lists(QUADS, min_size=4, max_size=4), _WRITES)
def test_a_log_follows_a_graph_across_restarts(some: list[Any], writes: list[tuple[str, int]]) -> None:
    """Whatever is written, seen or unseen, the log adds up to the graph after every restart."""
    graph = rdflib.Dataset()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/log.rdfp"
        log = ChangeLog(graph, path)
        for operation, i in writes:
            if operation in ("restart", "unseen"):
                log.close()
            target = graph.graph(some[i].graph) if some[i].graph else graph.default_graph
            (target.remove if operation == "remove" else target.add)(some[i][:3])
            if operation in ("restart", "unseen"):
                log = ChangeLog(graph, path)
        log.close()
        assert log.error is None
        if os.path.getsize(path):
            assert quads(copy_of(path, "dataset")) == quads(graph)
        else:
            assert not quads(graph)


def test_a_log_without_the_initial_content_begins_with_the_next_change(tmp_path: Path) -> None:
    """With `initial=False` a new log holds changes only, and one that holds changes is refused."""
    graph = rdflib.Graph()
    graph.add((S, P, Literal(1)))
    with ChangeLog(graph, tmp_path / "log.rdfp", initial=False) as log:
        graph.add((S, P, Literal(2)))
    assert {quad.object for quad in quads(copy_of(log.path, "graph"))} == {Literal(2)}
    with pytest.raises(RdfliveError, match="holds changes already, and initial=False would leave a gap"):
        ChangeLog(graph, log.path, initial=False)


def test_one_batch_is_one_transaction(tmp_path: Path) -> None:
    """The net changes of a batch are written together, and nothing for one that changes nothing."""
    graph = rdflib.Graph()
    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        with rdflive.batch(graph):
            graph.add((S, P, Literal(1)))
            graph.add((S, P, Literal(2)))
            graph.remove((S, P, Literal(1)))
        with rdflive.batch(graph):
            graph.add((S, P, Literal(1)))
            graph.remove((S, P, Literal(1)))
    assert (
        Path(log.path).read_text()
        == f'TX .\nA <{E}s> <{E}p> "2"^^<http://www.w3.org/2001/XMLSchema#integer> .\nTC .\n'
    )


def test_what_cannot_be_written_stops_the_recording(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A term that no line can hold fails the log, its readers and the next start, not the write."""
    graph = rdflib.Graph()
    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        graph.add((S, P, Literal(1)))
        bad = (S, P, URIRef("no absolute IRI"))
        graph.add(bad)
        assert "cannot be written as N-Triples" in str(log.error)
        assert "the recording has stopped" in caplog.text
        graph.add((S, P, Literal(2)))
    with pytest.raises(RdfliveError, match="not 'RECORDING-STOPPED'"):
        copy_of(log.path, "graph")
    with pytest.raises(RdfliveError, match="cannot be written as N-Triples"):
        ChangeLog(graph, log.path)
    graph.remove(bad)
    ChangeLog(graph, log.path).close()
    assert {quad.object for quad in quads(copy_of(log.path, "graph"))} == {Literal(1), Literal(2)}


@pytest.mark.parametrize("written", [len(STOPPED), 5])
def test_a_recording_that_stopped_at_once_goes_on(written: int, tmp_path: Path) -> None:
    """A log that holds nothing but the line at which it stopped, or a part of that, is gone on in."""
    graph = rdflib.Graph()
    bad = (S, P, URIRef("no absolute IRI"))
    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        graph.add(bad)
    path = Path(log.path)
    assert path.read_bytes() == STOPPED
    path.write_bytes(STOPPED[:written])
    graph.remove(bad)
    graph.add((S, P, Literal(1)))
    ChangeLog(graph, path).close()
    assert quads(copy_of(log.path, "graph")) == quads(graph)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("subscribed", [False, True])
def test_a_log_cannot_begin_inside_a_batch(subscribed: bool, kind: str, tmp_path: Path) -> None:
    """Inside a batch of the graph a ChangeLog is refused, before it makes a file, and not behind it."""
    graph, path = KINDS[kind](), tmp_path / "log.rdfp"
    watching = rdflive.subscribe(graph, "ASK { ?s ?p ?o }") if subscribed else nullcontext()
    with watching, rdflive.batch(graph):
        write(graph, "A <urn:a> <urn:p> <urn:o>")
        with pytest.raises(RdfliveError, match=r"log.rdfp: a ChangeLog cannot start inside a batch"):
            ChangeLog(graph, path)
        with rdflive.batch(rdflib.Graph()):
            pass
        assert not path.exists()
    with rdflive.batch(rdflib.Graph()), ChangeLog(graph, path):
        pass
    assert transactions(str(path)) == 1


def test_a_log_that_is_deleted_stops_the_recording(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A recording whose file is gone says so, and another may take its place."""
    graph = rdflib.Graph()
    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        graph.add((S, P, Literal(1)))
        assert log.error is None
        os.remove(log.path)
        graph.add((S, P, Literal(2)))
        assert "log.rdfp: the log was deleted; the recording has stopped" in caplog.text
        assert log.error is not None
        with ChangeLog(graph, log.path):
            graph.add((S, P, Literal(3)))
    assert quads(copy_of(log.path, "graph")) == quads(graph)


@pytest.mark.parametrize("path", ["none/log.rdfp", "."])
def test_a_log_that_cannot_be_written_is_refused(path: str, tmp_path: Path) -> None:
    """A folder, or a file in a folder that is not there, is no log."""
    with pytest.raises(
        RdfliveError, match=r"cannot be written: .*; a ChangeLog needs a file in an existing folder"
    ):
        ChangeLog(rdflib.Graph(), tmp_path / path)


def test_a_full_disk_leaves_whole_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that fails half-way is taken back, and the recording stops."""
    graph = rdflib.Graph()

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, block: bytes) -> int:
            if len(block) < 30:
                raise OSError(28, "No space left on device")
            return int(self.file.write(block[:10]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        graph.add((S, P, Literal(1)))
        whole = Path(log.path).read_bytes()
        monkeypatch.setattr(log, "_file", Full(log._file))
        graph.add((S, P, Literal(2)))
        assert isinstance(log.error, OSError)
    assert Path(log.path).read_bytes() == whole


@pytest.mark.parametrize("tail", ["TX .\nA <", "TX", "TX .\n", ""])
def test_what_a_killed_run_left_unfinished_is_cut_off(tail: str, tmp_path: Path) -> None:
    """A transaction without its end is no part of the log, at its beginning either."""
    graph = rdflib.Graph()
    graph.add((S, P, Literal(1)))
    path = tmp_path / "log.rdfp"
    path.write_text(tail)
    ChangeLog(graph, path).close()
    with path.open("a") as file:
        file.write(tail)
    graph.add((S, P, Literal(2)))
    ChangeLog(graph, path).close()
    assert quads(copy_of(str(path), "graph")) == quads(graph)
    assert transactions(str(path)) == 2


@pytest.mark.parametrize("text", ["A <urn:s> <urn:p> <urn:o> .\n", "TX .\nTC .\n# more\n", "hello"])
def test_a_file_that_no_recording_wrote_is_refused(text: str, tmp_path: Path) -> None:
    """A file that no recording has written stays as it is."""
    path = tmp_path / "log.rdfp"
    path.write_text(text)
    with pytest.raises(RdfliveError, match="was not written by a ChangeLog; name another log"):
        ChangeLog(rdflib.Graph(), path)
    assert path.read_text() == text


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    """A second recording into a log is refused while the first is open; closing may be repeated."""
    log = ChangeLog(rdflib.Graph(), tmp_path / "log.rdfp")
    with pytest.raises(RdfliveError, match="another ChangeLog writes it; close that, or name another log"):
        ChangeLog(rdflib.Graph(), log.path)
    log.close()
    log.close()
    ChangeLog(rdflib.Graph(), log.path).close()


def test_a_graph_that_cannot_be_watched_leaves_nothing(tmp_path: Path) -> None:
    """A graph of the wrong kind is refused before a file is made."""
    with pytest.raises(UnsupportedStoreError):
        ChangeLog(object(), tmp_path / "log.rdfp")
    assert not list(tmp_path.iterdir())


def test_other_subscriptions_come_and_go(tmp_path: Path) -> None:
    """The recording sees every commit, whatever else watches the store or others."""
    graph, other = rdflib.Graph(), rdflib.Graph()
    query = "SELECT * { ?s ?p ?o }"
    before = rdflive.subscribe(graph, query)
    with ChangeLog(graph, tmp_path / "log.rdfp") as log, rdflive.subscribe(other, query):
        graph.add((S, P, Literal(1)))
        before.close()
        with rdflive.subscribe(graph, query):
            graph.add((S, P, Literal(2)))
        other.add((S, P, Literal("other")))
        graph.add((S, P, Literal(3)))
    graph.add((S, P, Literal(4)))
    assert {int(quad.object) for quad in quads(copy_of(log.path, "graph"))} == {1, 2, 3}


def test_threads_are_recorded_in_commit_order(tmp_path: Path) -> None:
    """What threads add and remove at once leads the log to the same state."""
    graph = rdflib.Graph()

    def run(seed: int) -> None:
        for i in range(200):
            triple = (S, P, Literal((i * seed) % 7))
            (graph.add if (i + seed) % 2 else graph.remove)(triple)

    with ChangeLog(graph, tmp_path / "log.rdfp") as log:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert quads(copy_of(log.path, "graph")) == quads(graph)


_KILLED = """
import os, sys, pyoxigraph, rdflib
from rdflive_stores.spark.graph_changes import ChangeLog

graph = rdflib.Dataset(store="Oxigraph")
graph.open(sys.argv[1])
log = ChangeLog(graph, sys.argv[2])
print("ready", flush=True)
for i in range(10**9):
    graph.update(f"INSERT DATA {{ <urn:s> <urn:p> {i} }} ; DELETE DATA {{ <urn:s> <urn:p> {i - 5} }}")
"""


@pytest.mark.sampled(by="after")
@pytest.mark.parametrize("after", [0.05, 0.2])
def test_a_killed_recording_of_a_durable_graph_goes_on(after: float, tmp_path: Path) -> None:
    """After kill -9 a new recording brings the log to what the store on disk holds."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    store, path = str(tmp_path / "store"), str(tmp_path / "log.rdfp")
    with subprocess.Popen([sys.executable, "-c", _KILLED, store, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(after)
        process.kill()
    graph = rdflib.Dataset(store="Oxigraph")
    graph.open(store)
    ChangeLog(graph, path).close()
    assert quads(graph)
    assert quads(copy_of(path, "dataset")) == quads(graph)
    graph.close()


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    """Run a stream over what is there, and give its rows."""
    count = iter(range(100))

    def run(stream: Any) -> list[Any]:
        name = f"changes_{next(count)}"
        query = stream.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        query.awaitTermination()
        return spark.table(name).collect()

    return run


@pytest.mark.sampled(3)
def test_changes_of_a_graph_are_a_stream(spark: SparkSession, rows: Any) -> None:
    """The stream of a graph begins with its content and goes on with its changes."""
    graph = rdflib.Dataset()
    graph.add((S, RDF.type, BNode("b")))
    stream = changes(graph, spark)
    graph.graph(URIRef(f"{E}g")).add((S, P, Literal("é")))
    graph.remove((S, RDF.type, None))
    found = [(row.op, row.s, row.o, row.g, row.part) for row in rows(stream)]
    assert found == [
        ("A", f"<{E}s>", "_:b", None, 0),
        ("A", f"<{E}s>", '"é"', f"<{E}g>", 0),
        ("D", f"<{E}s>", "_:b", None, 0),
    ]
