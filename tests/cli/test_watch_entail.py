"""`rdflive watch --entail`: answers over what the data entail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.cli.show import TableWriter
from support.cli import printed, watch

DATA = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://e/> .
:Express rdfs:subClassOf :Train . :stops rdfs:domain :Train .
:behind a owl:TransitiveProperty .
:ic1 a :Express ; :behind :ic2 . :ic2 :behind :ic3 .
"""
CHANGES = """\
TX .
A <http://e/Train> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/Vehicle> .
A <http://e/ic2> <http://e/stops> <http://e/north> .
TC .
TX .
D <http://e/Express> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/Train> .
TC .
"""
TYPES = "PREFIX : <http://e/> SELECT ?x ?c { ?x a ?c FILTER(?c IN (:Express, :Train, :Vehicle)) }"
BEHIND = "PREFIX : <http://e/> SELECT ?x ?y { ?x :behind ?y }"
TURN = "{ ?x <http://e/behind> ?y } => { ?y <http://e/ahead> ?x }"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
ENTAILED = """\
+ <http://e/ic1> <http://e/Express>
+ <http://e/ic1> <http://e/Train> # inferred by rdfs9
+ <http://e/ic1> <http://e/Vehicle> # inferred by rdfs9
+ <http://e/ic2> <http://e/Train> # inferred by rdfs2
+ <http://e/ic2> <http://e/Vehicle> # inferred by rdfs2, rdfs9
- <http://e/ic1> <http://e/Train> # inferred by rdfs9
- <http://e/ic1> <http://e/Vehicle> # inferred by rdfs9
"""


@pytest.fixture(autouse=True)
def written(folder: Path) -> None:
    """Write data with a schema, and changes of both."""
    Path("data.ttl").write_text(DATA)
    Path("c.rdfp").write_text(CHANGES)
    Path("turn.n3").write_text(f'{TURN} ; <{LABEL}> "turn" .\n')


def unmarked(text: str) -> list[str]:
    return [line.partition(" #")[0] for line in text.splitlines()]


@pytest.mark.parametrize("options", [[], ["--strategy", "auto"], ["--strategy", "saturate"]])
def test_rdfs_follows_data_and_schema(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each line ends with the rules where the solution was inferred."""
    assert watch("--entail", "rdfs", *options, query=TYPES) == 0
    assert printed(capsys) == ENTAILED


@pytest.mark.parametrize("store", ["memory", "oxigraph"])
@pytest.mark.parametrize("options", [["--strategy", "reformulate"], ["--union"], ["--entail", "turn.n3"]])
def test_every_strategy_and_store_prints_the_same(
    store: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """How entailed triples are kept is not seen in the output."""
    if store == "oxigraph":
        pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    assert watch("--entail", "rdfs", "--store", store, *options, query=TYPES) == 0
    assert unmarked(printed(capsys)) == unmarked(ENTAILED)


def test_rule_sets_and_files_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    """--entail may be repeated, and its rules work on what the others give; a second time changes nothing."""
    rules = ["--entail", "rdfs-plus", "--entail", "turn.n3", "--entail", "turn.n3"]
    query = "PREFIX : <http://e/> SELECT ?x ?y { ?x :ahead ?y }"
    assert watch(*rules, query=query) == 0
    out = printed(capsys).splitlines()
    assert out == [
        "+ <http://e/ic2> <http://e/ic1> # inferred by turn",
        "+ <http://e/ic3> <http://e/ic1> # inferred by prp-trp, turn",
        "+ <http://e/ic3> <http://e/ic2> # inferred by turn",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "PREFIX : <http://e/> CONSTRUCT { ?x :is ?c } WHERE { ?x a ?c . ?c rdfs:subClassOf :Train }",
        "PREFIX : <http://e/> SELECT ?x { { ?x a :Train } UNION { ?x a :Vehicle } }",
        "PREFIX : <http://e/> ASK { ?x a :Vehicle }",
        "PREFIX : <http://e/> SELECT ?c (COUNT(*) AS ?n) { ?x a ?c } GROUP BY ?c",
    ],
)
def test_a_query_that_cannot_tell_where_solutions_came_from_has_no_marks(
    query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is answered over what is entailed all the same."""
    assert watch("--entail", "rdfs", query=query) == 0
    out = printed(capsys)
    assert "inferred" not in out
    assert len(out.splitlines()) > 1


def test_a_table_has_a_column_for_the_origin(capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal it names the rules of what was inferred, and is empty for what was not."""
    graph = rdflib.Graph().parse("data.ttl")
    with rdflive.subscribe(graph, TYPES, entailment="rdfs", provenance=True) as subscription:
        deltas = subscription.deltas(timeout=0)
        write = TableWriter()
        write(next(deltas))
        graph.update("PREFIX : <http://e/> DELETE DATA { :ic1 a :Express }")
        write(next(deltas))
    lines = [line.split() for line in printed(capsys).splitlines()]
    assert lines == [
        ["commit", "±", "?x", "?c", "origin"],
        ["#0", "+", ":ic1", ":Express"],
        ["+", ":ic1", ":Train", "inferred", "by", "rdfs9"],
        ["#1", "-", ":ic1", ":Express"],
        ["-", ":ic1", ":Train", "inferred", "by", "rdfs9"],
    ]


def test_other_outputs_are_as_without_entailment(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the solutions and no more."""
    assert watch("--entail", "rdfs", "--to", "ndjson", query=TYPES) == 0
    deltas = [json.loads(line) for line in printed(capsys).splitlines()]
    assert [(len(delta["added"]), len(delta["removed"])) for delta in deltas] == [(2, 0), (3, 0), (0, 2)]
    assert {name for delta in deltas for solution in delta["added"] for name in solution} == {"x", "c"}


def test_explain_tells_how_entailed_triples_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan is followed by a line for each kind of them."""
    assert watch("--entail", "rdfs", "--strategy", "saturate", "--explain", query=TYPES) == 0
    err = capsys.readouterr().err
    assert "\nentailed triples:\n" in err
    assert "  class http://e/Train: saturated" in err
    assert watch("--entail", "turn.n3", "--explain", query=BEHIND) == 0
    assert "\nentailed triples:\n" in capsys.readouterr().err


RESUME = ["--resume", "r.sqlite", "--name", "n"]


def test_a_resumed_subscriber_goes_on_with_the_same_entailment(capsys: pytest.CaptureFixture[str]) -> None:
    """The next run tells the difference, whatever the strategy; its lines have no marks."""
    assert watch("--entail", "rdfs", *RESUME, query=TYPES) == 0
    assert printed(capsys).splitlines() == unmarked(ENTAILED)
    Path("c.rdfp").write_text(CHANGES + f"D <http://e/ic1> <{TYPE}> <http://e/Express> .\n")
    assert watch("--entail", "rdfs", "--strategy", "reformulate", *RESUME, query=TYPES) == 0
    assert printed(capsys).splitlines()[-1] == "- <http://e/ic1> <http://e/Express>"


@pytest.mark.parametrize(
    "other", [[], ["--entail", "rdfs-plus"], ["--entail", "rdfs", "--entail", "turn.n3"]]
)
def test_another_entailment_is_another_query(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A subscriber of the resume file is refused where it would be told a difference of other answers."""
    assert watch("--entail", "rdfs", *RESUME, query=TYPES) == 0
    capsys.readouterr()
    assert watch(*other, *RESUME, query=TYPES) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "r.sqlite" in err


BAD: list[tuple[list[str], dict[str, Any], str]] = [
    (["--entail", "owl"], {}, "'owl' is not a rule set, a file or an N3 rule; give one of owl-rl, rdfs, "),
    (["--entail", "none.n3"], {}, "'none.n3' is not a rule set, a file or an N3 rule; give one of "),
    (["--entail", "rdfs", "--entail", "none.n3"], {}, "'none.n3' is not a rule set"),
    (["--entail", "."], {}, "'.' is not a rule set"),
    (["--entail", ""], {}, "'' is not a rule set"),
    (["--entail", "latin.n3"], {}, "the rules in 'latin.n3' cannot be read"),
    (["--entail", "bad.n3"], {}, "bad.n3: the rules are not N3, line 2"),
    (["--entail", "free.n3"], {}, "free.n3: "),
    (["--entail", "{ ?x a ?y } => "], {}, "--entail: the rules are not N3"),
    (["--strategy", "saturate"], {}, "--strategy saturate is for"),
    (["--entail", "turn.n3", "--strategy", "auto"], {}, "--strategy auto goes with --entail rdfs only"),
    (
        ["--entail", "rdfs"],
        {"query": "SELECT ?g {\n GRAPH ?g { ?x a ?c } }"},
        "the query: GRAPH with a variable, and FROM with several graphs, cannot be combined with entailment",
    ),
    (["--entail", "turn.n3", "--to", "patch", "--out", "turn.n3"], {"query": "CONSTRUCT WHERE { ?x a ?c }"},
     "turn.n3: is the file of --entail too"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "given", "message"), BAD)
def test_what_cannot_be_entailed_is_found_before_the_load(
    options: list[str], given: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what was given, with exit code 2, although the data could not be loaded either."""
    Path("latin.n3").write_bytes(b"# \xe9\n")
    Path("bad.n3").write_text("# fine\n{ ?x a ?y } => { ?x a } .\n")
    Path("free.n3").write_text("{ ?x a ?y } => { ?x a ?z } .\n")
    Path("broken.ttl").write_text("<a> <b>\n")
    assert watch(*options, data="broken.ttl", **{"query": TYPES, **given}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rdflive: error: {message}")
    assert err.count("\n") == 1


def test_a_schema_that_entails_schema_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It is known when the data are loaded."""
    Path("data.ttl").write_text(DATA + "<http://e/under> rdfs:subPropertyOf rdfs:subClassOf .\n")
    assert watch("--entail", "rdfs", query=TYPES) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "http://e/under" in err


def test_a_terminal_is_told_what_entails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line on it names the rules beside the data."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert watch("--entail", "turn.n3", "--entail", f"{TURN} .", query=BEHIND) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith(
        "watching the query on data.ttl and what it entails by turn.n3, rules of your own; changes: "
    )
