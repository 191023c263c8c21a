"""Patterns that hold only the triples with values that something asks for.

Say a query is `:ann :knows ?y . ?y :likes ?t`, and :ann knows :bob. Of the second pattern only the triples of
:bob can be part of a solution, so it holds no others: the values of ?y in the first pattern are the *demand*
for the second. When :ann comes to know :cat, the first pattern takes that triple, :cat comes into demand, and
the second pattern takes what the store has of `:cat :likes ?t` now. When :ann no longer knows :bob, the
triples of :bob are forgotten at the end of the commit. A triple `:dan :likes :tea` finds no pattern.

What members of a family ask for is demand too, and so is what the rows of one side of a join ask of the other
side; see `relation`.

To look values up one by one may cost more than to hold the whole pattern, if there are many or if they come
and go. So each pattern counts that work. When it comes to half of what the whole pattern would cost, the
pattern is held whole, and when few values are in demand for long, only these again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["Demand", "Fed", "Feeding", "Link"]

Row: TypeAlias = tuple[int, ...]
_FEW: Final = 256
"""Look-ups that take no longer than to list what one value of a pattern may have."""
_LOOK_UP: Final = 4
"""What a look-up costs, where a triple that is listed costs 1; and what it costs to forget a value."""
_CHEAP: Final = 1000
"""Work that is not worth a count of what the whole pattern has."""
_SPARSE: Final = 64
"""A pattern that is held whole has so many values for each in demand before it is held by demand again."""
_PATIENCE: Final = 4
"""How many times longer a pattern stays whole each time."""
_OFTEN: Final = 256
"""Commits between two looks at the patterns that are held whole."""


class Link:
    """The values of one slot of a pattern, for which other patterns hold their triples.

    `Demand` collects the values that come and go.
    """

    __slots__ = ("fed", "wanted")

    def __init__(self) -> None:
        self.wanted: dict[int, int] = {}
        """How many matches have a value. One without a match stays, with 0, to the end of the commit."""
        self.fed: list[Fed] = []


@dataclass(frozen=True, slots=True)
class Feeding:
    """Where the demand for a pattern comes from, before the pattern is made; see `query.demand`."""

    view: Any
    source: Any
    """The `PatternState` whose values are the demand."""
    slot: int
    place: int
    is_member: bool
    """Whether the values are what members of a family ask for: walks take for granted that no others are
    held.
    """
    may_widen: bool = True
    """Whether the pattern may be held whole."""


class Fed:
    """A pattern that holds only triples with the values of a link at one place."""

    __slots__ = (
        "_bound", "_feeding", "_patience", "_since", "_spent", "followed", "is_wide", "link", "pattern",
        "place", "view",
    )  # fmt: skip

    def __init__(self, feeding: Feeding, pattern: Any, link: Link) -> None:
        self.view = feeding.view
        self.pattern = pattern
        """The `PatternState` that is fed."""
        self.place = feeding.place
        """Where the values stand in its triples."""
        self.link = link
        self.is_wide = False
        """Whether the pattern holds triples with any value now."""
        self.followed: set[int] = set()
        """The values that the pattern holds triples for; not kept where only what members ask for matters."""
        self._feeding = feeding
        self._spent = 0
        """The work that look-ups took, less one for each change of the graph, which the whole would take."""
        self._since = 0
        self._bound = _CHEAP
        self._patience = 1

    @property
    def is_member(self) -> bool:
        """Whether the values are what members of a family ask for."""
        return self._feeding.is_member

    @property
    def routes(self) -> bool:
        """Whether triples are taken to the pattern by this place; other places are tested."""
        return self.pattern.feeds[0] is self

    def open(self, value: int) -> None:
        """Have the pattern take triples with a value from now on, and those that are there."""
        # a pattern that keeps nothing has nothing to look up
        if self.pattern.keeps and not self.is_wide and self._may_widen and self._work(0) > self._bound:
            self._reconsider(0)
        if self.is_wide:
            return
        if self.routes:
            # first, for a view that entails works out only what is routed somewhere
            self.view.open_to(self.pattern, self.place, value)
        # before the triples are listed, and so after those of the values that other links brought with it
        if self._tracks:
            self.followed.add(value)
        if self.pattern.keeps:
            # listed at once: to hold a triple changes the dictionary that a lister reads
            triples = list(self._listed(value))
            self._spent += _LOOK_UP + len(triples)
            self.view.hold(self.pattern, triples)

    def close(self, value: int, *, reads: bool = True) -> None:
        """Undo `open`, also where it was interrupted.

        Where no path lists the triples of the value, they are read from the store, unless `reads` is false.
        """
        if self.is_wide:
            return
        if self.pattern.keeps:
            # what has cost much may be asked for again
            if reads and self._may_widen:
                count = self.pattern.count_at(self._slot, value)
                if self._work(count) > self._bound:
                    self._reconsider(count)
                if self.is_wide:
                    return
            triples = self._held(value, reads=reads)
            self._spent += _LOOK_UP + len(triples)
            self.view.drop(self.pattern, triples)
        if self.routes:
            self.view.close_to(self.pattern, self.place, value)
        self.followed.discard(value)

    def stop(self) -> None:
        """Route no triples to the pattern any more; the caller drops what it holds."""
        self.link.fed.remove(self)
        if self.is_wide:
            self.view.close_all(self.pattern)
        elif self.routes:
            for value in self.followed if self._tracks else self.link.wanted:
                self.view.close_to(self.pattern, self.place, value)
        if not self.link.fed:
            self._feeding.source.unlink(self._feeding.slot)

    def widen(self) -> None:
        """Hold triples with any value from now on."""
        known, self.followed = self.followed, set()
        for value in known:
            self.view.close_to(self.pattern, self.place, value)
        self.view.open_all(self.pattern)
        self.is_wide = True
        # the triples of values that are held are all there
        found = list(self.view.present(self.pattern, {}, (self.place, known)))
        self.view.hold(self.pattern, found)
        self._since = self.view.seen

    def narrow(self) -> bool:
        """Hold only triples with the values in demand again, where these have been few for long."""
        size = self.size
        if len(self.link.wanted) * _SPARSE > size or self.view.seen - self._since < size * self._patience:
            return False
        self._patience *= _PATIENCE
        self._spent, self._bound = 0, _CHEAP
        self.is_wide = False
        self.view.close_all(self.pattern)
        wanted = self.link.wanted
        for value in wanted:
            self.view.open_to(self.pattern, self.place, value)
        self.followed.update(wanted)
        slot = self._slot
        left = [values for values in self.pattern.matches() if values[slot] not in wanted]
        self.view.drop(self.pattern, list(map(self.pattern.triple, left)))
        return True

    @property
    def size(self) -> int:
        """How many values the pattern holds triples for."""
        path = self.pattern.paths.get((self._slot,))
        return len(path) if path is not None else sum(1 for _ in self.pattern.matches() or ())

    @property
    def _slot(self) -> int:
        # not by the first place of each variable, for in `?x ?y ?y` that of ?y is the predicate
        slot: int = -1 - self.pattern.key[self.place]
        return slot

    @property
    def _may_widen(self) -> bool:
        return self.routes and self._feeding.may_widen and not self.is_member

    @property
    def _tracks(self) -> bool:
        return len(self.pattern.feeds) > 1 or not self.is_member

    def _work(self, more: int) -> int:
        """Give the work that has been done lately, or that the values in demand take, and some more."""
        seen: int = self.view.seen
        self._spent = max(0, self._spent - (seen - self._since))
        self._since = seen
        return max(self._spent, (_LOOK_UP + 1) * len(self.link.wanted)) + more

    def _reconsider(self, more: int) -> None:
        """Hold the whole pattern if the work comes to half of what that costs."""
        work = self._work(more)
        if self.view.size(self.pattern, 2 * work + 1) <= 2 * work:
            self.widen()
        else:
            self._bound = 2 * work

    def _listed(self, value: int) -> Iterable[Row]:
        """List the triples of the store with a value whose other values are in demand as well."""
        if len(self.pattern.feeds) == 1:
            found: Iterable[Row] = self.view.present(self.pattern, {self.place: value})
            return found
        return self._among_others(value)

    def _among_others(self, value: int) -> Iterator[Row]:
        others = [fed for fed in self.pattern.feeds if fed is not self and not fed.is_wide]
        at = [{self.place: value}]
        fewest = min(others, key=lambda fed: len(fed.followed), default=None)
        # a class may have very many instances, of which few are in demand
        if fewest is not None and len(fewest.followed) < _FEW:
            at = [{self.place: value, fewest.place: other} for other in fewest.followed]
        for values in at:
            for ids in self.view.present(self.pattern, values):
                if all(ids[fed.place] in fed.followed for fed in others):
                    yield ids

    def _held(self, value: int, *, reads: bool) -> Sequence[Row]:
        pattern, slot = self.pattern, self._slot
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

    __slots__ = ("_sweeps", "fresh", "loose", "wide")

    def __init__(self) -> None:
        self.fresh: list[tuple[Link, int]] = []
        self.loose: list[tuple[Link, int]] = []
        self.wide: dict[Fed, None] = {}
        """The patterns that are held whole though they are fed."""
        self._sweeps = 0

    def open(self, fed: Fed, values: Iterable[int]) -> None:
        """Have a new pattern follow values that are in demand already."""
        for value in values:
            fed.open(value)
        if fed.is_wide:
            self.wide[fed] = None

    def load(self) -> None:
        """Have patterns take the triples with values that came into demand, which may ask for more."""
        fresh = self.fresh
        try:
            for link, value in fresh:  # grows meanwhile
                for fed in link.fed:
                    if not fed.is_wide:
                        fed.open(value)
                        if fed.is_wide:
                            self.wide[fed] = None
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
                    if fed.is_wide:
                        self.wide[fed] = None
                del link.wanted[value]
        loose.clear()
        # to hold a pattern whole may ask for more
        if self.fresh:
            self.load()
        self._sweeps += 1
        if self.wide and self._sweeps % _OFTEN == 0:
            self._narrow()

    def _narrow(self) -> None:
        """Have patterns that are held whole hold what is in demand alone, where that is little."""
        for fed in tuple(self.wide):
            if fed not in fed.link.fed or fed.narrow():
                del self.wide[fed]
        if self.loose:
            self.sweep()

    def clear(self) -> None:
        """Forget all changes that patterns have not followed yet."""
        self.fresh.clear()
        self.loose.clear()
        self.wide.clear()
