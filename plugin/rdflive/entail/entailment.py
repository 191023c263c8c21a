"""The contract between the view of a graph and what works out the triples that the graph entails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from rdflib import Literal as RdflibLiteral
from rdflib import URIRef

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.engine.view import Lister
from rdflive.entail.proof import Proof
from rdflive.model import Term, TermPattern, Triple

__all__ = ["Entailment", "ExplicitGraph", "IdTriple", "Regime", "Sign", "Wanted"]

Sign: TypeAlias = Literal[1, -1]
IdTriple: TypeAlias = tuple[int, int, int]
"""A triple as ids of the store's dictionary."""


@dataclass(frozen=True, slots=True)
class ExplicitGraph:
    """A graph of a store, as a regime reads it."""

    triples: Lister
    """Lists what the graph holds and matches a pattern; during an update, what it holds after it."""
    dictionary: Dictionary
    """Numbers terms, for all that is maintained on the store; what is kept must be held."""
    terms: TermTable
    to_native: Callable[[Any], Term]
    """Turns an rdflib term into the store's own; ValueError where the store can hold no such term."""

    def literal_test(self) -> Callable[[Term], bool]:
        """Make the test whether a term of the store is a literal."""
        return _class_test(type(self.to_native(RdflibLiteral(""))))

    def iri_test(self) -> Callable[[Term], bool]:
        """Make the test whether a term of the store is an IRI."""
        return _class_test(type(self.to_native(URIRef("urn:any"))))


def _class_test(wanted: type) -> Callable[[Term], bool]:
    """Make a quicker `isinstance`: rdflib's classes of terms are abstract base classes, which ask around."""
    known: dict[type, bool] = {}

    def test(term: Term) -> bool:
        kind = type(term)
        found = known.get(kind)
        if found is None:
            found = known[kind] = issubclass(kind, wanted)
        return found

    return test


class Wanted(Protocol):
    """What answers for the *wanted* patterns only, so that nothing is worked out that nobody asks for."""

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Begin to maintain what matches these patterns; each call is undone by one of `unwant`.

        The graph may hold anything already. If it raises, nothing is wanted that was not before.
        """

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining what nobody wants any more; without any wanted pattern nothing is kept."""

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise an `RdfliveError` where wanted patterns cannot be worked out as it was asked for.

        It is asked after `want` where somebody can be told; what happens later is logged and passed over.
        """


class Entailment(Wanted, Protocol):
    """Keeps the triples entailed by one graph; all methods are called under the store's lock."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change of the graph may change what is wanted; cheap, and may err towards true."""

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> Iterable[tuple[Sign, IdTriple]]:
        """Give the net changes of the wanted entailed triples, by those of the graph that concern it.

        The graph holds the state after them. Each entailed triple comes at most once: +1 if it was not
        entailed before and is now, -1 if it was and is not. Their ids need not be held.
        """

    def triples(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern, each once, as of the last update."""

    def support(self, triple: Triple) -> int:
        """Count the ways in which a triple is entailed, as the regime counts them; 0 if it is not."""

    def why(self, triple: Triple) -> list[Proof]:
        """Give proofs of a triple, the shortest first; none if it is not entailed."""

    def containers(self) -> list[Any]:
        """List the dictionaries and sets that keep what is entailed, for measuring."""

    def describe(self) -> list[str]:
        """Tell how the wanted patterns are maintained and what that costs, in lines for `explain()`."""


class Regime(Protocol):
    """What is entailed by what; hashable, and equal regimes over one graph share one entailment."""

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Make what keeps the triples entailed by a graph, with nothing wanted yet."""

    @property
    def identity(self) -> str:
        """Write the regime such that different texts mean different answers."""
