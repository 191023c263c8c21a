"""The last event of each row, for events that contain their position in the database's log.

Files and micro-batches may deliver them in any order. So the mirror stores the position of the last event of
each row, including deleted rows, and of the last TRUNCATE of each table. Older events are skipped.

An update may omit a large value that it did not change. Then the row also keeps the order of the older event
with that value, and an event between the two still sets its own. Example: at place 1 the row is (bio "long",
name "Anne"), and an update at place 3 sets name "Ann" without the bio. An event of place 2 that arrives later
has bio "short" and name "A.": the row becomes (bio "short", name "Ann").
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
    "give the rows the columns topic, partition and offset, as Spark reads them from Kafka, or let the "
    "connector write more into 'source', or into 'transaction' (provide.transaction.metadata)"
)
AMBIGUOUS: Final = f"another event has the same place in the database's log but other content; {_ADVICE}"
"""The reason why neither of two events is applied."""
_INCOMPARABLE: Final = f"it is unknown if it is later than the last event of the row; {_ADVICE}"
_LOST: Final = (
    "it arrives after a later event of its row that kept an earlier value and moved it to another key; "
    "mirror the events into an empty graph under another name, in one micro-batch or by position"
)

_Columns: TypeAlias = Mapping[str, EventOrder]
"""Columns with the value of an older event, and the order of that event."""
_Name: TypeAlias = tuple[TableName, str | None]
"""A row, or with None all rows of a table."""


class _Held(NamedTuple):
    """The events that make up a row."""

    last: EventOrder
    digest: str
    """Of the last event, to recognise it."""
    older: _Columns
    moved: tuple[EventOrder, _Columns] | None = None
    """The last event that moved the row to another key, and the columns that it moved without values."""

    def to_text(self) -> str:
        """Return the stored form."""
        moved = None if self.moved is None else [self.moved[0].to_json(), _to_json(self.moved[1])]
        return json.dumps([self.last.to_json(), self.digest, _to_json(self.older), moved])

    @classmethod
    def from_text(cls, text: str) -> _Held:
        """Read a text of `to_text`."""
        last, digest, older, moved = json.loads(text)
        gone = None if moved is None else (EventOrder.from_json(moved[0]), _from_json(moved[1]))
        return cls(EventOrder.from_json(last), digest, _from_json(older), gone)


class RowOrders:
    """The last events of all rows; only `OrderedEdit.finish` changes them."""

    def __init__(self) -> None:
        self.tables: dict[TableName, dict[str | None, _Held]] = {}
        self.moved: set[_Name] = set()
        """Rows that gave values to another key: their older events count, even if later ones replace them."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the orders of earlier micro-batches."""
        for text, value in kept.items():
            if text.startswith(_ORDER):
                table, key = json.loads(text.removeprefix(_ORDER))
                self.put((tuple(table), key), _Held.from_text(value))

    def put(self, name: _Name, held: _Held | None) -> bool:
        """Replace the events of a row; return False if it had none and has none."""
        table = self.tables.setdefault(name[0], {})
        had = table.pop(name[1], None)
        self.moved.discard(name)
        if held is not None:
            table[name[1]] = held
            if held.moved is not None:
                self.moved.add(name)
        return held is not None or had is not None


class OrderedEdit:
    """The effect of a micro-batch on rows and their orders, applied by `finish`."""

    def __init__(self, orders: RowOrders, rows: RowEdit) -> None:
        self._orders = orders
        self._rows = rows
        self._edited: dict[_Name, _Held | None] = {}

    def apply(self, event: RowEvent, order: EventOrder) -> bool:
        """Apply an event unless later ones of its row were applied; return False if it is older.

        A `RowError` leaves everything unchanged.
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
        """Apply the effect to the orders; return the texts to store, and None for those to remove."""
        kept: dict[str, str | None] = {}
        for name, held in self._edited.items():
            if self._orders.put(name, held):
                kept[_ORDER + json.dumps(name, ensure_ascii=False)] = held and held.to_text()
        return kept

    def _find(self, name: _Name) -> _Held | None:
        """Return the events of a row; if it had none since the last TRUNCATE of its table, that one."""
        found = self._edited.get(name) if name in self._edited else self._kept(name)
        return self._find((name[0], None)) if found is None and name[1] is not None else found

    def _kept(self, name: _Name) -> _Held | None:
        return self._orders.tables.get(name[0], {}).get(name[1])

    def _complete(self, held: _Held, event: RowEvent, order: EventOrder) -> bool:
        """Apply the values of an event that later ones omitted; return False if there are none."""
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
        """Apply an event that moves a row and omits values that the row had under its former key."""
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
            # the new key has had later events; that is right if none of them needs a value of this one
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
        """Remove the rows of a table whose last event was earlier."""
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
    """Return the name of an event's row for a message."""
    table = ".".join(event.table)
    return f"the table {table}" if event.key is None else f"the row {event.key} of {table}"


def _side(held: _Held | None, event: RowEvent, order: EventOrder) -> int:
    """Return 1 if an event is later than the last one of a row, -1 if it is earlier, 0 if it is the same.

    Raises `RowError` if the order is unknown.
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
    """Raise `RowError` if an event would change values that another key has taken from this row."""
    if held.moved is not None and compare(order, held.moved[0]) == -1:
        taken = _before(held.moved[1], order)
        if taken and (given is None or taken.intersection(given)):
            raise RowError(_LOST)


def _left_out(event: RowEvent, held: _Held | None) -> dict[str, EventOrder]:
    """Return the columns that an event omitted, with the order of the event that set their values."""
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
