"""Look-ups for walks that go through the parameter relation of a family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from rdflive.engine.pattern import PatternState
from rdflive.engine.ranges import Place
from rdflive.engine.relation import Lister, Relation
from rdflive.query.bgp import Variable
from rdflive.query.expressions import TURNED, Expression
from rdflive.query.segment import Segment

__all__ = ["AskedPaths", "Scan", "comparisons_of"]


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
