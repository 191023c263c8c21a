"""Draw the two pictures that sum up the benchmarks, wide and for phones, from docs/benchmarks.md.

PYTHONPATH=tests python -m bench.overview docs
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bench.plots import dots, spans

__all__ = ["draw", "main"]

Row: TypeAlias = dict[str, str]
"""A row of a table, by the names of its columns."""

_HEADING: Final = re.compile(r"^## \((\w+)\)", re.MULTILINE)
_AGAIN: Final = "query again, pyoxigraph"
_FIRST: Final = "first validation"


def _sections(page: str) -> dict[str, list[Row]]:
    """List the rows of all tables of each section, by its letter."""
    _, *parts = _HEADING.split(page)
    return {letter: list(_rows(text)) for letter, text in zip(parts[::2], parts[1::2], strict=True)}


def _rows(text: str) -> Iterator[Row]:
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    names: list[str] = []
    for number, cells in enumerate(lines):
        if number + 1 < len(lines) and set("".join(lines[number + 1])) <= set("-: "):
            names = cells
        elif not set("".join(cells)) <= set("-: "):
            yield dict(zip(names, cells, strict=True))


def _number(text: str) -> float | None:
    """Read the number that a cell begins with; None where it has none."""
    found = re.match(r"[\d.,]*\d", text)
    return float(found[0].replace(",", "")) if found else None


class _Tables:
    """The tables of the page."""

    def __init__(self, page: str) -> None:
        self._sections = _sections(page)

    def numbers(self, section: str, column: str, where: Callable[[Row], bool]) -> list[float]:
        """List the numbers of a column of a section, of the rows of which something is true."""
        rows = (row for row in self._sections[section] if column in row and where(row))
        numbers = [number for row in rows if (number := _number(row[column])) is not None]
        if not numbers:
            raise LookupError(f"({section}) has no such rows with the column {column!r}")
        return numbers


@dataclass(frozen=True, slots=True)
class _Span:
    """One row of the picture: some columns of a section's tables, which say how many times as fast we are."""

    name: str
    columns: tuple[str, ...]
    where: Callable[[Row], bool] = lambda row: True
    inverse: bool = False
    """The columns say how many times as long we take."""


_RATES: Final = ("times the rate of",)
_ADDS: Final = ("of the bare store",)
_PYSHACL: Final = ("times as fast as pySHACL again",)
_JOIN: Final = ("× subscription on Memory",)
_SPANS: Final = (
    _Span("(v) SHACL, a change: pySHACL again", _PYSHACL,
          lambda row: row["way"] == "rdflive" and row["what"] != _FIRST),
    _Span("(l) RDFS, an instance: saturating again", ("times as fast as recomputing",),
          lambda row: row["what"].startswith("instance")),
    _Span("(i) a + path: Oxigraph again", ("× as fast as Oxigraph's query",)),
    _Span("(c) a join of 4: rdflib again", _JOIN, lambda row: row["way"] == "query again, rdflib"),
    _Span("(c) a join of 4: Oxigraph again", _JOIN, lambda row: row["way"] == _AGAIN),
    _Span("(v) SHACL, at first: pySHACL", _PYSHACL,
          lambda row: row["way"] == "rdflive" and row["what"] == _FIRST),
    _Span("(h) other benchmarks: Oxigraph again", ("(bare change + query again) / subscription",)),
    _Span("(a) joins, a stream: pathway", ("auto / pathway",)),
    _Span("(a) joins, a stream: CLIPS", ("auto / clipspy",)),
    _Span("(l) RDFS, all of it: reasonable", ("as reasonable",)),
    _Span("(p) an event: a store of Oxigraph", ("× as fast as the faster peer",)),
    _Span("(o) windows: a maintained store", ("times as fast as the maintained store",)),
    _Span("(n) expiry: deleting and deriving again", ("labels: times as fast as DRed",)),
    _Span("(l) RDFS, data and schema: DRed", ("as DRed",)),
    _Span("(r) a DataFrame: graph.query", ("of graph.query",), lambda row: "to_pandas" in row["way"], True),
    _Span("(k) Spark: its own joins", _RATES, lambda row: " joins" in row["times the rate of"]),
    _Span("(k) Spark: Flink SQL", _RATES, lambda row: row["way"].startswith("Flink"), True),
    _Span("(b) an add that matches nothing: bare store", _ADDS,
          lambda row: "without a match" in row["subscriptions"], True),
    _Span("(b) an add that matches: bare store", _ADDS,
          lambda row: "matches each triple" in row["subscriptions"], True),
)  # fmt: skip


def _spans(tables: _Tables) -> Iterator[tuple[str, float, float]]:
    """Say how many times as fast as something else rdflive is, from the slowest case to the fastest."""
    for span in _SPANS:
        section = span.name[1]
        numbers = [n for column in span.columns for n in tables.numbers(section, column, span.where)]
        times = [1 / number for number in numbers] if span.inverse else numbers
        yield span.name, min(times), max(times)


def _fresh(tables: _Tables, *, narrow: bool) -> str:
    """Draw what it costs to have the right answer after each change, subscribed and by evaluating again."""

    def one(section: str, column: str, **cells: str) -> float:
        (number,) = tables.numbers(
            section, column, lambda row: all(row[name] == cell for name, cell in cells.items())
        )
        return number

    total, alone = "ms per update, the bare update included", "ms per change, query again alone"
    ours, bare = "ms per change, subscription and bare change", "ms per change, bare"
    batch = "Train Benchmark, railway-batch-1"
    groups: dict[str, tuple[float, float, float | None]] = {}
    for query in ("join of 4, no constants", "join of 4, one constant"):
        ways = ("subscription, Oxigraph", _AGAIN, "query again, rdflib")
        first, second, third = (one("c", total, query=query, way=way) for way in ways)
        groups[f"a {query} (c)"] = first, second, third
    for name, query in (
        ("8 queries about a railway, together (h)", "all 8 queries"),
        ("the cheapest of them (h)", "SwitchSetInject"),
    ):
        cells = {"history": batch, "query": query}
        asked = one("h", bare, **cells) + one("h", alone, **cells)
        groups[name] = one("h", ours, **cells), asked, None
    tree = {"graph": "random tree"}
    groups["all pairs that a path connects, in a tree (i)"] = (
        one("i", "ms per update", way="subscription, Oxigraph", **tree),
        one("i", "ms per update", way="query again, Oxigraph", **tree),
        None,
    )
    series = ("subscribed, on Oxigraph", "Oxigraph again", "rdflib again")
    return dots(
        "Until an answer is right again after a change",
        list(groups),
        {name: [times[number] for times in groups.values()] for number, name in enumerate(series)},
        "ms",
        "Letters are those of the benchmarks. Evaluating again gives the whole answer, and not what changed.",
        narrow=narrow,
    )


def draw(page: str) -> dict[str, str]:
    """Make the pictures of the text of docs/benchmarks.md, by the names of their files."""
    tables = _Tables(page)
    pictures = {}
    for end, narrow in {"": False, "-narrow": True}.items():
        pictures[f"benchmarks{end}.svg"] = spans(
            "How many times as fast as others rdflive is",
            list(_spans(tables)),
            "slower",
            "faster",
            "From the slowest case of a section to the fastest. Letters are those of the sections.",
            narrow=narrow,
        )
        pictures[f"expect{end}.svg"] = _fresh(tables, narrow=narrow)
    return pictures


def main(arguments: list[str]) -> None:
    """Read benchmarks.md in a folder, and write the pictures beside it."""
    folder = Path(arguments[0])
    for name, picture in draw((folder / "benchmarks.md").read_text(encoding="utf-8")).items():
        (folder / name).write_text(picture, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main(sys.argv[1:])
