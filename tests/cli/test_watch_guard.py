"""`rdflive watch --guard`: what would add a validation result is refused and said."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdflive.cli import main
from support.cli import QUICK, watch

SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <http://e/> .
e:Short a sh:NodeShape ; sh:targetSubjectsOf e:p ; sh:property [ sh:path e:p ; sh:maxCount 2 ] ."""
CHANGES = """\
TX .
A <http://e/c> <http://e/p> "1" .
TC .
TX .
A <http://e/a> <http://e/p> "3" .
TC .
TX .
D <http://e/a> <http://e/p> <http://e/b> .
TC .
"""


@pytest.fixture(autouse=True)
def _files() -> None:
    Path("shapes.ttl").write_text(SHAPES)
    Path("c.rdfp").write_text(CHANGES)


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("shapes.ttl", "it would add 1 result:\n  e:a  Violation  e:p: "),
        ("guard.rq", 'it would add 1 row:\n  ?s = e:a\nof the query SELECT ?s { ?s e:p "3" }'),
        ('ASK { ?s e:p "3" }', 'this query would be true:\n  ASK { ?s e:p "3" }'),
    ],
)
def test_refused_entry_ends_the_run(capsys: pytest.CaptureFixture[str], guard: str, said: str) -> None:
    """With exit code 2, the place and the results; what came before it was sent."""
    Path("guard.rq").write_text('SELECT ?s { ?s e:p "3" }')
    assert watch("--guard", guard) == 2
    told = capsys.readouterr()
    assert told.out.count("+") == 3
    assert "stopped: 1 entry, 1 change, 1 delta in " in told.err
    assert (
        "rdflive: error: c.rdfp, line 4: the store refuses entry 2: the commit is refused, because "
        in told.err
    )
    assert said in told.err


def test_shapes_that_guard_nothing_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a target they would let everything pass."""
    Path("shapes.ttl").write_text(SHAPES.replace("sh:targetSubjectsOf e:p ;", ""))
    assert watch("--guard", "shapes.ttl") == 2
    assert "rdflive: error: shapes.ttl: guards nothing: no shape has both" in capsys.readouterr().err


def test_refused_entry_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    """It goes to the dead letters with its results, is counted as a bad record, and the rest is sent."""
    assert watch("--guard", "shapes.ttl", "--on-bad", "skip", "--dead-letters", "dead.rdfp") == 0
    told = capsys.readouterr()
    assert "<http://e/b>\n" in told.out.splitlines(keepends=True)[-1]
    assert told.err.startswith("2 entries, 2 changes, 1 bad record skipped, 2 deltas in ")
    letters = Path("dead.rdfp").read_text()
    assert "\n#   focus <http://e/a>, path <http://e/p>, component <" in letters
    assert 'A <http://e/a> <http://e/p> "3" .\n' in letters


def test_several_guards_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Shapes of several files are one graph, and a query is a guard beside them."""
    Path("more.ttl").write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <http://e/> . e:Short sh:deactivated true . "
        "e:Other a sh:NodeShape ; sh:targetNode e:z ; sh:nodeKind sh:IRI ."
    )
    assert watch("--guard", "shapes.ttl", "--guard", "more.ttl") == 0
    assert watch("--guard", "shapes.ttl", "--guard", "more.ttl", "--guard", 'ASK { e:c e:p "1" }') == 2
    assert "line 1: the store refuses entry 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("none.ttl", "none.ttl: "),
        ("c.rdfp", "c.rdfp: the ending names no RDF syntax"),
        ("none.rq", "none.rq: no such file"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "the query: a guard is a SELECT that must stay empty, or an ASK"),
        ("ASK { ?s ?p }", "the query, line 1, column 13: not SPARQL"),
        ("bad.ttl", "sh:minCount"),
    ],
)
def test_wrong_guards_are_refused_before_the_load(
    capsys: pytest.CaptureFixture[str], guard: str, said: str
) -> None:
    """Also where the data could not be loaded."""
    Path("bad.ttl").write_text(SHAPES.replace("sh:maxCount 2", 'sh:minCount "x"'))
    assert watch("--guard", guard, data="absent.ttl") == 2
    assert said in capsys.readouterr().err


def test_guards_do_not_go_with_all_options(capsys: pytest.CaptureFixture[str]) -> None:
    """The graph of a server is its own, and a file of shapes is no place for dead letters."""
    query = "SELECT ?s { ?s ?p ?o }"
    assert main(["watch", "http://127.0.0.1:9", "--query", query, "--guard", "shapes.ttl"]) == 2
    assert "--guard goes with DATA of your own" in capsys.readouterr().err
    assert watch("--guard", "shapes.ttl", "--on-bad", "skip", "--dead-letters", "shapes.ttl") == 2
    assert "shapes.ttl: is the file of --guard too" in capsys.readouterr().err
    assert Path("shapes.ttl").read_text() == SHAPES


@pytest.mark.posix("sends Ctrl-C to another process")
def test_refused_edit_is_said() -> None:
    """The data stay as they were, and are followed on; Ctrl-C ends."""
    data = Path("data.ttl")
    text = data.read_text()
    command = [sys.executable, *QUICK, "watch", "data.ttl", "--query", "q.rq", "--guard"]
    with subprocess.Popen(
        [*command, "shapes.ttl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        first = [program.stdout.readline() for _ in range(2)]
        assert all(line.startswith("#0  + ") for line in first)
        time.sleep(0.1)
        data.write_text(text + "e:a e:p 3 . e:z e:p 4 .\n")
        told = [program.stderr.readline() for _ in range(3)]
        assert told[0] == "the commit is refused, because it would add 1 result:\n"
        assert told[1].startswith("  e:a  Violation  e:p: ")
        assert told[2] == "the earlier data stay\n"
        data.write_text(text + "e:z e:p 5 .\n")
        assert program.stdout.readline() == "#1  + e:z 5\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=30) == 130
