"""`rdflive explain`, `--version` and `--help`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rdflive
from rdflive.cli import main
from rdflive.cli.explain import folded

EXAMPLES = Path(__file__).parents[2] / "examples"
PATH = "SELECT ?a ?c { ?a <http://e/p> ?b . ?b <http://e/q> ?c }"


def test_a_query_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan of the text or of a file is printed; the prefixes of rdflib may be used, as with `watch`."""
    assert main(["explain", "ASK { ?x a foaf:Person }"]) == 0
    assert "<http://xmlns.com/foaf/0.1/Person>" in capsys.readouterr().out
    assert main(["explain", PATH]) == 0
    assert "class: var-connected" in capsys.readouterr().out
    assert main(["explain", str(EXAMPLES / "delayed.rq")]) == 0
    assert "?train <http://example.org/railway/delay> ?minutes" in capsys.readouterr().out


def test_operators_are_printed_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, long lines are not folded."""
    assert main(["explain", "SELECT * { ?a <u:p> ?b OPTIONAL { ?a <u:q> ?c } }"]) == 0
    out = capsys.readouterr().out
    assert "\n[1] LeftJoin (OPTIONAL) on ?a\n│   keeps the rows of both sides by" in out
    assert max(map(len, out.splitlines())) > 80


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_gets_lines_that_fit(width: int) -> None:
    """Long lines are folded at words, and the guides of the tree are drawn on."""
    query = "SELECT * { ?a <u:p> ?b OPTIONAL { ?a <u:q> ?c FILTER(?b > ?c) } MINUS { ?a <u:r> 1 } }"
    text = str(rdflive.explain(query))
    lines = list(folded(text, width))
    assert max(map(len, lines)) <= width
    assert words("\n".join(lines)) == words(text)


def words(text: str) -> list[str]:
    """Give the words of an explanation without the tree."""
    return [word for word in text.split() if not set(word) <= set("│├└─")]


def test_pictures_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--mermaid prints a flowchart instead of text, --svg writes a well-formed image and prints nothing."""
    assert main(["explain", PATH, "--mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart LR\n")
    path = tmp_path / "plan.svg"
    assert main(["explain", PATH, "--svg", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_an_algorithm_can_be_forced(capsys: pytest.CaptureFixture[str]) -> None:
    """--algorithm takes what applies to the query, and says what would where it does not."""
    assert main(["explain", PATH, "--algorithm", "join"]) == 0
    assert "plain delta join" in capsys.readouterr().out
    assert main(["explain", PATH, "--algorithm", "ground"]) == 2
    assert (
        "the query: algorithm 'ground' does not apply to a var-connected pattern" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.rq"], "none.rq: no such file, and not the text of a query (which has braces)"),
        (["SELECT ?s { ?s ?p }"], "the query, line 1, column 19: not SPARQL: met"),
        (
            ["SELECT ?s {\n ?s ?p ?o\n FILTER(?o = STR(NOW())) }"],
            "the query, line 3, column 18: NOW() cannot be maintained: ",
        ),
        ([PATH, "--svg", "no/such/folder.svg"], "no/such/folder.svg: No such file or directory"),
    ],
)
def test_bad_input_ends_with_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong and where."""
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rdflive: error: {message}")
    assert err.count("\n") == (3 if "not SPARQL" in err else 1)


def test_the_module_is_the_program() -> None:
    """`python -m rdflive` runs it; without a command it shows the help, and fails as no script means that."""
    nothing = subprocess.run([sys.executable, "-m", "rdflive"], capture_output=True, check=False)
    assert nothing.returncode == 2
    assert nothing.stderr.startswith(b"usage: rdflive")
    assert b"print the answer of a query" in nothing.stderr
