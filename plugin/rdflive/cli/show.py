"""Deltas on standard output: a table for people, plain lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from rdflib.namespace import NamespaceManager
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdflive.cli.texts import to_compact, to_ntriples, to_printable
from rdflive.model import Delta, Origin, Solution
from rdflive.sinks.sink import to_rdflib

__all__ = ["TableWriter", "show_lines"]

_TRIPLE: Final = ("subject", "predicate", "object")
_ORIGIN: Final = "origin"
_GAP: Final = 2
_LEAST: Final = 4
"""The width that a column keeps however narrow the terminal is."""


def show_lines(delta: Delta) -> None:
    """Print each solution as a line, `+ ?x=<http://e/a> ?y="b"`; an ASK query as `true` or `false`.

    A triple of a CONSTRUCT query is written as N-Triples does, `+ <http://e/a> <http://e/p> "b" .`
    A solution that is known to be inferred ends with the rules, `# inferred by rdfs2, rdfs9`.
    """
    if delta.answer is not None:
        print(json.dumps(delta.answer), flush=True)
        return
    for sign, row in _rows(delta, lambda _, term: to_ntriples(term)):
        if not delta.names and row.names == _TRIPLE:
            print(sign, *row.texts, ".")
        else:
            pairs = [f"?{name}={text}" for name, text in zip(row.names, row.texts, strict=True)]
            print(sign, *pairs, *[f"# {row.mark}"] * bool(row.mark))
    sys.stdout.flush()


class TableWriter:
    """Prints deltas as one table that scrolls by: the commit, + or -, and the bindings in colour.

    Columns widen as wider terms come, up to the width of the terminal. Where solutions tell their origin,
    the last column tells it.
    """

    def __init__(self, namespaces: NamespaceManager) -> None:
        self._console = Console(highlight=False)
        self._namespaces = namespaces
        self._titles: list[str] = []
        self._widths: list[int] = []
        self._is_new = True

    def __call__(self, delta: Delta) -> None:
        """Print a delta."""
        commit = "start" if delta.initial else str(delta.sequence)
        if delta.answer is not None:
            style = "green" if delta.answer else "red"
            self._console.print(Text.assemble(f"{commit:>6}  ", (json.dumps(delta.answer), style)))
        elif not delta:
            self._console.print(Text(f"{commit:>6}  no solutions", style="dim"))
        else:
            self._print_rows(delta, commit)

    def _print_rows(self, delta: Delta, commit: str) -> None:
        cut = self._console.width + 1  # whatever is longer gets its ellipsis all the same
        rows = _rows(delta, lambda _, term: to_compact(term, self._namespaces)[:cut])
        names = delta.names or rows[0][1].names
        marked = rows[0][1].mark is not None
        if self._is_new:
            self._titles = [f"?{name}" if delta.names else name for name in names] + [_ORIGIN] * marked
            self._widths = [cell_len(title) for title in self._titles]
        cells = [(sign, [*row.cells(names), *[row.mark or ""] * marked]) for sign, row in rows]
        for _, texts in cells:
            # never narrower again, so that what scrolls by stays in its columns
            self._widths = list(map(max, self._widths, map(cell_len, texts)))
        table = self._table(headed=self._is_new)
        for sign, texts in cells:
            table.add_row(commit, sign, *map(Text, texts), style="green" if sign == "+" else "red")
            commit = ""  # once per delta
        self._console.print(table)
        self._is_new = False

    def _table(self, *, headed: bool) -> Table:
        table = Table(box=None, show_header=headed, padding=(0, _GAP, 0, 0), header_style="bold")
        table.add_column("commit", width=6, justify="right")
        table.add_column("±", width=1)
        room = self._console.width - (6 + _GAP) - (1 + _GAP) - _GAP * len(self._widths)
        for title, width in zip(self._titles, _fit(self._widths, room), strict=True):
            table.add_column(title, width=width, no_wrap=True, overflow="ellipsis")
        return table


def _fit(widths: list[int], room: int) -> list[int]:
    """Narrow the widest columns until all fit.

    >>> _fit([5, 40, 60], 65)
    [5, 30, 30]
    """
    limit = max(widths, default=0)
    while sum(min(width, limit) for width in widths) > room and limit > _LEAST:
        limit -= 1
    return [min(width, limit) for width in widths]


class _Row(NamedTuple):
    """The bound names of a solution, and how their values are written."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    mark: str | None
    """That it was inferred, and by which rules; empty if it was not, None where it cannot be told."""

    def cells(self, names: Sequence[str]) -> list[str]:
        """Put the values under names, some of which may be unbound."""
        bound = dict(zip(self.names, self.texts, strict=True))
        return [bound.get(name, "") for name in names]


def _rows(delta: Delta, write: Callable[[str, Any], str]) -> list[tuple[str, _Row]]:
    """Write what went, then what came, each sorted: equal runs print equal text."""

    def row(solution: Any) -> _Row:
        pairs = _pairs(solution)
        origin = solution.origin if isinstance(solution, Solution) else None
        texts = tuple(write(name, to_rdflib(term)) for name, term in pairs)
        return _Row(tuple(name for name, _ in pairs), texts, _mark(origin))

    native = delta.native
    return [
        (sign, shown)
        for sign, solutions in (("-", native.removed), ("+", native.added))
        for shown in sorted(map(row, solutions), key=lambda shown: (shown.texts, shown.names))
    ]


def _mark(origin: Origin | None) -> str | None:
    if origin is None:
        return None
    by = f" by {', '.join(origin.rules)}" if origin.rules else ""
    return to_printable(f"inferred{by}") if origin.inferred else ""


def _pairs(solution: Any) -> list[tuple[str, Any]]:
    """Name what is bound, also the parts of a triple."""
    if isinstance(solution, Solution):
        return list(solution.asdict().items())
    return list(zip(_TRIPLE, solution, strict=True))
