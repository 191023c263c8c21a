"""Patterns that hold only the triples with values in demand.

Example: a query is `:ann :knows ?y . ?y :likes ?t`, and :ann knows :bob. For the second pattern only the
triples of :bob can be part of a solution, so it holds no others: the values of ?y in the first pattern are
the *demand* for the second. When `:ann :knows :cat` is inserted, the first pattern stores it, :cat enters the
demand, and the second pattern loads the current matches of `:cat :likes ?t` from the store. When `:ann :knows
:bob` is deleted, the triples of :bob are discarded at the end of the commit. A triple `:dan :likes :tea`
matches no pattern.

The parameters of a family's members are demand too, and so are the values that the rows of one side of a join
request from the other side; see `relation`.

Many or short-lived values may cost more to look up one by one than the full pattern costs to hold. So each
pattern counts that work. When it reaches half the cost of the full pattern, the pattern holds all of its
matches. When few values are in demand for long, it holds only these again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["Demand", "Fed", "Feeding", "Link"]

Row: TypeAlias = tuple[int, ...]
_FEW: Final = 256
"""Number of look-ups that cost no more than listing all matches of one value."""
_LOOK_UP: Final = 4
"""Cost of a look-up, and of discarding a value; listing one triple costs 1."""
_CHEAP: Final = 1000
"""Least work for which the size of the full pattern is counted."""
_SPARSE: Final = 64
"""A pattern returns to demand if it has this many values for each one in demand."""
_PATIENCE: Final = 4
"""Factor by which each return to demand takes longer than the one before."""
_OFTEN: Final = 256
"""Commits between two checks of the patterns that hold all matches."""


class Link:
    """The values of one slot of a pattern, which are the demand for other patterns.

    `Demand` collects the values that enter and leave.
    """

    __slots__ = ("fed", "wanted")

    def __init__(self) -> None:
        self.wanted: dict[int, int] = {}
        """Number of matches with each value. A value without a match stays, with 0, to the end of the commit.
        """
        self.fed: list[Fed] = []


@dataclass(frozen=True, slots=True)
class Feeding:
    """The source of the demand for a pattern that is not made yet; see `query.demand`."""

    view: Any
    source: Any
    """The `PatternState` whose values are the demand."""
    slot: int
    place: int
    is_member: bool
    """True if the values are parameters of a family's members: walks rely on it that no others are held."""
    may_widen: bool = True
    """True if the pattern may hold all of its matches."""


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
        """The place of the values in its triples."""
        self.link = link
        self.is_wide = False
        """True while the pattern holds triples with any value."""
        self.followed: set[int] = set()
        """The values that the pattern holds triples for; not kept if members alone request values."""
        self._feeding = feeding
        self._spent = 0
        """Work of look-ups, less one for each change of the graph, which the full pattern would cost."""
        self._since = 0
        self._bound = _CHEAP
        self._patience = 1

    @property
    def is_member(self) -> bool:
        """True if the values are parameters of a family's members."""
        return self._feeding.is_member

    @property
    def routes(self) -> bool:
        """True if triples are routed to the pattern by this place; other places are tested."""
        return self.pattern.feeds[0] is self

    def open(self, value: int) -> None:
        """Hold triples with a value from now on, and load the present ones."""
        # a pattern that keeps nothing has nothing to look up
        if self.pattern.keeps and not self.is_wide and self._may_widen and self._work(0) > self._bound:
            self._reconsider(0)
        if self.is_wide:
            return
        if self.routes:
            # first, because a view with entailment computes only triples that are routed
            self.view.open_to(self.pattern, self.place, value)
        # before the triples are listed, and so after those of values that other links added with it
        if self._tracks:
            self.followed.add(value)
        if self.pattern.keeps:
            # listed at once: holding a triple changes the dictionary that a lister reads
            triples = list(self._listed(value))
            self._spent += _LOOK_UP + len(triples)
            self.view.hold(self.pattern, triples)

    def close(self, value: int, *, reads: bool = True) -> None:
        """Undo `open`, also after an interruption.

        If no path lists the triples of the value, they are read from the store, unless `reads` is false.
        """
        if self.is_wide:
            return
        if self.pattern.keeps:
            # an expensive value may be requested again
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
        """Stop routing triples to the pattern; the caller drops the triples that it holds."""
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
        # the triples of known values are complete
        found = list(self.view.present(self.pattern, {}, (self.place, known)))
        self.view.hold(self.pattern, found)
        self._since = self.view.seen

    def narrow(self) -> bool:
        """Return to holding only values in demand if these have been few for long; return True if so."""
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
        """Number of values that the pattern holds triples for."""
        path = self.pattern.paths.get((self._slot,))
        return len(path) if path is not None else sum(1 for _ in self.pattern.matches() or ())

    @property
    def _slot(self) -> int:
        # not the first place of each variable: in `?x ?y ?y` that of ?y is the predicate
        slot: int = -1 - self.pattern.key[self.place]
        return slot

    @property
    def _may_widen(self) -> bool:
        return self.routes and self._feeding.may_widen and not self.is_member

    @property
    def _tracks(self) -> bool:
        return len(self.pattern.feeds) > 1 or not self.is_member

    def _work(self, more: int) -> int:
        """Return the recent work, or the cost of looking up all values in demand, plus `more`."""
        seen: int = self.view.seen
        self._spent = max(0, self._spent - (seen - self._since))
        self._since = seen
        return max(self._spent, (_LOOK_UP + 1) * len(self.link.wanted)) + more

    def _reconsider(self, more: int) -> None:
        """Hold all matches if the work reaches half of their cost."""
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
        # a class may have many instances, few of them in demand
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
    """The values that entered and left demand, in all views of a store, until patterns follow."""

    __slots__ = ("_sweeps", "fresh", "loose", "wide")

    def __init__(self) -> None:
        self.fresh: list[tuple[Link, int]] = []
        self.loose: list[tuple[Link, int]] = []
        self.wide: dict[Fed, None] = {}
        """The fed patterns that hold all matches."""
        self._sweeps = 0

    def open(self, fed: Fed, values: Iterable[int]) -> None:
        """Have a new pattern follow values that are in demand already."""
        for value in values:
            fed.open(value)
        if fed.is_wide:
            self.wide[fed] = None

    def load(self) -> None:
        """Load the triples of values that entered demand. These may add more demand."""
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
        """Discard the triples of values that left demand. This may remove more demand.

        It runs at the end of a commit, because a value may leave demand and return within it.
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
        # a pattern that holds all matches may add demand
        if self.fresh:
            self.load()
        self._sweeps += 1
        if self.wide and self._sweeps % _OFTEN == 0:
            self._narrow()

    def _narrow(self) -> None:
        """Reduce patterns that hold all matches to values in demand, if these are few."""
        for fed in tuple(self.wide):
            if fed not in fed.link.fed or fed.narrow():
                del self.wide[fed]
        if self.loose:
            self.sweep()

    def clear(self) -> None:
        """Discard all changes that patterns have not followed yet."""
        self.fresh.clear()
        self.loose.clear()
        self.wide.clear()
