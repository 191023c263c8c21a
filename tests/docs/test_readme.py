"""The README's programs run, its picture is of today, and its numbers are those of the benchmarks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
import rdflib

from support.pages import DOCS
from support.readme import README, USES, running
from support.serving import serving
from support.shared import ROOT

TEXT = README.read_text(encoding="utf-8")
RAIL = "http://example.org/railway/"
BENCHMARKS = (DOCS / "benchmarks.md").read_text(encoding="utf-8")


def test_numbers_are_those_of_the_benchmarks() -> None:
    """Each number of the table stands in the section that its line names, as it is or rounded."""
    rows = re.findall(r"^\| (.*) \((\w+)\) \| (.*) \|$", TEXT, re.MULTILINE)
    assert len(rows) == 4
    for _, letter, measured in rows:
        (section,) = re.findall(rf"^## \({letter}\) .*?(?=^## |\Z)", BENCHMARKS, re.MULTILINE | re.DOTALL)
        numbers = re.findall(r"\d[\d,.]*\d", section)
        missing = [n for n in re.findall(r"\d[\d,.]*\d", measured) if n not in rounded(n, numbers)]
        assert missing == [], measured


def rounded(like: str, numbers: list[str]) -> set[str]:
    """Round numbers to as many significant digits as one has, and write them as it is written."""
    digits = len(like.replace(",", "").rstrip("0" if "." not in like else "").replace(".", "").lstrip("0"))
    decimals = len(like.partition(".")[2])
    found = {float(f"{float(number.replace(',', '')):.{digits}g}") for number in numbers}
    return {f"{number:,.{decimals}f}" for number in found}


def test_each_use_fits_into_eight_lines() -> None:
    """There are three; each is complete, so that a reader can copy it alone."""
    assert len(USES) == 3
    for use in USES:
        assert len(use.code.splitlines()) <= 8
        assert use.code.startswith("import rdflib, rdflive")
        assert "graph.subscribe(" in use.code


def test_a_graph_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader who copies the first program sees the same output."""
    exec(compile(USES[0].code, README.name, "exec"), {})
    assert capsys.readouterr().out == USES[0].printed
    assert "−" in str(USES[0].printed)


@pytest.mark.posix("the server forks")
def test_a_graph_follows_an_endpoint() -> None:
    """The endpoint is the one that the page starts, and takes an update while the program runs."""
    data = re.search(r"rdflive serve (\S+)`", TEXT)
    assert data
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.parse(ROOT / data[1])
    with serving(dataset) as server:
        program = USES[1].code.replace("http://127.0.0.1:8000", server.url)
        with running(program) as lines:
            assert [next(lines), next(lines)] == ["#0  no solutions", "#1  + :T201 7"]
            dataset.update(f"PREFIX : <{RAIL}> INSERT DATA {{ :T301 :delay 8 }}")
            assert next(lines) == "#2  + :T301 8"


def test_pictures_are_of_today(tmp_path: Path) -> None:
    """The pictures of the README are those that the script draws."""
    script = DOCS / "_site" / "moving_picture.py"
    subprocess.run([sys.executable, "-W", "error", str(script), str(tmp_path)], cwd=ROOT, check=True)
    shown = re.findall(r'(?:src|srcset)="docs/([\w-]+\.svg)"', TEXT)
    assert sorted(shown) == sorted(path.name for path in tmp_path.iterdir())
    for name in shown:
        assert (DOCS / name).read_text(encoding="utf-8") == (tmp_path / name).read_text(encoding="utf-8")


def test_pictures_stand_alone_and_rest_where_asked() -> None:
    """They are well-formed, fetch nothing, have dark colours, and move only where movement is welcome."""
    for name in ("live.svg", "live-narrow.svg"):
        text = (DOCS / name).read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(r"href|url\(|@import|<script", text)
        assert "prefers-color-scheme:dark" in text
        before, moving = text.split("@media(prefers-reduced-motion:no-preference){")
        assert "animation" not in before
        assert "animation" in moving


def test_recorded_answers_are_those_of_the_query(recording: ModuleType) -> None:
    """At each step the rows but for those that went are what rdflib answers when it is asked."""
    examples = ROOT / "examples"
    graph = rdflib.Graph().parse(examples / "railway.ttl")
    query = (examples / "delayed.rq").read_text(encoding="utf-8")
    run = recording.record()
    assert len(run.steps) == 26
    for step in run.steps:
        for sign, triple in step.changes:
            update = "INSERT" if sign == "+" else "DELETE"
            if not triple.startswith("_:"):  # of a blank node, which the query does not ask for
                graph.update(f"{update} DATA {{ {triple} }}")
        asked = sorted(tuple(term.n3(graph.namespace_manager) for term in row) for row in graph.query(query))
        kept = sorted(row for row in step.rows if row not in step.went)
        assert [[bare(term) for term in row] for row in asked] == [list(row) for row in kept]


def bare(term: str) -> str:
    """Write an integer without its datatype."""
    return re.sub(r'^"(\d+)"\^\^xsd:integer$', r"\1", term)
