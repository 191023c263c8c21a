"""`rdflive watch --to`: files, patches and events."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import pytest

from support.cli import ON_DATA, PATCH, changes, printed, watch
from support.sinks import listening

CONSTRUCT = "PREFIX e: <http://e/> CONSTRUCT { ?o e:of ?s . ?s e:has ?o } { ?s e:p ?o FILTER(isIRI(?o)) }"
EMPTY = "none.rdfp"


def test_a_patch_is_a_feed_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Watching the output shows the deltas of the constructed graph, commit by commit."""
    assert watch("--to", "patch", "--out", "made.rdfp", query=CONSTRUCT) == 0
    capsys.readouterr()
    assert watch(query="SELECT ?s { ?s <http://e/of> ?o }", data="", changes="made.rdfp") == 0
    assert printed(capsys).splitlines() == ["+ <http://e/b>", "- <http://e/b>"]


@pytest.mark.parametrize("target", ["ndjson", "patch"])
def test_a_file_gets_what_standard_output_would(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--out writes the same bytes, and a second run does not add to a file that it knows nothing of."""
    assert watch("--to", target, query=CONSTRUCT) == 0
    out, _ = capsys.readouterr()
    assert watch("--to", target, "--out", "o", query=CONSTRUCT) == 0
    assert Path("o").read_bytes() == out.encode()
    assert printed(capsys) == ""
    assert watch("--to", target, "--out", "o", query=CONSTRUCT) == 2
    assert Path("o").read_bytes() == out.encode()


RESUME = ["--resume", "r.sqlite", "--name", "n"]


def test_a_resumed_file_goes_on_behind_what_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Half a line of a killed run is cut off, and what follows is numbered on."""
    options = ["--to", "ndjson", "--out", "o", *RESUME, "--store-path", "store"]
    pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    assert watch(*options) == 0
    whole = Path("o").read_bytes()
    for half in (b"", b"{", b'{"sequence": 3, "ini', b'{"sequence": '):
        Path("o").write_bytes(whole + half)
        assert watch(*options) == 0
        assert Path("o").read_bytes() == whole
    with Path("c.rdfp").open("a") as feed:
        feed.write(changes("A <http://e/d> <http://e/p> <http://e/d>"))
    assert watch(*options) == 0
    assert [json.loads(line)["sequence"] for line in Path("o").read_text("utf-8").splitlines()] == [1, 2, 3]
    _, err = capsys.readouterr()
    assert "store is loaded: data.ttl not loaded again" in err
    assert f"store holds earlier changes of {Path('c.rdfp').absolute()}: resuming after them" in err


@pytest.mark.parametrize("foreign", [b"notes", b"notes\n", b'{"sequence": 1}\nnotes'])
def test_a_resumed_run_leaves_a_foreign_file_alone(
    foreign: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not of an earlier run is neither cut nor added to."""
    Path("o").write_bytes(foreign)
    assert watch("--to", "ndjson", "--out", "o", *RESUME) == 2
    assert "o: was not written by an earlier run" in capsys.readouterr().err
    assert Path("o").read_bytes() == foreign


def test_a_resumed_patch_loses_its_unfinished_transaction() -> None:
    """A patch file is cut back to its last whole transaction."""
    options = ["--to", "patch", "--out", "o", *RESUME]
    Path(EMPTY).write_text("")
    assert watch(*options, query=CONSTRUCT, changes=EMPTY) == 0
    whole = Path("o").read_bytes()
    assert whole.endswith(b"\nTC .\n")
    for half in (b"T", b"TX .\nA <http://e/", b"TX .\nA <http://e/a> <http://e/b> <http://e/c> .\nTC ."):
        Path("o").write_bytes(whole + half)
        assert watch(*options, query=CONSTRUCT, changes=EMPTY) == 0
        assert Path("o").read_bytes() == whole


@pytest.mark.parametrize("target", ["ndjson", "patch"])
def test_a_new_subscriber_does_not_go_on_in_a_file(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it is told from the beginning would not add up with what the file says already."""
    options = ["--to", target, "--out", "o"]
    assert watch(*options, *RESUME, query=CONSTRUCT) == 0
    whole = Path("o").read_bytes()
    for other in (["--resume", "r.sqlite", "--name", "m"], ["--resume", "new", "--name", "n"]):
        assert watch(*options, *other, query=CONSTRUCT) == 2
        err = capsys.readouterr().err
        assert f"rdflive: error: o: is not empty, but {other[1]} has no deltas of {other[3]!r} yet" in err
        assert Path("o").read_bytes() == whole
    assert not Path("new").exists()


def test_a_line_is_on_disk_before_it_counts_as_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --resume a power failure loses no line that will not be delivered again."""
    states: list[tuple[int, int]] = []
    sync = os.fsync

    def look(descriptor: int) -> None:
        sync(descriptor)
        with closing(sqlite3.connect("r.sqlite")) as journal:
            (acknowledged,) = journal.execute("SELECT acknowledged FROM subscriber").fetchone()
        states.append((len(Path("o").read_bytes().splitlines()), acknowledged))

    monkeypatch.setattr(os, "fsync", look)
    assert watch("--to", "ndjson", "--out", "o", *RESUME) == 0
    assert states[:2] == [(1, 0), (2, 1)]
    assert states[2:] in ([], [(2, 2)])


@pytest.mark.posix("/dev/stdout")
@pytest.mark.sampled(by="resume")
@pytest.mark.parametrize("resume", [[], RESUME])
def test_standard_output_may_be_named(resume: list[str]) -> None:
    """/dev/stdout is a pipe here."""
    command = [sys.executable, *ON_DATA, "--to", "ndjson", "--out", "/dev/stdout", *resume]
    done = subprocess.run(command, capture_output=True, check=True)
    assert [json.loads(line)["initial"] for line in done.stdout.splitlines()] == [True, False]


@pytest.mark.sampled(by="feed")
@pytest.mark.parametrize(("given", "feed"), [("c.rdfp", os.devnull), ("-", "c.rdfp")])
def test_standard_output_is_not_the_feed(given: str, feed: str) -> None:
    """A shell's `>> c.rdfp` would have the feed grow without end."""
    command = [sys.executable, *ON_DATA[:-1], given]
    with open("c.rdfp", "ab") as out, open(feed, "rb") as stdin:
        done = subprocess.run(command, stdin=stdin, stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"rdflive: error: standard output itself: is the file of " in done.stderr
    assert Path("c.rdfp").read_text() == PATCH


@pytest.mark.linux("/dev/full")
@pytest.mark.parametrize("option", [[], ["--resume", "r.sqlite", "--name", "n"]])
def test_a_full_disk_ends_the_run(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A delta that cannot be written is an error with exit code 2."""
    assert watch("--to", "ndjson", "--out", "/dev/full", *option) == 2
    assert capsys.readouterr().err.endswith("rdflive: error: /dev/full: No space left on device\n")


def test_bad_records_can_be_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    """They go to the file of dead letters, and are counted."""
    Path("c.rdfp").write_text("TX .\nA oops .\nTC .\n" + PATCH)
    assert watch("--to", "ndjson", "--on-bad", "skip", "--dead-letters", "dead") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err.startswith("2 entries, 3 changes, 1 bad record skipped, 1 delta in ")
    assert "A oops ." in Path("dead").read_text()


def test_rows_are_mapped(capsys: pytest.CaptureFixture[str]) -> None:
    """Feeds of rows are read with a mapping."""
    mapping = {"customers": {"subject": "http://e/{id}", "predicates": {"name": "http://e/p"}}}
    Path("m.json").write_text(json.dumps(mapping))
    row = {"id": 7, "name": "Ä"}
    source = {"db": "d", "schema": "s", "table": "customers"}
    event = {"op": "c", "before": None, "after": row, "source": source}
    Path("c.jsonl").write_text(json.dumps(event) + "\n")
    assert watch("--format", "debezium", "--mapping", "m.json", data="", changes="c.jsonl") == 0
    assert printed(capsys) == '+ <http://e/7> "Ä"\n'


@contextmanager
def serving() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `rdflive watch --to sse` on standard input; it is killed if a test leaves it."""
    pytest.importorskip("uvicorn", reason="needs the extra rdflive[server]")
    command = [sys.executable, *ON_DATA[:-1], "-", "--to", "sse", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        found = re.fullmatch(rb"serving events at (http://127\.0\.0\.1:\d+/)\r?\n", process.stderr.readline())
        assert found
        yield process, found[1].decode()
        process.kill()


@pytest.mark.posix("sends SIGINT to a program")
def test_events_are_served_until_control_c() -> None:
    """Clients get the answer and each delta, after the feed has ended too; Ctrl-C ends all quietly."""
    with serving() as (process, url):
        assert process.stdin is not None
        assert process.stderr is not None
        with listening(url) as events:
            assert next(events).kind == "initial"
            process.stdin.write('A <http://e/a> <http://e/p> "é" .\nTX .\nTC .\n'.encode())
            process.stdin.flush()
            event = next(events)
            assert event.data["added"][0]["o"]["value"] == "é"
            process.stdin.close()
            while b"the feed has ended" not in process.stderr.readline():
                pass
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
            with listening(url) as late:
                assert len(next(late).data["added"]) == 3
                process.send_signal(signal.SIGINT)
                assert list(late) == list(events) == []
        process.stdin = None
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def test_events_end_with_an_error_of_the_feed() -> None:
    """A bad record ends the service, with exit code 2, after the clients got what was before it."""
    with serving() as (process, url), listening(url) as events:
        assert next(events).kind == "initial"
        _, err = process.communicate(b"TX .\nA <http://e/a> <http://e/p> 'x' .\nTC .\n", timeout=20)
        assert list(islice(events, 1)) == []
    assert process.returncode == 2
    assert b"rdflive: error: standard input, line 2: " in err
