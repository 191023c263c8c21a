"""The parameters of a family's members, and look-ups in the graph for added and removed members.

Example: the family is `?t :line ?p ; :delay ?m`, and its members have ?p = :S1 and ?p = :S2. Then the
relation is {(:S1), (:S2)}. Its values are demand: the pattern `?t :line ?p` holds only triples with one of
these objects. The relation is also one more pattern that walks go through: from the tuple (:S1) to the trains
of that line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias

from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Row, Weights, add_weights
from rdflive.engine.pattern import PatternState
from rdflive.engine.ranges import Place, Ranges
from rdflive.query.bgp import Variable
from rdflive.query.expressions import TURNED, Expression
from rdflive.query.segment import Segment

__all__ = ["AskedPaths", "Listed", "Relation", "Scan", "comparisons_of"]

Lister: TypeAlias = Callable[[PatternState, Mapping[int, int]], Iterable[Row]]
"""Lists the graph's matches of a pattern that have some ids at places of the triple."""


class Relation:
    """The distinct tuples that members of a family have for some parameters.

    `added` and `removed` are the tuples added and removed since they were last taken, for the operators that
    read the relation itself.
    """

    __slots__ = (
        "_demand", "_takes_all", "_tuples", "added", "columns", "pattern", "places", "ranges", "removed",
        "sample",
    )  # fmt: skip

    def __init__(self, columns: tuple[Variable, ...], parameters: Sequence[Variable], demand: Demand) -> None:
        self.columns = columns
        self.places = tuple(parameters.index(column) for column in columns)
        """The positions of the columns in the tuple of a member."""
        self._takes_all = columns == tuple(parameters)
        self._demand = demand
        self.pattern = PatternState(tuple(-1 - i for i in range(len(columns))))
        self.ranges: dict[tuple[tuple[int, ...], tuple[int, ...]], Ranges] = {}
        """Tuples in order, by the slots that they are looked up by and those that are returned."""
        self.added: list[Row] = []
        self.removed: list[Row] = []
        self._tuples: dict[Row, int] = {}
        """Number of members with each tuple."""
        self.sample: Row = ()
        """The tuple of some member, for the choice where demand starts."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self._tuples)

    def __contains__(self, row: Row) -> bool:
        return row in self._tuples

    def __len__(self) -> int:
        return len(self._tuples)

    def ordered(
        self, bound: tuple[int, ...], given: tuple[int, ...], place: Callable[[int], Place]
    ) -> Ranges:
        """Return the tuples in the order of the first of the given slots, by the bound ones. Call it before
        the first tuple.
        """
        return self.ranges.setdefault((bound, given), Ranges(lambda rest: place(rest[0])))

    def part(self, parameters: Row) -> Row:
        """Return the values that a member has for these parameters."""
        # usually all of them, and the same tuple
        return parameters if self._takes_all else tuple([parameters[place] for place in self.places])

    def ask(self, parameters: Row, *, walk: bool) -> None:
        """Add the parameters of one more member. With `walk` the new solutions are found.

        If the store cannot be read, nothing changes except solutions and `added`, which the caller restores.
        """
        row = self.part(parameters)
        count = self._tuples.get(row, 0)
        self._tuples[row] = count + 1
        if count:
            return
        self.pattern.insert(*row)
        for (bound, given), ranges in self.ranges.items():
            ranges.add(tuple(row[slot] for slot in bound), tuple(row[slot] for slot in given))
        self.added.append(row)
        try:
            self._demand.load()
            if walk:
                for run, state in self.pattern.walks:
                    run(*row, state.added)
        except BaseException:
            self.take_back(parameters)
            raise

    def take_back(self, parameters: Row) -> None:
        """Undo `ask` while nothing else has changed; the store is not read."""
        row = self.part(parameters)
        self._tuples[row] -= 1
        if not self._tuples[row]:
            self._take_out(row, reads=False)

    def leave(self, parameters: Row, *, walk: bool) -> None:
        """Undo `ask`. With `walk` the removed solutions are found.

        If the store cannot be read, nothing changes.
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
        except BaseException:
            for rows, length in found:
                del rows[length:]
            raise
        self.removed.append(row)
        self._take_out(row)

    def follow(self, rows: Weights, places: Sequence[int], dictionary: Dictionary) -> None:
        """Follow the rows of another step: request the values that they have at some places.

        `rows` are changes, with weights. A value is requested from its first row on, until its last one is
        removed.
        """
        changes: Weights = {}
        add_weights(changes, ((tuple([row[at] for at in places]), weight) for row, weight in rows.items()))
        for values, change in changes.items():
            if UNBOUND in values:  # which is in no triple
                continue
            count = self._tuples.get(values, 0) + change
            if count == change:
                self.ask(values, walk=True)
                # not before, because a budget may stop the request
                dictionary.hold(values)
            elif not count:
                self._tuples[values] = 1
                self.leave(values, walk=True)
                dictionary.drop(values)
                continue
            self._tuples[values] = count

    def reset(self) -> None:
        """Discard everything, after the segments are removed."""
        self.pattern = PatternState(self.pattern.key)
        self._tuples.clear()
        self.ranges.clear()
        self.added.clear()
        self.removed.clear()

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return [self._tuples, *self.pattern.paths.values()]

    def _take_out(self, row: Row, *, reads: bool = True) -> None:
        """Remove a tuple from walks, and have patterns discard triples that no member requests any more."""
        for (bound, given), ranges in self.ranges.items():
            ranges.remove(tuple(row[slot] for slot in bound), tuple(row[slot] for slot in given))
        self.pattern.delete(*row)
        del self._tuples[row]
        # not at the end of the commit: a walk from a triple relies on it that its values are requested
        self._demand.sweep(reads=reads)


class Listed:
    """A look-up of a pattern in the graph itself, by slots that are parameters; used like an access path.

    It serves the walks that start at a member's parameters: these are few, and a path would cost memory.
    """

    __slots__ = ("_given", "_listed", "_pattern", "_places")

    def __init__(self, listed: Lister, pattern: PatternState, slots: tuple[int, ...]) -> None:
        self._listed = listed
        self._pattern = pattern
        self._places = tuple(pattern.places[slot] for slot in slots)
        self._given = tuple(pattern.places[slot] for slot in range(pattern.arity) if slot not in slots)

    def get(self, key: Any) -> Any:
        """Return the entry of an access path: None, one bare value, or a set."""
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


@dataclass(frozen=True, slots=True)
class AskedPaths:
    """Look-ups of walks through a family's relation: in the relation, and in the graph itself."""

    relation: Relation
    place: Callable[[int], Place]
    """Returns the position of an id in the order of values."""
    comparisons: tuple[tuple[Variable, str, Variable], ...]
    """Parameters compared with variables, such as `?limit < ?minutes`; these parameters are kept in order."""
    listed: Callable[[PatternState, tuple[int, ...]], Any]
    """Returns a look-up in the graph, from slots that are parameters to the other slots of a pattern.

    Only walks from added or removed members need it, so no path is kept for it.
    """
    lister: Lister | None
    """Lists the graph for members of a family with a single pattern, whose matches are then not kept. None if
    the graph may be ahead of the state that the members have seen.
    """
    scans: list[Scan] = field(default_factory=list)
    """The scans that use the lister."""

    def scan(self, pattern: PatternState) -> Scan:
        """Make the scan of a pattern."""
        assert self.lister is not None  # noqa: S101 - it is in the shape
        scan = Scan(self.lister, pattern)
        self.scans.append(scan)
        return scan

    def fitting(
        self,
        given: Sequence[Variable],
        names: Mapping[Variable, str],
        name: Callable[[Callable[[AskedPaths], object]], str],
        place: Callable[[AskedPaths], Callable[[Any], Place]],
    ) -> tuple[Sequence[Variable], str] | None:
        """Write the expression that lists the tuples for which a comparison with a named variable may hold.

        `name` names an object of the paths. `place` returns the function that finds the position of a value.
        Returns the order of the parameters and the expression, or None if there is no such comparison.
        """
        slots = self.relation.columns
        fitting = (c for c in self.comparisons if c[0] in given and c[2] in names)
        comparison = next(fitting, None)
        if comparison is None:
            return None
        parameter, operator, variable = comparison
        bound = [v for v in slots if v in names]
        given = sorted(given, key=lambda v: v != parameter)
        places = tuple(map(slots.index, bound)), tuple(map(slots.index, given))
        ranges = name(lambda asked: asked.relation.ordered(*places, asked.place))
        key = "(" + "".join(f"{names[v]}, " for v in bound) + ")"
        return given, f"{ranges}.fitting({key}, {operator!r}, {name(place)}, {names[variable]})"


class Scan:
    """Lists the graph's matches of a pattern, as values of its variables, for walks from members.

    Within a `with` block the graph is read once.
    """

    __slots__ = ("_listed", "_pattern", "_rows")

    def __init__(self, listed: Lister, pattern: PatternState) -> None:
        self._listed = listed
        self._pattern = pattern
        self._rows: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        rows = self._rows
        if rows is None:
            places = self._pattern.places
            # listed at once: the reader of the rows may change the dictionary that a lister reads
            found = list(self._listed(self._pattern, {}))
            rows = list(map(itemgetter(*places), found))
        return iter(rows)

    def __enter__(self) -> None:
        self._rows = list(self)

    def __exit__(self, *_: object) -> None:
        self._rows = None


def comparisons_of(segment: Segment) -> Iterator[tuple[Variable, str, Variable]]:
    """List the comparisons of a parameter with another variable, such as `?limit < ?minutes`."""
    columns = {v.name: v for v in segment.variables if v.readable}
    for condition in segment.conditions:
        found = condition.relation if isinstance(condition, Expression) else None
        if found is not None:
            operator = found[1]
            left, right = (columns.get(str(part)) for part in (found[0], found[2]))
            if left in segment.asked and right is not None:
                yield left, operator, right
            elif right in segment.asked and left is not None:
                yield right, TURNED[operator], left
