"""The maintained queries of one graph: terms in, deltas of terms out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, Literal, TypeAlias

from rdflive.dictionary import Dictionary
from rdflive.engine.kernel import Kernel
from rdflive.engine.pattern import Key
from rdflive.engine.query import QueryState, TermWeights
from rdflive.engine.router import EMPTY
from rdflive.query.plan import Plan

__all__ = ["Emit", "GraphState", "TriplePatternTerms"]

TriplePatternTerms: TypeAlias = tuple[Any, Any, Any]
Emit: TypeAlias = Callable[[TermWeights, int, bool], None]
"""Takes a delta, the number of its commit, and whether it is the whole answer (an initial delta)."""


class GraphState:
    """Listens to one graph and keeps every query on it up to date.

    `triples` lists what the graph holds (None in a pattern matches anything), `constant` turns a term of
    a query into the store's own. All methods are called under the store's lock.
    """

    def __init__(
        self,
        triples: Callable[[TriplePatternTerms], Iterable[tuple[Any, Any, Any]]],
        constant: Callable[[Any], Any],
    ) -> None:
        self._triples = triples
        self._constant = constant
        self.dictionary = Dictionary()
        self.kernel = Kernel()
        self._known, self._router = self.dictionary.ids.get, self.kernel.router
        self._emits: dict[QueryState, Emit] = {}
        self._owners: dict[Any, QueryState] = {}
        self.seen = 0
        """How many changes of the graph came by."""
        self.seconds = 0.0
        """Time spent on the changes that matched some pattern."""

    def __len__(self) -> int:
        return len(self._emits)

    def apply(self, sign: Literal[1, -1], triple: tuple[Any, Any, Any]) -> bool:
        """Take one exact change; one that matches no pattern costs a few probes and leaves no trace.

        Returns true when it matched, and `commit` must follow.
        """
        self.seen += 1
        s, p, o = triple
        known, router = self._known, self._router
        if router.open is EMPTY and known(p, -1) not in router.nodes:
            return False
        if not router.may_match(known, s, p, o):
            return False
        start = perf_counter()
        intern = self.dictionary.intern
        ids = (intern(s), intern(p), intern(o))
        count = self.dictionary.hold if sign > 0 else self.dictionary.drop
        for pattern in self.kernel.apply(sign, *ids):
            pattern.hits += 1
            if pattern.keeps:
                count([ids[place] for place in pattern.places])
        self.seconds += perf_counter() - start
        return True

    def commit(self, sequence: int) -> None:
        """Hand the net delta of each query that changed to its subscription."""
        if self.kernel.dirty:
            start = perf_counter()
            queries = dict.fromkeys(self._owners[state] for state in self.kernel.dirty)
            self.kernel.dirty.clear()
            deltas = [(self._emits[query], query.drain()) for query in queries]
            self.seconds += perf_counter() - start
            for emit, delta in deltas:
                if delta:
                    emit(delta, sequence, False)
        self.dictionary.sweep()

    def add(self, plan: Plan, emit: Emit) -> QueryState:
        """Start maintaining a query on what the graph holds now."""
        preset = {name: self._constant(term) for name, term in plan.query.preset.items()}
        query = QueryState(plan, self.dictionary, preset)
        try:
            self._start(query)
        except BaseException:
            self._stop(query)
            raise
        self._emits[query] = emit
        return query

    def answers(self, query: QueryState) -> TermWeights:
        """Give the whole current answer of a query."""
        named = query.current(lambda state: self.kernel.solutions(state, self._snapshot))
        self.dictionary.sweep()
        return named

    def remove(self, query: QueryState) -> None:
        """Stop maintaining a query and free what only it used."""
        self._stop(query)
        del self._emits[query]

    def reload(self, sequence: int) -> None:
        """Forget what is cached, read the graph again, and hand every query its whole answer."""
        for query in self._emits:
            self._stop(query)
        for query, emit in self._emits.items():
            self._start(query)
            emit(self.answers(query), sequence, True)

    def _start(self, query: QueryState) -> None:
        dictionary = self.dictionary
        for segment in query.plan.segments:
            bound = segment.bind(lambda term: dictionary.intern(self._constant(term)))
            state = self.kernel.add(bound, self._snapshot)
            query.states.append(state)
            self._owners[state] = query
            for pattern in state.patterns:
                dictionary.hold(term for term in pattern.key if term >= 0)
                if pattern.keeps and not pattern.held:
                    pattern.held = True
                    for values in pattern.matches() or ():
                        dictionary.hold(values)
            if query.answers:
                state.added.extend(self.kernel.solutions(state, self._snapshot))
        if query.answers:
            query.drain()
        dictionary.sweep()

    def _stop(self, query: QueryState) -> None:
        dictionary = self.dictionary
        for state in query.states:
            self._owners.pop(state, None)
            for pattern, matches in self.kernel.remove(state):
                pattern.held = False
                for values in matches:
                    dictionary.drop(values)
            for pattern in state.patterns:
                dictionary.drop(term for term in pattern.key if term >= 0)
        query.states.clear()
        for answer in query.answers:
            answer.clear()
        dictionary.sweep()

    def _snapshot(self, key: Key) -> Iterator[tuple[int, int, int]]:
        """List the graph's triples that match a canonical pattern, as ids."""
        intern, terms = self.dictionary.intern, self.dictionary.terms
        s, p, o = (None if term < 0 else terms[term] for term in key)
        guard = self.kernel.patterns[key].guard
        for triple in self._triples((s, p, o)):
            ids = (intern(triple[0]), intern(triple[1]), intern(triple[2]))
            if guard is None or guard(*ids):
                yield ids
