"""An entailment driven by hand: a set of triples stands for the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph
from rdflive.entail.rules import Program, RuleEntailment, RuleRegime

Triple = tuple[Any, Any, Any]
Pattern = tuple[Any, Any, Any]


def match(triples: Iterable[Triple], pattern: Pattern) -> Iterator[Triple]:
    """List the triples that match; None in the pattern matches anything."""
    for triple in triples:
        if all(asked is None or asked == term for asked, term in zip(pattern, triple, strict=True)):
            yield triple


class Driver:
    """A graph, its dictionary, and what is entailed by it."""

    def __init__(self, program: Program) -> None:
        self.triples: set[Triple] = set()
        self.dictionary = Dictionary()
        self.failures = 0
        """How often the graph cannot be read from now on."""

        def same(term: Any) -> Any:
            return term

        terms = TermTable(self.dictionary, same, None)
        graph = ExplicitGraph(self._list, self.dictionary, terms, same)
        entailment = RuleRegime(program).start(graph)
        assert isinstance(entailment, RuleEntailment)
        self.entailment = entailment

    def _list(self, pattern: Pattern) -> Iterator[Triple]:
        if self.failures:
            self.failures -= 1
            raise OSError("the graph is unreadable")
        return match(tuple(self.triples), pattern)

    def want(self, *patterns: Pattern) -> None:
        """Want patterns, as a view does."""
        self.entailment.want(patterns)
        self.dictionary.sweep()

    def unwant(self, *patterns: Pattern) -> None:
        """Unwant patterns, as a view does."""
        self.entailment.unwant(patterns)
        self.dictionary.sweep()

    def commit(self, changes: Iterable[tuple[int, Triple]]) -> set[tuple[int, Triple]]:
        """Make the changes that are some, and give the net changes of what is entailed."""
        concerning = []
        for sign, triple in changes:
            if (triple in self.triples) == (sign < 0):
                (self.triples.add if sign > 0 else self.triples.discard)(triple)
                if self.entailment.concerns(triple):
                    concerning.append((sign, triple))
        terms = self.dictionary.terms
        net = [(sign, tuple(terms[i] for i in ids)) for sign, ids in self.entailment.update(concerning)]
        self.dictionary.sweep()
        assert len(net) == len(set(net))
        return set(net)

    def holds(self, pattern: Pattern = (None, None, None)) -> set[Triple]:
        """List what is entailed, which must come once each."""
        listed = list(self.entailment.triples(pattern))
        self.dictionary.sweep()
        assert len(listed) == len(set(listed))
        return set(listed)
