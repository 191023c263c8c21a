"""What goes wrong with a feed, a store or a mirror: nothing is lost, and the error says where."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rdflib import Dataset, Graph, URIRef

import rdflive
from rdflive import Batch, FeedError, Mirrored, ResyncNeeded
from rdflive.api.target import GraphTarget
from rdflive.feeds import Entry, Snapshot, Target
from support.mirrors import DATASETS, Deltas, E, Scripted, append, literal, objects, patch, row
from support.worlds import KINDS


@pytest.fixture(params=DATASETS)
def dataset(request: pytest.FixtureRequest) -> Any:
    return DATASETS[request.param]()


@pytest.mark.parametrize("content", ["", f"+ {row('9')}\n", f"+ {row('1')} \n+ {row('2')}\n"])
def test_a_feed_that_is_another_one_needs_a_resync(tmp_path: Path, dataset: Any, content: str) -> None:
    """A shorter or changed file is not read on from; a snapshot leads on with one net delta."""
    path = tmp_path / "log.nq"
    rdflive.mirror(dataset, append(path, f"+ {row('1')}\n", f"+ {row('2')}\n"))
    path.write_text(content, encoding="utf-8")
    deltas = Deltas(dataset)
    with pytest.raises(ResyncNeeded, match=r"log\.nq: (ends before|has changed before) byte \d+"):
        rdflive.mirror(dataset, path)
    assert deltas.take() == []
    base = tmp_path / "base.nq"
    base.write_text(f"{row('2')}\n{row('3')}\n", encoding="utf-8")
    done = rdflive.mirror(dataset, path, snapshot=base)
    assert done.resyncs == 1
    assert deltas.take()[0] == (["3"], ["1"])
    assert objects(dataset) >= {"2", "3"}


BAD = [
    ("TX .\nA " + row("2") + "\nA <bad\nTC .\n", 6, "the subject is an IRI without"),
    ("nonsense\n", 4, "a row begins with one of"),
    ("TX .\nA " + row("2") + "\n", 5, "neither TC nor TA"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BAD)
def test_a_bad_record_stops_with_everything_before_it_applied(
    tmp_path: Path, dataset: Any, text: str, line: int, reason: str
) -> None:
    """The error names file, line, byte and reason, nothing is half-applied, and a mended feed goes on."""
    log = tmp_path / "log.rdfp"
    good = patch("A " + row("1"))
    path = append(log, good, text)
    with pytest.raises(FeedError, match=reason) as caught:
        rdflive.mirror(dataset, path)
    assert (caught.value.source, caught.value.line) == (path, line)
    content = good + text
    assert content.encode()[: caught.value.offset].count(b"\n") == line - 1
    assert objects(dataset) == {"1"}
    log.write_text(good + patch("A " + row("3")), encoding="utf-8", newline="")
    assert rdflive.mirror(dataset, path).entries == 1
    assert objects(dataset) == {"1", "3"}


def test_bad_records_go_to_the_dead_letters(tmp_path: Path, dataset: Any) -> None:
    """A skipped unit is in the file whole, under its reason, once however often the mirror runs."""
    log, letters = tmp_path / "log.rdfp", tmp_path / "dead.rdfp"
    bad = patch("A " + row("2"), "A <bad")
    path = append(log, patch("A " + row("1")), bad, patch("A " + row("3")), bad)
    done = rdflive.mirror(dataset, path, on_bad="skip", dead_letters=letters)
    assert (done.entries, done.skipped, objects(dataset)) == (2, 2, {"1", "3"})
    assert rdflive.mirror(dataset, path, on_bad="skip", dead_letters=letters).skipped == 0
    text = letters.read_text(encoding="utf-8")
    assert text.count("\n# ") + 1 == text.count("# ") == 2
    assert text.count(bad) == 2
    letters.write_text(text.replace("A <bad\n", ""), encoding="utf-8")
    assert rdflive.mirror(dataset, letters).entries == 2
    assert objects(dataset) == {"1", "2", "3"}


def test_what_the_store_refuses_is_a_bad_record(tmp_path: Path) -> None:
    """An IRI that Oxigraph does not take has a place, and can be skipped."""
    dataset = KINDS["oxigraph dataset"]()
    path = append(
        tmp_path / "log.nq", f"+ {row('1')}\n", f"+ <{E}s> <{E}p> <http://[> .\n", f"+ {row('2')}\n"
    )
    with pytest.raises(FeedError, match=r"log\.nq, line 2: the store refuses entry 2"):
        rdflive.mirror(dataset, path)
    done = rdflive.mirror(dataset, path, on_bad="skip", dead_letters=tmp_path / "dead")
    assert (done.entries, done.skipped, objects(dataset)) == (1, 1, {"1", "2"})


@pytest.mark.parametrize(
    "update",
    [
        "DROP GRAPH <urn:nope>",
        "CREATE GRAPH <urn:g>",
        f"INSERT {{ <{E}s> <{E}p> ?x }} WHERE {{ BIND(<urn:f>(1) AS ?x) }}",
    ],
)
def test_an_update_that_oxigraph_cannot_evaluate_is_a_bad_record(update: str, tmp_path: Path) -> None:
    """It has a place and can be skipped, and what stands behind it is applied."""
    dataset = KINDS["oxigraph dataset"]()
    dataset.graph("urn:g").add([URIRef(f"{E}{name}") for name in "spo"])
    path = append(tmp_path / "log.ru", f"{update}\n\n", f"INSERT DATA {{ <{E}s> <{E}p> '1' }}\n\n")
    with pytest.raises(FeedError, match=r"log\.ru, line 1: the store refuses entry 1"):
        rdflive.mirror(dataset, path)
    done = rdflive.mirror(dataset, path, on_bad="skip", dead_letters=tmp_path / "dead")
    assert (done.entries, done.skipped, objects(dataset)) == (1, 1, {"1", f"{E}o"})


@pytest.mark.parametrize(
    ("source", "options", "reason"),
    [
        ("log.nq", {"on_bad": "ignore"}, "on_bad must be 'stop' or 'skip', got 'ignore'"),
        ("log.nq", {"on_bad": "skip"}, "on_bad='skip' and dead_letters=PATH go together"),
        ("log.nq", {"dead_letters": "x"}, "on_bad='skip' and dead_letters=PATH go together"),
        ("log.txt", {}, "no change-feed format ends in '.txt'"),
        ("log.nq", {"format": "turtle"}, "unknown change-feed format 'turtle'"),
        (io.BytesIO(), {}, "a feed without a file name needs a format"),
        (io.StringIO(), {"format": "nquads"}, "holds text; open it as binary"),
        (5, {"format": "nquads"}, r"open binary file or a Feed \(source, entries, snapshot, close\), got 5"),
        ("missing.nq", {}, "No such file"),
        (io.BytesIO(), {"format": "nquads", "snapshot": "base.ttl"}, r"base\.ttl: a snapshot is a file"),
        ("log.nq.gz", {"follow": 1}, "cannot be followed: follow= is for files that grow"),
        ("log.nq", {"on_bad": "skip", "dead_letters": "./log.nq"}, "is the feed itself; give another file"),
        (
            io.BytesIO(),
            {"format": "nquads", "snapshot": lambda: [(1, 2)]},
            "the snapshot function must return quads",
        ),
        ("-", {"follow": 1, "format": "nquads"}, "standard input cannot be followed"),
        ("log.nq", {"follow": 0}, "follow must be a number of seconds above 0, got 0"),
        (Scripted([]), {"graph": Graph(store="SPARQLUpdateStore")}, "endpoint"),
        (Scripted([]), {"graph": "graph"}, "no adapter"),
    ],
)
def test_a_wrong_call_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, options: Any, reason: str
) -> None:
    """The message says what was given and what is accepted, and no file is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((rdflive.RdfliveError, ValueError, TypeError, OSError), match=reason):
        rdflive.mirror(**{"graph": Dataset(), "source": source, **options})
    assert list(tmp_path.iterdir()) == []


def test_a_feed_that_cannot_replay_is_taken_whole(dataset: Any) -> None:
    """The mirror replaces what it has by the feed's snapshot in one commit, and goes on behind it."""
    script = Scripted([[literal(1, "1")]])
    deltas = Deltas(dataset)
    assert rdflive.mirror(dataset, script).entries == 1
    script.batches += [[literal(1, "2"), literal(1, "3")], [literal(-1, "1"), literal(-1, "2")]]
    script.oldest = 2
    assert rdflive.mirror(dataset, script) == Mirrored(resyncs=1, cursor="3")
    script.batches.append([literal(1, "4")])
    assert rdflive.mirror(dataset, script).entries == 1
    assert deltas.take() == [(["1"], []), (["3"], ["1"]), (["4"], [])]


def test_a_feed_that_asks_again_and_again_is_given_up() -> None:
    """After three snapshots without an entry the error is raised."""
    script = Scripted([[literal(1, "1")]], oldest=9)
    with pytest.raises(ResyncNeeded, match="script: the log begins at 9; resync"):
        rdflive.mirror(Dataset(), script)


class Forgetful(Scripted):
    """A feed that keeps a key for each entry and has only its newest one, so it asks whenever it goes on."""

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        begin = int(cursor or 0)
        self.told = dict(kept)
        if begin < len(self.batches):
            yield Entry(Batch(tuple(self.batches[begin]), 1), str(begin + 1), kept={f"entry {begin}": "x"})
            raise ResyncNeeded(self.source, "the log has only its last entry")

    def snapshot(self, target: Target) -> Snapshot | None:
        quads = tuple(target.quads())  # one per entry
        return Snapshot(quads, str(len(quads)), {"snapshot": "x"})


def test_a_feed_that_asks_after_each_entry_is_followed_to_its_end(dataset: Any) -> None:
    """Only snapshots without an entry in between are counted, and what was kept before one is forgotten."""
    feed = Forgetful([[literal(1, str(number))] for number in range(6)])
    done = rdflive.mirror(dataset, feed)
    assert (done.entries, done.resyncs, len(objects(dataset))) == (6, 6, 6)
    assert feed.told == {"snapshot": "x"}


def test_a_stream_that_has_changed_is_read_from_its_beginning(tmp_path: Path, dataset: Any) -> None:
    """After the snapshot nothing of an open file is passed over; a pipe cannot be read again and says so."""
    base, log = tmp_path / "base.nq", tmp_path / "log.nq"
    base.write_text(row("0"), encoding="utf-8")
    append(log, f"+ {row('9')}\n")
    with log.open("rb") as stream:
        rdflive.mirror(dataset, stream, "nquads", name="x")
    log.write_text(f"+ {row('1')}\n+ {row('2')}\n", encoding="utf-8")
    with log.open("rb") as stream:
        rdflive.mirror(dataset, stream, "nquads", name="x", snapshot=base)
    assert objects(dataset) == {"0", "1", "2"}
    reading, writing = os.pipe()
    os.write(writing, f"+ {row('3')}\n".encode())
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe, pytest.raises(rdflive.RdfliveError, match="cannot be read again"):
        rdflive.mirror(dataset, pipe, "nquads", name="x", snapshot=base)
    assert objects(dataset) == {"0", "1", "2"}


@pytest.mark.parametrize("kind", ["dataset", "oxigraph dataset"])
def test_a_row_that_the_store_refuses_supports_nothing(tmp_path: Path, kind: str) -> None:
    """Later rows count; however many are refused, the feed is open once and the stack no deeper."""
    mapping = {"key": ["id"], "subject": "http://e/s", "predicates": {
        "n": "http://e/n", "port": {"predicate": "http://e/h", "object": "http://h:{port}/"}}}  # fmt: skip
    rows = [*[{"n": "Anne", "port": "nix"}] * 30, {"n": "Anne", "port": "80"}]
    lines = [{**r, "_change_type": "insert", "_commit_version": i} for i, r in enumerate(rows)]
    path = append(tmp_path / "f.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    dataset, depths = KINDS[kind](), set[int]()
    form = rdflive.feeds.delta_lake({"*": mapping})
    done = rdflive.mirror(
        dataset, path, form, on_bad="skip", dead_letters=tmp_path / "bad",
        on_entry=lambda _: depths.add(len(inspect.stack(0))),
    )  # fmt: skip
    assert "Anne" in objects(dataset)
    assert done.skipped == 30 * (kind != "dataset")
    assert len(depths) == 1


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_compressed_log_needs_a_resync(tmp_path: Path, damage: str) -> None:
    """What cannot be decompressed any more is another log."""
    path = tmp_path / "log.nq.gz"
    whole = gzip.compress("".join(f"+ {row(str(i * 7919 % 9973))}\n" for i in range(2000)).encode())
    path.write_bytes(whole)
    graph = Graph()
    rdflive.mirror(graph, path)
    path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"not gzip")
    with pytest.raises(ResyncNeeded, match=r"(ends|has changed) before byte"):
        rdflive.mirror(graph, path)


def test_a_resync_that_a_callback_needs_is_not_the_feeds(tmp_path: Path) -> None:
    """What `on_entry` raises ends the mirror, whatever it is; `on_resync` hears of the feed's own."""
    path, base = append(tmp_path / "log.nq", f"+ {row('1')}\n"), tmp_path / "base.nq"
    base.touch()
    heard: list[Snapshot] = []

    def fail(entry: Entry) -> None:
        raise ResyncNeeded("mine", "says so")

    with pytest.raises(ResyncNeeded, match="mine: says so"):
        rdflive.mirror(Dataset(), path, snapshot=base, on_entry=fail, on_resync=heard.append)
    assert [snapshot.cursor for snapshot in heard] == [""]


@pytest.mark.parametrize("fault", ["memory", "closed"])
def test_a_fault_of_the_store_is_not_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """It ends the mirror also where bad records are skipped, and no record is put aside."""
    letters = tmp_path / "bad"
    feed = append(tmp_path / "log.nq", f"+ {row('1')}\n", f"+ {row('2')}\n")
    dataset = KINDS["oxigraph dataset"]()

    def fail(*args: object, **options: object) -> None:
        raise MemoryError

    if fault == "memory":
        monkeypatch.setattr(GraphTarget, "write", fail)
    with pytest.raises((MemoryError, rdflive.ClosedError)):
        rdflive.mirror(dataset, feed, on_bad="skip", dead_letters=letters, on_entry=lambda _: dataset.close())
    assert letters.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("kind", DATASETS)
def test_ctrl_c_waits_for_the_commit_that_is_under_way(kind: str) -> None:
    """A transaction is applied whole, then the interrupt is raised, and the next call goes on behind it."""
    dataset = DATASETS[kind]()
    feed = (patch(*(f"A _:b{i} <{E}p> _:c{i} ." for i in range(5))) + patch("A " + row("1"))).encode()
    query = "SELECT * { ?s ?p ?o }"
    with rdflive.subscribe(dataset, query, lambda delta: signal.raise_signal(signal.SIGINT), initial=False):
        with pytest.raises(KeyboardInterrupt):
            rdflive.mirror(dataset, io.BytesIO(feed), "rdf-patch", name="n")
        assert len(list(GraphTarget(dataset).quads())) == 5
    assert rdflive.mirror(dataset, io.BytesIO(feed), "rdf-patch", name="n").entries == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
