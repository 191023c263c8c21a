"""The view of a graph together with what it entails: patterns match entailed triples like explicit ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from time import perf_counter
from typing import Any, Final, Literal

from rdflib import RDF

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.kernel import SegmentState
from rdflive.engine.origins import origins
from rdflive.engine.pattern import PatternState
from rdflive.engine.relation import Relation
from rdflive.engine.view import Lister, State, View
from rdflive.entail.entailment import Entailment, ExplicitGraph, Regime, Sign, Wanted
from rdflive.entail.proof import Proof
from rdflive.model import Term, TermPattern, Triple
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.segment import Segment

__all__ = ["EntailedView", "WantedView"]

ANY: Final[TermPattern] = (None, None, None)


class WantedView(View, ABC):
    """A view whose triples are computed on demand, for the patterns of its segments."""

    is_direct = False

    def __init__(self, state: State, triples: Lister) -> None:
        super().__init__(state, triples)
        self._wants: dict[SegmentState | tuple[PatternState, int], list[TermPattern]] = {}
        """What segments want, and patterns of families for each value that is asked for."""

    @property
    @abstractmethod
    def _worked_out(self) -> Wanted: ...

    @property
    def is_by_demand(self) -> bool:
        """Whether patterns may be held by demand: what follows for one value is worked out soon."""
        return self.looks_up and self._worked_out.looks_up

    def add(
        self, segment: Segment, relation: Relation | None = None, rows: Relation | None = None
    ) -> SegmentState:
        """Start maintaining a segment on what is computed now."""
        # a pattern that is fed wants nothing before a value is in demand, see `open_to`
        fed = origins(self, segment, relation)
        patterns = [self._wanted(pattern) for j, pattern in enumerate(segment.patterns) if j not in fed]
        # before `add`, which reads what matches the patterns
        self._worked_out.want(patterns)
        try:
            state = super().add(segment, relation, rows)
        except BaseException:
            self._unwant(patterns)
            raise
        self._wants[state] = patterns
        return state

    def remove(self, state: SegmentState) -> None:
        """Stop maintaining a segment, and stop computing what only it wanted."""
        super().remove(state)
        self._unwant(self._wants.pop(state, ()))

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Have triples with a value worked out, and taken to a pattern of a family."""
        wanted = [self._terms_at((*pattern.key[:place], value, *pattern.key[place + 1 :]))]
        self._worked_out.want(wanted)
        self._wants[pattern, value] = wanted
        super().open_to(pattern, place, value)

    def close_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Undo `open_to`."""
        super().close_to(pattern, place, value)
        self._unwant(self._wants.pop((pattern, value), ()))

    def open_all(self, pattern: PatternState) -> None:
        """Have all triples that match worked out, and taken to a pattern that is fed."""
        wanted = [self._terms_at(pattern.key)]
        self._worked_out.want(wanted)
        self._wants[pattern, UNBOUND] = wanted
        super().open_all(pattern)

    def close_all(self, pattern: PatternState) -> None:
        """Undo `open_all`."""
        super().close_all(pattern)
        self._unwant(self._wants.pop((pattern, UNBOUND), ()))

    def wanted(self) -> set[Term] | None:
        """Look at every change: what follows from it depends on more than its predicate."""
        return None

    def check(self, states: Iterable[SegmentState], asked: tuple[int, ...] = ()) -> None:
        """Raise if what segments match cannot be computed as it was asked for, for what somebody asks."""
        patterns = [
            p for state in states for p in (*self._wants.get(state, ()), *self._asked_for(state, asked))
        ]
        self._worked_out.check(patterns)

    def _asked_for(self, state: SegmentState, asked: tuple[int, ...]) -> Iterator[TermPattern]:
        """List the patterns of a family with what somebody asks for in the place of its parameters."""
        if state.relation is not None and asked:
            values = dict(zip(state.relation.columns, state.relation.part(asked), strict=True))
            for pattern in state.segment.patterns:
                if not values.keys().isdisjoint(pattern.variables):
                    ids = (
                        values.get(term, UNBOUND) if isinstance(term, Variable) else term for term in pattern
                    )
                    yield self._terms_at(tuple(ids))

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List where the parameters of a family stand in a pattern; what is worked out depends on the class
        of `?x a ?class` more than on its subject.
        """
        places = super().asked_places(pattern, relation)
        return places[::-1] if pattern.predicate == RDF.type else places

    def _terms_at(self, ids: tuple[Any, ...]) -> TermPattern:
        """Give the terms of a pattern of ids, in which variables are negative or `UNBOUND`."""
        terms = self._dictionary.terms
        s, p, o = (terms[max(term, UNBOUND)] for term in ids)
        return s, p, o

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
    """Collects the changes of its graph and follows them at the commit, since only their net effect
    matters.
    """

    def __init__(self, state: State, triples: Lister, regime: Regime) -> None:
        self.explicit = triples
        """Lists the triples of the graph itself."""
        self._graph = ExplicitGraph(triples, state.dictionary, state.terms, state.to_native)
        self._regime = regime
        self.entailment: Entailment = regime.start(self._graph)
        # looked up each time, because `reset` puts another entailment in its place
        super().__init__(state, lambda pattern: self.entailment.triples(pattern))
        self._changes: list[tuple[Sign, Triple]] = []
        self._all = 0
        """How often `want_all` was called and not undone."""
        self._told = 0
        """How many of these calls the present entailment knows of; a new one knows of none, see `reset`."""

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Keep a change for `flush`, unless it concerns no wanted pattern."""
        self.seen += 1
        try:
            concerned = self.entailment.concerns(change)
        except BaseException:
            # The change is not in `_changes`, so what is entailed would miss it for ever.
            self.state.give_up(self)
            raise
        if not concerned:
            return False
        s, p, o = change
        self._changes.append((sign, (s, p, o)))
        self.state.await_flush(self)
        return True

    def flush(self) -> None:
        """Take what the changes since the last commit entail."""
        start = perf_counter()
        changes, self._changes = self._changes, []
        entailed = self.entailment.update(changes)
        # Without a query, as with `saturate`, the entailment is maintained for readers of its triples.
        if self.kernel.patterns:
            changes = list(entailed)
            deletes = [ids for sign, ids in changes if sign < 0]
            self.take_net(deletes, [ids for sign, ids in changes if sign > 0])
        self.seconds += perf_counter() - start

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the triples of the graph itself, for what they entail may not have been worked out."""
        terms = self._dictionary.terms
        return sum(1 for _ in islice(self.explicit((terms[key[0]], terms[key[1]], terms[key[2]])), most))

    def wanted(self) -> set[Term] | None:
        """Give what patterns match, and what anything is entailed from."""
        matched, heard = View.wanted(self), self._regime.heard
        if matched is None or heard is None or self.wants_all:
            return None
        return matched | set(map(self.state.to_native, heard))

    @property
    def wants_all(self) -> bool:
        """True while all entailed triples are wanted, whatever queries want."""
        return self._all > 0

    def want_all(self) -> None:
        """Start maintaining all entailed triples, whether a query wants them or not."""
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

    def entailed(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self.entailment.triples(pattern)

    def why(self, triple: Triple) -> list[Proof]:
        """Give proofs of a triple."""
        return self.entailment.why(triple)

    def reset(self) -> None:
        """Start with a new entailment, because the old one failed.

        What the old one held in the dictionary stays held: its counts cannot be trusted.
        """
        super().reset()
        self.entailment = self._regime.start(self._graph)
        self._wants.clear()
        self._changes.clear()
        self._told = 0

    def forget(self) -> None:
        """Forget everything except that all entailed triples are wanted."""
        super().forget()
        self.queries = self._all

    def reload(self) -> None:
        """Compute again what is wanted without a query."""
        self._changes.clear()
        told, self._told = self._told, 0
        self.entailment.unwant([ANY] * told)
        if self._all:
            self.entailment.want([ANY] * self._all)
            self._told = self._all

    def describe(self) -> list[str]:
        """Tell how entailed triples are kept, in lines for `explain()`."""
        return self.entailment.describe()

    def containers(self) -> list[Any]:
        """List the containers of what is entailed."""
        return self.entailment.containers()

    @property
    def _worked_out(self) -> Entailment:
        return self.entailment
