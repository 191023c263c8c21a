"""`rdflive thresholds`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rdflive.api.thresholds import Thresholds, UpdateTimes
from rdflive.cli import main
from rdflive.cli.thresholds import to_text
from support.cli import absent

MEASURED = Thresholds(
    explicit=1000,
    entailed=1500,
    answers=7,
    members=3,
    saturation=1.001,
    on_saturated=0.001,
    reformulated=0.0035,
    instance_insert=UpdateTimes(plain=2e-6, maintained=12.3e-6),
    instance_delete=UpdateTimes(plain=3e-6, maintained=0.01),
    schema_insert=None,
    schema_delete=None,
)
DATA = "@prefix : <http://e/> . :ic1 a :Express . :ic2 :stops :north .\n"
SCHEMA = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://e/> .
:Express rdfs:subClassOf :Train . :stops rdfs:domain :Train .
"""
QUERY = "PREFIX : <http://e/> SELECT ?x { ?x a :Train }"


@pytest.fixture(autouse=True)
def written(folder: Path) -> None:
    """Write data and their schema."""
    Path("data.ttl").write_text(DATA)
    Path("schema.ttl").write_text(SCHEMA)


def test_a_table_shows_times_sizes_and_thresholds() -> None:
    """Numbers stand under each other, and a change that could not be tried is no zero."""
    assert to_text(MEASURED).splitlines() == [
        "graph      1,000 triples, 1,500 with those they entail",
        "query      7 answers; its reformulation is a union of 3",
        "",
        "                     saturation  reformulation  threshold",
        "answer the query           1 ms         3.5 ms",
        "saturate the graph          1 s                        st  401",
        "instance insert         12.3 µs           2 µs      st_i+    1",
        "instance delete           10 ms           3 µs      st_i-    4",
        "schema insert       none to try                     st_s+    ?",
        "schema delete       none to try                     st_s-    ?",
        "",
        "A threshold is the least number of runs of the query after which saturation has paid off.",
        "Recommendation: saturate if the query is run at least 401 times, 4 times per change of an instance "
        "triple; else reformulate.",
    ]


def test_a_table_says_never() -> None:
    """Where reformulation is no slower, saturation does not pay off; members beyond the limit are so many."""
    text = to_text(replace(MEASURED, reformulated=0.001, members=None))
    assert text.count("never") == 3
    assert "union of more than 10,000\n" in text
    assert "\nRecommendation: reformulate: " in text


def test_a_query_is_measured_on_data_and_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """The command loads, measures, and prints the five thresholds."""
    assert main(["thresholds", QUERY, "data.ttl", "--schema", "schema.ttl"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("graph      4 triples, 6 with those they entail\nquery      2 answers; ")
    found = re.findall(r"(st\S*) +(?:never|[\d,]+)$", out, re.MULTILINE)
    assert found == ["st", "st_i+", "st_i-", "st_s+", "st_s-"]
    assert err == "" or err.startswith("measuring ")


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints a line for programs; a query may be in a file, and the schema among the data."""
    Path("trains.rq").write_text(QUERY)
    assert main(["thresholds", "trains.rq", "data.ttl", "schema.ttl", "--json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert (json.loads(out)["explicit"], json.loads(out)["members"]) == (4, 3)


@pytest.mark.parametrize(("union", "explicit"), [(False, 0), (True, 4)])
def test_named_graphs_are_measured_together(
    union: bool, explicit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Quads count with --union, as `rdflive watch` has it."""
    Path("data.trig").write_text(
        "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        ":a { :ic1 a :Express . :ic2 :stops :north . }\n"
        ":b { :Express rdfs:subClassOf :Train . :stops rdfs:domain :Train . }\n"
    )
    assert main(["thresholds", QUERY, "data.trig", "--json", *["--union"] * union]) == 0
    assert json.loads(capsys.readouterr().out)["explicit"] == explicit


BAD = [
    (["none.rq", "data.ttl"], "none.rq: no such file, and not the text of a query"),
    ([QUERY, "none.ttl"], absent("none.ttl")),
    ([QUERY, "data.ttl", "--schema", "none.ttl"], absent("none.ttl")),
    (["SELECT ?x { ?x ?y }", "none.ttl"], "the query, line 1, column "),
    (["SELECT ?x { ?x nope:y 1 }", "none.ttl"], "the query, line 1, column 16: not SPARQL: the prefix nope:"),
    (["CONSTRUCT WHERE { ?x ?y ?z }", "none.ttl"], "the query"),
    (["SELECT ?x {\n ?x ?y ?z MINUS { ?x ?z ?y } }", "none.ttl"], "the query, line 2, column 11: MINUS "),
    ([QUERY, "data.ttl", "--schema", "bad.ttl"], "the schema triple <http://e/p> rdfs:subPropertyOf"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_ends_with_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong and where; with the query it is found before the load."""
    Path("bad.ttl").write_text(SCHEMA + ":p rdfs:subPropertyOf rdfs:domain .\n")
    assert main(["thresholds", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rdflive: error: {message}")
    assert err.count("\n") == (3 if "not SPARQL" in err else 1)
