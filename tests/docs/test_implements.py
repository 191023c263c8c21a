"""What the page on the papers says is there: code, tests, benchmarks, and every item of every paper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from doctest import DocTestParser
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from support.pages import DOCS, PAGES, page_name
from support.shared import ROOT

Item: TypeAlias = tuple[str, str]
"""A kind and a number, such as Algorithm 3."""

PAGE = (DOCS / "implements.md").read_text(encoding="utf-8")
BENCHMARKS = (DOCS / "benchmarks.md").read_text(encoding="utf-8")

DECOMPOSITION, WINDOWS, ENTAILMENT, EVENTS = "Gergatsoulis and Damigos", "IMaRS", "Goasdoué et al.", "SPECTRA"
ITEMS = {
    DECOMPOSITION: "Definitions 1–14, Algorithms 1–7, Lemmas 1–3, Theorem 1, Propositions 1–7, Examples 1–3, "
    "Figures 1–5, Tables 1–3",
    WINDOWS: "Figures 1–7, Tables 1–6",
    ENTAILMENT: "Rules 1–17, Figures 1–17, Theorems 1–6, Properties 1–2, Examples 1–11, Table 1",
    EVENTS: "Definitions 2.1–2.3, Definition 3.2, Definition 3.4, Definition 4.1, Propositions 3.1 and 3.3, "
    "Theorem 2.4, Theorem 3.5, Theorem 5.1, Algorithms 1–3, Examples 1–4, Figures 1–15, Table I, Table II",
}
"""All that the papers number, but for equations and lines."""
SUBJECTS = {
    "entail/rules/": WINDOWS,
    "entail/": ENTAILMENT,
    "api/reformulate": ENTAILMENT,
    "engine/": DECOMPOSITION,
    "query/": DECOMPOSITION,
    "spark/": DECOMPOSITION,
    "matching/": EVENTS,
    "time/": WINDOWS,
}
"""Whose numbers they are where a text names no paper. Elsewhere it must."""

KINDS = "Algorithm|Definition|Rule|Figure|Theorem|Proposition|Lemma|Property|Propertie|Example|Table"
NUMBER = r"(?:\d+(?:\.\d+)?(?![\d.]*\d)[a-z]?|I+)\b"
CITED = re.compile(
    rf"\b({KINDS})s?\s+({NUMBER}(?:(?:\s*\([^)]*\))?(?:,|\s+and|\s+or|\s+to|\s*[-–])\s*{NUMBER})*)",
    re.IGNORECASE,
)
NAME = re.compile(r"`([\w/]+\.py)` `([\w.]+)`")
SECTION = re.compile(r"\[\((\w)\)\]\[(\w)\]")
FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
ABSENT = "Not implemented: "


def items(text: str) -> Iterator[Item]:
    """List what a text cites: of `Rules 5–7 and 9` the rules 5, 6, 7 and 9."""
    for kind, numbers in CITED.findall(text):
        word = kind.capitalize().replace("Propertie", "Property")
        found = re.findall(rf"([-–]|\bto\b)?\s*({NUMBER})", re.sub(r"\([^)]*\)", "", numbers))
        before = ""
        for through, number in found:
            last = number.rstrip("abcdefgh")
            if through:
                head, _, start = before.rpartition(".")
                for n in range(int(start) + 1, int(last.rpartition(".")[2])):
                    yield word, f"{head}.{n}" if head else str(n)
            yield word, last
            before = last


@dataclass(frozen=True)
class Row:
    """A row of a table: whose, what it is about, and its cells by the head of their column."""

    paper: str
    title: str
    cells: dict[str, str]

    @property
    def text(self) -> str:
        """All of it."""
        return " | ".join(self.cells.values())


def rows(page: str) -> list[Row]:
    """Read the tables below the headings of the papers."""
    found: list[Row] = []
    paper, head = "", list[str]()
    for line in page.splitlines():
        if line.startswith("## "):
            paper = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            head = []
        elif not head:
            head = cells
        elif paper and not set(line) <= set("|-: "):
            found.append(Row(paper, cells[0], dict(zip(head, cells, strict=True))))
    return found


def package(name: str) -> Path:
    """Give the folder that a package is imported from, which may be a copy with a fault."""
    spec = find_spec(name)
    assert spec is not None
    return Path(next(iter(spec.submodule_search_locations or ())))


@cache
def names(path: Path) -> frozenset[str]:
    """Give what a module defines at its top, and what its classes do."""

    def defined(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield node.name, node
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))

    found = set()
    for name, node in defined(ast.parse(path.read_text(encoding="utf-8")).body):
        found.add(name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{name}.{inner}" for inner, _ in defined(node.body)}
    return frozenset(found)


def exists(file: str, name: str) -> bool:
    """Tell if a file, of the tests or else of the package, defines a name."""
    path = ROOT / file if file.startswith("tests/") else package("rdflive") / file
    return path.is_file() and name in names(path)


def sections() -> dict[str, str]:
    """Give the sections of the benchmarks by their letters, each with its heading."""
    found = re.split(r"^## (?=\((\w)\) )", BENCHMARKS, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def anchor(section: str) -> str:
    """Give what links to a section end with, as the site and GitHub make it of its heading."""
    heading = re.sub(r"[^\w\s-]", "", section.splitlines()[0]).strip().lower()
    return re.sub(r"[-\s]+", "-", heading)


def problems(page: str) -> Iterator[str]:
    """List what is wrong on a page."""
    table = rows(page)
    for row in table:
        named = NAME.findall(row.text)
        tests = [name for name in named if Path(name[0]).name.startswith("test_")]
        yield from (f"{row.title}: no {file}::{name}" for file, name in named if not exists(file, name))
        if named and not tests:
            yield f"{row.title}: no test"
        if not named and not re.search(rf"{ABSENT}\w", row.text):
            yield f"{row.title}: neither code nor why there is none"
        yield from _numbers(row)
    for paper, numbered in ITEMS.items():
        there = {item for row in table if row.paper == paper for item in items(row.title)}
        yield from (
            f"{paper}: {kind} {n} is missing" for kind, n in items(numbered) if (kind, n) not in there
        )
    links = dict(re.findall(r"^\[(\w)\]: benchmarks\.md#(\S+)$", page, re.MULTILINE))
    for letter in sorted({letter for pair in SECTION.findall(page) for letter in pair}):
        section = sections().get(letter)
        if section is None or links.get(letter) != anchor(section):
            yield f"({letter}) is no link to a section of the benchmarks"


def _numbers(row: Row) -> Iterator[str]:
    """List the figures said to be measured that are in none of the sections that the row names."""
    measured = SECTION.sub("", row.cells.get("measured here", ""))
    text = "".join(sections().get(letter, "") for letter, _ in SECTION.findall(row.text))
    known = set(FIGURE.findall(text))
    if text:
        yield from (f"{row.title}: {n} was not measured" for n in FIGURE.findall(measured) if n not in known)


def test_page_names_what_there_is() -> None:
    """Code, tests and sections exist, measured figures are those of the sections, and no item is missing."""
    assert list(problems(PAGE)) == []
    assert len(rows(PAGE)) > 70
    assert len(NAME.findall(PAGE)) > 150


def texts(path: Path) -> Iterator[str]:
    """List the strings of a module that may cite something, docstrings without their doctests."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)) if CITED.search(source) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            parts = DocTestParser().parse(node.value) if ">>>" in node.value else [node.value]
            yield from (part for part in parts if isinstance(part, str))


def cited(text: str, file: str) -> Iterator[tuple[str, Item]]:
    """List what a text of a file cites, each with its paper: the one named nearest, or that of the folder."""
    folder = next((paper for start, paper in SUBJECTS.items() if file.startswith(start)), "no paper is named")
    spelled = {"Gergatsoulis": DECOMPOSITION, "IMaRS": WINDOWS, "Goasdou": ENTAILMENT, "SPECTRA": EVENTS}
    named = [(m.start(), spelled[m[0]]) for m in re.finditer("|".join(spelled), text)]
    for found in CITED.finditer(text):
        distances = [(abs(found.start() - start), paper) for start, paper in named]
        paper = min(distances)[1] if distances else folder
        yield from ((paper, item) for item in items(found[0]))


def test_what_docstrings_cite_is_on_the_page() -> None:
    """Each algorithm, definition, rule or figure that a string of the code names has a row."""
    there = {(row.paper, item) for row in rows(PAGE) for item in items(row.title)}
    found: dict[tuple[str, Item], str] = {}
    for name in ("rdflive", "rdflive_stores"):
        for path in sorted(package(name).rglob("*.py")):
            for text in texts(path):
                found |= dict.fromkeys(cited(text, path.relative_to(package(name)).as_posix()), str(path))
    assert {cite: path for cite, path in found.items() if cite not in there} == {}
    assert len(found) > 30


def test_what_pages_cite_is_on_the_page() -> None:
    """The other pages name the paper of what they cite, and each has a row."""
    there = {(row.paper, item) for row in rows(PAGE) for item in items(row.title)}
    pages = [page for page in (*PAGES, ROOT / "CHANGELOG.md") if page.name != "implements.md"]
    names = {page_name(page): page.read_text("utf-8") for page in pages}
    found = [(name, cite) for name, text in names.items() for cite in cited(text, name)]
    assert [(name, cite) for name, cite in found if cite not in there] == []


def test_papers_are_called_by_name() -> None:
    """No page and no module has the number that a paper has in somebody's list."""
    numbered = re.compile(r"\bpapers?[\s/]+\(?\d|\(00\d\)", re.IGNORECASE)
    assert numbered.search("Section 6.1 of paper\n001")
    files = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    files += [path for top in ("plugin", "store_adapters", "tests") for path in (ROOT / top).rglob("*.py")]
    files.remove(Path(__file__))
    assert [str(path) for path in files if numbered.search(path.read_text(encoding="utf-8"))] == []
