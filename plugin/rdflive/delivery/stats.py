"""What a subscription has seen and costs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sortedcontainers import SortedDict, SortedList

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
    """Bytes of the containers behind `entries`, each once; rows and terms are not counted."""
    seconds: float
    """Time in seconds that the engine spent on changes of the graph that matched any subscription."""
    callback_seconds: float
    """Time in seconds spent in this subscription's callback."""
    members: int = 1
    """How many share the plan and the work, each with terms of its own: the members of its family."""


def size_of(containers: Iterable[Any]) -> int:
    """Measure containers of the engine, with the sets that are values of them and the lists of sorted ones.

    What several hold counts once: the nodes of a cycle share the set of starts that reach them.

    >>> shared = {1, 2, 3}
    >>> size_of([{1: shared, 2: shared}, shared]) == sys.getsizeof({1: 0, 2: 0}) + sys.getsizeof(shared)
    True
    """
    found: dict[int, object] = {}
    waiting = list(containers)
    while waiting:
        container = waiting.pop()
        found[id(container)] = container
        if isinstance(container, dict):
            found.update((id(value), value) for value in container.values() if type(value) is set)
            if isinstance(container, SortedDict):  # a SortedList has its keys in order
                waiting.append(vars(container)["_list"])
        elif isinstance(container, SortedList):  # it tells its own size without the lists that it has
            lists = [value for value in vars(container).values() if isinstance(value, list)]
            lists += [inner for value in lists for inner in value if isinstance(inner, list)]
            found.update((id(value), value) for value in lists)
    return sum(map(sys.getsizeof, found.values()))
