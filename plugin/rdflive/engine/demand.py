"""Patterns that hold only the triples with values that something asks for.

Say a query is `:ann :knows ?y . ?y :likes ?t`, and :ann knows :bob. Of the second pattern only the triples of
:bob can be part of a solution, so it holds no others: the values of ?y in the first pattern are the *demand*
for the second. When :ann comes to know :cat, the first pattern takes that triple, :cat comes into demand, and
the second pattern takes what the store has of `:cat :likes ?t` now. When :ann no longer knows :bob, the
triples of :bob are forgotten at the end of the commit. A triple `:dan :likes :tea` finds no pattern.

What members of a family ask for is demand too, see `relation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["Demand", "Fed", "Feeding", "Link"]

Row: TypeAlias = tuple[int, ...]
_FEW: Final = 256
"""Look-ups that take no longer than to list what one value of a pattern may have."""


class Link:
    """The values of one slot of a pattern, which others are held for; `Demand` is told of their changes."""

    __slots__ = ("fed", "opened", "wanted")

    def __init__(self) -> None:
        self.wanted: dict[int, int] = {}
        """How many matches have a value. One without a match stays, with 0, to the end of the commit."""
        self.fed: list[Fed] = []
        self.opened: set[int] = set()
        """The values that patterns have followed; only kept where one is fed by several links."""


@dataclass(frozen=True, slots=True)
class Feeding:
    """Where the demand for a pattern comes from, before the pattern is made; see `query.demand`."""

    view: Any
    source: Any
    """The `PatternState` whose values are the demand."""
    slot: int
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Fed:
    """A pattern that holds only triples with the values of a link at one place."""

    view: Any
    pattern: Any
    """The `PatternState` that is fed."""
    place: int
    link: Link

    @property
    def routes(self) -> bool:
        """Whether triples are taken to the pattern by this place; other places are tested."""
        return self.pattern.feeds[0] is self

    def open(self, value: int) -> None:
        """Have the pattern take triples with a value from now on, and those that are there."""
        if self.routes:
            # first, for what follows from a graph is worked out where it is asked for
            self.view.open_to(self.pattern, self.place, value)
        # before the triples are listed, and so after those of the values that other links brought with it
        if len(self.pattern.feeds) > 1:
            self.link.opened.add(value)
        if self.pattern.keeps:
            # listed at once: to hold a triple changes the dictionary that a lister reads
            for ids in list(self._listed(value)):
                self.view.hold(self.pattern, ids)

    def close(self, value: int, *, reads: bool = True) -> None:
        """Undo `open`, also half of it; the store is read where no path lists the triples, unless told not
        to.
        """
        if self.pattern.keeps:
            for ids in self._held(value, reads=reads):
                self.view.drop(self.pattern, ids)
        if self.routes:
            self.view.close_to(self.pattern, self.place, value)

    def _listed(self, value: int) -> Iterable[Row]:
        """List the triples of the store with a value whose other values are in demand as well."""
        others = [fed for fed in self.pattern.feeds if fed is not self]
        at = [{self.place: value}]
        fewest = min(others, key=lambda fed: len(fed.link.opened), default=None)
        # a class may have very many instances, of which few are in demand
        if fewest is not None and len(fewest.link.opened) < _FEW:
            at = [{self.place: value, fewest.place: other} for other in fewest.link.opened]
        for values in at:
            for ids in self.view.present(self.pattern, values):
                if all(ids[fed.place] in fed.link.opened for fed in others):
                    yield ids

    def _held(self, value: int, *, reads: bool) -> Sequence[Row]:
        pattern = self.pattern
        slot = pattern.places.index(self.place)
        if (slot,) in pattern.paths:
            held: list[Row] = pattern.held_at(slot, value)
            return held
        if reads:
            try:
                return list(self._listed(value))
            except Exception:  # noqa: BLE001, S110 - slower, but it cannot fail
                pass
        found = pattern.matches() or ()
        return [pattern.triple(values) for values in found if values[slot] == value]


class Demand:
    """The values that came into demand and left it, in all views of a store, until patterns follow."""

    __slots__ = ("fresh", "loose")

    def __init__(self) -> None:
        self.fresh: list[tuple[Link, int]] = []
        self.loose: list[tuple[Link, int]] = []

    def open(self, fed: Fed, values: Iterable[int]) -> None:
        """Have a new pattern follow values that are in demand already."""
        for value in values:
            fed.open(value)

    def load(self) -> None:
        """Have patterns take the triples with values that came into demand, which may ask for more."""
        fresh = self.fresh
        try:
            for link, value in fresh:  # grows meanwhile
                for fed in link.fed:
                    fed.open(value)
        finally:
            fresh.clear()

    def sweep(self, *, reads: bool = True) -> None:
        """Have patterns forget the triples with values that left demand, which may ask for fewer.

        It is called when a commit is over, for a value may leave demand and come back.
        """
        loose = self.loose
        for link, value in loose:  # grows meanwhile
            if link.wanted.get(value) == 0:
                for fed in link.fed:
                    fed.close(value, reads=reads)
                link.opened.discard(value)
                del link.wanted[value]
        loose.clear()

    def clear(self) -> None:
        """Forget what was told, behind the patterns."""
        self.fresh.clear()
        self.loose.clear()
