"""The record of one subscriber in a journal, with a checksum, and its stamp beside the journal.

SQLite ends a write-ahead log at the first frame with a wrong checksum, as it must after a power failure. So
a flipped bit there silently undoes commits, and a second delta would get a used number. The stamp of a
subscriber is its last number, in a small file beside the journal. It is written after the commit, without a
sync: it may be behind the journal, but never ahead.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, Self

from rdflib.term import Node

from rdflive.syntax.tokens import Token, tokenize

__all__ = ["SubscriberRecord", "is_ahead", "query_identity", "row_mark", "wrap", "write_stamp"]

_MODULUS: Final = 1 << 64
_HALF: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class SubscriberRecord:
    """The record of a subscriber.

    `answer` and `pending` are checksums of the tables of these names: the sum of `row_mark` times weight over
    the rows. A lost, changed or duplicate row changes the sum. A delta updates the sums without reading the
    tables: acknowledging it adds `pending` to `answer`.
    """

    id: int
    name: str
    token: str
    """A random token, unique among all files."""
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
        """Read the record of a name; raises ValueError if it is damaged."""
        return next(iter(cls._select(connection, "WHERE name = ?", name)), None)

    @classmethod
    def every(cls, connection: sqlite3.Connection) -> list[Self]:
        """Read all records; raises ValueError if one is damaged."""
        return cls._select(connection)

    @classmethod
    def _select(cls, connection: sqlite3.Connection, where: str = "", *given: str) -> list[Self]:
        names = ", ".join(field.name for field in fields(cls))
        found = []
        # `name` is checked too, because a damaged index could lead to another subscriber
        for *values, seal in connection.execute(f"SELECT {names}, seal FROM subscriber {where}", given):  # noqa: S608
            record = cls(*values)
            if seal != record._seal() or (given and record.name != given[0]):
                raise ValueError(f"the seal of {record.name!r} is broken")
            found.append(record)
        return found

    def store(self, connection: sqlite3.Connection) -> None:
        """Write the record with its seal, and replace the last one of the subscriber."""
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
    """Return the number of a row in a checksum.

    It is odd, so that every change of a weight by less than 2**64 changes the sum.
    """
    return _hash(key) | 1


def _hash(text: str) -> int:
    return wrap(int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()))


def wrap(number: int) -> int:
    """Reduce a sum to a signed 64-bit integer, the range of SQLite."""
    return (number + _HALF) % _MODULUS - _HALF


def query_identity(query: str, bindings: Mapping[str, Node], namespaces: Mapping[str, Any]) -> str:
    """Return a text that identifies a query, without its whitespace and comments.

    It includes those prefixes of `namespaces` that the query uses and does not declare, so a new prefix of a
    graph changes nothing. It includes all `bindings`, which are those of `initBindings`.

    >>> query_identity("ASK { ?s a  ?o } # any", {}, {"e": "urn:e"})
    'ASK { ?s a ?o }'
    >>> query_identity("ASK { [] ?p ?n FILTER(?n -1 > 0) }", {}, {})
    'ASK { [ ] ?p ?n FILTER ( ?n - 1 > 0 ) }'
    """
    given = {name.lstrip("?$"): term for name, term in bindings.items()}
    tokens = tuple(tokenize(query))
    declared = {name.text for word, name in pairwise(tokens) if word.text.upper() == "PREFIX"}
    used = {token.text.partition(":")[0] for token in tokens if token.kind == "prefixed"}
    parts = [part for token in tokens for part in _parts(token)]
    bound = [prefix for prefix in sorted(used & namespaces.keys()) if f"{prefix}:" not in declared]
    parts += [f"PREFIX {prefix}: <{namespaces[prefix]}>" for prefix in bound]
    parts += [f"?{name} = {term.n3()}" for name, term in sorted(given.items())]
    return " ".join(parts).encode("utf-8", "backslashreplace").decode()  # SQLite rejects lone surrogates


def _parts(token: Token) -> tuple[str, ...]:
    """Split `[]`, `()` and signed numbers in two: a query may have a space or a comment inside them."""
    if token.kind in ("nil", "anonymous", "signed"):
        return token.text[0], token.text[1:] if token.kind == "signed" else token.text[-1]
    return (token.text,)


_STAMP: Final = struct.Struct("<Q32s8s")
"""The number of the stamp, the token of the subscriber, and a checksum of both."""


def write_stamp(path: str, record: SubscriberRecord) -> None:
    """Write the stamp of a record whose delta will be delivered."""
    # not truncated: the file has a stamp for each subscriber, at a position of its own
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(descriptor, "r+b", buffering=0) as stream:
        stream.seek(record.id * _STAMP.size)
        stream.write(_stamp(_number(record), record.token.encode()))


def is_ahead(path: str, record: SubscriberRecord, *, is_new: bool = False) -> bool:
    """True if the stamp of a subscriber is ahead of its record; a damaged stamp is ignored.

    For a record that `is_new`, any valid stamp is ahead.
    """
    with suppress(FileNotFoundError), open(path, "rb") as stream:
        stream.seek(record.id * _STAMP.size)
        found = stream.read(_STAMP.size)
        if len(found) == _STAMP.size:
            number, token, _ = _STAMP.unpack(found)
            if found == _stamp(number, token):
                return is_new or (token == record.token.encode() and number > _number(record))
    return False


def _number(record: SubscriberRecord) -> int:
    """Return the number of writes for a subscriber: its start and its deltas."""
    return record.begun + record.written


def _stamp(number: int, token: bytes) -> bytes:
    return _STAMP.pack(number, token, blake2b(b"%d %s" % (number, token), digest_size=8).digest())
