"""The effect of a change event on rows, as a value: one process can read events and another keep the rows."""

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
"""The mapped columns that are not NULL; None stands for a value left out as unchanged."""


@dataclass(frozen=True, slots=True)
class RowEvent:
    """A row put or replaced, a row removed, or a table emptied."""

    table: TableName
    key: str | None = None
    """Key of the row that is put or removed; None if all rows of the table are removed."""
    row: GivenRow | None = None
    """The row that is put; None for a removal."""
    old: str | None = None
    """The previous key of the row, if it differs."""

    @property
    def is_partial(self) -> bool:
        """True if the effect depends on the current row."""
        return self.row is not None and None in self.row.values()

    def parts(self) -> tuple[RowEvent, ...]:
        """Split the event into events of one key each, unless it moves a value that it does not hold."""
        if self.old is None or self.is_partial:
            return (self,)
        return RowEvent(self.table, self.old), RowEvent(self.table, self.key, self.row)

    def apply(self, edit: RowEdit) -> None:
        """Apply the event; a `RowError` leaves the edit unchanged."""
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
        # before the old row is removed: `put` refuses a row with invalid quads
        edit.put(name, row)
        if old != name:
            edit.remove(old)

    def to_text(self) -> str:
        """Return the event as one line of text.

        >>> RowEvent(("people",), "[1]", {"id": Cell("1", "integer"), "bio": None}).to_text()
        '[["people"], "[1]", {"id": ["1", "integer"], "bio": null}, null]'
        """
        row = None if self.row is None else {name: _to_json(cell) for name, cell in self.row.items()}
        return json.dumps([self.table, self.key, row, self.old], ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> RowEvent:
        """Return the event that `to_text` wrote."""
        table, key, given, old = json.loads(text)
        row = None if given is None else {name: _from_json(cell) for name, cell in given.items()}
        return cls(tuple(table), key, row, old)


def _completed(row: GivenRow, held: Row) -> Row:
    """Fill in the values that were left out from the current row."""
    completed = {}
    for column, cell in row.items():
        found = held.get(column) if cell is None else cell
        if found is None:
            raise RowError(
                f"the column {column!r} was left out as unchanged, but the feed lacks its previous value"
            )
        completed[column] = found
    return completed


def _to_json(cell: Cell | None) -> list[str] | str | None:
    return None if cell is None else [*cell] if cell.datatype else cell.text


def _from_json(cell: list[str] | str | None) -> Cell | None:
    return Cell(*cell) if isinstance(cell, list) else None if cell is None else Cell(cell)
