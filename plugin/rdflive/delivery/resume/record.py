"""What a journal keeps of one subscriber, sealed so that a bit that has changed is noticed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Final, Self

__all__ = ["SubscriberRecord", "row_mark", "wrap"]

_MODULUS: Final = 1 << 64
_HALF: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class SubscriberRecord:
    """The row of a subscriber.

    `answer` and `pending` tie the rows of these tables together: each is the sum of `row_mark` times the
    weight, so a row that is lost, changed or there twice makes another sum. As sums they follow each delta
    without reading what is there: acknowledging one adds `pending` to `answer`.
    """

    id: int
    name: str
    token: str
    """A random word that no subscriber of another file has."""
    query: str | None
    """None until the subscriber subscribes."""
    session: int
    begun: int
    written: int
    acknowledged: int
    initial: int
    answer: int
    pending: int

    @classmethod
    def read(cls, connection: sqlite3.Connection, name: str) -> Self | None:
        """Read the record of a name; raises ValueError where it is damaged."""
        return next(iter(cls._select(connection, "WHERE name = ?", name)), None)

    @classmethod
    def every(cls, connection: sqlite3.Connection) -> list[Self]:
        """Read all records; raises ValueError where one is damaged."""
        return cls._select(connection)

    @classmethod
    def _select(cls, connection: sqlite3.Connection, where: str = "", *given: str) -> list[Self]:
        names = ", ".join(field.name for field in fields(cls))
        found = []
        # `name` is looked at too, for a damaged index could lead to another subscriber
        for *values, seal in connection.execute(f"SELECT {names}, seal FROM subscriber {where}", given):  # noqa: S608
            record = cls(*values)
            if seal != record._seal() or (given and record.name != given[0]):
                raise ValueError(f"the seal of {record.name!r} is broken")
            found.append(record)
        return found

    def store(self, connection: sqlite3.Connection) -> None:
        """Write the record with its seal, in place of what the file has of the subscriber."""
        columns = [field.name for field in fields(self)]
        connection.execute(
            f"REPLACE INTO subscriber ({', '.join(columns)}, seal) VALUES ({'?, ' * len(columns)}?)",  # noqa: S608
            (*self._values(), self._seal()),
        )

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def _seal(self) -> int:
        return _hash(repr(self._values()))


def row_mark(key: str) -> int:
    """Give the number that stands for a row in a sum.

    It is odd, so that no change of a weight by less than 2**64 leaves the sum as it is.
    """
    return _hash(key) | 1


def _hash(text: str) -> int:
    return wrap(int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()))


def wrap(number: int) -> int:
    """Bring a sum into what SQLite holds as an integer."""
    return (number + _HALF) % _MODULUS - _HALF
