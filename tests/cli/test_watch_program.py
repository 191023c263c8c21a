"""`rdflive watch` as a program: pipes, signals and terminals."""

from __future__ import annotations

import json
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

from support.cli import ON_DATA, QUERY


def test_ill_typed_literals_pass_quietly() -> None:
    """What rdflib logs and warns about ill-typed literals does not reach the user."""
    Path("c.rdfp").write_text(
        'A <http://e/a> <http://e/p> "x"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    )
    done = subprocess.run([sys.executable, *ON_DATA], capture_output=True, check=True)
    assert done.stderr.startswith(b"1 entry, 1 change, 1 delta in ")
    assert b'"x"^^xsd:integer' in done.stdout


def test_the_output_is_utf8_whatever_the_locale() -> None:
    """Programs read UTF-8, also where the locale is ASCII."""
    Path("c.rdfp").write_text('A <http://e/a> <http://e/p> "é😀" .\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, *ON_DATA, "--to", "ndjson", "--no-initial"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert json.loads(done.stdout.decode())["added"][0]["o"]["value"] == "é😀"


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """Run `rdflive watch` on standard input; it is killed if a test leaves it."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rdflive",
            "watch",
            "data.ttl",
            "--query",
            QUERY,
            "--changes",
            "-",
            "--no-initial",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        yield process
        process.kill()


def test_standard_input_is_followed(program: subprocess.Popen[bytes]) -> None:
    """A delta is printed as soon as its transaction has arrived, while the feed stays open."""
    assert program.stdin is not None
    assert program.stdout is not None
    for number in range(3):
        program.stdin.write(f'TX .\nA <http://e/a> <http://e/p> "{number}" .\nTC .\n'.encode())
        program.stdin.flush()
        assert program.stdout.readline().rstrip() == f'#{number + 1}  + e:a "{number}"'.encode()
    _, err = program.communicate(b"oops\n", timeout=20)
    assert program.returncode == 2
    assert b"rdflive: error: standard input, line 10: a row begins with one of" in err


@pytest.mark.posix("sends SIGINT to a program")
def test_control_c_ends_with_a_summary(program: subprocess.Popen[bytes]) -> None:
    """SIGINT ends the program with exit code 130, a summary and no traceback."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b'A <http://e/a> <http://e/p> "x" .\nTX .\nTC .\nTX .\n')
    program.stdin.flush()
    program.stdout.readline()
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=20)
    assert program.returncode == 130
    # a delta counts when it has been sent, and Ctrl-C may come between the two
    assert re.fullmatch(rb"stopped: (1 entry|2 entries), 1 change, (0 deltas|1 delta) in \d+\.\d\d s\n", err)


def test_a_closed_output_ends_quietly() -> None:
    """`rdflive watch ... | head -1` prints no traceback."""
    Path("big.nt").write_text("".join(f'<http://e/{n}> <http://e/p> "{n}" .\n' for n in range(5000)))
    for options in ([], ["--to", "ndjson"]):
        command = [
            sys.executable,
            "-m",
            "rdflive",
            "watch",
            "big.nt",
            "--query",
            QUERY,
            "--changes",
            "c.rdfp",
            *options,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(20) == 141


@pytest.mark.posix("sends SIGINT to a program")
@pytest.mark.parametrize("options", [[], ["--to", "ndjson", "--out", "o"]])
def test_a_growing_file_is_followed(options: list[str]) -> None:
    """What is appended is sent while the feed stays open, and Ctrl-C ends the run with a summary."""
    command = [sys.executable, *ON_DATA, "--follow", "--no-initial", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
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


def on_terminal(arguments: list[str], columns: int) -> str:
    """Run Python with standard output and error on a terminal; give what it shows, without colours."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:  # how Linux reports that the other side is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@pytest.mark.posix("a pseudo-terminal")
def test_a_terminal_shows_a_table() -> None:
    """Rows have the commit, a sign and compact terms, green for + and red for -."""
    shown = on_terminal([*ON_DATA, "--to", "table"], 80)
    rows = [line.rstrip() for line in without_colours(shown).splitlines()]
    assert rows[0] == "watching the query on data.ttl; changes: c.rdfp (rdf-patch); store: memory"
    assert rows[1:6] == [
        "commit  ±  ?s   ?o",
        "    #0  +  e:a  1",
        "        +  e:a  e:b",
        "    #1  -  e:a  e:b",
        '        +  e:c  "x\\ny"@en',
    ]
    assert "\x1b[32m" in shown
    assert "\x1b[31m" in shown


@pytest.mark.posix("a pseudo-terminal")
@pytest.mark.parametrize("columns", [40, 60])
def test_a_table_keeps_to_the_width(columns: int) -> None:
    """Long terms are cut with an ellipsis, and control characters cannot reach the terminal."""
    Path("c.rdfp").write_text(
        f'A <http://e/a> <http://e/p> "{"long " * 50}" .\nA <http://e/a> <http://e/p> "\x1b[2J" .\n'
    )
    shown = on_terminal([*ON_DATA, "--to", "table"], columns)
    table = [line for line in without_colours(shown).splitlines() if not re.match("watching|\\d+ entr", line)]
    assert max(map(len, table)) <= columns
    assert "…" in shown
    assert "\\u001B[2J" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.posix("a pseudo-terminal")
def test_a_terminal_shows_ask_and_an_empty_answer() -> None:
    """ASK shows each new answer; a SELECT without solutions says so."""
    command = ["-m", "rdflive", "watch", "data.ttl", "--changes", "c.rdfp", "--to", "table", "--query"]
    ask = without_colours(on_terminal([*command, "ASK { ?s <http://e/q> ?o }"], 80))
    assert without_notes(ask)[1:3] == ["    #0  false", "    #2  true"]
    select = without_colours(on_terminal([*command, "SELECT ?s { ?s <http://e/none> ?o }"], 80))
    assert without_notes(select)[1] == "    #0  no solutions"


def without_notes(text: str) -> list[str]:
    """Give the lines without those on names that the data do not hold."""
    return [line.rstrip() for line in text.splitlines() if not line.startswith("note: ")]


@pytest.mark.posix("a pseudo-terminal")
def test_a_table_has_a_column_for_every_variable() -> None:
    """Also for one that no solution binds yet; the header does not come again when one does."""
    Path("c.rdfp").write_text("A <http://e/a> <http://e/q> <http://e/z> .\n")
    optional = "OPTIONAL { ?s e:q ?z } OPTIONAL { ?s e:r ?never }"
    query = f"PREFIX e: <http://e/> SELECT ?z ?o ?never {{ ?s e:p ?o {optional} }}"
    command = ["-m", "rdflive", "watch", "data.ttl", "--changes", "c.rdfp", "--to", "table", "--query", query]
    rows = without_notes(without_colours(on_terminal(command, 80)))
    assert rows[1:8] == [
        "commit  ±  ?z  ?o   ?never",
        "    #0  +      1",
        "        +      e:b",
        "    #1  -       1",
        "        -       e:b",
        "        +  e:z  1",
        "        +  e:z  e:b",
    ]


@pytest.mark.linux("/dev/full")
@pytest.mark.parametrize("command", ["watch text", "watch ndjson", "explain"])
def test_a_full_output_is_named(command: str) -> None:
    """Standard output on a full disk is an error with exit code 2, and nothing is said twice."""
    name, _, target = command.partition(" ")
    arguments = [*ON_DATA, "--to", target] if name == "watch" else ["-m", "rdflive", "explain", QUERY]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"rdflive: error: standard output: No space left on device\n"


@pytest.mark.posix("a pseudo-terminal")
def test_a_long_load_shows_its_progress() -> None:
    """A load that takes long shows a bar with the percentage of bytes, and removes it."""
    Path("big.nt").write_text("".join(f'<http://e/{n}> <http://e/p> "{n}" .\n' for n in range(30_000)))
    code = (
        "import rdflive.cli.load as load; load._LONG = 0.05; from rdflive.cli import main; "
        "main(['watch', 'big.nt', '--query', 'ASK { ?s <http://e/q> ?o }', '--changes', 'c.rdfp'])"
    )
    shown = on_terminal(["-c", code], 80)
    assert re.search(r"loading big\.nt .*\d+%", without_colours(shown))
    assert "loading" not in on_terminal(ON_DATA, 80)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert re.match(rb"loaded 30,000 triples in \d+\.\d s\nnote: .*\n2 entries, ", done.stderr)


@pytest.mark.posix("closes standard streams by the shell")
@pytest.mark.parametrize(
    ("closed", "options", "code"),
    [("2>&-", "", 0), (">&-", "", 0), (">&- 2>&-", "", 0), (">&-", "--oops", 2)],
)
def test_a_closed_stream_takes_nothing(closed: str, options: str, code: int) -> None:
    """What would go to it is dropped, and what goes to the other is as ever."""
    command = f"{shlex.join([sys.executable, *ON_DATA])} {options} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert done.returncode == code
    assert (len(done.stdout.splitlines()), done.stdout.count(b"+ ")) == (4, 3) if closed == "2>&-" else (0, 0)
    assert len(done.stderr.splitlines()) == (0 if "2>&-" in closed else 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.posix("closes standard streams by the shell")
def test_a_closed_standard_input_is_no_feed() -> None:
    """It is told from an empty one."""
    command = f"{shlex.join([sys.executable, *ON_DATA[:-1], '-'])} <&-"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        b"rdflive: error: standard input is closed: name a file with --changes\n",
    )


@pytest.mark.posix("/dev/fd")
def test_a_query_may_come_through_a_pipe() -> None:
    """As the shell's `<(echo ...)` gives it."""
    reading, writing = os.pipe()
    os.write(writing, QUERY.encode())
    os.close(writing)
    command = [sys.executable, *ON_DATA, "--query", f"/dev/fd/{reading}"]
    done = subprocess.run(command, capture_output=True, pass_fds=[reading], check=False)
    os.close(reading)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 4
