"""Decompositions of basic graph patterns, after Gergatsoulis and Damigos: connected variables, stars, ordered
arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rdflive.query.bgp import BGP, Asked, TriplePattern, Variable

__all__ = [
    "Decomposition",
    "Extension",
    "OrderedArray",
    "StarQuery",
    "connected_variable_decomposition",
    "connected_variable_partition",
    "ordered_array",
    "overlapping_subqueries_graph",
    "star_decomposition",
]


def connected_variable_partition(bgp: BGP) -> tuple[frozenset[Variable], ...]:
    """Partition the variables into sets that are linked by patterns (Definition 9), in query order."""
    parts: list[set[Variable]] = []
    for pattern in bgp.patterns:
        linked = set(pattern.variables)
        if not linked:
            continue
        # `?b :r ?c` makes one part of {?a, ?b} and {?c, ?d}
        touching = [part for part in parts if part & linked]
        parts = [part for part in parts if not part & linked]
        parts.append(linked.union(*touching))
    # merged parts are last; the query's order is restored
    rank = {variable: i for i, variable in enumerate(bgp.variables)}
    return tuple(frozenset(part) for part in sorted(parts, key=lambda p: min(rank[v] for v in p)))


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The connected-variable decomposition: segments that share no variable, and the patterns without
    variables.
    """

    segments: tuple[tuple[TriplePattern, ...], ...]
    ground: tuple[TriplePattern, ...]


def connected_variable_decomposition(bgp: BGP, partition: Iterable[frozenset[Variable]]) -> Decomposition:
    """Split the patterns into segments that share no variable (Definition 10), given Definition 9's parts."""
    segments = tuple(
        tuple(pattern for pattern in bgp.patterns if not part.isdisjoint(pattern.variables))
        for part in partition
    )
    return Decomposition(segments, tuple(p for p in bgp.patterns if not p.variables))


@dataclass(frozen=True, slots=True)
class StarQuery:
    """A var-centric generalised star: every pattern that mentions the centre (Definition 6)."""

    centre: Variable
    patterns: tuple[TriplePattern, ...]


def star_decomposition(patterns: Iterable[TriplePattern]) -> tuple[StarQuery, ...]:
    """Return one star per variable (Definition 13); a pattern of two variables is in two stars."""
    bgp = BGP(patterns)
    return tuple(
        StarQuery(centre, tuple(p for p in bgp.patterns if centre in p.variables)) for centre in bgp.variables
    )


def overlapping_subqueries_graph(stars: Sequence[StarQuery]) -> dict[Variable, tuple[Variable, ...]]:
    """Link the stars that share a pattern, named by their centres (Section 6.5, Figure 4b)."""
    return {
        star.centre: tuple(
            other.centre for other in stars if other is not star and set(star.patterns) & set(other.patterns)
        )
        for star in stars
    }


@dataclass(frozen=True, slots=True)
class Extension:
    """One step of an ordered array: the variables that it binds, and the patterns that it reads.

    `links` are the patterns (by number) whose matches propose values. `checks` are those whose variables are
    all bound after this step, so that they are only tested. If nothing links the step to bound variables, it
    scans `links[0]`.
    """

    binds: tuple[Variable, ...]
    links: tuple[int, ...]
    checks: tuple[int, ...]
    scan: bool = False


@dataclass(frozen=True, slots=True)
class OrderedArray:
    """The order in which an update of the pattern `seed` visits the other variables (Proposition 5)."""

    seed: int
    checks: tuple[int, ...]
    steps: tuple[Extension, ...]


def ordered_array(patterns: Sequence[TriplePattern | Asked], seed: int) -> OrderedArray:
    """Order the variables outwards from the pattern `seed`, best linked first (findOrderedArray).

    Each step takes the variable with the most patterns that link it to bound ones; among these, the one with
    the most patterns of its own. So every pattern is used exactly once. Example: for `?a :p ?b . ?b :q ?c .
    ?a :r ?c` and seed 0, ?a and ?b are bound, and ?c is bound by both other patterns in one step.

    The relation of a family (`Asked`) proposes values only if no pattern does: it may be large, while a test
    of one tuple is a look-up.
    """
    bound = set(patterns[seed].variables)
    open_ = [j for j in range(len(patterns)) if j != seed]
    # their variables are bound with the seed's, so they are only tested
    first = tuple(j for j in open_ if bound.issuperset(patterns[j].variables))
    open_ = [j for j in open_ if j not in first]
    steps: list[Extension] = []
    while open_:
        triples = [j for j in open_ if not isinstance(patterns[j], Asked)]
        binds, links, scan = _next(patterns, triples or open_, bound)
        if scan and len(triples) < len(open_):
            binds, links, scan = _next(patterns, open_, bound)
        bound.update(binds)
        checks = tuple(j for j in open_ if j not in links and bound.issuperset(patterns[j].variables))
        open_ = [j for j in open_ if j not in links and j not in checks]
        steps.append(Extension(binds, links, checks, scan))
    return OrderedArray(seed, first, tuple(steps))


def _next(
    patterns: Sequence[TriplePattern | Asked], open_: Sequence[int], bound: set[Variable]
) -> tuple[tuple[Variable, ...], tuple[int, ...], bool]:
    """Choose what to bind next: the best linked variable, else the variables of one linked pattern, else a
    new part.
    """
    missing = {j: tuple(v for v in patterns[j].variables if v not in bound) for j in open_}
    links: dict[Variable, list[int]] = {}
    alone: dict[Variable, int] = {}
    for j, variables in missing.items():
        if len(variables) == 1:
            # `?c a :Train` links ?c to no bound variable, and only decides between equals
            if len(patterns[j].variables) > 1:
                links.setdefault(variables[0], []).append(j)
            else:
                alone[variables[0]] = alone.get(variables[0], 0) + 1
    if links:
        # `max` returns the first of equals, so the order is a function of the query
        best = max(links, key=lambda v: (len(links[v]), alone.get(v, 0)))
        return (best,), tuple(links[best]), False
    for j, variables in missing.items():
        # as in `?a ?p ?c` with ?a bound, which binds ?p and ?c at once
        if len(variables) < len(patterns[j].variables):
            return variables, (j,), False
    # only if `join` is forced on patterns that share no variable: other segments are connected
    j = min(open_, key=lambda j: len(missing[j]))
    return missing[j], (j,), True
