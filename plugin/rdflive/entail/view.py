"""The view of a graph and of all that it entails: patterns are matched as if it held that too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, Literal

from rdflive.engine.kernel import SegmentState
from rdflive.engine.view import Lister, State, View
from rdflive.entail.entailment import Entailment, ExplicitGraph, Regime, Sign, Wanted
from rdflive.model import Term, TermPattern, Triple
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.segment import Segment

__all__ = ["EntailedView", "WantedView"]

ANY: Final[TermPattern] = (None, None, None)


class WantedView(View, ABC):
    """Has worked out what the patterns of its segments want."""

    def __init__(self, state: State, triples: Lister) -> None:
        super().__init__(state, triples)
        self._wants: dict[SegmentState, list[TermPattern]] = {}

    @property
    @abstractmethod
    def _worked_out(self) -> Wanted: ...

    def add(self, segment: Segment) -> SegmentState:
        """Start maintaining a segment on what is worked out now."""
        patterns = [self._wanted(pattern) for pattern in segment.patterns]
        self._worked_out.want(patterns)
        try:
            state = super().add(segment)
        except BaseException:
            self._unwant(patterns)
            raise
        self._wants[state] = patterns
        return state

    def remove(self, state: SegmentState) -> None:
        """Stop maintaining a segment, and working out what only it wanted."""
        super().remove(state)
        self._unwant(self._wants.pop(state, ()))

    def check(self, states: Iterable[SegmentState]) -> None:
        """Raise where what segments match cannot be worked out as it was asked for."""
        self._worked_out.check([pattern for state in states for pattern in self._wants.get(state, ())])

    def _unwant(self, patterns: Iterable[TermPattern]) -> None:
        try:
            self._worked_out.unwant(patterns)
        except BaseException:
            self.state.give_up(self)
            raise

    def _wanted(self, pattern: TriplePattern) -> TermPattern:
        s, p, o = (None if isinstance(t, Variable) else self.state.to_native(t) for t in pattern)
        return s, p, o


class EntailedView(WantedView):
    """Puts changes of its graph off until the commit, when their net consequences are taken as one."""

    def __init__(self, state: State, triples: Lister, regime: Regime) -> None:
        self.explicit = triples
        """Lists the triples of the graph itself."""
        self._graph = ExplicitGraph(triples, state.dictionary, state.terms, state.to_native)
        self._regime = regime
        self.entailment: Entailment = regime.start(self._graph)
        super().__init__(state, lambda pattern: self.entailment.triples(pattern))
        self._changes: list[tuple[Sign, Triple]] = []
        self._all = 0
        """How often `want_all` was called and not undone."""
        self._told = 0
        """How often the entailment has been told so."""

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Keep a change for `flush` unless it concerns nobody."""
        self.seen += 1
        s, p, o = change
        try:
            concerned = self.entailment.concerns((s, p, o))
        except BaseException:
            self.state.give_up(self)
            raise
        if not concerned:
            return False
        self._changes.append((sign, (s, p, o)))
        self.state.await_flush(self)
        return True

    def flush(self) -> None:
        """Take what the changes since the last commit entail."""
        start = perf_counter()
        changes, self._changes = self._changes, []
        entailed = self.entailment.update(changes)
        if self.kernel.patterns:
            for sign, ids in entailed:
                self.take(sign, ids)
        self.seconds += perf_counter() - start

    @property
    def wants_all(self) -> bool:
        """True while all that is entailed is wanted, whatever queries want."""
        return self._all > 0

    def want_all(self) -> None:
        """Begin to maintain all entailed triples, whether a query wants them or not."""
        self.entailment.want([ANY])
        try:
            self.entailment.check([ANY])
        except BaseException:
            self._unwant([ANY])
            raise
        self._all += 1
        self._told += 1
        self._dictionary.sweep()

    def unwant_all(self) -> None:
        """Undo one call of `want_all`."""
        self._all -= 1
        if self._told:
            self._told -= 1
            self._unwant([ANY])
        self._dictionary.sweep()

    def reset(self) -> None:
        """Begin with a new entailment, after the old one failed; what that held in the dictionary stays."""
        self.entailment = self._regime.start(self._graph)
        self._wants.clear()
        self._changes.clear()
        self._told = 0

    def forget(self) -> None:
        """Forget everything, but not that all that is entailed is wanted."""
        super().forget()
        self.queries = self._all

    def reload(self) -> None:
        """Work out anew what is maintained without a query."""
        self._changes.clear()
        told, self._told = self._told, 0
        self.entailment.unwant([ANY] * told)
        if self._all:
            self.entailment.want([ANY] * self._all)
            self._told = self._all

    def describe(self) -> list[str]:
        """Tell how what the graph entails is kept, in lines for `explain()`."""
        return self.entailment.describe()

    def containers(self) -> list[Any]:
        """List the containers of what is entailed."""
        return self.entailment.containers()

    @property
    def _worked_out(self) -> Entailment:
        return self.entailment
