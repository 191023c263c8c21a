"""`rdflive validate`: reports, how they change, exit codes, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rdflib import RDF, Graph

from rdflive.cli.command import main
from support.cli import QUICK
from support.shacl import SH
from support.shared import ROOT

RAILWAY = str(ROOT / "examples" / "railway.ttl")
SHAPES = str(ROOT / "examples" / "railway_shapes.ttl")
FEED = str(ROOT / "examples" / "railway.rdfp")


def test_the_report_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """With the prefixes of the data; results make the exit code 1."""
    assert main(["validate", RAILWAY, "--shapes", SHAPES]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Does not conform: 1 result at 1 focus node.",
        "",
        ":T201",
        "  Warning  :delay: 7 more than six minutes late  (MaxInclusive of :OnTime)",
    ]


def test_data_that_conform_end_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the shapes lie among the data."""
    text = Path(RAILWAY).read_text().replace(":delay 7", ":delay 5") + Path(SHAPES).read_text()
    data = tmp_path / "both.ttl"
    data.write_text(text)
    assert main(["validate", str(data)]) == 0
    assert capsys.readouterr().out == "Conforms: there are no results.\n"


NOTHING = {
    "no shape": "",
    "no target": ":S sh:property [ sh:path :delay ; sh:maxCount 1 ] .",
    "no constraint": ":S sh:targetClass :Train .",
    "deactivated": ":S sh:targetClass :Train ; sh:deactivated true ; sh:nodeKind sh:IRI .",
}


@pytest.mark.parametrize("kind", NOTHING)
def test_shapes_that_validate_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """Success would hide that a file was forgotten; `--allow-empty` says that it is meant."""
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(f"@prefix sh: <{SH}> . @prefix : <http://example.org/railway/> . {NOTHING[kind]}")
    for given in ([RAILWAY], [RAILWAY, "--shapes", str(shapes)]):
        assert main(["validate", *given]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert "nothing was validated: no shape has both a target and an active constraint" in told.err
        assert main(["validate", *given, "--allow-empty"]) == 0
        told = capsys.readouterr()
        assert told.out.startswith("Nothing was validated: no shape")
        assert "note: nothing is validated" in told.err


def test_data_without_a_targeted_node_conform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shapes hold for what may come."""
    data = tmp_path / "empty.ttl"
    data.write_text("")
    assert main(["validate", str(data), "--shapes", SHAPES]) == 0
    assert capsys.readouterr().out == "Conforms: there are no results.\n"


def test_a_feed_tells_what_it_breaks_and_mends(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is of the end."""
    code = main(["validate", RAILWAY, "--shapes", SHAPES, "--changes", FEED])
    lines = capsys.readouterr().out.splitlines()[4:]
    assert lines
    assert all(line.startswith("#") and line.split()[1] in "+-" for line in lines)
    came, gone = (sum(f"  {sign} " in line for line in lines) for sign in "+-")
    assert code == (1 + came - gone > 0)


def test_programs_get_lines_and_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON for each delta, CSV, and a sh:ValidationReport."""
    assert main(["validate", RAILWAY, "--shapes", SHAPES, "--to", "ndjson"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    (result,) = json.loads(line)["added"]
    assert result["severity"]["value"] == str(SH.Warning)
    assert main(["validate", RAILWAY, "--shapes", SHAPES, "--to", "csv"]) == 1
    head, row = capsys.readouterr().out.splitlines()
    assert head == "commit,change,focus,path,value,component,shape,severity,message,constraint"
    assert row.startswith("0,+,http://example.org/railway/T201,")
    assert main(["validate", RAILWAY, "--shapes", SHAPES, "--to", "turtle"]) == 1
    report = Graph().parse(data=capsys.readouterr().out)
    assert len(list(report.subjects(RDF.type, SH.ValidationResult))) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "no data"),
        (["/no/such.ttl", "--shapes", SHAPES], "/no/such.ttl"),
        ([RAILWAY, "--shapes", "/no/such.ttl"], "/no/such.ttl"),
        ([RAILWAY, "--shapes", SHAPES, "--pace", "1"], "--pace goes with --changes FILE"),
        ([RAILWAY, "--strategy", "auto"], "add --entail rdfs"),
        ([RAILWAY, "--follow", "--store-path", "x"], "leave --store-path out"),
    ],
)
def test_what_does_not_fit_is_said(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2."""
    assert main(["validate", *arguments]) == 2
    assert reason in capsys.readouterr().err


SEVERAL = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> . @prefix f: <http://e/> .
<> <http://www.w3.org/2002/07/owl#imports> <more.ttl> , <urn:elsewhere> .
:S sh:targetSubjectsOf :p ; sh:nodeKind sh:Literal ; sh:mincount 1 ."""
MORE = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:T sh:targetSubjectsOf :p ; sh:property [ sh:path :p ; sh:maxInclusive 3 ] . :Free sh:nodeKind sh:Literal ."""
"""The second is a file that the first imports."""


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ([], 5),
        (["--shape", ":T"], 2),
        (["--shape", "http://e/S,f:T"], 5),
        (["--shape", ":S", "--shape", ":T"], 5),
        (["--focus", ":a"], 1),
        (["--focus", ":a, :b"], 3),
        (["--shape", ":Free", "--focus", ":a", "--focus", ":other"], 2),
    ],
)
def test_some_shapes_are_used_at_some_nodes(
    options: list[str], count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By IRIs or prefixed names, between commas or one by one; imports are read, and the rest is noted."""
    (tmp_path / "shapes.ttl").write_text(SEVERAL)
    (tmp_path / "more.ttl").write_text(MORE)
    data = tmp_path / "data.ttl"
    data.write_text("@prefix : <http://e/> . :a :p 1 . :b :p 7 . :c :p 9 ; :q :other .")
    assert (
        main(["validate", str(data), "--shapes", str(tmp_path / "shapes.ttl"), *options, "--to", "csv"]) == 1
    )
    told = capsys.readouterr()
    assert len(told.out.splitlines()) - 1 == count
    imported, unread = told.err.splitlines()
    assert imported.startswith(
        f"note: owl:imports <urn:elsewhere> of <{(tmp_path / 'shapes.ttl').as_uri()}> is"
    )
    assert unread == "note: sh:mincount of <http://e/S> is not read; did you mean sh:minCount?"
    (tmp_path / "more.ttl").write_text("x")
    assert main(["validate", str(data), "--shapes", str(tmp_path / "shapes.ttl"), *options]) == 2
    assert "more.ttl, line 1: " in capsys.readouterr().err


def test_shapes_that_are_ill_formed_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the shape and the reason."""
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text("@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:S> sh:targetNode <urn:a> ; sh:in 1 .")
    assert main(["validate", RAILWAY, "--shapes", str(shapes)]) == 2
    assert "sh:in of <urn:S> must be a list, got" in capsys.readouterr().err


@pytest.mark.posix("stops with SIGINT")
def test_files_are_followed_as_they_are_edited(tmp_path: Path) -> None:
    """An edit is one commit; Ctrl-C ends."""
    data = tmp_path / "railway.ttl"
    text = Path(RAILWAY).read_text()
    data.write_text(text)
    command = [sys.executable, *QUICK, "validate", str(data), "--shapes", SHAPES, "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("Does not conform: 1 result")
        for _ in range(3):
            program.stdout.readline()
        time.sleep(0.1)
        data.write_text(text.replace(":delay 7", ":delay 5"))
        assert program.stdout.readline().startswith("#1  - :T201  Warning")
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=30) == 130
