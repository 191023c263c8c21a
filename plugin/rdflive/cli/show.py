"""Answers and deltas on standard output: lines and tables for people, CSV for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdflive.model import Delta, Origin, TermWriter, to_ntriples, to_printable
from rdflive.sinks.ndjson import TRIPLE, to_json

__all__ = ["CsvWriter", "LineWriter", "ShownBatch", "TableWriter", "answered"]

_ORIGIN: Final = "origin"
_GAP: Final = 2
_LEAST: Final = 4
"""The least width of a column."""
_ANY: Final = 100_000
"""The width of output to no terminal, which is not cut."""

Write: TypeAlias = Callable[[Any], str]


class _Row(NamedTuple):
    """An added (+), removed (-) or present solution, as the texts of its terms."""

    sign: str
    texts: list[str]
    mark: str | None
    """The rules that inferred it; empty if it is explicit, None if unknown."""


class ShownBatch(NamedTuple):
    """Rows that are shown together: of a delta or of an answer."""

    commit: str
    names: tuple[str, ...]
    form: str
    rows: list[_Row]
    word: str | None
    """The text in place of rows: the answer of an ASK query, or a note that there are no rows."""


class LineWriter:
    """Prints each solution as a line, `#7  + :T101 :Dunes`, in colour on a terminal.

    Rows of a delta start with the commit. Unbound variables are UNDEF. With `full`, terms have the syntax of
    N-Triples, and triples end with a dot. Inferred solutions end with the rules.
    """

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self._console = Console(highlight=False, soft_wrap=True) if sys.stdout.isatty() else None

    def __call__(self, delta: Delta) -> None:
        """Print a delta."""
        self.show(_changed(delta, self.texts(delta.prefixes)))

    def texts(self, prefixes: dict[str, str]) -> Write:
        """Return the function that writes terms."""
        return to_ntriples if self._full else TermWriter(prefixes)

    def show(self, batch: ShownBatch) -> None:
        """Print rows."""
        head = f"{batch.commit}  " * bool(batch.commit)
        if batch.word is not None:
            self._print(f"{head}{batch.word}", _STYLES.get(batch.word, "dim"))
        end = ["."] if self._full and batch.form == "CONSTRUCT" else []
        for row in batch.rows:
            mark = [f"# {row.mark}"] if row.mark else []
            sign = [row.sign] if row.sign else []
            self._print(head + " ".join([*sign, *row.texts, *end, *mark]), _STYLES.get(row.sign, ""))
        sys.stdout.flush()

    def _print(self, line: str, style: str) -> None:
        if self._console is None:
            print(line)
        else:
            self._console.print(Text(line, style=style))


_STYLES: Final = {"+": "green", "-": "red", "true": "green", "false": "red"}


class TableWriter:
    """Prints deltas as one table that scrolls by: the commit, + or -, and the bindings in colour.

    Columns widen with wider terms, up to the width of the terminal. The last column has the origin of
    solutions, if known.
    """

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self._console = Console(highlight=False, width=None if sys.stdout.isatty() else _ANY)
        self._titles: list[str] = []
        self._widths: list[int] = []
        self._is_new = True

    def __call__(self, delta: Delta) -> None:
        """Print a delta."""
        self.show(_changed(delta, self.texts(delta.prefixes)))

    def texts(self, prefixes: dict[str, str]) -> Write:
        """Return the function that writes terms."""
        # longer terms get an ellipsis in any case
        return to_ntriples if self._full else TermWriter(prefixes, most=self._console.width + 1)

    def show(self, batch: ShownBatch) -> None:
        """Print rows; rows without a commit have no signs."""
        if batch.word is not None:
            head = f"{batch.commit:>6}  " * bool(batch.commit)
            self._console.print(Text.assemble(head, (batch.word, _STYLES.get(batch.word, "dim"))))
        else:
            self._print_rows(batch)
        sys.stdout.flush()

    def _print_rows(self, batch: ShownBatch) -> None:
        marked = batch.rows[0].mark is not None
        if self._is_new:
            titles = TRIPLE if batch.form == "CONSTRUCT" else [f"?{name}" for name in batch.names]
            self._titles = [*titles, *[_ORIGIN] * marked]
            self._widths = [cell_len(title) for title in self._titles]
        cells = [
            ["" if text == "UNDEF" else text for text in row.texts] + [row.mark or ""] * marked
            for row in batch.rows
        ]
        for texts in cells:
            # never narrower again, so that columns stay aligned
            self._widths = list(map(max, self._widths, map(cell_len, texts)))
        commit, signed = batch.commit, bool(batch.commit)
        table = self._table(headed=self._is_new, signed=signed)
        for row, texts in zip(batch.rows, cells, strict=True):
            table.add_row(*[commit, row.sign] * signed, *map(Text, texts), style=_STYLES.get(row.sign, ""))
            commit = ""  # once per delta
        self._console.print(table)
        self._is_new = False

    def _table(self, *, headed: bool, signed: bool) -> Table:
        table = Table(box=None, show_header=headed, padding=(0, _GAP, 0, 0), header_style="bold")
        room = self._console.width - _GAP * len(self._widths)
        if signed:
            table.add_column("commit", width=6, justify="right")
            table.add_column("±", width=1)
            room -= (6 + _GAP) + (1 + _GAP)
        for title, width in zip(self._titles, _fit(self._widths, room), strict=True):
            table.add_column(title, width=width, no_wrap=True, overflow="ellipsis")
        return table


class CsvWriter:
    """Prints values as SPARQL 1.1 Query Results CSV does, after the commit and + or -.

    The first line names the columns. Unbound values are empty; language and datatype are left out.
    """

    def __init__(self) -> None:
        self._csv = csv.writer(sys.stdout, lineterminator="\n")
        self._is_new = True

    def __call__(self, delta: Delta) -> None:
        """Print a delta."""
        self.show(_changed(delta, _value))

    def texts(self, _: dict[str, str]) -> Write:
        """Return the function that writes terms."""
        return _value

    def show(self, batch: ShownBatch) -> None:
        """Print rows."""
        is_ask, signed = batch.form == "ASK", bool(batch.commit)
        commit = [batch.commit.lstrip("#")] * signed
        if self._is_new:
            names = ["answer"] if is_ask else TRIPLE if batch.form == "CONSTRUCT" else batch.names
            self._csv.writerow([*["commit", "change"][: 1 if is_ask else 2] * signed, *names])
            self._is_new = False
        if is_ask:
            self._csv.writerow([*commit, batch.word])
        self._csv.writerows([*commit, *[row.sign] * signed, *row.texts] for row in batch.rows)
        sys.stdout.flush()


def answered(delta: Delta, rows: Iterable[Any], write: Write, *, ordered: bool) -> ShownBatch:
    """Return the batch of a full answer, which `delta` holds; `ordered` keeps the order of rows."""
    return _batch("", delta, _rows("", rows, write, ordered=ordered))


def _changed(delta: Delta, write: Write) -> ShownBatch:
    """Return the batch of a delta: removed, then added rows, each sorted to make runs comparable."""
    native = delta.native
    rows = _rows("-", native.removed, write) + _rows("+", native.added, write)
    merged = f"{delta.first_sequence}-" * (delta.first_sequence != delta.sequence)
    return _batch(f"#{merged}{delta.sequence}", delta, rows)


def _batch(commit: str, delta: Delta, rows: list[_Row]) -> ShownBatch:
    if delta.answer is not None:
        return ShownBatch(commit, (), delta.form, [], str(delta.answer).lower())
    word = None if rows else "no solutions" if delta.initial else "no change"
    return ShownBatch(commit, delta.names, delta.form, rows, word)


def _rows(sign: str, solutions: Iterable[Any], write: Write, *, ordered: bool = False) -> list[_Row]:
    rows = [_Row(sign, list(map(write, row)), _mark(getattr(row, "origin", None))) for row in solutions]
    return rows if ordered else sorted(rows, key=lambda row: row.texts)


def _value(term: Any) -> str:
    """Return the value of a term for CSV."""
    if term is None:
        return ""
    shown = to_json(term)
    if shown["type"] == "triple":
        return to_ntriples(term)
    return f"_:{shown['value']}" if shown["type"] == "bnode" else str(shown["value"])


def _mark(origin: Origin | None) -> str | None:
    if origin is None:
        return None
    by = f" by {', '.join(origin.rules)}" if origin.rules else ""
    return to_printable(f"inferred{by}") if origin.inferred else ""


def _fit(widths: list[int], room: int) -> list[int]:
    """Narrow the widest columns until all fit.

    >>> _fit([5, 40, 60], 65)
    [5, 30, 30]
    """
    limit = max(widths, default=0)
    while sum(min(width, limit) for width in widths) > room and limit > _LEAST:
        limit -= 1
    return [min(width, limit) for width in widths]
