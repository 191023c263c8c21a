"""Parser of server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rdflive.feeds.formats import Frame
from rdflive.feeds.lines import Line

__all__ = ["EVENT_STREAM", "PAUSE", "StreamEvent", "read_events"]

EVENT_STREAM: Final = "text/event-stream"
PAUSE: Final = 3.0
"""Default seconds before reconnecting; the server can set another value."""


class StreamEvent(NamedTuple):
    """An event of a stream; events that only set an id or a retry time have no data."""

    id: str
    """The last id that the server sent."""
    kind: str
    frame: Frame
    """The lines of its data, with their positions in the stream."""
    pause: float
    """Seconds before reconnecting."""


def read_events(lines: Iterable[Line], last: str = "") -> Iterator[StreamEvent]:
    """Parse a stream of events; drop a last event that no empty line ends.

    >>> text = ["id: 7", "data: A", "data: B", "", "data: lost"]
    >>> [(event.id, len(event.frame)) for event in read_events(Line(line, 0) for line in text)]
    [('7', 2)]
    """
    kind, pause, said = "", PAUSE, False
    frame: list[Line] = []
    for line in lines:
        if not line.text and not line.fault:
            # unlike the standard, yield an event without data: a reader resumes from its id
            if frame or said or kind:
                yield StreamEvent(last, kind, tuple(frame), pause)
            kind, said, frame = "", False, []
            continue
        name, _, text = line.text.partition(":")
        text = text.removeprefix(" ")
        # a line that is not UTF-8 may be data; the reader of the event refuses it
        if line.fault or name == "data":
            frame.append(line._replace(text=text))
        elif name == "event":
            kind = text
        elif name == "id" and "\0" not in text:
            last, said = text, True
        elif name == "retry" and text.isascii() and text.isdigit():
            pause, said = int(text) / 1000, True
