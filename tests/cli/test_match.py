"""`rdflive match`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rdflive.cli import main

EVENTS = """\
<http://e/h1> <http://e/power> <http://e/p1> <http://e/g1> .
<http://e/p1> <http://e/value> "50" <http://e/g1> .
<http://e/h2> <http://e/power> <http://e/p1> <http://e/g2> .
<http://e/h1> <http://e/power> <http://e/p2> .
<http://e/p2> <http://e/value> "60"@en .
"""
QUERY = "SELECT ?h ?v { ?h <http://e/power> ?p . ?p <http://e/value> ?v }"
LINES = ['0 <http://e/g1> ?h=<http://e/h1> ?v="50"', '2 ?h=<http://e/h1> ?v="60"@en']


@pytest.fixture(autouse=True)
def written(folder: Path) -> None:
    """Write events: two named graphs, and a run in the default graph."""
    Path("events.nq").write_text(EVENTS)


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "workers"])
def test_solutions_are_printed_per_event(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line begins with the number and the name of its event."""
    assert main(["match", QUERY, "events.nq", *options]) == 0
    assert capsys.readouterr().out.splitlines() == LINES


@pytest.mark.sampled(by="workers")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_variable_may_be_called_as_a_method_of_rows(workers: str) -> None:
    """No process warns of such names, as the command reads no attributes."""
    query = "SELECT (?h AS ?count) { ?h <http://e/power> ?p }"
    command = [sys.executable, "-m", "rdflive", "match", query, "events.nq", "--workers", workers]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout.splitlines()[0], ended.stderr) == ("0 <http://e/g1> ?count=<http://e/h1>", "")


def test_ndjson_tells_blank_nodes_from_iris(capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a graph that is a blank node begins as in N-Quads."""
    Path("blank.nq").write_text('<u:a> <u:p> "1" <g:x> .\n<u:a> <u:p> "1" _:gx .\n')
    assert main(["match", "SELECT * { ?s ?p ?o }", "blank.nq", "--format", "ndjson"]) == 0
    assert [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()] == ["g:x", "_:gx"]


def test_ask_and_construct_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """ASK answers for every event; CONSTRUCT prints triples."""
    assert main(["match", "ASK { ?p <http://e/value> ?v }", "events.nq"]) == 0
    assert capsys.readouterr().out.splitlines() == ["0 <http://e/g1> true", "1 <http://e/g2> false", "2 true"]
    query = "CONSTRUCT { ?v <http://e/of> ?h . ?h <http://e/has> ?v } WHERE" + QUERY.partition("?v ")[2]
    assert main(["match", query, "events.nq"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        '0 <http://e/g1> <http://e/h1> <http://e/has> "50" .',
        '2 <http://e/h1> <http://e/has> "60"@en .',
    ]


def test_a_background_joins(capsys: pytest.CaptureFixture[str]) -> None:
    """Its triples count in every event."""
    Path("static.ttl").write_text('<http://e/p1> <http://e/value> "70" .')
    assert main(["match", QUERY, "events.nq", "--background", "static.ttl"]) == 0
    assert '1 <http://e/g2> ?h=<http://e/h2> ?v="70"' in capsys.readouterr().out.splitlines()


def test_bad_input_ends_with_the_event_and_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What came before it is printed; the exit code is 2. Terms of RDF 1.2 are bad input too."""
    Path("bad.nq").write_text(EVENTS.replace('"60"@en', "oops"))
    assert main(["match", QUERY, "bad.nq"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines() == LINES[:1]
    assert err.startswith("rdflive: error: event 2: bad.nq, line 5: ")
    assert main(["match", QUERY, "absent.nq"]) == 2
    assert capsys.readouterr().err == "rdflive: error: absent.nq: No such file or directory\n"
    Path("star.nq").write_text("<u:a> <u:p> <<( <u:a> <u:p> <u:o> )>> <u:g> .\n")
    assert main(["match", QUERY, "star.nq"]) == 2
    assert capsys.readouterr().err.startswith("rdflive: error: event 0: star.nq, line 1: the object is a")


@pytest.mark.parametrize("form", ["text", "ndjson"])
@pytest.mark.parametrize(
    "query",
    ["SELECT (TRIPLE(?s, ?p, ?o) AS ?t) { ?s ?p ?o }", 'CONSTRUCT { ?s ?p "a"@en--ltr } { ?s ?p ?o }'],
)
def test_a_term_that_cannot_be_shown_is_named(
    query: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terms of RDF 1.2 that a query makes end with an error, as those of the input do."""
    pytest.importorskip("pyoxigraph", reason="without it events have rdflib's terms")
    assert main(["match", query, "events.nq", "--format", form]) == 2
    assert re.match("rdflive: error: event 0: rdflib cannot hold ", capsys.readouterr().err)


def test_a_closed_standard_input_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python has no stream then."""
    monkeypatch.setattr("sys.stdin", None)
    assert main(["match", QUERY, "-"]) == 2
    assert capsys.readouterr().err.startswith("rdflive: error: standard input: it is closed")


def test_a_bad_query_is_placed(capsys: pytest.CaptureFixture[str]) -> None:
    """GRAPH is refused with its place."""
    assert main(["match", "SELECT * { GRAPH ?g { ?s ?p ?o } }", "events.nq"]) == 2
    assert capsys.readouterr().err.startswith("rdflive: error: the query, line 1, column 12: GRAPH cannot be")


@pytest.mark.posix("sends SIGINT to a program")
def test_a_pipe_is_matched_as_it_comes_and_ctrl_c_ends_it() -> None:
    """An event is printed when the next one begins; Ctrl-C ends with 130 and no traceback."""
    command = [sys.executable, "-m", "rdflive", "match", QUERY, "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdin.write("".join(EVENTS.splitlines(keepends=True)[:3]))
        program.stdin.flush()
        assert program.stdout.readline() == LINES[0] + "\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == 130
        assert program.stderr.read() == ""
