"""The file of resumed subscriptions: the answers that each was told, and the delta it is being told."""

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
"""Rows of terms as text, and their weights, none of them zero."""

_REPORT: Final = "@"
"""What the text of a report begins with, and no row of terms."""

# Added up in SQL, so that the work depends on the delta and not on the answer.
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
    """A delta that was written down and not acknowledged: its number, whether it is the first, its rows."""

    number: int
    initial: bool
    rows: Rows
    report: str = ""
    """What a window's report says besides, as it was given to `write`."""


class Kept(Protocol):
    """What a stream was given, which is in the file before what follows from it."""

    def flush(self) -> None:
        """Write what is not in the file yet."""

    def leave(self, name: str, /) -> None:
        """Be told that a subscriber is closed."""


class Journal:
    """What one file knows of one subscriber. All methods may be called from any thread.

    `write` puts the next delta into the file, `acknowledge` adds it to the answers. Of several journals
    of one subscriber the last one opened has it; any other gets a `ResumeError` when it writes, as does one
    whose file is gone. What SQLite raises becomes a `ResumeError` too, and then nothing was changed.
    """

    _what: ClassVar = "the answers of another query"
    """What a file holds under a name that was used for something else."""

    def __init__(self, path: str | os.PathLike[str], name: str, query: str) -> None:
        self.streams: Sequence[Kept] = ()
        """What is kept of the streams that the subscriber looks at."""
        self._file = JournalFile(path, name)
        self.path = self._file.path
        self.name = name
        self._lock = threading.RLock()
        opened = (self._file.real_path, name)
        # In one process a second journal of the name is refused; between processes the last takes over.
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
                self._close.detach()  # what was interrupted before this is done by the next call

    def pending(self) -> Pending | None:
        """Read the delta that was written and not acknowledged, as it was written."""
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
        """Subtract the answers that the subscriber was told from the rows that are the answers now."""
        changed = {row_key(row): (row, weight) for row, weight in rows.items()}
        gone: Rows = {}
        with self._reading():
            for row, told in self._rows("answer"):
                key = row_key(row)
                text, weight = changed.pop(key, (row, 0))
                if weight > told:
                    changed[key] = text, weight - told
                elif weight < told:
                    gone[row] = weight - told
        return gone | dict(changed.values())

    def begin(self, rows: Rows) -> None:
        """Take rows for the answers that the subscriber was told, without telling it."""
        self._flush()
        with self._transaction() as (connection, record):
            total = wrap(record.answer + self._insert(connection, "answer", rows))
            record = replace(record, begun=1, answer=total)
            record.store(connection)
        # behind the commit: a stamp ahead of the file means that the file has lost something
        self._file.stamp(record)
        self.begun = True

    def write(self, rows: Rows, *, initial: bool = False, report: str = "") -> int:
        """Write down a delta before it is handed out, and give its number."""
        self._flush()
        if report:
            rows = {**rows, _REPORT + report: 1}
        with self._transaction() as (connection, record):
            if record.written != record.acknowledged:
                raise self._file.error(
                    "a delta was taken while another was not done with; take them in one thread"
                )
            total = self._insert(connection, "pending", rows)
            number = record.written + 1
            record = replace(record, begun=1, written=number, initial=int(initial), pending=total)
            record.store(connection)
        self._file.stamp(record)
        self.begun = True
        return number

    def acknowledge(self) -> None:
        """Add the delta that was handed out to the answers; possible after `close` too.

        Then it does nothing where another journal has the subscriber.
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
                # the answer belongs to whoever has taken the subscriber over since
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
        """Take the subscriber from whoever had it."""
        record = self._file.record(connection)
        if record.query not in (None, query):
            raise self._file.error(
                f"it holds {self._what}: {record.query!r}, not {query!r}; give the new one "
                "another name, or delete the file and begin anew"
            )
        self._id, self._token, self._session = record.id, record.token, record.session + 1
        self.begun = bool(record.begun)
        """True when the file holds answers, perhaps none, so that there is something to resume."""
        replace(record, session=self._session, query=query).store(connection)

    def _rows(self, table: str) -> Iterator[tuple[str, int]]:
        # Rows of weight 0 occur: when `"a"@EN` goes and `"a"@en` comes, which are one row.
        return self._connection.execute(
            f"SELECT coalesce(spelling, row), weight FROM {table} WHERE subscriber = ? AND weight",  # noqa: S608
            (self._id,),
        )

    def _insert(self, connection: sqlite3.Connection, table: str, rows: Rows) -> int:
        """Add rows to a table, and give what they add to its sum."""
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
        """Have what streams were given in the file first: SQLite keeps the order of what it writes."""
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
            # FULL, so that a number that was handed out is never given to another delta after a power
            # failure. An acknowledgement may be lost: the same delta then comes again.
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
    """Give the random word that a subscriber has in a file; it has another in any other or later file.

    The file is made, and the subscriber entered in it, where they are not there. Raises `ResumeError`.

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
"""The path and the name of every journal that is open in this process."""


def _release(connection: sqlite3.Connection, opened: tuple[str, str]) -> None:
    """Close a journal; without `_opening`, since the garbage collector may call it while that is held."""
    connection.close()
    _opened.discard(opened)
