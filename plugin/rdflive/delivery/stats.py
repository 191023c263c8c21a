"""What a subscription has seen and costs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["Stats", "size_of"]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a subscription has seen and costs. Indexes that subscriptions share count for each of them."""

    algorithms: tuple[str, ...]
    """The algorithm of each segment, after `product` if segments are combined."""
    updates: int
    """Changes of the graph since the subscription began, or since its last resynchronisation."""
    matched: int
    """How often such a change matched a pattern of the query."""
    deltas: int
    """Deltas delivered, the initial one included."""
    entries: int
    """Cached entries: keys of access paths and of masks, rows kept above them, and entailed triples."""
    size: int
    """Bytes of the containers behind `entries`; terms are not counted."""
    seconds: float
    """Time in seconds that the engine spent on changes of the graph that matched any subscription."""
    callback_seconds: float
    """Time in seconds spent in this subscription's callback."""
    members: int = 1
    """How many share the plan and the work, each with terms of its own: the members of its family."""


def size_of(container: dict[object, object] | set[object]) -> int:
    """Measure a container of the engine, with the sets that are its values."""
    inner = container.values() if isinstance(container, dict) else ()
    return sys.getsizeof(container) + sum(sys.getsizeof(value) for value in inner if type(value) is set)
