"""The benchmarks run: every section on tiny sizes. Engines that disagree fail inside the section."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from bench import child, deep_schemas, overview, section_different, section_guard, section_standing
from bench.__main__ import PAGES, SECTIONS, main
from bench.bibliography import SCHEMA, instances, term
from bench.histories import History, social_network, train_benchmark
from bench.items import IDLE, PREDICATES, Items
from bench.page import rewrite
from bench.peer_dred import DRed
from bench.report import Section, to_markdown, write_json
from bench.sizes import QUICK
from bench.stream import reference_stream, social_stream
from support.effort import HUNT, drawn_from
from support.entailment import saturated
from support.pages import DOCS
from support.shared import shared

BENCHMARKS = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
POSIX = pytest.mark.posix("the server forks, and Hadoop needs winutils.exe on Windows")
TINY = replace(
    QUICK,
    updates=600,
    adds=60,
    bulk=100,
    silent=8,
    triples=400,
    changes=12,
    evaluations=(2, 1),
    cached=300,
    loads=(300,),
    items=(400, 800),
    toggles=5,
    faults=1,
    nodes=60,
    edges=4,
    batches=20,
    clients=5,
    serving=0.5,
    spark=400,
    universities=(1,),
    entailed=(300,),
    expiring=300,
    events=40,
    event_triples=(50, 200),
    window_triples=(300,),
    windows=(400,),
    due=(200,),
    longest=2,
    rows=300,
    guarded=60,
    latest=(60, 120),
    demand=(300,),
    held=400,
    repeat=1,
)


ON_SPARK = [POSIX, pytest.mark.hunted("the gate has Spark's smoke tests, and not more sessions")]
MARKS = {"serve": [POSIX, pytest.mark.timeout(600)], "spark": ON_SPARK, "spark-operators": ON_SPARK}
NEEDS = {
    **dict.fromkeys(
        ("adds", "fresh", "memory", "load", "queries", "paths", "feeds", "match", "windows"), ("oxrdflib",)
    ),
    "frames": ("oxrdflib", "pandas"),
    "latest": ("pyoxigraph",),
    "demand": ("pyoxigraph",),
    "spark": ("pyspark",),
    "spark-operators": ("pyspark",),
}
"""What is imported beyond what all sections need."""
RATIOS = ("ratio", "over_", "of_")
SHARED = {"queries": ("data", "trainbenchmark"), "engine": ("bench", "social_stream.py")}
WITHOUT = {
    "match", "memory", "load", "spark", "spark-operators", "thresholds", "windows", "serve", "standing",
    "validate", "different", "demand",
}  # fmt: skip
"""Sections that compare nothing, or only where there is more to measure."""


@pytest.fixture(autouse=True)
def little_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do little, and call functions here that get a process of their own otherwise, as in a hunt."""
    monkeypatch.setattr(child, "HAS_PROCESSES", HUNT)
    monkeypatch.setattr(section_standing, "FEW", 20)
    monkeypatch.setattr(section_different, "FEW", 20)
    monkeypatch.setattr(section_guard, "DEVICES", 50)


@cache
def measured(name: str) -> Section:
    """Run a section on tiny sizes, once for all tests."""
    return SECTIONS[name](TINY)


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in SECTIONS])
def test_every_section_gives_figures(name: str) -> None:
    """Each row is named and has a positive figure in every column that was measured."""
    if name in SHARED:
        shared(*SHARED[name])
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package, reason="the section measures it")
    section = measured(name)
    assert section.rows
    for row in section.rows:
        assert set(row) <= set(section.columns)
        assert all(figure >= 0 for figure in row.values() if isinstance(figure, int | float))
    ratios = [key for key in section.columns if key.startswith(RATIOS)]
    assert name in WITHOUT or any(isinstance(row.get(key), float) for row in section.rows for key in ratios)
    assert section.title in to_markdown(section)
    headings = {key: section.columns[key] for key in PAGES[name].columns.split()}
    assert without_sizes(headings) == without_sizes(shown_on_page(name).columns)


def without_sizes(headings: dict[str, str]) -> dict[str, str]:
    """Take the numbers out of headings, which tell how much was measured."""
    return {key: re.sub(r"[\d,]+", "", heading) for key, heading in headings.items()}


def test_a_process_gives_what_the_function_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is called in a process of its own has its arguments, and its rows come back."""
    monkeypatch.setattr(child, "HAS_PROCESSES", True)
    (row, *_) = child.apart(deep_schemas.measure, size=10, repeat=1)
    assert row["what"] == "chain of 10 classes, its top: subscribe"


def shown_on_page(name: str) -> Section:
    """Read the section that the page shows."""
    page = PAGES[name]
    text = BENCHMARKS.split(page.opening(name) + "\n\n")[1].partition("\n## ")[0]
    table, _, below = text.strip("\n").partition("\n\n")
    headings, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n"))
    keys = page.columns.split()
    columns = " | ".join(f"{key}: {heading}" for key, heading in zip(keys, headings, strict=True))
    section = Section(name, "", 0, columns)
    section.rows = [dict(zip(keys, row, strict=True)) for row in rows]
    section.notes = [line for line in below.split("\n") if line]
    return section


def test_page_is_what_the_option_writes() -> None:
    """Each section of the page would be written as it is: its sentences, columns and rows."""
    headings = [line for line in BENCHMARKS.split("\n") if line.startswith("## (")]
    assert sorted(headings) == sorted(page.heading(name) for name, page in PAGES.items())
    all_rows = {name: replace(page, rows=lambda row: True) for name, page in PAGES.items()}
    assert rewrite(BENCHMARKS, map(shown_on_page, PAGES), all_rows) == BENCHMARKS
    for page in PAGES.values():
        for sentence in (page.measures, page.reading):
            assert sentence.endswith(".")
            assert ". " not in sentence


def page_and_report(folder: Path, *sections: Section) -> list[str]:
    """Copy the page, write a report beside it, and give the options that name them."""
    (folder / "page.md").write_text(BENCHMARKS, encoding="utf-8")
    write_json(folder / "bench.json", list(sections))
    return ["--page", str(folder / "page.md"), "--json", str(folder / "bench.json")]


def test_a_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    """--page writes the rows and columns that are for the page, and changes nothing else; --only chooses."""
    masks = Section("masks", "Match states", 8, "shape | masks | rate: updates/s | ratio: speed / no mask")
    masks.add(shape="triangle", masks="all: ?u ?p ?c", rate=608_417.2, ratio=0.8504)
    masks.add(shape="triangle", masks="none", rate=716_100.0, ratio=1.0)
    masks.notes.append("What only this run can say.")
    masks.measured = "2026-12-01, a machine"
    options = page_and_report(tmp_path, masks, shown_on_page("load"))
    assert main([*options, "--only", "masks"]) == 0
    before, _, rest = BENCHMARKS.partition("## (f) `masks`")
    after = rest[rest.index("\n## ") :]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.startswith(before)
    assert page.endswith(after)
    assert page[len(before) : -len(after)] == (
        f"{PAGES['masks'].opening('masks')}\n\n"
        "| shape | updates/s | speed / no mask |\n|---|--:|--:|\n| triangle | 608,417 | 0.85 |\n\n"
        "What only this run can say.\nMeasured on 2026-12-01, a machine.\n"
    )


@pytest.mark.parametrize(
    ("name", "only", "page", "message"),
    [
        ("speed", (), BENCHMARKS, "tests/bench has no section 'speed'"),
        ("masks", (), BENCHMARKS, "section 'masks' has no row for the page"),
        ("masks", (), "# Benchmarks\n", "the page has no section with the heading '## (f) `masks`"),
        ("masks", ("--only", "load"), BENCHMARKS, "has no section 'load', only masks"),
    ],
)
def test_what_cannot_be_written_is_said(
    name: str,
    only: tuple[str, ...],
    page: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message says which section is wrong, and the page stays as it is."""
    options = page_and_report(tmp_path, Section(name, "", 0, "way"))
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    with pytest.raises(SystemExit):
        main([*options, *only])
    assert message in capsys.readouterr().err
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page


def test_pictures_of_the_page_are_drawn_of_its_tables() -> None:
    """`python -m bench.overview docs` would leave them as they are."""
    for name, picture in overview.draw(BENCHMARKS).items():
        assert (DOCS / name).read_text(encoding="utf-8") == picture, f"docs/{name}: draw it again"


def test_a_picture_says_which_figures_it_misses() -> None:
    """Where a column has another name, drawing fails, and no row is left out in silence."""
    with pytest.raises(LookupError, match=r"\(n\) has no such rows with the column 'labels: times as fast"):
        overview.draw(BENCHMARKS.replace("labels: times as fast as DRed", "labels over DRed"))


def test_dred_entails_what_the_rules_do() -> None:
    """The textbook algorithm has, after any updates, what the rules by the book give."""
    draw = drawn_from("dred")
    held = {*SCHEMA, *instances(200)}
    peer = DRed(held)
    for number in range(12):
        some = set(draw.sample(sorted(held), 6)) | set(draw.sample(SCHEMA, 2))
        (peer.delete if number % 3 else peer.insert)(some)
        held = held - some if number % 3 else held | some
        entailed = saturated({(term(s), term(p), term(o)) for s, p, o in held})
        schema = {triple for triple in entailed if triple[1] in (term(p) for p in (2, 3, 4, 5))}
        assert len(peer) == len(entailed) - len(schema) + sum(p in (2, 3, 4, 5) for _, p, _ in held)


def test_a_run_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints its tables and writes figures, machine and command."""
    if not HUNT:
        monkeypatch.setattr("bench.__main__.QUICK", TINY)
    target = tmp_path / "deep" / "bench.json"
    assert main(["--quick", "--repeat", "1", "--only", "masks", "--json", str(target)]) == 0
    report = json.loads(target.read_text())
    assert [section["name"] for section in report["sections"]] == ["masks"]
    assert "cores" in report["machine"]
    assert "updates/s" in capsys.readouterr().out


def test_an_unknown_section_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names what can be chosen."""
    with pytest.raises(SystemExit):
        main(["--only", "speed"])
    assert "choose from engine, adds" in capsys.readouterr().err


def test_streams_always_apply() -> None:
    """Every insert is of an absent and every delete of a present triple, a tenth of them deletes."""
    for stream in filter(None, (social_stream(3_000), reference_stream(3_000))):
        present: set[tuple[int, ...]] = set()
        for sign, *triple in stream.updates:
            assert (tuple(triple) in present) == (sign < 0)
            present ^= {tuple(triple)}
        assert 0.07 < sum(sign < 0 for sign, *_ in stream.updates) / 3_000 < 0.13


@pytest.mark.parametrize("predicate", [*PREDICATES, *(IDLE + name for name in PREDICATES)])
def test_toggles_take_effect_and_leave_the_dataset_as_it_was(predicate: str) -> None:
    """Each delete is of a quad that is there, and the insert after it brings it back."""
    world = Items(600)
    before = set(world.graph.quads())
    for number, (operation, triple) in enumerate(world.toggles(predicate, lambda i: i > 5, 8, 1)):
        operation(triple)
        assert len(set(world.graph.quads())) == len(before) - (number % 2 == 0)
    assert set(world.graph.quads()) == before


@pytest.mark.shared
def test_histories_take_effect_and_come_back() -> None:
    """Every change inserts what is absent or deletes what is present, and all are undone in the end."""
    shared("data", "trainbenchmark"), shared("data", "ttc2018")
    histories: list[History] = [train_benchmark("railway-batch-1", 3), *social_network("s1", 3)]
    for history in histories:
        present = set(history.base)
        for batch in history.changes:
            for sign, triple in batch:
                assert (triple in present) == (sign < 0)
                present ^= {triple}
        assert history.changes
        assert present == set(history.base)
