"""Where the demand for the patterns of a segment comes from on a view, chosen by what the graph has now.

`rdflive.query.demand` says how demand flows over shared variables; here is where it starts.
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
"""How many triples are counted at first, where several patterns may be the first in a chain of demand."""
_MANY: Final = 1 << 20


class Counted(Protocol):
    """A view, as far as the choice asks it."""

    def number(self, term: Any) -> int:
        """Give the id of a term of a query."""

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the triples that match a key of ids, in which 0 stands for any term, as far as `most`."""

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List where parameters of a family stand in a pattern; triples are routed by the first."""


def origins(view: Counted, segment: Segment, relation: Relation | None) -> dict[int, list[Origin]]:
    """Give where the demand for patterns comes from, sources first; the others are held whole.

    Demand starts where the fewest triples are: at a pattern that mentions a parameter of a family, by what
    one member asks for, or else at one with a constant as its subject or object.
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
    """Give the origins of the patterns of a family that mention parameters."""
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
    """Give the ids of a pattern, with what a member asks for in the place of parameters; 0 for any."""
    ends = (pattern.subject, pattern.predicate, pattern.object)
    return tuple(
        sample.get(term, UNBOUND) if isinstance(term, Variable) else view.number(term) for term in ends
    )


def _smallest(view: Counted, keys: Mapping[int, tuple[int, ...]]) -> int:
    """Give the number of the key that the fewest triples match; all are counted as far as the fewest."""
    most = _FEW
    while len(keys) > 1:
        for j, key in keys.items():
            if view.count(key, most) < most:
                return j
        most *= 8
        if most > _MANY:
            break
    return next(iter(keys))
