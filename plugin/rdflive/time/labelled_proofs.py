"""Where the triples of a window come from, where labels are kept and no derivations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rdflive.engine.view import State
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.proof import Proof
from rdflive.entail.rules import Program, prove
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.pane import Pane

__all__ = ["LabelledProofs"]


class LabelledProofs:
    """Tells what a window holds itself, and proves what it entails from that alone.

    Labels say how long a triple lasts, and not from what it was derived: where premises have the same label
    as the conclusion, any of them may have come first. So a proof is derived when it is asked for, by the
    rules and for the one triple.
    """

    def __init__(
        self,
        program: Program,
        labelled: Callable[[Key], Iterable[tuple[IdTriple, int]]],
        pane: Pane,
        state: State,
    ) -> None:
        self._program = program
        self._labelled = labelled
        self._pane = pane
        self._dictionary = state.dictionary
        self._graph = ExplicitGraph(self.explicit, state.dictionary, state.terms, state.to_native)

    def explicit(self, pattern: TermPattern) -> Iterator[Triple]:
        """List what the window and the graph beside it hold and that matches."""
        begin, listed = self._pane.begin, self._labelled(self._key(pattern))
        return self._shown(triple for triple, label in listed if label >= begin)

    def entailed(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self._shown(self._pane.matching(self._key(pattern)))

    def why(self, triple: Triple) -> list[Proof]:
        """Give proofs of a triple."""
        return prove(self._program, self._graph, triple)

    def _key(self, pattern: TermPattern) -> Key:
        known: Any = self._dictionary.ids.get
        return Key(*(0 if term is None else known(term, -1) for term in pattern))

    def _shown(self, triples: Iterable[IdTriple]) -> Iterator[Triple]:
        terms = self._dictionary.terms
        # a list: what is proved meanwhile may ask for ids, and so make indexes
        for s, p, o in list(triples):
            yield terms[s], terms[p], terms[o]
