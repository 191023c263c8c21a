"""`rdflive watch` as a program: pipes, signals and terminals."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdflive.cli import main
from support.cli import ON_DATA, QUERY, QUICK, on_terminal, watch, without_colours

TERMINAL = pytest.mark.posix("a pseudo-terminal")
PIPE = subprocess.PIPE


def test_output_is_utf8_and_ill_typed_literals_pass_quietly() -> None:
    """Whatever the locale; what rdflib logs and warns about such literals does not reach the user."""
    Path("c.rdfp").write_text(
        'A <http://e/a> <http://e/p> "x"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        'A <http://e/a> <http://e/p> "é😀" .\n',
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, *ON_DATA], capture_output=True, check=True, env=environment)
    assert done.stderr.startswith(b"1 entry, 2 changes, 1 delta in ")
    assert b'"x"^^xsd:integer' in done.stdout
    assert '"é😀"' in done.stdout.decode()


@pytest.mark.posix("sends SIGINT to a program")
def test_standard_input_is_followed_until_control_c() -> None:
    """A delta is printed as soon as its transaction is there; SIGINT gives 130, a summary, no traceback."""
    command = [sys.executable, *ON_DATA[:-1], "-", "--no-initial"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for number in range(3):
            program.stdin.write(f'TX .\nA <http://e/a> <http://e/p> "{number}" .\nTC .\n'.encode())
            program.stdin.flush()
            assert program.stdout.readline().rstrip() == f'#{number + 1}  + e:a "{number}"'.encode()
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=20)
    assert program.returncode == 130
    # a delta counts when it has been sent, and Ctrl-C may come between the two
    assert re.fullmatch(rb"stopped: [23] entr\w+, 3 changes, [23] deltas in \d+\.\d\d s\n", err)


@pytest.mark.sampled(by="options")
@pytest.mark.parametrize("options", [[], ["--to", "ndjson"]])
def test_a_closed_output_ends_quietly(options: list[str]) -> None:
    """`rdflive watch ... | head -1` prints no traceback."""
    Path("data.ttl").write_text("".join(f'<http://e/{n}> <http://e/p> "{n}" .\n' for n in range(5000)))
    with subprocess.Popen([sys.executable, *ON_DATA, *options], stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert re.fullmatch(rb"(loaded 5,000 triples in .* s\n)?", process.stderr.read())
        assert process.wait(20) == 141


@pytest.mark.posix("sends SIGINT to a program")
@pytest.mark.sampled(by="options")
@pytest.mark.parametrize("options", [[], ["--to", "ndjson", "--out", "o"]])
def test_a_growing_file_is_followed(options: list[str]) -> None:
    """What is appended is sent while the feed stays open, and Ctrl-C ends the run with a summary."""
    command = [sys.executable, *QUICK, *ON_DATA[2:], "--follow", "--no-initial", *options]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        lines = tail(Path("o")) if options else process.stdout
        with Path("c.rdfp").open("a") as feed:
            for number in range(3):
                feed.write(f'TX .\nA <http://e/a> <http://e/p> "more {number}" .\nTC .\n')
                feed.flush()
                while f"more {number}".encode() not in next(lines):
                    pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.fullmatch(rb"stopped: 5 entries, 6 changes, [34] deltas in \d+\.\d\d s\n", err)


def tail(path: Path) -> Iterator[bytes]:
    """Give the whole lines of a file as it grows."""
    deadline = time.monotonic() + 20
    begin = 0
    while time.monotonic() < deadline:
        content = path.read_bytes() if path.exists() else b""
        end = content.rfind(b"\n") + 1
        yield from content[begin:end].splitlines()
        begin = end
        time.sleep(0.02)
    raise AssertionError(f"{path} does not grow")


def table(query: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the lines of a table on a terminal, without those on names that the data do not hold."""
    command = ["watch", "data.ttl", "--query", query, "--changes", "c.rdfp", "--to", "table"]
    lines = without_colours(on_terminal(command, monkeypatch)).splitlines()
    return [line.rstrip() for line in lines if not line.startswith("note: ")]


@TERMINAL
def test_a_terminal_shows_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have the commit, a sign and compact terms, green for + and red for -."""
    assert table(QUERY, monkeypatch)[:6] == [
        "watching the query on data.ttl; changes: c.rdfp (rdf-patch); store: memory",
        "commit  ±  ?s   ?o",
        "    #0  +  e:a  1",
        "        +  e:a  e:b",
        "    #1  -  e:a  e:b",
        '        +  e:c  "x\\ny"@en',
    ]
    shown = on_terminal([*ON_DATA[2:], "--to", "table"], monkeypatch)
    assert "\x1b[32m" in shown
    assert "\x1b[31m" in shown


@TERMINAL
@pytest.mark.parametrize("columns", [40, 60])
def test_a_table_keeps_to_the_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long terms are cut with an ellipsis, and control characters cannot reach the terminal."""
    Path("c.rdfp").write_text(
        f'A <http://e/a> <http://e/p> "{"long " * 50}" .\nA <http://e/a> <http://e/p> "\x1b[2J" .\n'
    )
    shown = on_terminal([*ON_DATA[2:], "--to", "table"], monkeypatch, columns=columns)
    rows = [line for line in without_colours(shown).splitlines() if not re.match("watching|\\d+ entr", line)]
    assert max(map(len, rows)) <= columns
    assert "…" in shown
    assert "\\u001B[2J" in shown
    assert "\x1b[2J" not in shown


@TERMINAL
def test_a_table_shows_ask_and_an_empty_answer_and_every_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no solution binds yet has its column; the header does not come again when one does."""
    ask = table("ASK { ?s <http://e/q> ?o }", monkeypatch)
    assert ask[1:3] == ["    #0  false", "    #2  true"]
    assert table("SELECT ?s { ?s <http://e/none> ?o }", monkeypatch)[1] == "    #0  no solutions"
    Path("c.rdfp").write_text("A <http://e/a> <http://e/q> <http://e/z> .\n")
    optional = "OPTIONAL { ?s e:q ?z } OPTIONAL { ?s e:r ?never }"
    query = f"PREFIX e: <http://e/> SELECT ?z ?o ?never {{ ?s e:p ?o {optional} }}"
    assert table(query, monkeypatch)[1:8] == [
        "commit  ±  ?z  ?o   ?never",
        "    #0  +      1",
        "        +      e:b",
        "    #1  -       1",
        "        -       e:b",
        "        +  e:z  1",
        "        +  e:z  e:b",
    ]


@pytest.mark.linux("/dev/full")
@pytest.mark.sampled(by="command")
@pytest.mark.parametrize("command", ["watch text", "watch ndjson", "explain"])
def test_a_full_output_is_named(command: str) -> None:
    """Standard output on a full disk is an error with exit code 2, and nothing is said twice."""
    name, _, target = command.partition(" ")
    arguments = [*ON_DATA, "--to", target] if name == "watch" else ["-m", "rdflive", "explain", QUERY]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, *arguments], stdout=full, stderr=PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"rdflive: error: standard output: No space left on device\n"


@TERMINAL
def test_a_long_load_shows_its_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A load that takes long shows a bar with the percentage of bytes, and removes it."""
    assert "loading" not in on_terminal(ON_DATA[2:], monkeypatch)
    Path("big.nt").write_text("".join(f'<http://e/{n}> <http://e/p> "{n}" .\n' for n in range(30_000)))
    monkeypatch.setattr("rdflive.cli.load._LONG", 0.05)
    command = ["watch", "big.nt", "--query", "ASK { ?s <http://e/q> ?o }", "--changes", "c.rdfp"]
    assert re.search(r"loading big\.nt .*\d+%", without_colours(on_terminal(command, monkeypatch)))
    assert main(command) == 0
    assert re.match(r"loaded 30,000 triples in \d+\.\d s\nnote: .*\n2 entries, ", capsys.readouterr().err)


@pytest.mark.posix("closes standard streams by the shell")
@pytest.mark.sampled(by="closed")
@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", ">&- --oops"])
def test_a_closed_stream_takes_nothing(closed: str) -> None:
    """What would go to it is dropped, and what goes to the other is as ever."""
    command = f"{shlex.join([sys.executable, *ON_DATA])} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert done.returncode == (2 if "--oops" in closed else 0)
    assert (len(done.stdout.splitlines()), done.stdout.count(b"+ ")) == (4, 3) if closed == "2>&-" else (0, 0)
    assert len(done.stderr.splitlines()) == (0 if "2>&-" in closed else 1)
    assert b"Traceback" not in done.stderr


def test_a_closed_standard_input_is_no_feed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told from an empty one; Python has no stream then."""
    monkeypatch.setattr(sys, "stdin", None)
    assert watch(changes="-") == 2
    said = "rdflive: error: standard input is closed: name a file with --changes\n"
    assert capsys.readouterr().err == said


@pytest.mark.posix("/dev/fd")
def test_a_query_may_come_through_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """As the shell's `<(echo ...)` gives it."""
    reading, writing = os.pipe()
    os.write(writing, QUERY.encode())
    os.close(writing)
    assert watch(query=f"/dev/fd/{reading}") == 0
    os.close(reading)
    assert len(capsys.readouterr().out.splitlines()) == 4
