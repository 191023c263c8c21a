"""Delta Lake's change data feed, as JSON Lines: https://docs.delta.io/latest/delta-change-data-feed.html .

Each line is a row with `_change_type` (insert, delete, update_preimage, update_postimage) and
`_commit_version`, as `table_changes` or the option `readChangeFeed` return them, written as JSON.
`_commit_timestamp` is ignored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rdflive.feeds.formats import Decoded, FeedFormat, Frame, meaningful
from rdflive.feeds.json_lines import member, read_object
from rdflive.feeds.lines import Line
from rdflive.feeds.tables.cells import Row, to_row
from rdflive.feeds.tables.gaps import MappingGaps
from rdflive.feeds.tables.held_rows import HeldRows, RowEdit, RowName, at_line, needs_mapping
from rdflive.feeds.tables.mapping import Mapped, RowMapping, read_mapping
from rdflive.feeds.tables.templates import MappingError
from rdflive.feeds.terms import RowError

__all__ = ["DELTA_LAKE", "SIGNS", "DeltaLakeDecoder", "RowCount", "delta_lake"]

SIGNS: Final = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
"""The sign of each kind of change: 1 adds a row, -1 removes one."""
# within a string the quotes would be escaped
_VERSION: Final = re.compile(r'"_commit_version"[ \t]*:[ \t]*(\d+)')
_KEPT_VERSION: Final = "version"
_WHOLE: Final = "the feed must hold all rows of a version together, and versions in order"


class RowCount(NamedTuple):
    """A row and the change of its multiplicity in a version."""

    name: RowName
    row: Row
    change: int
    line: Line
    """The last line about the row."""


class DeltaLakeDecoder:
    """Decodes the rows of the one table of a `mapping`: all rows of a version are a unit, in any order.

    Rows have no key, so the mapping's `key` is ignored. Equal rows are counted, and a version is consolidated
    before it is applied, so an update may precede the insert of its row. A deleted row must exist; the feed
    must begin with the version that created the table, or with the table's rows as inserts. Versions never
    decrease. When a feed is read again from its beginning, applied versions are skipped. The decoder warns of
    a mapped column that no row up to the end of a version has.
    """

    def __init__(self, mapping: RowMapping) -> None:
        self.mapping = mapping
        self._rows = HeldRows(mapping, DELTA_LAKE.name)
        self._gaps = MappingGaps(DELTA_LAKE.name, mapping)
        ((name, self._table),) = mapping.tables.items()
        self._name = (name,)
        # Spark leaves NULLs out, so one row does not show all columns of the table
        self._lacking = self._table.columns
        self.applied = self._seen = -1
        """The last version with an effect; -1 before the first."""
        self._check = ""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the rows and the last version."""
        self._rows.restore(kept)
        for held in map(self._rows.get, self._rows.names(self._name)):
            self._find_columns(held.row if held is not None else {})
        if _KEPT_VERSION in kept:
            version, self._check = kept[_KEPT_VERSION].split()
            self.applied = self._seen = int(version)

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield versions; a line without a version joins the previous version, which is then refused."""
        frame: list[Line] = []
        version = None
        for line in meaningful(self._watch_start(lines)):
            match = _VERSION.search(line.text)
            found = match[1] if match else version
            if frame and version not in (None, found):
                yield tuple(frame)
                frame = []
            version = found
            frame.append(line)
        if frame:
            yield tuple(frame)

    def decode(self, frame: Frame) -> Decoded | None:
        """Decode the rows of a version."""
        with at_line(frame[0]):
            version = _version(read_object(frame[0]))
            if version <= self._seen:
                raise RowError(f"version {version} follows version {self._seen}; {_WHOLE}")
        decoded = None
        # older versions were applied by an earlier reading; the last one is compared with it
        if version >= self.applied:
            net = self._consolidate(frame, version)
            with at_line(frame[-1]):
                is_new = not self.is_applied(version, net)
            decoded = self.apply(version, net) if is_new else None
        # also without an effect: an older version after it is out of order
        self._seen = version
        return decoded

    def to_row(self, record: Mapping[str, Any]) -> tuple[RowName, Row]:
        """Return the name and the mapped columns of a row; raises `RowError`."""
        row = to_row(record, self._table.columns)
        # a row has no key, so its content is its name
        return RowName(self._name, _digest(sorted(row.items()))), row

    def is_applied(self, version: int, net: Sequence[RowCount]) -> bool:
        """True if a version was applied before; raises `RowError` if it had other rows then."""
        if version == self.applied and _check(net) != self._check:
            raise RowError(f"version {version} had other rows when it was applied; {_WHOLE}")
        return version <= self.applied

    def apply(self, version: int, net: Sequence[RowCount]) -> Decoded | None:
        """Apply a version; a `RowError` leaves the rows unchanged."""
        edit = RowEdit(self._rows)
        for name, row, count, line in net:
            held = edit.get(name)
            left = count + (held.times if held is not None else 0)
            with at_line(line):
                if left < 0:
                    raise RowError(f"deletes a row that does not exist: {_show(row)}")
                edit.put(name, row, left)
        decoded = edit.finish()
        if decoded is None:
            return None
        self.applied, self._check = version, _check(net)
        return decoded._replace(kept={**decoded.kept, _KEPT_VERSION: f"{version} {self._check}"})

    def _watch_start(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Pass the lines on; the first line of a feed resets the last version seen."""
        for line in lines:
            if line.number == 1:
                self._seen = -1
            yield line

    def _consolidate(self, frame: Frame, version: int) -> list[RowCount]:
        """List the net row changes of a version."""
        net: dict[RowName, RowCount] = {}
        for line in frame:
            with at_line(line):
                record = read_object(line)
                if _version(record) != version:
                    raise RowError(f"a row of version {_version(record)} is among those of version {version}")
                self._find_columns(record)
                name, row = self.to_row(record)
                before = net[name].change if name in net else 0
                net[name] = RowCount(name, row, before + _sign(record), line)
        self._gaps.warn_of_columns(self._name, self._lacking, record)
        return [row for row in net.values() if row.change]

    def _find_columns(self, row: Mapping[str, Any]) -> None:
        if self._lacking:
            self._lacking = tuple(column for column in self._lacking if column not in row)


def delta_lake(mapping: Mapped) -> FeedFormat:
    """Return the format of a table's change data feed; the mapping has one table, with any name.

    >>> delta_lake({"*": {"subject": "http://e/{id}", "class": "http://e/Customer"}}).name
    'delta-lake'
    """
    read = read_mapping(mapping)
    if len(read.tables) != 1:
        raise MappingError(
            f"a Delta Lake feed has one table, but the mapping has {len(read.tables)}: "
            f"{', '.join(read.tables)}"
        )
    return FeedFormat(DELTA_LAKE.name, DELTA_LAKE.endings, lambda: DeltaLakeDecoder(read), replayable=True)


def _version(record: Mapping[str, Any]) -> int:
    version = member(record, "_commit_version", int, "the row")
    if version < 0:
        raise RowError(f"'_commit_version' of the row must be 0 or more, not {version}")
    return version


def _sign(record: Mapping[str, Any]) -> int:
    change = member(record, "_change_type", str, "the row")
    if change not in SIGNS:
        raise RowError(f"'_change_type' of the row must be one of {', '.join(SIGNS)}, not {change[:40]!r}")
    return SIGNS[change]


def _check(net: Sequence[RowCount]) -> str:
    """Return a digest of the rows of a version."""
    return _digest(sorted((name.key, count) for name, _, count, _ in net))


def _digest(value: object) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def _show(row: Row) -> str:
    shown = ", ".join(f"{column} {cell.text[:40]!r}" for column, cell in row.items())
    return shown or "one whose mapped columns are all NULL"


DELTA_LAKE: Final = FeedFormat("delta-lake", (), needs_mapping("delta-lake", "delta_lake"), replayable=True)
"""Delta Lake's change data feed without a mapping; its decoder asks for one."""
