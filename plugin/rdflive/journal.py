"""The file of resumed subscriptions: the answers that each was told, and the delta it is being told."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from rdflive.errors import ClosedError, RdfliveError
from rdflive.journal_rows import row_key

__all__ = ["Journal", "Pending", "ResumeError", "Rows"]

Rows: TypeAlias = dict[str, int]
"""Rows of terms as text, and their weights, none of them zero."""

BUSY: Final = 10.0
"""Seconds to wait for a transaction of another subscription in the same file."""

_APPLICATION: Final = 0x72646C76
"""What marks a SQLite file as one of ours."""
_SCHEMA: Final = 1
_TABLES: Final = (
    """CREATE TABLE subscriber (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, query TEXT NOT NULL,
        session INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL DEFAULT 0,
        written INTEGER NOT NULL DEFAULT 0, acknowledged INTEGER NOT NULL DEFAULT 0,
        initial INTEGER NOT NULL DEFAULT 0)""",
    # `spelling` is the row where that differs from its key
    """CREATE TABLE answer (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
    """CREATE TABLE pending (subscriber INTEGER, row TEXT, spelling TEXT, weight INTEGER NOT NULL,
        PRIMARY KEY (subscriber, row)) WITHOUT ROWID""",
)
_APPLY: Final = (
    """INSERT INTO answer SELECT subscriber, row, spelling, weight FROM pending WHERE subscriber = :id
        ON CONFLICT (subscriber, row) DO UPDATE SET weight = weight + excluded.weight""",
    """DELETE FROM answer WHERE subscriber = :id AND weight = 0
        AND row IN (SELECT row FROM pending WHERE subscriber = :id)""",
    "DELETE FROM pending WHERE subscriber = :id",
    "UPDATE subscriber SET acknowledged = written WHERE id = :id",
)


class ResumeError(RdfliveError, RuntimeError):
    """A subscription cannot be resumed, or cannot go on with the file that it is resumed from."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A delta that was written down and not acknowledged: its number, whether it is the first, its rows."""

    number: int
    initial: bool
    rows: Rows


class Journal:
    """What one file knows of one subscriber. All methods may be called from any thread.

    `write` puts the next delta into the file, `acknowledge` adds it to the answers. Of several journals
    of one subscriber the last one opened has it; any other gets a `ResumeError` when it writes. What
    SQLite raises becomes a `ResumeError` too, and then nothing was changed.
    """

    def __init__(self, path: str | os.PathLike[str], name: str, query: str) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.name = name
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the subscriber's name {name!r} is no text: {error.reason}") from error
        self._lock = threading.RLock()
        opened = (os.path.realpath(self.path), name)
        self._take(opened)
        try:
            with self._explained():
                self._connection = _connect(self.path, "rwc")
        except BaseException:
            _opened.discard(opened)
            raise
        self._close = weakref.finalize(self, _release, self._connection, opened)
        self._session = 0
        try:
            with self._explained():
                self._prepare()
            with self._transaction() as connection:
                self._join(connection, query)
        except BaseException:
            self._close()
            raise

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return not self._close.alive

    def close(self) -> None:
        """Close the file. May be repeated."""
        with self._lock:
            self._close()

    def pending(self) -> Pending | None:
        """Read the delta that was written and not acknowledged, as it was written."""
        with self._reading() as connection:
            written, acknowledged, initial = connection.execute(
                "SELECT written, acknowledged, initial FROM subscriber WHERE id = ?", (self._id,)
            ).fetchone()
            if written == acknowledged:
                return None
            return Pending(written, bool(initial), dict(self._rows("pending")))

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
        with self._transaction() as connection:
            self._insert(connection, "answer", rows)
            connection.execute("UPDATE subscriber SET begun = 1 WHERE id = ?", (self._id,))
        self.begun = True

    def write(self, rows: Rows, *, initial: bool = False) -> int:
        """Write down a delta before it is handed out, and give its number."""
        with self._transaction() as connection:
            self._insert(connection, "pending", rows)
            changed = connection.execute(
                """UPDATE subscriber SET begun = 1, written = written + 1, initial = ?
                    WHERE id = ? AND written = acknowledged""",
                (initial, self._id),
            )
            if changed.rowcount != 1:
                raise self._error(
                    "a delta was taken while another was not done with; take them in one thread"
                )
            (number,) = connection.execute(
                "SELECT written FROM subscriber WHERE id = ?", (self._id,)
            ).fetchone()
        self.begun = True
        return int(number)

    def acknowledge(self) -> None:
        """Add the delta that was handed out to the answers; possible after `close` too.

        Then it does nothing where another journal has the subscriber.
        """
        closed = self.closed
        with self._transaction(acknowledging=True) as connection:
            if closed and self._session_in(connection) != self._session:
                return
            for statement in _APPLY:
                connection.execute(statement, {"id": self._id})

    def _take(self, opened: tuple[str, str]) -> None:
        with _opening:
            if opened in _opened:
                raise self._error("a subscription of that name is open; close it first, or use another name")
            _opened.add(opened)

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse one that is not ours before anything is changed in it."""
        connection = self._connection
        if not _is_ours(connection) and not _is_empty(connection):
            raise self._error("it belongs to another program; give the path of a file of its own")
        connection.execute("PRAGMA journal_mode = WAL")
        with self._writing(connection):
            if _is_empty(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA}")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != _SCHEMA:
                raise self._error(
                    f"its layout is {version}, and this rdflive knows {_SCHEMA}: use the one that made it, "
                    "or delete it and begin anew"
                )

    def _join(self, connection: sqlite3.Connection, query: str) -> None:
        """Find or enter the subscriber, and take it from whoever had it."""
        connection.execute(
            "INSERT INTO subscriber (name, query) VALUES (?, ?) ON CONFLICT DO NOTHING", (self.name, query)
        )
        self._id, known, session, begun = connection.execute(
            "SELECT id, query, session, begun FROM subscriber WHERE name = ?", (self.name,)
        ).fetchone()
        if known != query:
            raise self._error(
                f"it holds the answers of another query: {known!r}, not {query!r}; give the new one another "
                "name, or delete the file and begin anew"
            )
        self._session = int(session) + 1
        self.begun = bool(begun)
        """True when the file holds answers, perhaps none, so that there is something to resume."""
        connection.execute("UPDATE subscriber SET session = ? WHERE id = ?", (self._session, self._id))

    def _rows(self, table: str) -> Iterator[tuple[str, int]]:
        return self._connection.execute(
            f"SELECT coalesce(spelling, row), weight FROM {table} WHERE subscriber = ? AND weight",  # noqa: S608
            (self._id,),
        )

    def _insert(self, connection: sqlite3.Connection, table: str, rows: Rows) -> None:
        connection.executemany(
            f"""INSERT INTO {table} VALUES (?, ?, ?, ?)
                ON CONFLICT (subscriber, row) DO UPDATE SET weight = weight + excluded.weight""",  # noqa: S608
            (
                (self._id, key, None if key == row else row, rows[row])
                for row, key in zip(rows, map(row_key, rows), strict=True)
            ),
        )

    def _session_in(self, connection: sqlite3.Connection) -> int | None:
        found = connection.execute("SELECT session FROM subscriber WHERE id = ?", (self._id,)).fetchone()
        return None if found is None else int(found[0])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained():
            if self.closed:
                raise ClosedError(f"subscription {self.name!r} is closed")
            yield self._connection

    @contextmanager
    def _transaction(self, *, acknowledging: bool = False) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained():
            if self.closed and acknowledging:
                with closing(_connect(self.path, "rw")) as connection, self._writing(connection):
                    yield connection
                return
            with self._reading() as connection:
                # FULL, so that a number that was handed out is never given to another delta after a power
                # failure. An acknowledgement may be lost: the same delta then comes again.
                connection.execute(f"PRAGMA synchronous = {'NORMAL' if acknowledging else 'FULL'}")
                with self._writing(connection):
                    if self._session and self._session_in(connection) != self._session:
                        raise self._error(
                            "another subscription of that name has taken over, and this one is closed"
                        )
                    yield connection

    @contextmanager
    def _writing(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Make a transaction of the block."""
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what extends it
            raise self._error(f"{error}; {_ADVICE.get(code, _CHECK)}") from error

    def _error(self, reason: str) -> ResumeError:
        return ResumeError(f"subscription {self.name!r} cannot be resumed from {self.path!r}: {reason}")


_opening: Final = threading.Lock()
_opened: Final[set[tuple[str, str]]] = set()
"""The path and the name of every journal that is open in this process."""
_CHECK: Final = "check the path, its permissions and the space on its disk"
_BROKEN: Final = "it is no SQLite file or a damaged one: give another path, or delete it and begin anew"
_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "another program holds the file: wait until it has ended",
    sqlite3.SQLITE_CORRUPT: _BROKEN,
    sqlite3.SQLITE_NOTADB: _BROKEN,
}


def _release(connection: sqlite3.Connection, opened: tuple[str, str]) -> None:
    """Close a journal; without `_opening`, since the garbage collector may call it while that is held."""
    connection.close()
    _opened.discard(opened)


def _connect(path: str, mode: str) -> sqlite3.Connection:
    """Open a file; transactions are ours, and `Journal` lets only one thread in at a time."""
    return sqlite3.connect(
        f"{Path(path).as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY,
        isolation_level=None,
        check_same_thread=False,
    )


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not application and not tables
