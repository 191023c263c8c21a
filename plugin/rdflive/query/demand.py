"""Which patterns of a segment hold only what is in demand, and where the demand comes from.

Example: in `:ann :knows ?y . ?y :likes ?t . ?t :in ?c` the first pattern is the *root*: it has a constant,
and is held whole. The values that it has for ?y are the demand for the second, and those of the second for ?t
are the demand for the third.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Origin", "Origins", "chain"]

Origin: TypeAlias = tuple[int | None, int, int]
"""Where the demand for a pattern comes from: the number of another pattern of the segment, or None for what
members of a family ask for; the slot of that (or the column); and the place of the values in the triples of
the pattern itself, 0 for the subject and 2 for the object.
"""
Origins: TypeAlias = Mapping[int, Sequence[Origin]]
"""By the number of a pattern, sources before the patterns that they feed. By the first origin of a pattern
triples are found, by the others they are tested. Patterns that are missing are held whole.
"""


def chain(
    patterns: Sequence[TriplePattern],
    root: int,
    asked: Mapping[int, Sequence[Origin]],
    parameters: Collection[Variable] = (),
) -> dict[int, list[Origin]]:
    """Let demand flow from the root to all patterns that share variables with it, over others too.

    `asked` has the origins of the patterns that mention `parameters` of a family. What the root does not
    reach is held for these alone.

    >>> x, y, z = map(Variable, "xyz")
    >>> chain([TriplePattern(y, "q", z), TriplePattern("a", "p", y), TriplePattern(z, "r", x)], 1, {})
    {0: [(1, 0, 0)], 2: [(0, 1, 0)]}
    """
    found: dict[int, list[Origin]] = {}
    bound: dict[Variable, tuple[int, int]] = {}

    def reach(j: int) -> None:
        if j in asked or j in found:
            found[j] = [*found.get(j, ()), *asked.get(j, ())]
        for slot, variable in enumerate(patterns[j].variables):
            if variable not in parameters:
                bound.setdefault(variable, (j, slot))

    reach(root)
    left = [j for j in range(len(patterns)) if j != root]
    while reached := {j: places for j in left if (places := _places(patterns[j], bound))}:
        for j, places in reached.items():
            # one will do: what a pattern holds beyond what all of them ask for does no harm
            variable, place = places[0]
            found[j] = [(*bound[variable], place)]
        for j in reached:
            reach(j)
        left = [j for j in left if j not in reached]
    found.update((j, list(asked[j])) for j in left if j in asked)
    return found


def _places(pattern: TriplePattern, bound: Mapping[Variable, object]) -> list[tuple[Variable, int]]:
    """List the variables that are bound, and where a store finds triples by them."""
    ends = ((pattern.subject, 0), (pattern.object, 2))
    return [(term, place) for term, place in ends if isinstance(term, Variable) and term in bound]
