"""The contract between the view of a graph and the code that computes the entailed triples; and proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from rdflib import Literal as RdflibLiteral
from rdflib import URIRef

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.engine.view import Lister
from rdflive.model import Term, TermPattern, Triple

__all__ = ["Entailment", "ExplicitGraph", "IdTriple", "Proof", "ProofStep", "Regime", "Sign", "Wanted"]


@dataclass(frozen=True, slots=True)
class ProofStep:
    """One application of a rule."""

    rule: str
    """The name of the rule: `rdfs9`, `prp-trp`, ..."""
    premises: tuple[Triple, ...]
    conclusion: Triple

    def __str__(self) -> str:
        body = ", ".join(map(_text, self.premises))
        return f"{self.rule}: {body} => {_text(self.conclusion)}"


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof of a triple. The last step concludes it; a proof of an explicit triple has no steps."""

    triple: Triple
    steps: tuple[ProofStep, ...] = ()

    @property
    def explicit(self) -> tuple[Triple, ...]:
        """The triples of the graph that the proof starts from, schema triples among them."""
        concluded = {step.conclusion for step in self.steps}
        premises = (premise for step in self.steps for premise in step.premises)
        found = dict.fromkeys(premise for premise in premises if premise not in concluded)
        return tuple(found) if self.steps else (self.triple,)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules used, in order."""
        return tuple(dict.fromkeys(step.rule for step in self.steps))

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps)) or f"explicit: {_text(self.triple)}"


def _text(triple: Triple) -> str:
    terms = (getattr(term, "n3", None) for term in triple)
    return " ".join(n3() if n3 else str(term) for n3, term in zip(terms, triple, strict=True))


Sign: TypeAlias = Literal[1, -1]
IdTriple: TypeAlias = tuple[int, int, int]
"""A triple as ids of the store's dictionary."""


@dataclass(frozen=True, slots=True)
class ExplicitGraph:
    """The explicit triples of a graph, as an entailment regime reads them."""

    triples: Lister
    """Lists the triples that match a pattern. During an update the graph already has its changes."""
    dictionary: Dictionary
    """Numbers the terms of the store. A caller that keeps an id must hold it."""
    terms: TermTable
    to_native: Callable[[Any], Term]
    """Converts an rdflib term to the store's own class. Raises ValueError if the store cannot hold the term.
    """

    def literal_test(self) -> Callable[[Term], bool]:
        """Return a test for terms of the store that are literals."""
        # The store's own class of literals, whatever library it uses.
        return _class_test(type(self.to_native(RdflibLiteral(""))))

    def iri_test(self) -> Callable[[Term], bool]:
        """Return a test for terms of the store that are IRIs."""
        return _class_test(type(self.to_native(URIRef("urn:any"))))


def _class_test(wanted: type) -> Callable[[Term], bool]:
    """Return a faster `isinstance`.

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
    """Derives the triples that match *wanted* patterns, and no triples that no query reads."""

    @property
    def looks_up(self) -> bool:
        """True if it is cheap to want the triples of one more subject or object."""

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining the triples that match these patterns; one call of `unwant` undoes one call.

        The graph may already hold triples. If the call raises, the wanted patterns are the same as before.
        """

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining patterns that no query wants; without a wanted pattern no triples are kept."""

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise an `RdfliveError` if wanted patterns cannot be computed with the requested options.

        A view calls it after `want`, so that the error reaches the caller of `subscribe`. Later, schema
        triples that cannot be reasoned with are logged and left out.
        """


class Entailment(Wanted, Protocol):
    """Maintains the triples entailed by one graph; callers hold the store's lock."""

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the graph may change a wanted triple.

        It must be cheap, and may return True too often.
        """

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> Iterable[tuple[Sign, IdTriple]]:
        """Return the net changes of the wanted entailed triples that follow from changes of the graph.

        The graph already has the changes. Each entailed triple occurs at most once: +1 if it is newly
        entailed, -1 if it is no longer entailed. The ids need not be held.
        """

    def triples(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern, each once, as of the last update."""

    def support(self, triple: Triple) -> int:
        """Count the ways in which a triple is entailed, as the regime counts them; 0 if it is not."""

    def why(self, triple: Triple) -> list[Proof]:
        """Return proofs of a triple, the shortest first; none if it is not entailed."""

    def containers(self) -> list[Any]:
        """List the dictionaries and sets that hold the state, for measuring."""

    def describe(self) -> list[str]:
        """Describe how the wanted patterns are maintained and at what cost, in lines for `explain()`."""


class Regime(Protocol):
    """The rules of entailment. Regimes are hashable; one graph has one entailment for equal regimes."""

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Return the entailment of a graph, with no pattern wanted yet."""

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """The predicates of the triples that entail others; None if it may be any."""

    @property
    def identity(self) -> str:
        """A text that differs between regimes that may give different answers."""
