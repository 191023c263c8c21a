"""What a server tells in its event stream, as messages with JSON in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from rdflive.client.failures import MalformedEvent
from rdflive.feeds import Line
from rdflive.feeds.event_stream import StreamEvent, read_events

__all__ = ["Message", "read_messages"]


class Message(NamedTuple):
    """One event."""

    id: str
    """Where a client would go on behind it; empty for nowhere."""
    kind: str
    """initial, update, resync, heartbeat or end."""
    members: dict[str, Any]


def read_messages(lines: Iterable[Line], last: str = "") -> Iterator[Message]:
    """Read messages; raises `MalformedEvent` for one that is no JSON object.

    >>> lines = ["id: 3-ab", "event: heartbeat", 'data: {"sequence": 3}', ""]
    >>> list(read_messages(Line(text, 0) for text in lines))
    [Message(id='3-ab', kind='heartbeat', members={'sequence': 3})]
    """
    for event in read_events(lines, last):
        # one without data tells nothing but an id, which the next event has too
        if event.frame:
            yield Message(event.id, event.kind, _members(event))


def _members(event: StreamEvent) -> dict[str, Any]:
    fault = next((line.fault for line in event.frame if line.fault), None)
    if fault:
        raise MalformedEvent(fault)
    try:
        # Decimal, as `member`, which checks them, has no word for a float
        members = json.loads(
            "\n".join(line.text for line in event.frame), parse_float=Decimal, parse_constant=Decimal
        )
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise MalformedEvent(f"not JSON: {error}") from error
    if not isinstance(members, dict):
        raise MalformedEvent(f"expected a JSON object, got {type(members).__name__}")
    return members
