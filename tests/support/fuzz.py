"""What must hold of every decoder for any bytes whatever; hypothesis and a fuzzer both feed it."""

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
    """Decode bytes, and again from behind every entry; give the number of entries.

    Any bytes give entries, bad ones among them, or a `FeedError`; whatever else is raised is a fault. A
    reading that goes on from a cursor, told what was kept, gives what came behind it.
    """
    entries = _read(form, content, {})
    kept: dict[str, str] = {}
    for number, entry in enumerate(entries, start=1):
        for key, text in entry.kept.items():
            kept.pop(key, None)
            if text is not None:
                kept[key] = text
        if entry.error is not None and form.replayable:
            continue  # what such a decoder learned from units before a bad one is kept with the next good one
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
    """Leave out bad records of a line that the cursor points to the start of: they are read again."""
    return [_seen(e) for e in entries if e.error is None or e.cursor != entry.cursor]


def _seen(entry: Entry) -> Any:
    """Leave out the number, which counts from the beginning of a reading."""
    reason = None if entry.error is None else (entry.error.line, entry.error.reason)
    return entry.batch.changes, entry.updates, dict(entry.kept), entry.cursor, reason
