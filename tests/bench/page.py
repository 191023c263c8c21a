"""Write sections of docs/benchmarks.md from the figures of a run.

Each section's module has a `PAGE`: the section's text, and the rows and columns of its table on the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.report import Section, shown, table

__all__ = ["Page", "PageError", "render", "rewrite"]


class PageError(Exception):
    """The report has figures that the page has no place for."""


@dataclass(frozen=True, slots=True)
class Page:
    """One section of the page."""

    letter: str
    title: str
    """The heading, and so the anchor that links name."""
    measures: str
    """One sentence: what is measured, on which data."""
    reading: str
    """One sentence: how to read the table, or what it shows."""
    columns: str
    """The keys of the columns that the page shows."""
    rows: Callable[[dict[str, Any]], bool] = lambda row: True
    """True for the rows that the page shows."""

    def heading(self, name: str) -> str:
        """Return the first line of the section."""
        return f"## ({self.letter}) `{name}`: {self.title}"

    def opening(self, name: str) -> str:
        """Return the text before the table."""
        return f"{self.heading(name)}\n\n{self.measures}\n{self.reading}"


def rewrite(text: str, sections: Iterable[Section], pages: Mapping[str, Page]) -> str:
    """Replace sections in the text of the page; all other text stays as it is."""
    for section in sections:
        if section.name not in pages:
            raise PageError(f"tests/bench has no section {section.name!r}")
        page = pages[section.name]
        heading = page.heading(section.name)
        found = re.search(rf"^{re.escape(heading)}\n.*?(?=\n## |\Z)", text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise PageError(f"the page has no section with the heading {heading!r}: write the heading first")
        keys = page.columns.split()
        rows = [[shown(row.get(key)) for key in keys] for row in section.rows if page.rows(row)]
        if not rows:
            raise PageError(f"section {section.name!r} has no row for the page: was it measured in full?")
        lines = table([section.columns[key] for key in keys], rows)
        new = render(page.opening(section.name), lines, section.notes, section.measured)
        text = text[: found.start()] + new + text[found.end() :]
    return text


def render(opening: str, lines: Iterable[str], notes: Iterable[str], measured: str) -> str:
    """Return the text of one section: its opening, the lines of its table, notes and the date."""
    below = [*notes, *([f"Measured on {measured}."] if measured else [])]
    return "\n".join([opening, "", *lines, *(["", *below] if below else [])]) + "\n"
