"""Views that are kept while updates add to them, and the delta join over them (SPECTRA, Section 5).

SPECTRA empties the views of matched triples and reads old matches only where new views do not join, which
loses solutions (Theorem 5.1). Here every row stays. The patterns take turns: the new rows of a pattern are
joined with all rows of the patterns that had their turn, and with the old rows of the others, so each new
solution is found once. An undo removes all rows of an event in reverse order. So a static background under
the views need not be built again after an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any, Final, TypeAlias

from rdflive.matching.automaton import Automaton
from rdflive.matching.joins import Run, StateJoin, Tally, compile_run
from rdflive.matching.libraries import Library
from rdflive.matching.ranks import Entry, LookUp, Ranked, probe_kept
from rdflive.matching.views import Row, View
from rdflive.query.bgp import Variable

__all__ = ["KeptViews"]

_RUNS: Final = 512
"""Number of orders of states whose code is cached."""

Key: TypeAlias = tuple[tuple[Variable, ...], Variable | None]
"""The variables of the key, and the compared variable."""
Reader: TypeAlias = Callable[[Row], Any]


@dataclass(slots=True)
class _Index:
    """A view, indexed by some of its variables."""

    key: Reader
    new: Reader
    rows: dict[Any, list[Any]] = field(default_factory=dict)
    sorted: dict[Any, tuple[Entry, Ranked]] = field(default_factory=dict)
    """Sorted rows for sort-merge joins, see `ranks.probe_kept`."""

    def fill(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        key, new, found = self.key, self.new, self.rows
        for row in rows:
            found.setdefault(key(row), []).append(new(row))

    def drop(self, row: Row) -> None:
        """Remove the row that was added last."""
        key = self.key(row)
        found = self.rows[key]
        found.pop()
        # Sorted rows are recognized by their last row, which may be the same again after removals.
        self.sorted.pop(key, None)
        if not found:
            del self.rows[key]


@dataclass(slots=True)
class _Kept:
    """The rows of one view, in the order of their arrival."""

    variables: tuple[Variable, ...]
    rows: dict[Row, None] = field(default_factory=dict)
    waiting: View = field(default_factory=list)
    """The newest rows, which are not indexed yet."""
    base: int = 0
    """Number of rows of the background, which are permanent."""
    indexes: dict[Key, _Index] = field(default_factory=dict)

    @property
    def joined(self) -> int:
        """Number of rows in the indexes."""
        return len(self.rows) - len(self.waiting)

    def take(self, view: View) -> None:
        """Add the new rows; they wait to be joined."""
        # an update may repeat a triple of the window, whose solutions are already reported
        new = [row for row in view if row not in self.rows]
        self.rows.update(dict.fromkeys(new))
        self.waiting += new

    def put(self) -> None:
        """Add the waiting rows to the indexes."""
        for index in self.indexes.values():
            index.fill(self.waiting)
        self.waiting = []

    def undo(self) -> None:
        """Remove the rows that do not belong to the background.

        They are the newest ones, so they are removed from the ends of the lists.
        """
        joined = self.joined
        self.waiting = []
        # `popitem` removes the newest item.
        while len(self.rows) > self.base:
            row = self.rows.popitem()[0]
            # rows that were still waiting are in no index
            if len(self.rows) < joined:
                for index in self.indexes.values():
                    index.drop(row)


class KeptViews:
    """The views of one automaton, kept during a window or for a background graph."""

    def __init__(
        self, automaton: Automaton, shown: Sequence[Any], library: Library, *, is_lazy: bool = True
    ) -> None:
        self._automaton = automaton
        self._shown = shown
        self._library = library
        self._is_lazy = is_lazy
        self._kept = [_Kept(pattern.variables) for pattern in automaton.patterns]
        self._runs: dict[tuple[int, ...], tuple[tuple[int, ...], Run]] = {}
        self._by_order: dict[tuple[int, ...], Run] = {}
        self.order: tuple[int, ...] = ()
        """The states of the last run, in its order."""

    @property
    def sizes(self) -> list[int]:
        """The sizes of the views."""
        return [len(kept.rows) for kept in self._kept]

    def index(self, join: StateJoin) -> dict[Any, Any]:
        """Return the index of a view by the key of a join; it stays up to date."""
        return self._index(join).rows

    def look_up(self, join: StateJoin) -> LookUp:
        """Return the look-up function of a sort-merge join."""
        assert join.merge is not None  # noqa: S101 - the caller has one
        return probe_kept(join.merge.operator, self._index(join).sorted)

    def _index(self, join: StateJoin) -> _Index:
        kept = self._kept[join.pattern]
        compared = None if join.merge is None else join.merge.right
        index = kept.indexes.get((join.key, compared))
        if index is None:
            new = _reader(kept.variables, join.new)
            if compared is not None:
                new = _paired(kept.variables.index(compared), new, self._library)
            index = _Index(_reader(kept.variables, join.key), new)
            # without the waiting rows, which come last: `put` adds them after their turn
            index.fill(islice(kept.rows, kept.joined))
            kept.indexes[join.key, compared] = index
        return index

    def add(self, views: Sequence[View], tally: Tally) -> list[Row]:
        """Add the rows of an update, and return the new solutions.

        With lazy evaluation there is no join while some view is empty, and the rows wait.
        """
        for kept, view in zip(self._kept, views, strict=True):
            kept.take(view)
        sizes = self.sizes
        if self._is_lazy and not all(sizes):
            return []
        return self._join_waiting(sizes, tally)

    def settle(self) -> None:
        """Make all rows permanent background."""
        for kept in self._kept:
            kept.put()
            kept.base = len(kept.rows)

    def undo(self) -> None:
        """Remove all rows except the background."""
        for kept in self._kept:
            kept.undo()

    def _join_waiting(self, sizes: list[int], tally: Tally) -> list[Row]:
        """Join the waiting rows of each pattern with the indexed rows of the others, then index them too.

        So a solution of several new rows is found once: by the pattern whose turn is last. Example: the new
        rows a and b of two patterns join. In the turn of a, b is in no index yet; in the turn of b, a is.

        The largest view goes first, because its rows then meet the fewest rows of the others.
        """
        solutions: list[Row] = []
        for pattern in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
            kept = self._kept[pattern]
            if not kept.waiting:
                continue
            others = (other.joined for i, other in enumerate(self._kept) if i != pattern)
            if not self._is_lazy or all(others):
                # a run reads only the view of its first state, and the others by index
                solutions += self._run(pattern, sizes)([kept.waiting] * len(sizes), tally)
            kept.put()
        return solutions

    def _run(self, first: int, sizes: list[int]) -> Run:
        """Find or generate the run that starts at a pattern.

        Without lazy evaluation, empty views come last.
        """
        # an empty first view would end the run before any join
        ranks = sizes if self._is_lazy else [size or 1 << 62 for size in sizes]
        # `Automaton.order` reads only the bit lengths
        key = (first, *[size.bit_length() for size in ranks])
        found = self._runs.get(key)
        if found is None:
            order = self._automaton.order(ranks, first)
            run = self._by_order.get(order) or self._write(order)
            if len(self._runs) >= _RUNS:
                self._runs.clear()
            found = self._runs[key] = order, run
        self.order, run = found
        return run

    def _write(self, order: tuple[int, ...]) -> Run:
        if len(self._by_order) >= _RUNS:
            self._by_order.clear()
        run = compile_run(self._automaton, order, self._shown, self._library, self)
        self._by_order[order] = run
        return run


def _reader(variables: tuple[Variable, ...], wanted: tuple[Variable, ...]) -> Reader:
    """Return a function that reads some values of a row: a tuple, or a single value without one."""
    if not wanted:
        return lambda _: ()
    return itemgetter(*[variables.index(v) for v in wanted])


def _paired(place: int, new: Reader, library: Library) -> Reader:
    """Return a function that puts the compared rdflib term before the new values."""
    value = library.value
    return lambda row: (value(row[place]), new(row))
