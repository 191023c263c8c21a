"""What the members of a family ask for, and the patterns that hold only what somebody asked for.

Say the family is `?t :line ?p ; :delay ?m`, and members ask for ?p = :S1 and ?p = :S2. Then the relation is
{(:S1), (:S2)}. The pattern `?t :line ?p` takes triples with one of these objects only, and what a member asks
for is one more pattern that walks go through: from the tuple (:S1) to the trains of that line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rdflive.engine.multiset import Row
from rdflive.engine.pattern import PatternState
from rdflive.engine.ranges import Place, Ranges
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Fed", "Listed", "Relation"]

Lister: TypeAlias = Callable[[PatternState, Mapping[int, int]], Iterable[Row]]
"""Lists what the graph holds that matches a pattern and has some ids at places of the triple."""


@dataclass(frozen=True, slots=True)
class Fed:
    """A pattern that holds only what is asked for: where its parameters stand in a triple."""

    view: Any
    pattern: PatternState
    places: tuple[tuple[int, int], ...]
    """Pairs of a place in the triple and a column of the relation; by the first one triples are routed."""


Taken: TypeAlias = Sequence[tuple[Fed, int, int, Sequence[Row]]]
"""Triples that patterns take or forget, each list because of a column and a value there."""


class Relation:
    """The distinct tuples that are asked for of some parameters of a family.

    `added` and `removed` are the tuples that came and went since they were taken, for the operators that read
    the relation itself.
    """

    __slots__ = (
        "_fed", "_takes_all", "_tuples", "_wanted", "added", "columns", "pattern", "places", "ranges",
        "removed",
    )  # fmt: skip

    def __init__(self, columns: tuple[Variable, ...], parameters: Sequence[Variable]) -> None:
        self.columns = columns
        self.places = tuple(parameters.index(column) for column in columns)
        """Where the columns stand in the tuple of a member."""
        self._takes_all = columns == tuple(parameters)
        self.pattern = PatternState(tuple(-1 - i for i in range(len(columns))))
        self.ranges: dict[tuple[tuple[int, ...], tuple[int, ...]], Ranges] = {}
        """Tuples in order, by the slots that they are looked up by and those that are given."""
        self.added: list[Row] = []
        self.removed: list[Row] = []
        self._tuples: dict[Row, int] = {}
        """How many members ask for a tuple."""
        self._wanted: tuple[dict[int, int], ...] = tuple({} for _ in columns)
        """Per column, how many tuples have a value."""
        self._fed: list[Fed] = []

    def __iter__(self) -> Iterator[Row]:
        return iter(self._tuples)

    def __len__(self) -> int:
        return len(self._tuples)

    def wants(self, column: Variable) -> Callable[[int], bool]:
        """Give the test whether somebody asks for a value of a column."""
        return self._wanted[self.columns.index(column)].__contains__

    def feed(self, view: Any, pattern: PatternState, written: TriplePattern, places: Iterable[int]) -> None:
        """Have a pattern hold what is asked for from now on; before anything is asked.

        Parameters stand at these places, and triples are routed to it by the first.
        """
        # two segments may share it
        if any(fed.pattern is pattern for fed in self._fed):
            return
        terms: tuple[Any, ...] = tuple(written)
        self._fed.append(Fed(view, pattern, tuple((at, self.columns.index(terms[at])) for at in places)))

    def ordered(
        self, bound: tuple[int, ...], given: tuple[int, ...], place: Callable[[int], Place]
    ) -> Ranges:
        """Give the tuples in the order of the first of the given slots, by the bound ones; before anything is
        asked.
        """
        return self.ranges.setdefault((bound, given), Ranges(lambda rest: place(rest[0])))

    def part(self, parameters: Row) -> Row:
        """Give what a member asks for of these parameters."""
        # most often all of them, and the tuple that is there already
        return parameters if self._takes_all else tuple([parameters[place] for place in self.places])

    def ask(self, parameters: Row, *, walk: bool) -> Taken:
        """Take what one more member asks for. With `walk` the solutions that this brings are found.

        Gives what `take_back` needs: the triples that patterns took, nothing if there were none. Where the
        store cannot be read, nothing changes but for solutions and `added`, which the caller puts right.
        """
        row = self.part(parameters)
        count = self._tuples.get(row, 0)
        if count:
            self._tuples[row] = count + 1
            return ()
        taken = self._count(row)
        self._put(row, taken)
        self.added.append(row)
        try:
            if walk:
                for run, state in self.pattern.walks:
                    run(*row, state.added)
        except BaseException:
            self.take_back(parameters, taken)
            raise
        # kept until all members are there, so not for each of a million that find no triple
        return taken if any(triples for *_, triples in taken) else ()

    def take_back(self, parameters: Row, taken: Taken) -> None:
        """Undo `ask` while nothing else has changed; the store is not read."""
        row = self.part(parameters)
        count = self._tuples[row] - 1
        if count:
            self._tuples[row] = count
        else:
            gone = self._uncount(row, listing=False)
            self._take_out(row, taken or gone)

    def leave(self, parameters: Row, *, walk: bool) -> None:
        """Undo `ask`. With `walk` the solutions that go are found.

        Where the store cannot be read, nothing changes.
        """
        row = self.part(parameters)
        count = self._tuples[row] - 1
        if count:
            self._tuples[row] = count
            return
        found = [(state.removed, len(state.removed)) for _, state in self.pattern.walks] if walk else []
        try:
            if walk:
                for run, state in self.pattern.walks:
                    run(*row, state.removed)
            taken = self._uncount(row)
        except BaseException:
            for rows, length in found:
                del rows[length:]
            raise
        self.removed.append(row)
        self._take_out(row, taken)

    def reset(self) -> None:
        """Forget everything, behind `close` and when the segments have gone."""
        self.pattern = PatternState(self.pattern.key)
        self._tuples.clear()
        self.ranges.clear()
        for wanted in self._wanted:
            wanted.clear()
        self.added.clear()
        self.removed.clear()

    def close(self) -> None:
        """Stop routing triples to the patterns, which go with their segments."""
        for fed in self._fed:
            place, column = fed.places[0]
            for value in self._wanted[column]:
                fed.view.close_to(fed.pattern, place, value)
        self._fed.clear()

    def _put(self, row: Row, taken: Taken) -> None:
        """Have walks find a tuple, and the patterns take triples that nobody asked for before."""
        self._tuples[row] = 1
        for fed, _, _, triples in taken:
            for ids in triples:
                fed.view.hold(fed.pattern, ids)
        self.pattern.insert(*row)
        for (bound, given), ranges in self.ranges.items():
            ranges.add(tuple(row[slot] for slot in bound), tuple(row[slot] for slot in given))

    def _take_out(self, row: Row, taken: Taken) -> None:
        """Undo `_put` and what `_count` opened: patterns forget triples that nobody asks for now."""
        for (bound, given), ranges in self.ranges.items():
            ranges.remove(tuple(row[slot] for slot in bound), tuple(row[slot] for slot in given))
        self.pattern.delete(*row)
        for fed, column, value, triples in taken:
            for ids in triples:
                fed.view.drop(fed.pattern, ids)
            _close(fed, column, value)
        del self._tuples[row]

    def _count(self, row: Row) -> Taken:
        """Count the values of a tuple, and list what the patterns are to take because of those that are new.

        Everything is listed before anything is taken, so that a store that fails leaves nothing half-way.
        """
        taken: list[tuple[Fed, int, int, Sequence[Row]]] = []
        counted = 0
        try:
            for column, value in enumerate(row):
                wanted = self._wanted[column]
                wanted[value] = wanted.get(value, 0) + 1
                counted += 1
                if wanted[value] == 1:
                    for fed in self._fed_by(column):
                        taken.append((fed, column, value, ()))
                        # first, for what follows from a graph is worked out where it is asked for
                        _open(fed, column, value)
                        taken[-1] = fed, column, value, self._triples(fed, column, value)
        except BaseException:
            for fed, column, value, _ in taken:
                _close(fed, column, value)
            for column, value in enumerate(row[:counted]):
                self._discount(column, value)
            raise
        return taken

    def _uncount(self, row: Row, *, listing: bool = True) -> Taken:
        """Undo `_count`, and list what the patterns are to forget; without `listing` no triples."""
        taken: list[tuple[Fed, int, int, Sequence[Row]]] = []
        discounted = 0
        try:
            for column, value in enumerate(row):
                if self._wanted[column][value] == 1:
                    taken += self._listed(column, value, listing=listing)
                self._discount(column, value)
                discounted += 1
        except BaseException:
            for column, value in enumerate(row[:discounted]):
                self._wanted[column][value] = self._wanted[column].get(value, 0) + 1
            raise
        return taken

    def _discount(self, column: int, value: int) -> None:
        wanted = self._wanted[column]
        if wanted[value] > 1:
            wanted[value] -= 1
        else:
            del wanted[value]

    def _listed(self, column: int, value: int, *, listing: bool = True) -> Taken:
        """List the triples with a value, by the patterns that take or forget them."""
        return [
            (fed, column, value, self._triples(fed, column, value) if listing else ())
            for fed in self._fed_by(column)
        ]

    def _fed_by(self, column: int) -> list[Fed]:
        return [fed for fed in self._fed if any(column == of for _, of in fed.places)]

    def _triples(self, fed: Fed, column: int, value: int) -> Sequence[Row]:
        """List the triples with a value that a pattern takes or forgets; their other values are asked for."""
        if not fed.pattern.keeps:
            return ()
        at = {place: value for place, of in fed.places if of == column}
        # listed at once: to hold a triple changes the dictionary that a lister reads
        return [
            ids
            for ids in fed.view.listed(fed.pattern, at)
            if all(ids[place] in self._wanted[of] for place, of in fed.places)
        ]


class Listed:
    """A look-up of a pattern in the graph itself, by slots that are parameters; it stands for an access path.

    It serves the walks that begin with what a member asks for: these are few, and a path would cost memory.
    """

    __slots__ = ("_given", "_listed", "_pattern", "_places")

    def __init__(self, listed: Lister, pattern: PatternState, slots: tuple[int, ...]) -> None:
        self._listed = listed
        self._pattern = pattern
        self._places = tuple(pattern.places[slot] for slot in slots)
        self._given = tuple(pattern.places[slot] for slot in range(pattern.arity) if slot not in slots)

    def get(self, key: Any) -> Any:
        """Give what an access path would: None, one value bare, or a set."""
        triples = self._matches(key)
        if len(self._given) == 1:
            (place,) = self._given
            found: set[Any] = {ids[place] for ids in triples}
        else:
            found = {tuple(ids[place] for place in self._given) for ids in triples}
        return found if len(found) > 1 else next(iter(found), None)

    def __contains__(self, key: Any) -> bool:
        return next(iter(self._matches(key)), None) is not None

    def _matches(self, key: Any) -> Iterable[Row]:
        values = key if len(self._places) > 1 else (key,)
        return self._listed(self._pattern, dict(zip(self._places, values, strict=True)))


def _open(fed: Fed, column: int, value: int) -> None:
    """Have a pattern take triples with a value from now on, if it is routed by that column."""
    place, of = fed.places[0]
    if column == of:
        fed.view.open_to(fed.pattern, place, value)


def _close(fed: Fed, column: int, value: int) -> None:
    """Undo `_open`, also where that was not done."""
    place, of = fed.places[0]
    if column == of:
        fed.view.close_to(fed.pattern, place, value)
