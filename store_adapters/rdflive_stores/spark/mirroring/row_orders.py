"""The last event of each row, for events that contain their position in the database's log.

Files and micro-batches may deliver them in any order. So the mirror stores the position of the last event of
each row, of deleted rows too, and of the last TRUNCATE of each table; older events are skipped.

An update may leave a large value out that it did not change. Then the row keeps the older event that gave the
value, and an event between the two still gives its own. Example: the row (bio "long", name "Anne") came at
place 1, and an update at 3 said name "Ann" without the bio. One of place 2 that comes after that has bio
"short" and name "A.": the row becomes (bio "short", name "Ann").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from rdflive.feeds import RowError
from rdflive.feeds.tables.event_order import EventOrder, compare
from rdflive.feeds.tables.held_rows import RowEdit, RowName, TableName
from rdflive.feeds.tables.row_events import RowEvent

__all__ = ["AMBIGUOUS", "OrderedEdit", "RowOrders", "title"]

_ORDER: Final = "order "
_DIGEST_BYTES: Final = 8
_ADVICE: Final = (
    "give the rows the columns topic, partition and offset, as Spark reads them from Kafka, or have the "
    "connector tell more in 'source', or in 'transaction' (provide.transaction.metadata)"
)
AMBIGUOUS: Final = (
    f"another event has the same place in the database's log and does something else; {_ADVICE}"
)
"""Why neither of two events is applied."""
_INCOMPARABLE: Final = f"nothing tells whether it is later than the event that the row holds; {_ADVICE}"
_LOST: Final = (
    "it comes behind a later event of its row that took a value from before, and that value has gone on to "
    "another key; mirror the events into an empty graph under another name, in one micro-batch or by position"
)

_Columns: TypeAlias = Mapping[str, EventOrder]
"""Columns whose value an older event gave, and the order of that."""
_Name: TypeAlias = tuple[TableName, str | None]
"""A row, or with None all rows of a table."""


class _Held(NamedTuple):
    """The events that a row consists of."""

    last: EventOrder
    digest: str
    """Of the last event, to know it again."""
    older: _Columns
    moved: tuple[EventOrder, _Columns] | None = None
    """The last event that moved the row to another key, and took these columns along without telling them."""

    def to_text(self) -> str:
        """Write it as it is kept."""
        moved = None if self.moved is None else [self.moved[0].to_json(), _to_json(self.moved[1])]
        return json.dumps([self.last.to_json(), self.digest, _to_json(self.older), moved])

    @classmethod
    def from_text(cls, text: str) -> _Held:
        """Read what `to_text` wrote."""
        last, digest, older, moved = json.loads(text)
        gone = None if moved is None else (EventOrder.from_json(moved[0]), _from_json(moved[1]))
        return cls(EventOrder.from_json(last), digest, _from_json(older), gone)


class RowOrders:
    """The state; it changes with `OrderedEdit.finish` only."""

    def __init__(self) -> None:
        self.tables: dict[TableName, dict[str | None, _Held]] = {}
        self.moved: set[_Name] = set()
        """Rows that gave values to another key: their older events count, though later ones replace them."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Take up the orders of earlier micro-batches."""
        for text, value in kept.items():
            if text.startswith(_ORDER):
                table, key = json.loads(text.removeprefix(_ORDER))
                self.put((tuple(table), key), _Held.from_text(value))

    def put(self, name: _Name, held: _Held | None) -> bool:
        """Put what a row holds in the place of what it held; False where it holds nothing, as before."""
        table = self.tables.setdefault(name[0], {})
        had = table.pop(name[1], None)
        self.moved.discard(name)
        if held is not None:
            table[name[1]] = held
            if held.moved is not None:
                self.moved.add(name)
        return held is not None or had is not None


class OrderedEdit:
    """What a micro-batch does to rows and their orders: nothing before `finish`."""

    def __init__(self, orders: RowOrders, rows: RowEdit) -> None:
        self._orders = orders
        self._rows = rows
        self._edited: dict[_Name, _Held | None] = {}

    def apply(self, event: RowEvent, order: EventOrder) -> bool:
        """Do what an event says, unless later ones of its row have; False where it is older than those.

        Raises `RowError`, and has then done nothing.
        """
        if event.key is None:
            return self._clear(event, order)
        if event.old is not None:
            return self._move(event, order, event.old)
        name = event.table, event.key
        held = self._find(name)
        match _side(held, event, order):
            case 0:
                return True
            case -1:
                return held is not None and self._complete(held, event, order)
        event.apply(self._rows)
        older = _left_out(event, held)
        self._edited[name] = _Held(order, _digest(event), older, held and held.moved)
        return True

    def finish(self) -> dict[str, str | None]:
        """Apply it to the orders; gives the texts to keep, and None for those to forget."""
        kept: dict[str, str | None] = {}
        for name, held in self._edited.items():
            if self._orders.put(name, held):
                kept[_ORDER + json.dumps(name, ensure_ascii=False)] = held and held.to_text()
        return kept

    def _find(self, name: _Name) -> _Held | None:
        """Look up what a row holds; where it had no event since the TRUNCATE of its table, that one."""
        found = self._edited.get(name) if name in self._edited else self._kept(name)
        return self._find((name[0], None)) if found is None and name[1] is not None else found

    def _kept(self, name: _Name) -> _Held | None:
        return self._orders.tables.get(name[0], {}).get(name[1])

    def _complete(self, held: _Held, event: RowEvent, order: EventOrder) -> bool:
        """Take from an event the values that later ones left out; False if there are none."""
        given = {column: cell for column, cell in (event.row or {}).items() if cell is not None}
        _check_moved(held, order, given)
        taken = _before(held.older, order) & given.keys()
        name = RowName(event.table, event.key or "")
        row = self._rows.get(name)
        if not taken or row is None:
            return False
        self._rows.put(name, {**row.row, **{column: given[column] for column in taken}})
        self._edited[name] = held._replace(older={**held.older, **dict.fromkeys(taken, order)})
        return True

    def _move(self, event: RowEvent, order: EventOrder, key: str) -> bool:
        """Do what an event says that moves a row, and leaves out values that it had under its former key."""
        old, new = (event.table, key), (event.table, event.key)
        had, has = self._find(old), self._find(new)
        sides = _side(had, event, order), _side(has, event, order)
        if 0 in sides:
            return True
        if sides == (1, 1):
            event.apply(self._rows)
        else:
            if has is not None and sides[1] < 0:
                _check_moved(has, order, None)
            # the new key has had later events; that is right if none of them needs what this one brings
            if sides[1] > 0 or (has is not None and _before(has.older, order)):
                raise RowError(_LOST)
            if sides[0] < 0:
                return False
            self._rows.remove(RowName(event.table, key))
        digest = _digest(event)
        if sides[1] > 0:
            self._edited[old] = _Held(order, digest, {}, (order, _left_out(event, had)))
            self._edited[new] = _Held(order, digest, {}, has and has.moved)
        else:
            self._edited[old] = _Held(order, digest, {}, had and had.moved)
        return True

    def _clear(self, event: RowEvent, order: EventOrder) -> bool:
        """Remove the rows of a table that had their last event before."""
        side = _side(self._find((event.table, None)), event, order)
        if side <= 0:
            return side == 0
        held = {
            *self._orders.tables.get(event.table, ()),
            *(key for t, key in self._edited if t == event.table),
        }
        gone = [
            RowName(event.table, key)
            for key in held | {name.key for name in self._rows.names(event.table)}
            if key is not None and _side(self._find((event.table, key)), event, order) > 0
        ]
        for name in gone:
            self._rows.remove(name)
        self._edited.update(dict.fromkeys(gone))
        self._edited[event.table, None] = _Held(order, _digest(event), {})
        return True


def title(event: RowEvent) -> str:
    """Name the row of an event for a message."""
    table = ".".join(event.table)
    return f"the table {table}" if event.key is None else f"the row {event.key} of {table}"


def _side(held: _Held | None, event: RowEvent, order: EventOrder) -> int:
    """Tell whether an event is later (1) or earlier (-1) than what a row holds, or that again (0).

    Raises `RowError` where nothing tells.
    """
    if held is None:
        return 1
    side = compare(order, held.last)
    if side is None:
        raise RowError(_INCOMPARABLE)
    if side == 0 and held.digest != _digest(event):
        raise RowError(AMBIGUOUS)
    return side


def _check_moved(held: _Held, order: EventOrder, given: Iterable[str] | None) -> None:
    """Raise `RowError` if an event would change what the row of another key has taken from this one."""
    if held.moved is not None and compare(order, held.moved[0]) == -1:
        taken = _before(held.moved[1], order)
        if taken and (given is None or taken.intersection(given)):
            raise RowError(_LOST)


def _left_out(event: RowEvent, held: _Held | None) -> dict[str, EventOrder]:
    """List the columns that an event left out, with the order of the event that gave their values."""
    if held is None:
        return {}
    columns = (column for column, cell in (event.row or {}).items() if cell is None)
    return {column: held.older.get(column, held.last) for column in columns}


def _before(columns: _Columns, order: EventOrder) -> set[str]:
    return {column for column, given in columns.items() if compare(given, order) == -1}


def _digest(event: RowEvent) -> str:
    return hashlib.blake2b(event.to_text().encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _to_json(columns: _Columns) -> dict[str, Any]:
    return {column: order.to_json() for column, order in columns.items()}


def _from_json(columns: Mapping[str, Any]) -> dict[str, EventOrder]:
    return {column: EventOrder.from_json(order) for column, order in columns.items()}
