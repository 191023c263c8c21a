"""What a run reports: sections of figures with units, as Rich tables, Markdown and JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from bench.stream import SEED

__all__ = [
    "Cell", "Section", "cells", "machine", "print_section", "processor", "read_json", "shown", "table",
    "to_markdown", "write_json",
]  # fmt: skip

Cell: TypeAlias = str | int | float | None
"""A figure; None where it was not measured."""

PACKAGES: Final = (
    "rdflive", "rdflib", "oxrdflib", "pyoxigraph", "clipspy", "pathway", "owlrl", "reasonable",
)  # fmt: skip


@dataclass(slots=True)
class Section:
    """One table; `headings` are those of its columns, which name the unit: `store | micros: µs per add`.

    What stands before the colon is the key of the cell in each row; without a colon it is the heading.
    """

    name: str
    title: str
    n: int
    headings: InitVar[str]
    repeat: int = 1
    seed: int = SEED
    columns: dict[str, str] = field(init=False)
    rows: list[dict[str, Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What only this run can say; the `PAGE` of a section says what it measures."""
    seconds: float = 0.0
    measured: str = ""
    """When it was measured, and on which machine."""

    def __post_init__(self, headings: str) -> None:
        parts = (heading.partition(": ") for heading in headings.split(" | "))
        self.columns = {key: heading or key for key, _, heading in parts}

    def add(self, **cells: Cell) -> None:
        """Add a row."""
        self.rows.append(cells)

    @property
    def caption(self) -> str:
        """Say how much was measured."""
        return f"n = {self.n:,}, seed {self.seed}, {self.repeat} repeats, took {self.seconds:.0f} s"


def cells(**figures: Any) -> dict[str, Any]:
    """Make a row, or a part of one."""
    return figures


def machine() -> str:
    """Name the processor, the Python and the libraries."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} absent")
    return (
        f"{processor()}, {platform.system()}; "
        f"{platform.python_implementation()} {platform.python_version()}; {', '.join(versions)}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def processor() -> str:
    """Name the processor, and the number of its cores."""
    return f"{_processor()}, {os.cpu_count()} cores"


def print_section(section: Section, console: Console) -> None:
    """Print a section as a table."""
    table = Table(title=f"({section.name}) {section.title}", caption=section.caption, title_justify="left")
    for number, heading in enumerate(section.columns.values()):
        table.add_column(heading, justify="left" if number == 0 else "right")
    for row in section.rows:
        table.add_row(*(shown(row.get(key)) for key in section.columns))
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}", markup=False, highlight=False)


def to_markdown(section: Section) -> str:
    """Write all of a section as a Markdown table."""
    rows = ([shown(row.get(key)) for key in section.columns] for row in section.rows)
    lines = [f"### ({section.name}) {section.title}", "", section.caption + ".", ""]
    lines += table(list(section.columns.values()), rows)
    return "\n".join([*lines, "", *(f"- {note}" for note in section.notes)]) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write the lines of a Markdown table."""
    yield _line(headings)
    yield "|---" + "|--:" * (len(headings) - 1) + "|"
    yield from map(_line, rows)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def write_json(path: Path, sections: list[Section]) -> None:
    """Write everything that was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "command": " ".join(sys.argv),
        "machine": machine(),
        "sections": [asdict(section) for section in sections],
    }
    path.write_text(json.dumps(report, indent=1) + "\n")


def read_json(path: Path) -> list[Section]:
    """Read the sections that `write_json` wrote."""
    sections = []
    for each in json.loads(path.read_text(encoding="utf-8"))["sections"]:
        headings = " | ".join(f"{key}: {heading}" for key, heading in each.pop("columns").items())
        figures = {key: each.pop(key) for key in ("rows", "notes", "seconds", "measured")}
        section = Section(**each, headings=headings)
        for key, value in figures.items():
            setattr(section, key, value)
        sections.append(section)
    return sections


def shown(cell: Cell) -> str:
    """Write a figure."""
    if cell is None:
        return "n/a"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell
