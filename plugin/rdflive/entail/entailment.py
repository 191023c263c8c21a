"""The contract between the view of a graph and the code that computes what the graph entails."""

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
    """The explicit triples of a graph, as an entailment regime reads them."""

    triples: Lister
    """Lists the triples that match a pattern. During an update the graph already has its changes."""
    dictionary: Dictionary
    """Numbers terms for everything on the store; whoever keeps an id must hold it."""
    terms: TermTable
    to_native: Callable[[Any], Term]
    """Turns an rdflib term into the store's own; ValueError where the store can hold no such term."""

    def literal_test(self) -> Callable[[Term], bool]:
        """Make the test whether a term of the store is a literal."""
        # The store's own class of literals, whatever library it uses.
        return _class_test(type(self.to_native(RdflibLiteral(""))))

    def iri_test(self) -> Callable[[Term], bool]:
        """Make the test whether a term of the store is an IRI."""
        return _class_test(type(self.to_native(URIRef("urn:any"))))


def _class_test(wanted: type) -> Callable[[Term], bool]:
    """Make a quicker `isinstance`.

    rdflib's classes of terms are abstract base classes, whose `isinstance` runs Python code on every call.
    """
    known: dict[type, bool] = {}

    def test(term: Term) -> bool:
        kind = type(term)
        found = known.get(kind)
        if found is None:
            found = known[kind] = issubclass(kind, wanted)
        return found

    return test


class Wanted(Protocol):
    """Computes triples for *wanted* patterns only, so that nothing is derived that no query reads."""

    @property
    def looks_up(self) -> bool:
        """Whether to want the triples of one more subject or object takes little."""

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining what matches these patterns; each call is undone by one of `unwant`.

        The graph may already hold any triples. If it raises, what was wanted before is wanted still, and no
        more.
        """

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining what nobody wants any more; without a wanted pattern nothing is kept."""

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise an `RdfliveError` if wanted patterns cannot be computed with the options asked for.

        A view calls it after `want`, when a caller can be told. Later, a schema that cannot be reasoned with
        is logged and its triples are left out.
        """


class Entailment(Wanted, Protocol):
    """Keeps the triples entailed by one graph; all methods are called under the store's lock."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change of the graph may change a wanted triple. It must be cheap, and may err
        towards True.
        """

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> Iterable[tuple[Sign, IdTriple]]:
        """Give the net changes of the wanted entailed triples that follow from changes of the graph.

        The graph already has the changes. Each entailed triple is given at most once: +1 if it was not
        entailed before and is now, -1 if it was and is not. The ids need not be held.
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
        """Tell how the wanted patterns are maintained and at what cost, in lines for `explain()`."""


class Regime(Protocol):
    """The rules of entailment. Regimes are hashable; equal regimes over one graph share one entailment."""

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Make the entailment of a graph, with nothing wanted yet."""

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """The predicates of the triples that anything is entailed from; None where it may be any."""

    @property
    def identity(self) -> str:
        """A text that differs for regimes that may give different answers."""
