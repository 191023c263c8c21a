"""The TP-Join automaton of a basic graph pattern (SPECTRA, Definition 4.1), and the order of its states.

Each state is a triple pattern with its view, the event's triples that match it. The transition to a state
joins its view with the rows of the states before. The automaton stops when there are no rows. The order of
the states is chosen for each event, by the sizes of the views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rdflive.query.algebra import Condition
from rdflive.query.bgp import BGP, TriplePattern, Variable

__all__ = ["Automaton", "Cluster", "ComplexFilter", "make_automaton"]

Order: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ComplexFilter:
    """A complex filter `left operator right` between variables of different patterns (Definition 3.2)."""

    left: Variable
    operator: str
    right: Variable
    condition: Condition

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Patterns that are joined consecutively (Section 3.4): around one subject, or as a path."""

    kind: Literal["star", "chain"]
    patterns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states of one basic graph pattern, and the conditions of their transitions."""

    patterns: tuple[TriplePattern, ...]
    variables: tuple[Variable, ...]
    joining: frozenset[Variable]
    """The variables that occur in several patterns, by which views are joined."""
    clusters: tuple[Cluster, ...]
    filters: tuple[tuple[Condition, ...], ...]
    """Per pattern, the conditions over its variables only, which are tested before a triple enters the
    view.
    """
    comparisons: tuple[ComplexFilter, ...]
    conditions: tuple[Condition, ...]
    """The other conditions. Each is tested in the state that binds the last of its variables."""

    def order(self, sizes: Sequence[int], first: int | None = None) -> Order:
        """Order the states: those linked to bound variables first, then the same cluster, then small views.

        Sizes within one power of two count as equal, so that similar events get the same order and share its
        compiled code. With `first` the automaton starts there.
        """
        home = {pattern: cluster for cluster in self.clusters for pattern in cluster.patterns}
        left = dict.fromkeys(range(len(self.patterns)))
        chosen: list[int] = []
        bound: set[Variable] = set()

        def rank(pattern: int) -> tuple[int, bool, int, int]:
            # Staying in a star or chain keeps the joined rows few (Section 3.4).
            moves = bool(chosen) and home[pattern] is not home[chosen[-1]]
            return self._distance(pattern, bound), moves, sizes[pattern].bit_length(), pattern

        while left:
            pattern = min(left, key=rank) if first is None or chosen else first
            del left[pattern]
            chosen.append(pattern)
            bound.update(self.patterns[pattern].variables)
        return tuple(chosen)

    def _distance(self, pattern: int, bound: set[Variable]) -> int:
        """Return how a pattern is linked to bound variables: 0 by a variable, 1 by a comparison, 2 not at
        all.
        """
        own = self.patterns[pattern].variables
        # a pattern without variables multiplies no rows, so its place does not matter
        if not bound or not bound.isdisjoint(own) or not own:
            return 0
        pairs = ({c.left, c.right} for c in self.comparisons)
        return 1 if any(pair & bound and pair.intersection(own) for pair in pairs) else 2


def make_automaton(
    patterns: Iterable[TriplePattern], conditions: Iterable[Condition], comparisons: Iterable[ComplexFilter]
) -> Automaton:
    """Cluster the patterns and assign each condition to a state.

    >>> a, b, c = map(Variable, "abc")
    >>> chain = make_automaton([TriplePattern(a, "p", b), TriplePattern(b, "q", c)], [], [])
    >>> [str(v) for v in chain.joining], chain.clusters
    (['?b'], (Cluster(kind='chain', patterns=(0, 1)),))
    """
    bgp = BGP(patterns)
    own = [{v.name for v in p.variables if v.readable} for p in bgp.patterns]
    readable = {v.name for v in bgp.variables if v.readable}
    # FILTER(1 > 2) reads no variable and belongs to no pattern; it is tested in the first state
    filters = tuple(
        tuple(c for c in conditions if reads(c, readable) and reads(c, readable) <= names) for names in own
    )
    pushed = {c for found in filters for c in found}
    # ?x < ?y of one pattern, as in { ?x :before ?y }, is tested where a triple enters the view
    between = tuple(c for c in comparisons if c.condition not in pushed)
    compared = {c.condition for c in between}
    return Automaton(
        bgp.patterns,
        bgp.variables,
        frozenset(v for v in bgp.variables if sum(v in p.variables for p in bgp.patterns) > 1),
        tuple(_clusters(bgp.patterns)),
        filters,
        between,
        tuple(c for c in conditions if c not in pushed and c not in compared),
    )


def reads(condition: Condition, names: set[str]) -> set[str]:
    """Return the names that a condition reads."""
    return names.intersection(condition.variables)


def _clusters(patterns: tuple[TriplePattern, ...]) -> Iterable[Cluster]:
    """Group patterns with one subject as stars, and the remaining linked patterns as chains."""
    subjects: dict[Any, list[int]] = {}
    for i, pattern in enumerate(patterns):
        subjects.setdefault(pattern.subject, []).append(i)
    alone: list[int] = []
    for members in subjects.values():
        if len(members) > 1:
            yield Cluster("star", tuple(members))
        else:
            alone += members
    while alone:
        chain = [alone.pop(0)]
        while (linked := next((i for i in alone if _leads_on(patterns, chain, i)), None)) is not None:
            alone.remove(linked)
            chain.append(linked)
        yield Cluster("chain", tuple(sorted(chain)))


def _leads_on(patterns: tuple[TriplePattern, ...], chain: list[int], other: int) -> bool:
    """Return True if a pattern's subject is the object of one of a chain, or its object the subject of
    one.
    """
    one = patterns[other]
    return any(one.subject == patterns[i].object or one.object == patterns[i].subject for i in chain)
