"""Basic graph patterns and their classes (Gergatsoulis and Damigos, Section 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["BGP", "Asked", "PatternClass", "TriplePattern", "VarOrTerm", "Variable", "classify", "to_text"]

PatternClass: TypeAlias = Literal[
    "ground", "simple var-centric star", "loosely-connected", "var-connected", "general"
]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a pattern. A blank node of the query is a variable that cannot be projected."""

    name: str
    distinguished: bool = True

    @property
    def readable(self) -> bool:
        """True if expressions can read it: a variable of the user, or one made by the planner (`·1`)."""
        return self.distinguished or self.name.startswith("·")

    def __str__(self) -> str:
        return f"?{self.name}" if self.distinguished else f"_:{self.name}"


VarOrTerm: TypeAlias = Hashable
"""A `Variable` or a constant of any hashable type."""


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """One triple pattern; each position has a `Variable` or a constant.

    With a `graph` it is a quad pattern over the named graphs: the variable is the graph's name. In a template
    a triple pattern may also be a term, from which each solution makes a triple term.
    """

    subject: VarOrTerm
    predicate: VarOrTerm
    object: VarOrTerm
    graph: Variable | None = None
    variables: tuple[Variable, ...] = field(init=False, compare=False, repr=False)
    """The distinct variables, in order of position."""

    def __post_init__(self) -> None:
        distinct = dict.fromkeys(term for term in self.terms if isinstance(term, Variable))
        object.__setattr__(self, "variables", tuple(distinct))

    def __iter__(self) -> Iterator[VarOrTerm]:
        triple = (self.subject, self.predicate, self.object)
        return iter(triple if self.graph is None else (*triple, self.graph))

    @property
    def terms(self) -> Iterator[VarOrTerm]:
        """The variables and constants, in order of position."""
        for term in self:
            yield from term.terms if isinstance(term, TriplePattern) else (term,)

    def __str__(self) -> str:
        return " ".join(to_text(term) for term in self)


@dataclass(frozen=True, slots=True)
class Asked:
    """The relation of a family of queries, as a pattern: it matches the parameters of the members.

    Example: the queries `?t :line :S1` and `?t :line :S2` have the family `?t :line ?p` with the relation
    {(:S1), (:S2)} of ?p.
    """

    variables: tuple[Variable, ...]

    def __iter__(self) -> Iterator[VarOrTerm]:
        return iter(self.variables)


def to_text(term: VarOrTerm) -> str:
    """Write a term of a pattern as SPARQL does."""
    if isinstance(term, TriplePattern):
        return f"<<( {term} )>>"
    # a constant may also be an id, which the engine uses for a term
    n3 = getattr(term, "n3", None)
    return str(n3()) if callable(n3) else str(term)


class BGP:
    """A set of triple patterns in query order; a repeated pattern counts once.

    >>> x = Variable("x")
    >>> len(BGP([TriplePattern(x, "p", "a"), TriplePattern(x, "p", "a")]).patterns)
    1
    """

    __slots__ = ("patterns", "variables")

    def __init__(self, patterns: Iterable[TriplePattern]) -> None:
        self.patterns: tuple[TriplePattern, ...] = tuple(dict.fromkeys(patterns))
        self.variables: tuple[Variable, ...] = tuple(
            dict.fromkeys(v for pattern in self.patterns for v in pattern.variables)
        )

    @property
    def constants(self) -> tuple[VarOrTerm, ...]:
        """The distinct constants, in query order."""
        terms = (term for pattern in self.patterns for term in pattern)
        return tuple(dict.fromkeys(term for term in terms if not isinstance(term, Variable)))


def classify(bgp: BGP, partition: Iterable[frozenset[Variable]]) -> PatternClass:
    """Return the smallest class of Gergatsoulis and Damigos that contains the pattern.

    Definition 6 (simple var-centric star), 11 (loosely-connected) and 12 (var-connected); `partition` is the
    connected-variable partition of Definition 9. A variable in predicate position is a node like any other,
    and `?x p ?x` is a simple star (the paper has no name for either).
    """
    sizes = [len(part) for part in partition]
    if not sizes:
        return "ground"
    ground = any(not pattern.variables for pattern in bgp.patterns)
    if sizes == [1] and not ground:
        return "simple var-centric star"
    if all(size == 1 for size in sizes):
        return "loosely-connected"
    return "general" if len(sizes) > 1 or ground else "var-connected"
