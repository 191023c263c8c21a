"""The journal of resumed subscriptions: the delivered answer of each, and the delta in delivery."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, TypeAlias

from rdflive.delivery.resume.journal_file import JournalFile, ResumeError
from rdflive.delivery.resume.record import SubscriberRecord, row_mark, wrap
from rdflive.delivery.resume.row_texts import row_key
from rdflive.errors import ClosedError

__all__ = ["Journal", "Pending", "ResumeError", "Rows", "subscriber_token"]

Rows: TypeAlias = dict[str, int]
"""Rows of terms as text, and their nonzero weights."""

_REPORT: Final = "@"
"""The first character of the text of a report; no row of terms starts with it."""

# in SQL, so that the work depends on the delta and not on the answer
_APPLY: Final = (
    """INSERT INTO answer SELECT subscriber, row, spelling, weight FROM pending
        WHERE subscriber = :id AND substr(row, 1, 1) != '@'
        ON CONFLICT (subscriber, row) DO UPDATE SET weight = weight + excluded.weight""",
    """DELETE FROM answer WHERE subscriber = :id AND weight = 0
        AND row IN (SELECT row FROM pending WHERE subscriber = :id)""",
    "DELETE FROM pending WHERE subscriber = :id",
)


@dataclass(frozen=True, slots=True)
class Pending:
    """A delta that was written and not acknowledged. `initial` is true for the first delta."""

    number: int
    initial: bool
    rows: Rows
    report: str = ""
    """The window's report of the delta, as passed to `write`."""


class Kept(Protocol):
    """The log of a stream's elements, which is written before the deltas that follow from them."""

    def flush(self) -> None:
        """Write the elements that are not in the file yet."""

    def leave(self, name: str, /) -> None:
        """Release the elements of a closed subscriber."""


class Journal:
    """The state of one subscriber in a file. All methods may be called from any thread.

    `write` puts the next delta into the file, and `acknowledge` adds it to the answer. If several journals of
    one subscriber are opened, the last one owns it, and the others raise `ResumeError` when they write. So
    does a journal whose file is gone. Errors of SQLite become a `ResumeError` too; nothing has changed then.
    """

    _what: ClassVar = "the answers of another query"
    """The content of a file under a name that was used for something else, for messages."""

    def __init__(self, path: str | os.PathLike[str], name: str, query: str) -> None:
        self.streams: Sequence[Kept] = ()
        """The logs of the streams that the subscriber reads."""
        self._file = JournalFile(path, name)
        self.path = self._file.path
        self.name = name
        self._lock = threading.RLock()
        opened = (self._file.real_path, name)
        # in one process a second journal of the name is refused; between processes the last takes over
        self._take(opened)
        try:
            self._connection = self._file.connect()
        except BaseException:
            _opened.discard(opened)
            raise
        self._opened = opened
        self._close = weakref.finalize(self, _release, self._connection, opened)
        try:
            self._file.prepare(self._connection)
            with self._file.transaction(self._connection):
                self._join(self._connection, query)
            self._file.remember()
        except BaseException:
            self._close()
            raise

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return not self._close.alive

    def close(self) -> None:
        """Close the file. May be repeated."""
        for stream in self.streams:
            stream.leave(self.name)
        with self._lock:
            if self._close.alive:
                _release(self._connection, self._opened)
                self._close.detach()  # last, so that the next call repeats interrupted steps

    def pending(self) -> Pending | None:
        """Read the delta that was written and not acknowledged; None if there is none."""
        with self._reading() as connection:
            record = self._file.record(connection)
            if record.written == record.acknowledged:
                return None
            rows = dict(self._rows("pending"))
            reports = [row for row in rows if row.startswith(_REPORT)]
            for row in reports:
                del rows[row]
            return Pending(record.written, bool(record.initial), rows, "".join(reports)[1:])

    def missed(self, rows: Rows) -> Rows:
        """Subtract the delivered answer from the rows of the current answer."""
        changed = {row_key(row): (row, weight) for row, weight in rows.items()}
        gone: Rows = {}
        with self._reading():
            for row, known in self._rows("answer"):
                key = row_key(row)
                text, weight = changed.pop(key, (row, 0))
                if weight > known:
                    changed[key] = text, weight - known
                elif weight < known:
                    gone[row] = weight - known
        return gone | dict(changed.values())

    def begin(self, rows: Rows) -> None:
        """Record rows as the delivered answer without delivering them."""
        self._flush()
        with self._transaction() as (connection, record):
            total = wrap(record.answer + self._insert(connection, "answer", rows))
            record = replace(record, begun=1, answer=total)
            record.store(connection)
        # after the commit: a stamp ahead of the file means that the file has lost data
        self._file.stamp(record)
        self.begun = True

    def write(self, rows: Rows, *, initial: bool = False, report: str = "") -> int:
        """Write a delta before its delivery, and return its number."""
        self._flush()
        if report:
            rows = {**rows, _REPORT + report: 1}
        with self._transaction() as (connection, record):
            if record.written != record.acknowledged:
                raise self._file.error(
                    "a delta was taken before the last one was acknowledged; take them in one thread"
                )
            total = self._insert(connection, "pending", rows)
            number = record.written + 1
            record = replace(record, begun=1, written=number, initial=int(initial), pending=total)
            record.store(connection)
        self._file.stamp(record)
        self.begun = True
        return number

    def acknowledge(self) -> None:
        """Add the written delta to the delivered answer; possible after `close` too.

        After `close`, nothing happens if another journal owns the subscriber.
        """
        with self._lock:
            if not self.closed:
                with self._transaction(durable=False) as (connection, record):
                    self._apply(connection, record)
                return
            with (
                self._file.explained(),
                closing(self._file.connect("rw")) as connection,
                self._file.transaction(connection),
            ):
                # another journal may own the subscriber now
                found = self._file.find(connection)
                if found is not None and self._has(found):
                    self._apply(connection, found)

    def _apply(self, connection: sqlite3.Connection, record: SubscriberRecord) -> None:
        found = connection.execute(
            "SELECT row FROM pending WHERE subscriber = ? AND substr(row, 1, 1) = ?", (self._id, _REPORT)
        )
        reports = sum(row_mark(row) for (row,) in found)
        for statement in _APPLY:
            connection.execute(statement, {"id": self._id})
        total = wrap(record.answer + record.pending - reports)
        replace(record, acknowledged=record.written, answer=total, pending=0).store(connection)

    def _take(self, opened: tuple[str, str]) -> None:
        with _opening:
            if opened in _opened:
                raise self._file.error(
                    "a subscription of that name is open; close it first, or use another name"
                )
            _opened.add(opened)

    def _join(self, connection: sqlite3.Connection, query: str) -> None:
        """Take over the subscriber from its last journal."""
        record = self._file.record(connection)
        if record.query not in (None, query):
            raise self._file.error(
                f"it holds {self._what}: {record.query!r}, not {query!r}; give the new one "
                "another name, or delete the file and start again"
            )
        self._id, self._token, self._session = record.id, record.token, record.session + 1
        self.begun = bool(record.begun)
        """True if the file holds an answer to resume from, which may be empty."""
        replace(record, session=self._session, query=query).store(connection)

    def _rows(self, table: str) -> Iterator[tuple[str, int]]:
        # rows of weight 0 occur when `"a"@EN` is removed and `"a"@en` added, which are one row
        return self._connection.execute(
            f"SELECT coalesce(spelling, row), weight FROM {table} WHERE subscriber = ? AND weight",  # noqa: S608
            (self._id,),
        )

    def _insert(self, connection: sqlite3.Connection, table: str, rows: Rows) -> int:
        """Add rows to a table, and return their contribution to its sum."""
        total = 0
        values = []
        for row, weight in rows.items():
            key = row_key(row)
            total += row_mark(key) * weight
            values.append((self._id, key, None if key == row else row, weight))
        connection.executemany(
            f"""INSERT INTO {table} VALUES (?, ?, ?, ?)
                ON CONFLICT (subscriber, row) DO UPDATE SET weight = weight + excluded.weight""",  # noqa: S608
            values,
        )
        return wrap(total)

    def _flush(self) -> None:
        """Write the elements of streams first: SQLite keeps the order of its writes."""
        for stream in self.streams:
            stream.flush()

    def _has(self, record: SubscriberRecord) -> bool:
        return (record.token, record.session) == (self._token, self._session)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._file.explained():
            if self.closed:
                raise ClosedError(f"subscription {self.name!r} is closed")
            yield self._connection

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Iterator[tuple[sqlite3.Connection, SubscriberRecord]]:
        with self._reading() as connection:
            # FULL, so that no other delta gets a delivered number after a power failure. An acknowledgement
            # may be lost: the same delta then comes again.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            with self._file.transaction(connection):
                self._file.check()
                record = self._file.find(connection)
                if record is None or not self._has(record):
                    raise self._file.error(
                        "another subscription of that name has taken over, and this one is closed"
                    )
                yield connection, record


def subscriber_token(path: str | os.PathLike[str], name: str) -> str:
    """Return the random token of a subscriber in a file, which differs in every other file.

    Creates the file and the entry of the subscriber if they are missing. Raises `ResumeError`.

    >>> from tempfile import mkdtemp
    >>> path = os.path.join(mkdtemp(), "board.db")
    >>> subscriber_token(path, "board") == subscriber_token(path, "board")
    True
    """
    file = JournalFile(path, name)
    with file.explained(), closing(file.connect()) as connection:
        file.prepare(connection)
        return file.record(connection).token


_opening: Final = threading.Lock()
_opened: Final[set[tuple[str, str]]] = set()
"""The path and the name of every open journal of this process."""


def _release(connection: sqlite3.Connection, opened: tuple[str, str]) -> None:
    """Close a journal; without `_opening`, because the garbage collector may call this while it is held."""
    connection.close()
    _opened.discard(opened)
