"""Server-sent events: from lines to events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rdflive.feeds.decoder import Frame
from rdflive.feeds.lines import Line

__all__ = ["EVENT_STREAM", "PAUSE", "StreamEvent", "read_events"]

EVENT_STREAM: Final = "text/event-stream"
PAUSE: Final = 3.0
"""Seconds to wait before connecting again, unless the server says otherwise."""


class StreamEvent(NamedTuple):
    """An event of a stream, also one that only says an id or how long to wait."""

    id: str
    """The last id that was said."""
    kind: str
    frame: Frame
    """The lines of its data, with their places in the stream."""
    pause: float
    """Seconds to wait before connecting again."""


def read_events(lines: Iterable[Line], last: str = "") -> Iterator[StreamEvent]:
    """Parse a stream of events; one that the stream does not end with an empty line is dropped.

    >>> text = ["id: 7", "data: A", "data: B", "", "data: lost"]
    >>> [(event.id, len(event.frame)) for event in read_events(Line(line, 0) for line in text)]
    [('7', 2)]
    """
    kind, pause, said = "", PAUSE, False
    frame: list[Line] = []
    for line in lines:
        if not line.text and not line.fault:
            # one without data is given too, where the standard drops it: its id is where to go on from
            if frame or said or kind:
                yield StreamEvent(last, kind, tuple(frame), pause)
            kind, said, frame = "", False, []
            continue
        name, _, text = line.text.partition(":")
        text = text.removeprefix(" ")
        # what is no text may have been data, and is for whoever reads the event to refuse
        if line.fault or name == "data":
            frame.append(line._replace(text=text))
        elif name == "event":
            kind = text
        elif name == "id" and "\0" not in text:
            last, said = text, True
        elif name == "retry" and text.isascii() and text.isdigit():
            pause, said = int(text) / 1000, True
