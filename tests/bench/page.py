"""Write sections of docs/benchmarks.md from the figures of a run.

Each section's module has a `PAGE`: what the page says about the section, and what it shows of the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.report import Section, shown, table

__all__ = ["Page", "PageError", "render", "rewrite"]


class PageError(Exception):
    """What was measured cannot be written into the page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One section of the page."""

    letter: str
    title: str
    """Links to the section depend on it."""
    measures: str
    """One sentence: what is measured, on which data."""
    reading: str
    """One sentence: how to read the table, or what it shows."""
    columns: str
    """The keys of the columns that the page shows."""
    rows: Callable[[dict[str, Any]], bool] = lambda row: True
    """Whether the page shows a row."""

    def heading(self, name: str) -> str:
        """Give the line that the section begins with."""
        return f"## ({self.letter}) `{name}`: {self.title}"

    def opening(self, name: str) -> str:
        """Give what stands before the table."""
        return f"{self.heading(name)}\n\n{self.measures}\n{self.reading}"


def rewrite(text: str, sections: Iterable[Section], pages: Mapping[str, Page]) -> str:
    """Replace sections in the text of the page, and keep everything else as it is."""
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
    """Write one section: how it begins, its table, and what is below."""
    below = [*notes, *([f"Measured on {measured}."] if measured else [])]
    return "\n".join([opening, "", *lines, *(["", *below] if below else [])]) + "\n"
