"""Server-sent events as lines."""

from __future__ import annotations

import re

import pytest

from rdflive.feeds import Line
from rdflive.feeds.event_stream import read_events


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("data: a\n\n", [("", "", ["a"])]),
        ("data:a\r\ndata\r\ndata:  b\r\n\r\n", [("", "", ["a", "", " b"])]),
        (": comment\nid: 5\n\ndata: a\n\n", [("5", "", []), ("5", "", ["a"])]),
        ("id: 5\ndata: a\n\nid\ndata: b\n\n", [("5", "", ["a"]), ("", "", ["b"])]),
        ("event: resync\n\n", [("", "resync", [])]),
        ("event: a\ndata: b\n\ndata: c\n\n", [("", "a", ["b"]), ("", "", ["c"])]),
        ("id: a\0b\ndata: a\n\n", [("", "", ["a"])]),
        ("retry: x\nunknown: y\ndata: a\n\ndata: lost", [("", "", ["a"])]),
    ],
)
def test_events_are_parsed_as_the_standard_says(text: str, events: list[tuple[str, str, list[str]]]) -> None:
    """Fields, comments, ids that stay, and what is dropped, as in WHATWG HTML, section 9.2."""
    lines = [Line(line, number) for number, line in enumerate(re.split(r"\r\n|\n", text), start=1)]
    parsed = list(read_events(lines[:-1] if text.endswith("\n") else lines))
    assert [(event.id, event.kind, [line.text for line in event.frame]) for event in parsed] == events
