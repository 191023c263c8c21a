"""The sources of the demand for a segment's patterns on a view, chosen by the present contents of the graph.

`rdflive.query.demand` defines how demand flows over shared variables; this module chooses where it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.relation import Relation
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.demand import Origin, chain
from rdflive.query.segment import Segment

__all__ = ["Counted", "origins"]

_FEW: Final = 16
"""Number of triples counted at first, to choose the first pattern in a chain of demand."""
_MANY: Final = 1 << 20


class Counted(Protocol):
    """The part of a view that the choice uses."""

    def number(self, term: Any) -> int:
        """Return the id of a term of a query."""

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the triples that match a key of ids (0 for any term), up to `most`."""

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List the places of parameters in a pattern; triples are routed by the first."""


def origins(view: Counted, segment: Segment, relation: Relation | None) -> dict[int, list[Origin]]:
    """Return the sources of demand per pattern, sources first; the other patterns hold all of their matches.

    Demand starts where the fewest triples are: at a pattern with a parameter of a family, counted for one
    member, or else at one with a constant as its subject or object.
    """
    asked = {} if relation is None else _fed_by_members(view, segment, relation)
    sample = {} if relation is None else dict(zip(relation.columns, relation.sample, strict=False))
    if segment.rows:
        return chain(segment.patterns, None, asked, segment.asked, segment.rows)
    if segment.state == "whole" or len(segment.patterns) < 2:
        return asked
    sources = list(asked) or [
        j
        for j, pattern in enumerate(segment.patterns)
        if not (isinstance(pattern.subject, Variable) and isinstance(pattern.object, Variable))
    ]
    if not sources:
        return asked
    root = _smallest(view, {j: _sampled(view, segment.patterns[j], sample) for j in sources})
    return chain(segment.patterns, root, asked, segment.asked)


def _fed_by_members(view: Counted, segment: Segment, relation: Relation) -> dict[int, list[Origin]]:
    """Return the origins of the patterns of a family that mention parameters."""
    found: dict[int, list[Origin]] = {}
    for j, pattern in enumerate(segment.patterns):
        terms: tuple[Any, ...] = tuple(pattern)
        places: dict[Any, int] = {}
        for place in view.asked_places(pattern, relation):
            places.setdefault(terms[place], place)
        if places:
            found[j] = [(None, relation.columns.index(v), place) for v, place in places.items()]
    return found


def _sampled(view: Counted, pattern: TriplePattern, sample: Mapping[Variable, int]) -> tuple[int, ...]:
    """Return the ids of a pattern, with the values of one member for parameters; 0 for any term."""
    ends = (pattern.subject, pattern.predicate, pattern.object)
    return tuple(
        sample.get(term, UNBOUND) if isinstance(term, Variable) else view.number(term) for term in ends
    )


def _smallest(view: Counted, keys: Mapping[int, tuple[int, ...]]) -> int:
    """Return the number of the key that the fewest triples match; all are counted up to that number."""
    most = _FEW
    while len(keys) > 1:
        for j, key in keys.items():
            if view.count(key, most) < most:
                return j
        most *= 8
        if most > _MANY:
            break
    return next(iter(keys))
