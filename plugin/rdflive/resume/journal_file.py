"""The SQLite file of resumed subscriptions: making it, knowing it again, and saying what is wrong with it."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from rdflive.errors import RdfliveError

__all__ = ["JournalFile", "ResumeError"]

BUSY: Final = 10.0
"""Seconds to wait for a transaction of another subscription in the same file."""

_APPLICATION: Final = 0x72646C76
"""What marks a SQLite file as one of ours."""
_SCHEMA: Final = 1
_TABLES: Final = (
    # `token` is a random word; `query` is NULL until the subscriber subscribes
    """CREATE TABLE subscriber (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL, query TEXT,
        session INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL DEFAULT 0,
        written INTEGER NOT NULL DEFAULT 0, acknowledged INTEGER NOT NULL DEFAULT 0,
        initial INTEGER NOT NULL DEFAULT 0)""",
    # `spelling` is the row where that differs from its key
    """CREATE TABLE answer (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
    """CREATE TABLE pending (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
)
_CHECK: Final = "check the path, its permissions and the space on its disk"
_BROKEN: Final = "it is no SQLite file or a damaged one: give another path, or delete it and begin anew"
_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "another program holds the file: wait until it has ended",
    sqlite3.SQLITE_CORRUPT: _BROKEN,
    sqlite3.SQLITE_NOTADB: _BROKEN,
}

_Place: TypeAlias = tuple[int, int]
"""The device and the number of a file, which no other file has while it is open."""


class ResumeError(RdfliveError, RuntimeError):
    """A subscription cannot be resumed, or cannot go on with the file that it is resumed from."""


class JournalFile:
    """A file of resumed subscriptions as one of its subscribers sees it; errors name both."""

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.real_path = os.path.realpath(self.path)
        self.name = name
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the subscriber's name {name!r} is no text: {error.reason}") from error
        self._known: tuple[_Place | None, _Place | None] = None, None

    def connect(self, mode: str = "rwc") -> sqlite3.Connection:
        """Open the file, which "rwc" makes where there is none; the caller keeps threads apart."""
        with self.explained():
            return sqlite3.connect(
                f"{Path(self.path).as_uri()}?mode={mode}",
                uri=True,
                timeout=BUSY,
                isolation_level=None,
                check_same_thread=False,
            )

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; refuse one that is not ours before anything is changed in it."""
        with self.transaction(connection, "DEFERRED"):  # one view: another may be making the tables
            if not _is_ours(connection) and not _is_empty(connection):
                raise self.error("it belongs to another program; give the path of a file of its own")
        with self.explained():
            connection.execute("PRAGMA journal_mode = WAL")
        with self.transaction(connection):
            if _is_empty(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA}")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != _SCHEMA:
                raise self.error(
                    f"its layout is {version}, and this rdflive knows {_SCHEMA}: use the one that made it, "
                    "or delete it and begin anew"
                )
            connection.execute(
                "INSERT INTO subscriber (name, token) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (self.name, secrets.token_hex(16)),
            )

    def remember(self) -> None:
        """Take what is at the path for the file that is open; call it when its log is there too."""
        self._known = self._found()

    def check(self) -> None:
        """Raise `ResumeError` where the file that is open is not at its path any more.

        SQLite does not look: it goes on writing into a file that is deleted, for nobody to read.
        """
        if self._found() != self._known:
            raise self.error(
                "it or its write-ahead log was deleted, emptied or replaced while it was open; put back what "
                "was there, or delete it and begin anew"
            )

    @contextmanager
    def transaction(self, connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Make a transaction of the block."""
        with self.explained():
            try:
                connection.execute(f"BEGIN {kind}")
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Make a `ResumeError` of what SQLite raises in the block."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what extends it
            raise self.error(f"{error}; {_ADVICE.get(code, _CHECK)}") from error

    def _found(self) -> tuple[_Place | None, _Place | None]:
        return _place(self.path, least=1), _place(f"{self.real_path}-wal")

    def error(self, reason: str) -> ResumeError:
        """Say why this subscriber cannot go on with this file."""
        return ResumeError(f"subscription {self.name!r} cannot be resumed from {self.path!r}: {reason}")


def _place(path: str, *, least: int = 0) -> _Place | None:
    """Find a file; None where there is none of at least so many bytes."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size >= least else None


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not application and not tables
