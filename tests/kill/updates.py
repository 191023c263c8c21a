"""A history of updates, the state after each, and the queries that clients follow; all from a seed."""

from __future__ import annotations

import random
from bisect import bisect_right
from typing import Final

__all__ = ["GROUPS", "History", "query"]

GROUPS: Final = 30
_ITEMS: Final = 10
"""Items of a group."""


def query(group: int) -> str:
    """Return the query of a group: its items with their values."""
    return f"SELECT ?item ?value {{ ?item <urn:group> <urn:g{group}> ; <urn:value> ?value }}"


class History:
    """Updates 0 to `count`, each one commit; update n is commit n + 1. Update 0 inserts all items.

    >>> history = History(seed=1, count=3)
    >>> len(history), len(history.answer(0, 1))
    (3, 10)
    """

    def __init__(self, seed: int, count: int) -> None:
        chance = random.Random(seed)
        self._count = count
        self._texts = [_beginning()]
        values = {(group, item): 0 for group in range(GROUPS) for item in range(_ITEMS)}
        # the values of each group, at the commits that changed it
        self._commits: list[list[int]] = [[1] for _ in range(GROUPS)]
        self._states = [[{f"urn:g{g}:{i}": "0" for i in range(_ITEMS)}] for g in range(GROUPS)]
        for number in range(1, count + 1):
            group, item = chance.randrange(GROUPS), chance.randrange(_ITEMS)
            old, new = values[group, item], chance.choice([v for v in range(5) if v != values[group, item]])
            values[group, item] = new
            self._texts.append(
                f"DELETE DATA {{ {_value(group, item, old)} . {_counter(number - 1)} }} ;"
                f"INSERT DATA {{ {_value(group, item, new)} . {_counter(number)} }}"
            )
            self._commits[group].append(number + 1)
            self._states[group].append({**self._states[group][-1], f"urn:g{group}:{item}": str(new)})

    def __len__(self) -> int:
        return self._count

    def text(self, number: int) -> str:
        """Return the SPARQL of an update."""
        return self._texts[number]

    def answer(self, group: int, sequence: int) -> dict[str, str]:
        """Return the values of a group after a commit."""
        return self._states[group][bisect_right(self._commits[group], sequence) - 1]


def _beginning() -> str:
    rows = (
        f"<urn:g{g}:{i}> <urn:group> <urn:g{g}> . {_value(g, i, 0)} ."
        for g in range(GROUPS)
        for i in range(_ITEMS)
    )
    return f"INSERT DATA {{ {' '.join(rows)} {_counter(0)} }}"


def _value(group: int, item: int, value: int) -> str:
    return f"<urn:g{group}:{item}> <urn:value> {value}"


def _counter(number: int) -> str:
    return f"<urn:counter> <urn:n> {number}"
