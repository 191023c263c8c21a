"""Left rows, with whether some right row meets a condition with them, for a correlated EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.join import Sides
from rdflive.engine.operators.operator import Pairs, gather, row_at
from rdflive.engine.operators.ordered import Order, Ordered

__all__ = ["MatchedOperator"]


class MatchedOperator:
    """Left rows without a match in one index, and those with a match in another.

    So an added right row visits only left rows without a match, and a removed one only left rows that it may
    have matched. Right rows are reduced to the columns of `compared`: only the first and the last one with
    the same reduced columns can change anything.

    Example: NOT EXISTS { ?p :sensor ?s ; :time ?u FILTER(?u > ?t) } keeps the latest reading of each sensor.
    The next reading is compared with the latest, the only one of its sensor without a match.

    `keys` and `maybe` pair columns of the left with columns of the reduced right rows; `columns` are those
    that the condition reads, as in `Sides`. With `is_all` the inequality of `order` is the whole condition.
    """

    __slots__ = ("_condition", "_matched", "_reduce", "_sides")

    def __init__(
        self,
        dictionary: Dictionary,
        keys: Pairs,
        maybe: Pairs,
        compared: tuple[int, ...],
        columns: Pairs,
        condition: Callable[[Row], bool],
        order: Order | None = None,
        *,
        is_all: bool = False,
    ) -> None:
        self._reduce = row_at(compared)
        self._condition = condition
        self._sides = Sides(dictionary, keys, maybe, columns, order, farthest=is_all)
        self._matched: _Matches
        if order is not None and is_all:
            self._matched = _ByOrder(dictionary, keys, order)
        else:
            self._matched = _ByPartner(dictionary)

    def update(self, left: Weights, right: Weights) -> Iterator[tuple[Row, bool, int]]:
        """Yield changes as (left row, whether it has a match, weight). The caller must read them to the
        end.
        """
        came, went = self._change_right(right)
        waiting, matched = self._sides.left, self._matched
        for partner in came:
            for row, weight in self._waiting_for(partner):
                waiting.update(row, -weight)
                matched.update(row, weight, partner)
                yield row, False, -weight
                yield row, True, weight
        for partner in went:
            for row, weight in matched.unmatched(partner, self._partner_of):
                waiting.update(row, weight)
                yield row, True, -weight
                yield row, False, weight
        for row, change in left.items():
            found = self._partner_of(row)
            if found is None:
                waiting.update(row, change)
            else:
                matched.update(row, change, found)
            yield row, found is not None, change

    def _change_right(self, right: Weights) -> tuple[list[Row], list[Row]]:
        """Apply the changes of the right side; return the reduced rows that were added and those removed."""
        reduced: Weights = {}
        for row, change in right.items():
            gather(reduced, self._reduce(row), change)
        came, went = [], []
        for row, change in reduced.items():
            weight = self._sides.right.update(row, change)
            if not weight:
                went.append(row)
            elif weight == change:
                came.append(row)
        return came, went

    def _waiting_for(self, partner: Row) -> list[tuple[Row, int]]:
        """List the unmatched left rows that a right row matches."""
        sides = self._sides
        rows = (entry for piece in sides.probe_left(partner) for entry in piece)
        return [(row, weight) for row, weight in rows if self._condition(sides.merge(row, partner))]

    def _partner_of(self, row: Row) -> Row | None:
        """Find a right row that matches a left row."""
        sides = self._sides
        for piece in sides.probe_right(row):
            for partner, _ in piece:
                if self._condition(sides.merge(row, partner)):
                    return partner
        return None

    def clear(self) -> None:
        """Discard both sides."""
        self._sides.clear()
        self._matched.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides, and of the left rows with a match."""
        return [*self._sides.containers(), *self._matched.containers()]


class _Matches(Protocol):
    """The left rows that have a match."""

    def update(self, row: Row, change: int, partner: Row) -> None:
        """Change the weight of a row; `partner` matches it, and is kept if the row is new."""

    def unmatched(self, partner: Row, partner_of: Callable[[Row], Row | None]) -> list[tuple[Row, int]]:
        """Remove the rows that lost their last match with a right row; return them with their weights."""

    def clear(self) -> None:
        """Discard every row."""

    def containers(self) -> list[Any]:
        """List the containers of the state."""


class _ByOrder:
    """Matched rows in order: if one surely keeps its match, so do all that are farther from the removed
    row.
    """

    __slots__ = ("_order", "_rows", "_search")

    def __init__(self, dictionary: Dictionary, keys: Pairs, order: Order) -> None:
        self._order = order
        self._rows = Ordered(dictionary, [pair[0] for pair in keys], order.left)
        self._search = self._rows.searcher([pair[1] for pair in keys], order.operator, order.right)

    def update(self, row: Row, change: int, partner: Row) -> None:  # noqa: ARG002 - the order suffices
        self._rows.update(row, change)

    def unmatched(self, partner: Row, partner_of: Callable[[Row], Row | None]) -> list[tuple[Row, int]]:
        lost = [entry for piece in self._search(partner) for entry in self._losing(piece, partner_of)]
        for row, weight in lost:
            self._rows.update(row, -weight)
        return lost

    def _losing(
        self, nearest_first: Iterable[tuple[Row, int]], partner_of: Callable[[Row], Row | None]
    ) -> Iterator[tuple[Row, int]]:
        for row, weight in nearest_first:
            found = partner_of(row)
            if found is None:
                yield row, weight
            elif self._order.is_sure(row, found):
                return

    def clear(self) -> None:
        self._rows.clear()

    def containers(self) -> list[Any]:
        return self._rows.containers()


class _ByPartner:
    """Matched rows, each with one matching right row. Another is searched for when that row is removed."""

    __slots__ = ("_dictionary", "_partners", "_rows")

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._partners: dict[Row, Row] = {}
        """The partner of each row."""
        self._rows: dict[Row, Weights] = {}
        """By partner, its rows with their weights."""

    def update(self, row: Row, change: int, partner: Row) -> None:
        partner = self._partners.setdefault(row, partner)
        rows = self._rows.setdefault(partner, {})
        if row not in rows:
            self._dictionary.hold(row)
        gather(rows, row, change)
        if row not in rows:
            self._forget(row)
            if not rows:
                del self._rows[partner]

    def unmatched(self, partner: Row, partner_of: Callable[[Row], Row | None]) -> list[tuple[Row, int]]:
        lost = []
        for row, weight in self._rows.pop(partner, {}).items():
            found = partner_of(row)
            if found is None:
                self._forget(row)
                lost.append((row, weight))
            else:
                self._partners[row] = found
                self._rows.setdefault(found, {})[row] = weight
        return lost

    def _forget(self, row: Row) -> None:
        del self._partners[row]
        self._dictionary.drop(row)

    def clear(self) -> None:
        for row in self._partners:
            self._dictionary.drop(row)
        self._partners.clear()
        self._rows.clear()

    def containers(self) -> list[Any]:
        return [self._partners, self._rows, *self._rows.values()]
