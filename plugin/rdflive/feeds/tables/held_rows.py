"""The rows that a feed has delivered so far, and the quads that they support.

Several rows may produce the same quad. The quad is inserted with the first of them and deleted with the last,
so rows are counted. The mirror keeps each row as a text, because a feed may give only the key of a row that
it changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, NoReturn, TypeAlias

from rdflive.feeds.formats import Decoded, Decoder
from rdflive.feeds.lines import Line
from rdflive.feeds.tables.cells import Cell, Row
from rdflive.feeds.tables.mapping import RowMapping
from rdflive.feeds.tables.templates import MappingError
from rdflive.feeds.terms import RowError
from rdflive.model import Change, Quad

__all__ = ["HeldRow", "HeldRows", "RowEdit", "RowName", "at_line", "needs_mapping"]

_ROW: Final = "row "
_MAPPING: Final = "mapping"

TableName: TypeAlias = tuple[str, ...]
"""The parts of a table's name, such as database, schema and table."""


class RowName(NamedTuple):
    """The identity of a row: its table, and a text that is unique in the table."""

    table: TableName
    key: str

    def to_kept(self) -> str:
        """Return the key of the row's kept text."""
        return _ROW + json.dumps(self, ensure_ascii=False)


class HeldRow(NamedTuple):
    """A row, the quads that it produces, and its multiplicity."""

    row: Row
    quads: tuple[Quad, ...]
    times: int = 1

    def to_kept(self) -> str:
        """Return the text from which `HeldRows.restore` rebuilds the row."""
        cells = {column: list(cell) if cell.datatype else cell.text for column, cell in self.row.items()}
        return json.dumps([self.times, cells], ensure_ascii=False)


class HeldRows:
    """The state of the tables; `RowEdit.finish` and `restore` change it."""

    def __init__(self, mapping: RowMapping, form: str) -> None:
        self.mapping = mapping
        self._digest = f"{form} {mapping.digest}"
        self._tables: dict[TableName, dict[str, HeldRow]] = {}
        self._support: Counter[Quad] = Counter()

    def __bool__(self) -> bool:
        """True if any row is held."""
        return bool(self._tables)

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the rows of earlier readings; raises `MappingError` if they have another mapping."""
        if kept.get(_MAPPING, self._digest) != self._digest:
            raise MappingError(
                "the mapping or the format differs from the one that the feed was mirrored with; use the "
                "earlier one, or mirror into an empty graph or under another name"
            )
        for text, value in kept.items():
            if not text.startswith(_ROW):
                continue
            table, key = json.loads(text.removeprefix(_ROW))
            times, cells = json.loads(value)
            row = {name: Cell(cell) if isinstance(cell, str) else Cell(*cell) for name, cell in cells.items()}
            name = RowName(tuple(table), key)
            self._put(name, HeldRow(row, self.quads(name.table, row), times))

    def quads(self, table: TableName, row: Row) -> tuple[Quad, ...]:
        """Return the quads of a row; empty if its table is not mapped."""
        found = self.mapping.find(table)
        return found.quads(row) if found is not None else ()

    def get(self, name: RowName) -> HeldRow | None:
        """Look up a row."""
        return self._tables.get(name.table, {}).get(name.key)

    def names(self, table: TableName) -> list[RowName]:
        """List the rows of a table."""
        return [RowName(table, key) for key in self._tables.get(table, ())]

    def replace(self, edited: Mapping[RowName, HeldRow | None]) -> Decoded | None:
        """Replace rows and return the effect; None if there is no change."""
        # an unchanged row that is read again is neither written nor kept again
        edited = {name: new for name, new in edited.items() if new != self.get(name)}
        if not edited:
            return None
        kept = {name.to_kept(): new and new.to_kept() for name, new in edited.items()}
        was_empty = not self
        # summed over all rows: a quad that moves from one row to another is no change
        net: Counter[Quad] = Counter()
        for name, new in edited.items():
            _count(net, self.get(name), -1)
            _count(net, new, 1)
        changes = tuple(self._changes(net))
        for name, new in edited.items():
            self._put(name, new)
        if was_empty or not self:
            # kept while there are rows; without rows, another mapping may continue the feed
            kept[_MAPPING] = self._digest if self else None
        return Decoded(changes, kept=kept)

    def _changes(self, net: Counter[Quad]) -> Iterator[Change]:
        """Yield deletions of quads that lose their last row, then insertions of quads that gain a first."""
        for quad, count in net.items():
            if count < 0 and self._support[quad] + count == 0:
                yield Change(-1, quad)
        for quad, count in net.items():
            if count > 0 and not self._support[quad]:
                yield Change(1, quad)

    def _put(self, name: RowName, new: HeldRow | None) -> None:
        table = self._tables.setdefault(name.table, {})
        old = table.pop(name.key, None)
        _count(self._support, old, -1)
        _count(self._support, new, 1)
        for quad in old.quads if old is not None else ():
            if not self._support[quad]:
                # a counter keeps its zeros, one for every former quad
                del self._support[quad]
        if new is not None:
            table[name.key] = new
        elif not table:
            del self._tables[name.table]


class RowEdit:
    """The edits of one frame; they take effect in `finish`."""

    def __init__(self, rows: HeldRows) -> None:
        self._rows = rows
        self._edited: dict[RowName, HeldRow | None] = {}

    def get(self, name: RowName) -> HeldRow | None:
        """Look up a row with the edits of the frame so far."""
        return self._edited[name] if name in self._edited else self._rows.get(name)

    def put(self, name: RowName, row: Row, times: int = 1) -> None:
        """Insert or replace a row; raises `RowError` if its quads cannot be made. 0 times removes the row."""
        self._edited[name] = HeldRow(row, self._rows.quads(name.table, row), times) if times else None

    def remove(self, name: RowName) -> None:
        """Remove a row if it exists."""
        self._edited[name] = None

    def names(self, table: TableName) -> list[RowName]:
        """List the rows of a table, including those that the frame has put or removed so far."""
        edited = (name for name in self._edited if name.table == table)
        return list(dict.fromkeys([*self._rows.names(table), *edited]))

    def clear(self, table: TableName) -> None:
        """Remove all rows of a table."""
        self._edited.update(dict.fromkeys(self.names(table)))

    def finish(self) -> Decoded | None:
        """Apply the edits to the rows and return the effect; None if there is no change."""
        return self._rows.replace(self._edited)


@contextmanager
def at_line(line: Line) -> Iterator[None]:
    """Add the number of a line to its errors."""
    try:
        yield
    except RowError as error:
        raise RowError(str(error), error.line or line.number) from error
    except RecursionError as error:
        raise RowError("the record is nested too deeply", line.number) from error


def needs_mapping(form: str, factory: str) -> Callable[[], Decoder]:
    """Return a decoder factory that raises `MappingError` and asks for a mapping."""

    def refuse() -> NoReturn:
        raise MappingError(
            f"the format {form!r} needs a mapping from rows to triples: pass --mapping FILE to the command "
            f"line, or format=rdflive.feeds.{factory}(mapping) in Python"
        )

    return refuse


def _count(counts: Counter[Quad], held: HeldRow | None, sign: int) -> None:
    if held is not None:
        for quad in held.quads:
            counts[quad] += sign * held.times
