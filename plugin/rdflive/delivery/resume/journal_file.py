"""The SQLite file of resumed subscriptions: its creation, its checks, and the messages for its errors."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from rdflive.delivery.resume.record import SubscriberRecord, is_ahead, row_mark, wrap, write_stamp
from rdflive.delivery.resume.row_texts import row_key
from rdflive.errors import RdfliveError

__all__ = ["JournalFile", "ResumeError"]

BUSY: Final = 10.0
"""Seconds to wait for a transaction of another subscription in the same file."""

_APPLICATION: Final = 0x72646C76
"""The application id that marks a SQLite file as one of rdflive."""
_SCHEMA: Final = 2
_TABLES: Final = (
    # `seal` is the checksum of the other columns; see `SubscriberRecord`
    """CREATE TABLE subscriber (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL, query TEXT,
        session INTEGER NOT NULL, begun INTEGER NOT NULL,
        written INTEGER NOT NULL, acknowledged INTEGER NOT NULL, initial INTEGER NOT NULL,
        answer INTEGER NOT NULL, pending INTEGER NOT NULL, seal INTEGER NOT NULL)""",
    # `spelling` is the row if it differs from its key
    """CREATE TABLE answer (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
    """CREATE TABLE pending (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
)
_CHECK: Final = "check the path, its permissions and the space on its disk"
_RECOVER: Final = (
    "put back an intact copy of it; or give another path or delete it, and start again with the answers as "
    "they are now"
)
_BROKEN: Final = f"it is no SQLite file or a damaged one: {_RECOVER}"
_ADVICE: Final = {
    0: _BROKEN,  # from Python's module, for text that is no UTF-8
    sqlite3.SQLITE_ERROR: _BROKEN,  # from our statements, if the tables have changed
    sqlite3.SQLITE_BUSY: "another program holds the file: wait until it has ended",
    sqlite3.SQLITE_CORRUPT: _BROKEN,
    sqlite3.SQLITE_NOTADB: _BROKEN,
    # SQLite raises it also for a header with the number of a future format
    sqlite3.SQLITE_READONLY: (
        f"give this user write access to it and its folder; otherwise it is damaged: {_RECOVER}"
    ),
}

_FileId: TypeAlias = tuple[int, int]
"""The device and the inode of a file, unique while the file is open."""


class ResumeError(RdfliveError, RuntimeError):
    """A subscription cannot be resumed from its file, or cannot go on with it."""


class JournalFile:
    """The file of resumed subscriptions for one of its subscribers; errors name both."""

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.real_path = os.path.realpath(self.path)
        self.name = name
        self._stamp = f"{self.real_path}-told"
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the subscriber's name {name!r} is not valid text: {error.reason}") from error
        self._known: tuple[_FileId | None, _FileId | None] = None, None

    def connect(self, mode: str = "rwc") -> sqlite3.Connection:
        """Open the file; "rwc" creates a missing one. The caller serializes the uses of the connection."""
        with self.explained():
            if mode == "rwc" and _place(self.path, least=1) is None:
                with suppress(FileNotFoundError):
                    os.unlink(self._stamp)  # of a file that was deleted
            return sqlite3.connect(
                f"{Path(self.path).as_uri()}?mode={mode}",
                uri=True,
                timeout=BUSY,
                # `transaction` starts transactions, and Python's module starts none
                isolation_level=None,
                # deltas are delivered in any writing thread; `Journal` has a lock
                check_same_thread=False,
            )

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new file; refuse another program's file before any change to it."""
        with self.transaction(connection, "DEFERRED"):  # a transaction: another may be creating the tables
            if not _is_ours(connection) and not _is_empty(connection):
                raise self.error("it belongs to another program; give the path of a file of its own")
        with self.explained():
            # outside a transaction, as SQLite requires, and after the check, because it writes to the file
            connection.execute("PRAGMA journal_mode = WAL")
        with self.transaction(connection):
            if _is_empty(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA}")
            self._verify(connection)
            if self.find(connection) is None:
                (last,) = connection.execute("SELECT max(id) FROM subscriber").fetchone()
                token = secrets.token_hex(16)
                record = SubscriberRecord((last or 0) + 1, self.name, token, None, 0, 0, 0, 0, 0, 0, 0)
                if is_ahead(self._stamp, record, is_new=True):
                    raise self._behind("a subscriber that got deltas is not in it")
                record.store(connection)

    def record(self, connection: sqlite3.Connection) -> SubscriberRecord:
        """Read the record of the subscriber, which exists since `prepare`."""
        found = self.find(connection)
        if found is None:
            raise self.damaged("the subscriber is gone from it")
        return found

    def stamp(self, record: SubscriberRecord) -> None:
        """Write the stamp of a record beside the file; called when the record is committed."""
        with self.explained():
            write_stamp(self._stamp, record)

    def find(self, connection: sqlite3.Connection) -> SubscriberRecord | None:
        """Read the record of the subscriber, or None; raises `ResumeError` if it is damaged."""
        with self._undamaged():
            return SubscriberRecord.read(connection, self.name)

    def damaged(self, reason: str) -> ResumeError:
        """Return the error for a file that differs from what was written."""
        return self.error(f"it is damaged ({reason}): {_RECOVER}")

    def _behind(self, reason: str) -> ResumeError:
        """Return the error for a file without its end: an older copy, or a log that SQLite has cut."""
        return self.error(
            f"it is damaged or an older copy ({reason}, says {self._stamp!r}): put back a newer copy; or "
            "delete that file as well, if subscribers got no more deltas than this copy has, or may get some "
            "again; or delete both, and start again with the answers as they are now"
        )

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Raise `ResumeError` for a file that is not exactly what rdflive wrote, before its data are used.

        SQLite checks a page only when it reads it, and has no checksums of rows.
        """
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _SCHEMA:
            raise self.error(
                f"its layout is {version}, and this rdflive reads {_SCHEMA}: use the version that made it, "
                "or delete it and start again"
            )
        made = {text for (text,) in connection.execute("SELECT sql FROM sqlite_master") if text}
        if made != set(_TABLES):
            raise self.damaged("its tables are not those of its layout")
        (fault, *_) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if fault != "ok":
            raise self.damaged(" ".join(fault.split()))
        with self._undamaged():
            records = {record.id: record for record in SubscriberRecord.every(connection)}
            for table in ("answer", "pending"):
                _check_rows(connection, table, records)
        for record in records.values():
            if is_ahead(self._stamp, record):
                raise self._behind(f"deltas that {record.name!r} got are not in it")

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise self.damaged(str(error)) from error

    def remember(self) -> None:
        """Remember the identity of the open file and its log, which must both exist."""
        self._known = self._found()

    def check(self) -> None:
        """Raise `ResumeError` if the open file is no longer at its path.

        SQLite does not check this: it goes on writing to a deleted file.
        """
        if self._found() != self._known:
            raise self.error(
                "it or its write-ahead log was deleted, emptied or replaced while it was open; put the old "
                "file back, or delete it and start again"
            )

    @contextmanager
    def transaction(self, connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Run the block as one transaction."""
        with self.explained():
            try:
                connection.execute(f"BEGIN {kind}")
                yield
                connection.execute("COMMIT")
            except BaseException:
                # BEGIN may have failed, and SQLite rolls back by itself after some errors
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of SQLite and the operating system in the block into `ResumeError`."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code, without its extension
            raise self.error(f"{error}; {_ADVICE.get(code, _CHECK)}") from error
        except UnicodeDecodeError as error:  # Python's module cannot decode every message of SQLite
            raise self.damaged(f"text in it is no UTF-8: {error.reason}") from error
        except OSError as error:
            raise self.error(f"{error}; {_CHECK}") from error

    def _found(self) -> tuple[_FileId | None, _FileId | None]:
        return _place(self.path, least=1), _place(f"{self.real_path}-wal")

    def error(self, reason: str) -> ResumeError:
        """Return the error that this subscriber cannot go on with this file."""
        return ResumeError(f"subscription {self.name!r} cannot be resumed from {self.path!r}: {reason}")


def _place(path: str, *, least: int = 0) -> _FileId | None:
    """Return the identity of a file; None if there is no file of at least `least` bytes."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size >= least else None


def _check_rows(connection: sqlite3.Connection, table: str, records: Mapping[int, SubscriberRecord]) -> None:
    """Compare the rows of a table with the sums of their subscribers; raises ValueError if they differ."""
    for subscriber, total in _sums(connection, table, records).items():
        record = records[subscriber]
        if total != getattr(record, table):
            raise ValueError(f"the rows of {record.name!r} in {table} are not those that were written")


def _sums(connection: sqlite3.Connection, table: str, subscribers: Iterable[int]) -> dict[int, int]:
    """Add up the rows of each subscriber; raises ValueError for a row that rdflive never writes."""
    sums = dict.fromkeys(subscribers, 0)
    for subscriber, row, spelling, weight in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
        # in SQLite a column may hold values of any type
        if subscriber not in sums or not isinstance(row, str) or not isinstance(weight, int):
            raise ValueError(f"a row of {table} is none of a subscriber's")
        if spelling is not None and (not isinstance(spelling, str) or row_key(spelling) != row):
            raise ValueError(f"a row of {table} is spelt {spelling!r}, and known as {row!r}")
        sums[subscriber] += row_mark(row) * weight
    return {subscriber: wrap(total) for subscriber, total in sums.items()}


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not application and not tables
