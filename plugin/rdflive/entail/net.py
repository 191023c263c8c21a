"""The net result of one update: the triples that began or ceased to be entailed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rdflive.entail.entailment import IdTriple, Sign
from rdflive.entail.table import EntailedTable, Key

__all__ = ["Net"]


class Net:
    """Collects moves by kind and key. A triple begins and ceases by turns, so two moves cancel."""

    def __init__(self) -> None:
        self._moved: dict[EntailedTable | None, dict[Any, Sign]] = {}

    def move(self, table: EntailedTable, key: Key, sign: Sign) -> None:
        """Record that a triple of a kind begins (+1) or ceases (-1) to be entailed."""
        moved = self._moved.get(table)
        if moved is None:
            self._moved[table] = {key: sign}
        elif moved.pop(key, None) is None:
            moved[key] = sign

    def move_all(self, table: EntailedTable, keys: Iterable[Key], sign: Sign) -> None:
        """Record the same move of many distinct triples of a kind."""
        moved = self._moved.get(table)
        if moved:
            for key in keys:
                self.move(table, key, sign)
        else:
            # no moves to cancel, so `fromkeys` builds the dictionary in C
            self._moved[table] = dict.fromkeys(keys, sign)

    def move_explicit(self, ids: IdTriple, sign: Sign) -> None:
        """Record that an explicit triple is added or removed whose property the schema does not name."""
        moved = self._moved.setdefault(None, {})
        if moved.pop(ids, None) is None:
            moved[ids] = sign

    def drain(self, *, mixed: bool) -> Iterable[tuple[Sign, IdTriple]]:
        """Return the net changes and clear them.

        `mixed` is True if data and schema changed together. A triple may then have moved under two kinds, so
        moves are also netted by triple.
        """
        moved, self._moved = self._moved, {}
        changes = _listed(moved)
        if not mixed:
            return changes
        net: dict[IdTriple, Sign] = {}
        for sign, ids in changes:
            if net.pop(ids, None) is None:
                net[ids] = sign
        return [(sign, ids) for ids, sign in net.items()]


def _listed(moved: dict[EntailedTable | None, dict[Any, Sign]]) -> Iterator[tuple[Sign, IdTriple]]:
    for table, keys in moved.items():
        for key, sign in keys.items():
            yield sign, key if table is None else table.ids(key)
