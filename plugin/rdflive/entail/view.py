"""The view of a graph with its entailed triples: patterns match entailed triples like explicit ones."""

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
from rdflive.entail.entailment import Entailment, ExplicitGraph, Proof, Regime, Sign, Wanted
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
        """The wanted patterns of segments, and of patterns of families for each requested value."""

    @property
    @abstractmethod
    def _worked_out(self) -> Wanted: ...

    @property
    def is_by_demand(self) -> bool:
        """True if patterns may be maintained for requested values only, because computing one value is
        cheap.
        """
        return self.looks_up and self._worked_out.looks_up

    def add(
        self, segment: Segment, relation: Relation | None = None, rows: Relation | None = None
    ) -> SegmentState:
        """Start maintaining a segment on the present triples."""
        # a fed pattern wants no triples before a value is requested, see `open_to`
        fed = origins(self, segment, relation)
        patterns = [self._wanted(pattern) for j, pattern in enumerate(segment.patterns) if j not in fed]
        # before `add`, which reads the matches of the patterns
        self._worked_out.want(patterns)
        try:
            state = super().add(segment, relation, rows)
        except BaseException:
            self._unwant(patterns)
            raise
        self._wants[state] = patterns
        return state

    def remove(self, state: SegmentState) -> None:
        """Stop maintaining a segment, and the triples that only this segment wanted."""
        super().remove(state)
        self._unwant(self._wants.pop(state, ()))

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Compute the triples with a value, and pass them to a pattern of a family."""
        wanted = [self._terms_at((*pattern.key[:place], value, *pattern.key[place + 1 :]))]
        self._worked_out.want(wanted)
        self._wants[pattern, value] = wanted
        super().open_to(pattern, place, value)

    def close_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Undo `open_to`."""
        super().close_to(pattern, place, value)
        self._unwant(self._wants.pop((pattern, value), ()))

    def open_all(self, pattern: PatternState) -> None:
        """Compute all triples that match a fed pattern, and pass them to it."""
        wanted = [self._terms_at(pattern.key)]
        self._worked_out.want(wanted)
        self._wants[pattern, UNBOUND] = wanted
        super().open_all(pattern)

    def close_all(self, pattern: PatternState) -> None:
        """Undo `open_all`."""
        super().close_all(pattern)
        self._unwant(self._wants.pop((pattern, UNBOUND), ()))

    def wanted(self) -> set[Term] | None:
        """Return None: a change may entail triples with any predicate."""
        return None

    def check(self, states: Iterable[SegmentState], asked: tuple[int, ...] = ()) -> None:
        """Raise if the patterns of segments cannot be computed with the requested options, for the requested
        values.
        """
        patterns = [
            p for state in states for p in (*self._wants.get(state, ()), *self._asked_for(state, asked))
        ]
        self._worked_out.check(patterns)

    def _asked_for(self, state: SegmentState, asked: tuple[int, ...]) -> Iterator[TermPattern]:
        """List the patterns of a family with requested values for its parameters."""
        if state.relation is not None and asked:
            values = dict(zip(state.relation.columns, state.relation.part(asked), strict=True))
            for pattern in state.segment.patterns:
                if not values.keys().isdisjoint(pattern.variables):
                    ids = (
                        values.get(term, UNBOUND) if isinstance(term, Variable) else term for term in pattern
                    )
                    yield self._terms_at(tuple(ids))

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List the positions of a family's parameters in a pattern, most selective first.

        For `?x a ?class` the class comes first: the triples to compute depend on it more than on the subject.
        """
        places = super().asked_places(pattern, relation)
        return places[::-1] if pattern.predicate == RDF.type else places

    def _terms_at(self, ids: tuple[Any, ...]) -> TermPattern:
        """Return the terms of a pattern of ids, in which variables are negative or `UNBOUND`."""
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
    """Collects the changes of its graph and processes them at the commit, because only their net effect
    matters.
    """

    def __init__(self, state: State, triples: Lister, regime: Regime) -> None:
        self.explicit = triples
        """Lists the explicit triples of the graph."""
        self._graph = ExplicitGraph(triples, state.dictionary, state.terms, state.to_native)
        self._regime = regime
        self.entailment: Entailment = regime.start(self._graph)
        # reads the attribute at each call, because `reset` replaces the entailment
        super().__init__(state, lambda pattern: self.entailment.triples(pattern))
        self._changes: list[tuple[Sign, Triple]] = []
        self._all = 0
        """Number of calls of `want_all` that are not undone."""
        self._registered = 0
        """Number of these calls that the present entailment has received; after `reset` it has received
        none.
        """

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Keep a change for `flush`, unless it concerns no wanted pattern."""
        self.seen += 1
        try:
            concerned = self.entailment.concerns(change)
        except BaseException:
            # The change is not in `_changes`, so the entailment would never see it.
            self.state.give_up(self)
            raise
        if not concerned:
            return False
        s, p, o = change
        self._changes.append((sign, (s, p, o)))
        self.state.await_flush(self)
        return True

    def flush(self) -> None:
        """Apply the changes since the last commit, and their consequences."""
        start = perf_counter()
        changes, self._changes = self._changes, []
        entailed = self.entailment.update(changes)
        # Without a query, for example with `saturate`, only readers of `entailed` need the triples.
        if self.kernel.patterns:
            changes = list(entailed)
            deletes = [ids for sign, ids in changes if sign < 0]
            self.take_net(deletes, [ids for sign, ids in changes if sign > 0])
        self.seconds += perf_counter() - start

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count explicit triples only, because entailed triples may not be computed yet."""
        terms = self._dictionary.terms
        return sum(1 for _ in islice(self.explicit((terms[key[0]], terms[key[1]], terms[key[2]])), most))

    def wanted(self) -> set[Term] | None:
        """Return the predicates that patterns match and that entail others; None for all."""
        matched, heard = View.wanted(self), self._regime.heard
        if matched is None or heard is None or self.wants_all:
            return None
        return matched | set(map(self.state.to_native, heard))

    @property
    def wants_all(self) -> bool:
        """True while all entailed triples are wanted, independent of queries."""
        return self._all > 0

    def want_all(self) -> None:
        """Start maintaining all entailed triples, independent of queries."""
        self.entailment.want([ANY])
        try:
            self.entailment.check([ANY])
        except BaseException:
            self._unwant([ANY])
            raise
        self._all += 1
        self._registered += 1
        self._dictionary.sweep()

    def unwant_all(self) -> None:
        """Undo one call of `want_all`."""
        self._all -= 1
        if self._registered:
            self._registered -= 1
            self._unwant([ANY])
        self._dictionary.sweep()

    def entailed(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self.entailment.triples(pattern)

    def why(self, triple: Triple) -> list[Proof]:
        """Return proofs of a triple."""
        return self.entailment.why(triple)

    def reset(self) -> None:
        """Replace an entailment that failed by a new one.

        The old one's references in the dictionary are never released, because its counts cannot be trusted.
        """
        super().reset()
        self.entailment = self._regime.start(self._graph)
        self._wants.clear()
        self._changes.clear()
        self._registered = 0

    def forget(self) -> None:
        """Clear the state, except the calls of `want_all`."""
        super().forget()
        self.queries = self._all

    def reload(self) -> None:
        """Compute again the triples that `want_all` requested."""
        self._changes.clear()
        registered, self._registered = self._registered, 0
        self.entailment.unwant([ANY] * registered)
        if self._all:
            self.entailment.want([ANY] * self._all)
            self._registered = self._all

    def describe(self) -> list[str]:
        """Describe how entailed triples are kept, in lines for `explain()`."""
        return self.entailment.describe()

    def containers(self) -> list[Any]:
        """List the containers of the entailed triples."""
        return self.entailment.containers()

    @property
    def _worked_out(self) -> Entailment:
        return self.entailment
