"""What a change event does to a row, as a value: read from the event alone, applied to the rows later.

So events can be read in one place and the rows be kept in another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rdflive.feeds.tables.cells import Cell, Row
from rdflive.feeds.tables.held_rows import RowEdit, RowName, TableName
from rdflive.feeds.terms import RowError

__all__ = ["GivenRow", "RowEvent"]

GivenRow: TypeAlias = Mapping[str, Cell | None]
"""The mapped columns that are not NULL; None is a value that the event left out as unchanged."""


@dataclass(frozen=True, slots=True)
class RowEvent:
    """A row put in the place of another, a row removed, or a table emptied."""

    table: TableName
    key: str | None = None
    """Of the row that is put or removed; None where all rows of the table are."""
    row: GivenRow | None = None
    """What is put; None where it removes."""
    old: str | None = None
    """The key that the row had before, where it is another."""

    @property
    def is_partial(self) -> bool:
        """True where its effect depends on the row that is there."""
        return self.row is not None and None in self.row.values()

    def parts(self) -> tuple[RowEvent, ...]:
        """Say the same by events that each concern one key, unless it moves a value that it does not hold."""
        if self.old is None or self.is_partial:
            return (self,)
        return RowEvent(self.table, self.old), RowEvent(self.table, self.key, self.row)

    def apply(self, edit: RowEdit) -> None:
        """Do it; raises `RowError`, and has then done nothing."""
        if self.key is None:
            edit.clear(self.table)
            return
        name = RowName(self.table, self.key)
        if self.row is None:
            edit.remove(name)
            return
        old = name if self.old is None else RowName(self.table, self.old)
        held = edit.get(old)
        row = _completed(self.row, {} if held is None else held.row)
        # before the old one goes: a row that makes no quads is refused here, and nothing is done then
        edit.put(name, row)
        if old != name:
            edit.remove(old)

    def to_text(self) -> str:
        """Write it on one line.

        >>> RowEvent(("people",), "[1]", {"id": Cell("1", "integer"), "bio": None}).to_text()
        '[["people"], "[1]", {"id": ["1", "integer"], "bio": null}, null]'
        """
        row = None if self.row is None else {name: _to_json(cell) for name, cell in self.row.items()}
        return json.dumps([self.table, self.key, row, self.old], ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> RowEvent:
        """Read what `to_text` wrote."""
        table, key, given, old = json.loads(text)
        row = None if given is None else {name: _from_json(cell) for name, cell in given.items()}
        return cls(tuple(table), key, row, old)


def _completed(row: GivenRow, held: Row) -> Row:
    """Take the values that were left out from the row that is there."""
    completed = {}
    for column, cell in row.items():
        found = held.get(column) if cell is None else cell
        if found is None:
            raise RowError(
                f"the column {column!r} was left out as unchanged, but the feed does not have its value from "
                "before"
            )
        completed[column] = found
    return completed


def _to_json(cell: Cell | None) -> list[str] | str | None:
    return None if cell is None else [*cell] if cell.datatype else cell.text


def _from_json(cell: list[str] | str | None) -> Cell | None:
    return Cell(*cell) if isinstance(cell, list) else None if cell is None else Cell(cell)
