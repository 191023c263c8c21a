"""Decode feeds in text, from the start or behind any entry, and write entries as in golden files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

from rdflive.feeds import Entry, FeedFormat, read_entries, to_lines
from rdflive.feeds.entries import read_cursor
from support.feeds import write_quad

GOLDEN = Path(__file__).resolve().parents[1] / "feeds" / "golden"


def read(form: FeedFormat, text: str, kept: Mapping[str, str] | None = None) -> list[Entry]:
    """Decode a feed from its beginning."""
    return list(read_entries(form, to_lines(io.BytesIO(text.encode()), "feed"), "feed", kept=kept))


def read_on(form: FeedFormat, text: str, cursor: str, kept: Mapping[str, str]) -> list[Entry]:
    """Decode the entries behind a cursor."""
    last = read_cursor(cursor)
    rest = io.BytesIO(text.encode()[last.end :])
    lines = to_lines(rest, "feed", number=last.number, end=last.end, check=last.check)
    return list(read_entries(form, lines, "feed", kept=kept))


def check_restarts(form: FeedFormat, text: str) -> None:
    """Check that decoding behind each entry of a good feed returns the remaining entries and cursors."""
    entries = read(form, text)
    kept: dict[str, str] = {}
    for number, entry in enumerate(entries, start=1):
        assert entry.error is None
        _merge(kept, entry)
        rest = read_on(form, text, entry.cursor, kept)
        assert list(map(_meaning, rest)) == list(map(_meaning, entries[number:]))
        if form.replayable:
            again = read(form, text, kept)
            assert list(map(_meaning, again)) == list(map(_meaning, entries[number:]))


def show(entries: list[Entry]) -> str:
    """Write entries as golden files have them: rows of RDF Patch, updates, stored texts, and errors."""
    rows: list[str] = []
    for entry in entries:
        rows.append(f"entry {entry.batch.sequence} at {entry.cursor}")
        rows += [f"U {json.dumps(update)}" for update in entry.updates]
        rows += [f"{'A' if sign > 0 else 'D'} {write_quad(quad)}" for sign, quad in entry.batch.changes]
        rows += [f"K {key} {text}" for key, text in entry.kept.items()]
        if entry.error is not None:
            rows.append(f"E {entry.error}")
    return "".join(f"{row}\n" for row in rows)


def _merge(kept: dict[str, str], entry: Entry) -> None:
    for key, text in entry.kept.items():
        kept.pop(key, None)
        if text is not None:
            kept[key] = text


def _meaning(entry: Entry) -> object:
    return entry.batch.changes, entry.updates, dict(entry.kept), entry.cursor
