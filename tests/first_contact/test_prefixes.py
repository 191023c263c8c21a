"""Prefixes of the data and of the store serve in queries and in what is printed, on the command line."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
import rdflib

from rdflive.cli import main
from support.cli import on_terminal, without_colours

DATA = """\
@prefix : <http://example.org/> .
@prefix r: <http://example.org/rail#> .
:T101 r:nextStop :Mill ; r:delay 4 .
"""
CHANGES = """\
TX .
D <http://example.org/T101> <http://example.org/rail#nextStop> <http://example.org/Mill> .
A <http://example.org/T101> <http://example.org/rail#nextStop> <http://example.org/Dunes> .
TC .
"""
STOPS = "SELECT ?train ?stop { ?train r:nextStop ?stop }"
WATCH = ["watch", "data.ttl", "--query", STOPS, "--changes", "changes.rdfp"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.ttl").write_text(DATA)
    Path("changes.rdfp").write_text(CHANGES)
    return tmp_path


LINES = "#0  + :T101 :Mill\n#1  - :T101 :Mill\n#1  + :T101 :Dunes\n"


def test_piped_lines_have_prefixes_and_commits(capsys: pytest.CaptureFixture[str]) -> None:
    """The prefixes are those of DATA, in the query and in the lines."""
    assert main(WATCH) == 0
    assert capsys.readouterr().out == LINES


@pytest.mark.posix("a pseudo-terminal")
@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("columns", [20, 80, 120])
def test_a_terminal_has_the_same_lines(columns: int, colour: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In colour, unless NO_COLOR is set."""
    text = on_terminal(WATCH, monkeypatch, columns=columns, colour=colour)
    assert ("\x1b[32m" in text and "\x1b[31m" in text) is colour
    assert f"\n{LINES}" in without_colours(text)


def test_full_terms_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """As N-Triples writes them, in lines and in tables, and nowhere else."""
    assert main([*WATCH, "--full", "--no-initial"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "#1  - <http://example.org/T101> <http://example.org/Mill>"
    )
    assert main([*WATCH, "--full", "--to", "table"]) == 0
    assert "<http://example.org/T101>  <http://example.org/Dunes>" in capsys.readouterr().out
    assert main([*WATCH, "--full", "--to", "csv"]) == 2
    assert "--full goes with --to text or table, not with --to csv" in capsys.readouterr().err


def test_machines_get_csv(capsys: pytest.CaptureFixture[str]) -> None:
    """The values are those of SPARQL's CSV; commit and sign are in front."""
    Path("data.ttl").write_text(DATA + ':T7 r:nextStop "a, \\"b\\"\\nc"@en .\n')
    assert main([*WATCH, "--to", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert rows[0] == ["commit", "change", "train", "stop"]
    assert sorted(rows[1:3]) == [
        ["0", "+", "http://example.org/T101", "http://example.org/Mill"],
        ["0", "+", "http://example.org/T7", 'a, "b"\nc'],
    ]
    assert [row[:2] for row in rows[3:]] == [["1", "-"], ["1", "+"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ASK { :T101 r:nextStop :Mill }", "commit,answer\n0,true\n1,false\n"),
        (
            "CONSTRUCT { ?x a _:b } WHERE { ?x r:delay ?y }",
            "commit,change,subject,predicate,object\n"
            "0,+,http://example.org/T101,http://www.w3.org/1999/02/22-rdf-syntax-ns#type,_:B\n",
        ),
        (
            "SELECT ?x ?y { ?x r:delay ?z OPTIONAL { ?x r:line ?y } }",
            "commit,change,x,y\n0,+,http://example.org/T101,\n",
        ),
        ("SELECT ?x { ?x r:none ?y }", "commit,change,x\n"),
    ],
)
def test_csv_of_every_form(query: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """ASK has its answer, CONSTRUCT the parts of triples; what is unbound is empty."""
    assert main(["watch", "data.ttl", "--query", query, "--changes", "changes.rdfp", "--to", "csv"]) == 0
    assert re.sub(r"_:\w+", "_:B", capsys.readouterr().out) == expected


def test_what_is_wrong_otherwise_is_found_before_the_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Also in a query with prefixes of the data."""
    Path("data.ttl").write_text("no Turtle")
    assert main(["query", "data.ttl", "--query", "SELECT ?x { SERVICE <urn:s> { ?x r:p ?y } }"]) == 2
    assert "SERVICE" in capsys.readouterr().err


def test_matching_events_has_the_prefixes_of_its_background(capsys: pytest.CaptureFixture[str]) -> None:
    """`rdflive match` prints short terms too, and full ones where they are asked for."""
    Path("events.nq").write_text(
        "<http://example.org/T101> <http://example.org/rail#at> <http://e/x> <http://e/g> .\n"
    )
    command = ["match", "SELECT ?t ?d { ?t r:at ?x ; r:delay ?d }", "events.nq", "--background", "data.ttl"]
    assert main(command) == 0
    assert capsys.readouterr().out == "0 <http://e/g> ?t=:T101 ?d=4\n"
    assert main([*command, "--full"]) == 0
    assert "?t=<http://example.org/T101>" in capsys.readouterr().out


def test_terms_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in lines nor in tables, short or full."""
    hostile = rdflib.Literal("\x1b[2J\x07\u202egnp\r\n").n3()
    Path("data.ttl").write_text(f"<http://e/s> <http://e/p> {hostile} .")
    command = ["watch", "data.ttl", "--query", "SELECT * { ?s ?p ?o }", "--changes", "changes.rdfp"]
    for options in ([], ["--full"], ["--to", "table"], ["--to", "table", "--full"]):
        assert main([*command, *options]) == 0
        assert capsys.readouterr().out.replace("\n", "").isprintable(), options
