"""The invariants of every decoder for arbitrary bytes, for hypothesis and for a fuzzer."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

from rdflive import FeedError
from rdflive.feeds import Entry, FeedFormat, read_entries, to_lines
from rdflive.feeds.entries import read_cursor

__all__ = ["check_any_bytes"]


def check_any_bytes(form: FeedFormat, content: bytes) -> int:
    """Decode bytes, then again from behind entries, and return the number of entries.

    Any bytes decode to entries, some with errors, or raise `FeedError`; any other exception is a fault. A
    reading from a cursor with its stored texts returns the entries behind the cursor.
    """
    entries = _read(form, content, {})
    kept: dict[str, str] = {}
    for number, entry in enumerate(entries, start=1):
        for key, text in entry.kept.items():
            kept.pop(key, None)
            if text is not None:
                kept[key] = text
        if entry.error is not None and form.replayable:
            continue  # the texts of units before a bad one are stored with the next good one
        if number <= 3 or number == len(entries):
            last = read_cursor(entry.cursor)
            rest = _read(form, content[last.end :], dict(kept), last.number, last.end, last.check)
            assert _behind(entry, rest) == _behind(entry, entries[number:]), (number, content)
    return len(entries)


def _read(
    form: FeedFormat, content: bytes, kept: Mapping[str, str], number: int = 0, end: int = 0, check: int = 0
) -> list[Entry]:
    lines = to_lines(io.BytesIO(content), "fuzz", number=number, end=end, check=check)
    entries: list[Entry] = []
    with contextlib.suppress(FeedError):
        entries.extend(read_entries(form, lines, "fuzz", kept=kept))
    return entries


def _behind(entry: Entry, entries: list[Entry]) -> list[Any]:
    """Leave out bad records at the cursor of `entry`, which are read again."""
    return [_seen(e) for e in entries if e.error is None or e.cursor != entry.cursor]


def _seen(entry: Entry) -> Any:
    """Return the content of an entry without its number, which counts from the start of a reading."""
    reason = None if entry.error is None else (entry.error.line, entry.error.reason)
    return entry.batch.changes, entry.updates, dict(entry.kept), entry.cursor, reason
