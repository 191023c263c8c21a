"""One graph of a store in the engine: its patterns, and access to its triples."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, repeat, zip_longest
from operator import itemgetter, mul
from time import perf_counter
from typing import Any, Final, Literal, Protocol, TypeAlias

from rdflive.engine import batch
from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.kernel import Kernel, QuadKernel, SegmentState
from rdflive.engine.lone import News, Tell
from rdflive.engine.origins import origins
from rdflive.engine.pattern import PatternState, RowTest, Update, UpdateAll
from rdflive.engine.ranges import place_of_id
from rdflive.engine.relation import AskedPaths, Listed, Relation, comparisons_of
from rdflive.engine.router import EMPTY
from rdflive.engine.terms import TermTable
from rdflive.model import Term, TermPattern
from rdflive.query.algebra import Condition
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.budget import Meter
from rdflive.query.segment import Segment

__all__ = ["But", "Lister", "QuadView", "State", "View"]

log = logging.getLogger("rdflive")

Lister: TypeAlias = Callable[[TermPattern], Iterable[tuple[Term, ...]]]
"""Lists the triples (or quads) of a view that match; None in the pattern matches anything."""
But: TypeAlias = tuple[int, Collection[int]]
"""A place of a triple, and ids at that place whose triples are skipped."""

_FIRST: Final = 16
"""Size of the first piece of a listing, because most look-ups find few triples."""
_PIECE: Final = 4096
"""Triples of the store whose terms are looked up together."""
_MANY: Final = 1000
"""Least number of triples entering or leaving demand together for which a loop is generated."""
_UNKNOWN: Final[tuple[Any, tuple[Any, ...]]] = (None, ())


class State(Protocol):
    """The store of a view: see `rdflive.engine.store_state.StoreState`."""

    dictionary: Dictionary
    terms: TermTable
    to_native: Callable[[Any], Term]
    news: News
    """The solutions of this commit for queries that need no ids; see `QueryState.is_lone`."""
    touched: dict[Any, None]
    """The views whose kernels applied a change of this commit."""
    demand: Demand
    """The values that entered and left demand, in all views."""

    def commit(self, sequence: int) -> None:
        """Deliver the results of a batch, after all views have applied it."""

    def await_flush(self, view: View) -> None:
        """Call the view's `flush` at the start of the next commit."""

    def give_up(self, view: View) -> None:
        """Restart a view and its queries at the next commit, because the view failed half-way."""

    def renew(self, sequence: int) -> None:
        """Restart everything, because the changes are not known."""


class View:
    """Listens to one graph and maintains the segments over it; all methods run under the store's lock.

    `commit` and `renew` are those of the store: a commit follows after all views have applied the changes of
    a batch.
    """

    is_direct = True
    """True if it applies a change at once, and not at the next commit."""
    lags = False
    """True if it may list changes that are not delivered to its queries yet."""

    def __init__(
        self,
        state: State,
        triples: Lister,
    ) -> None:
        self.state = state
        self.commit, self.renew = state.commit, state.renew
        self._triples = triples
        self._dictionary = state.dictionary
        self.kernel = self._make_kernel()
        self._known, self._router = self._dictionary.ids.get, self.kernel.router
        self.lone: dict[SegmentState, Callable[[], Tell]] = {}
        """Segments whose rows are made from the terms of a triple, with the factories of their functions."""
        self._made: dict[SegmentState, Tell] = {}
        """The functions made by `lone`."""
        self._cached: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        """A cache: by predicate, its shelves and the result of `_find_lone`."""
        self.queries = 0
        """Number of queries that read this graph."""
        self.seen = 0
        """Number of changes of the graph."""
        self.reports = False
        """True if the last `flush` was a report of windows."""
        self.looks_up = True
        """True if the triples of one subject or object are found fast, so that patterns may be held by
        demand.
        """
        self.seconds = 0.0
        """Time spent on the changes that matched some pattern."""
        self._together: list[tuple[Literal[1, -1], tuple[Term, ...]]] | None = None
        """Collects the changes of a commit that are applied together."""

    @property
    def is_by_demand(self) -> bool:
        """True if patterns may be held by demand."""
        return self.looks_up

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Apply the changes of a commit that took effect, as `apply` does for one.

        Changes that match no pattern are skipped. The others are applied together, because an insert may
        bring values into demand that a later change has.
        """
        if len(changes) >= batch.MANY and self.is_direct and self._router.open is EMPTY:
            return self._apply_many(changes)
        # if no pattern reads the store meanwhile, each is applied by itself
        together: list[tuple[Literal[1, -1], tuple[Term, ...]]] = []
        if self._router.awaited and len(changes) > 1:
            self._together = together
        matched = False
        try:
            for sign, change in changes:
                matched = self.apply(sign, change) or matched
        finally:
            self._together = None
        if together:
            deletes = [change for sign, change in together if sign < 0]
            inserts = [change for sign, change in together if sign > 0]
            self._take_together(list(map(self._ids, deletes)), list(map(self._ids, inserts)))
        return matched

    def _apply_many(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Apply many changes as `apply_all` does, predicate by predicate."""
        self.seen += len(changes)
        router, known = self._router, self._known
        signs, triples = zip(*changes, strict=True)
        # the id of the predicate with the sign of the change; 0 if no pattern knows it
        keys = map(mul, signs, map(known, map(itemgetter(1), triples), repeat(0)))
        signed: dict[int, list[tuple[Term, ...]]] = defaultdict(list)
        for key, change in zip(keys, triples, strict=True):
            signed[key].append(change)
        matched = False
        deletes: list[tuple[int, ...]] = []
        inserts: list[tuple[int, ...]] = []
        for key, found in signed.items():
            p = abs(key)
            shelves = router.nodes.get(p)
            if shelves is None:
                continue
            takers = self._find_lone(p, shelves) if self.lone else ()
            if takers:
                for change in found:
                    matched = self._pass_terms(takers, 1 if key > 0 else -1, change) or matched
                continue
            if not shelves[0]:
                found = [change for change in found if router.may_match(known, change)]
            if found:
                (inserts if key > 0 else deletes).extend(self._ids_of(found, (UNBOUND, p)))
        if inserts or deletes:
            self.state.touched[self] = None
            self._take_together(deletes, inserts)
        return matched or bool(inserts or deletes)

    def _take_together(
        self, deletes: Collection[tuple[int, ...]], inserts: Collection[tuple[int, ...]]
    ) -> None:
        """Apply changes of a commit, and never raise, as `_take` does for one."""
        start = perf_counter()
        try:
            self.take_net(deletes, inserts)
        except Exception:  # noqa: BLE001 - logged; the writes have happened
            self._give_up()
        self.seconds += perf_counter() - start

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Apply one change that took effect. A change that matches no pattern costs a few probes.

        Returns True if it matched, so that `commit` must follow.
        """
        self.seen += 1
        router, known = self._router, self._known
        if router.open is not EMPTY:
            return router.may_match(known, change) and self._take(sign, change)
        # `Router.may_match` inlined for the common case: every write passes here
        p = known(change[1], -1)
        shelves = router.nodes.get(p)
        if shelves is None:
            return False
        free, by_object, by_subject, by_both = shelves
        if free:
            if self.lone:
                looked, takers = self._cached.get(p, _UNKNOWN)
                if looked is not shelves:
                    takers = self._find_lone(p, shelves)
                if takers:
                    return self._pass_terms(takers, sign, change)
        elif not (
            (by_object is not None and known(change[2], -1) in by_object)
            or (by_subject is not None and known(change[0], -1) in by_subject)
            or (by_both is not None and (known(change[0], -1), known(change[2], -1)) in by_both)
        ):
            return False
        return self._take(sign, change)

    def wanted(self) -> set[Term] | None:
        """Return the predicates of triples that some pattern could match; None for any predicate."""
        router, terms = self._router, self._dictionary.terms
        if router.open is not EMPTY or any(p < 0 for p in router.awaited):
            return None
        # a value outside demand may enter it with another change of the same commit
        return {terms[p] for p in (*router.nodes, *router.awaited)}

    def pass_by(self, count: int) -> None:
        """Count changes that no pattern could match."""
        self.seen += count

    def _ids_of(
        self, triples: Sequence[tuple[Term, ...]], known: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        """Return the ids of triples or quads; those in `known` are given, `UNBOUND` at the other places."""
        intern_all, count = self._dictionary.intern_all, len(triples)
        columns: Iterable[Any] = zip_longest(zip(*triples, strict=True), known, fillvalue=UNBOUND)
        ids = [repeat(number, count) if number else intern_all(column) for column, number in columns]
        return zip(*ids, strict=True)

    def _ids(self, change: tuple[Term, ...]) -> tuple[int, ...]:
        return tuple(map(self._dictionary.intern, change))

    def _pass_terms(self, takers: tuple[tuple[Tell, int], ...], sign: int, change: tuple[Term, ...]) -> bool:
        """Pass a triple to queries of one pattern without state; its terms need no ids."""
        try:
            for take, hits in takers:
                take(sign, change, hits)
        except Exception:  # noqa: BLE001 - logged; the write has happened
            self._give_up()
            return True
        return bool(self.state.news or self.state.touched)

    def _take(self, sign: Literal[1, -1], change: tuple[Term, ...]) -> bool:
        """Apply a change, and never raise: the write has happened, so a view that fails restarts instead."""
        self.state.touched[self] = None
        if self._together is not None:
            self._together.append((sign, change))
            return True
        start = perf_counter()
        try:
            self.take(sign, self._ids(change))
        except Exception:  # noqa: BLE001 - logged
            self._give_up()
        self.seconds += perf_counter() - start
        return True

    def _give_up(self) -> None:
        log.exception("a view failed on an update; it and its queries restart")
        self.state.give_up(self)

    def _find_lone(self, predicate: int, shelves: tuple[Any, ...]) -> tuple[Any, ...]:
        """List the queries that take every triple of a predicate; empty if any pattern takes only some."""
        free, *keyed = shelves
        takers: tuple[Any, ...] = ()
        walks = [(pattern, state) for pattern in free for _, state in pattern.walks]
        if not any(keyed) and all(not p.keeps and s in self.lone for p, s in walks):
            firsts = {id(pattern): state for pattern, state in reversed(walks)}  # a match is counted once
            takers = tuple((self._taker_of(s), int(firsts[id(p)] is s)) for p, s in walks)
        self._cached[predicate] = shelves, takers
        return takers

    def _taker_of(self, state: SegmentState) -> Tell:
        tell = self._made.get(state)
        if tell is None:
            tell = self._made[state] = self.lone[state]()
        return tell

    def take(self, sign: int, ids: tuple[int, ...]) -> None:
        """Apply one change, given as ids."""
        # the kernel stores ids without knowing the dictionary, so references are counted here
        count = self._dictionary.hold if sign > 0 else self._dictionary.drop
        for pattern in self.kernel.apply(sign, *ids):
            pattern.hits += 1
            if pattern.keeps:
                count([ids[place] for place in pattern.places])

    def take_net(self, deletes: Collection[tuple[int, ...]], inserts: Collection[tuple[int, ...]]) -> None:
        """Apply changes that the store has already, given as ids, each of another triple.

        Deletes are first. So when an insert brings a value into demand, the store differs from the state of
        the patterns only by the remaining inserts.
        """
        if len(deletes) + len(inserts) >= batch.MANY:
            came = batch.route(self.kernel, inserts)
            # one by one if an insert may bring values into demand
            if not any(pattern.links for pattern in came):
                gone = batch.route(self.kernel, deletes)
                batch.take(self.kernel, self._dictionary, gone, came)
                return
        for ids in deletes:
            self.take(-1, ids)
        untaken = self.kernel.untaken
        untaken.update(inserts)
        for ids in inserts:
            # `reset` discards the rest if this raises
            self.take(1, ids)
            untaken.discard(ids)

    def flush(self) -> Callable[[], object] | None:
        """Apply the changes that were deferred until the commit; see `State.await_flush`.

        Returns a second step for changes that were not written, or None if there are none.
        """
        return None

    def add(
        self, segment: Segment, relation: Relation | None = None, rows: Relation | None = None
    ) -> SegmentState:
        """Start maintaining a segment on the present contents of the graph. `relation` has the parameters of
        a family, `rows` the values that rows of another step request.
        """
        dictionary = self._dictionary
        self._cached.clear()
        asked = None if relation is None else self._asked(segment, relation)
        fed = origins(self, segment, relation)
        state = self.kernel.add(self._bind(segment), self.snapshot, asked, rows, self, fed)
        for pattern in state.patterns:
            # the router knows the constants by their ids while the pattern exists
            dictionary.hold(term for term in pattern.key if term >= 0)
            # the pattern may be shared, and its matches are held once
            if pattern.keeps and not pattern.held:
                pattern.held = True
                dictionary.hold(chain.from_iterable(pattern.matches() or ()))
        return state

    def remove(self, state: SegmentState) -> None:
        """Stop maintaining a segment and free the state that only it used."""
        dictionary = self._dictionary
        self.lone.pop(state, None)
        self._made.pop(state, None)
        self._cached.clear()
        for pattern, matches in self.kernel.remove(state):
            pattern.held = False
            dictionary.drop(chain.from_iterable(matches))
        for pattern in state.patterns:
            dictionary.drop(term for term in pattern.key if term >= 0)

    def solutions(self, state: SegmentState, most: int | None = None) -> list[tuple[int, ...]]:
        """List the current solutions of a segment; with `most` at least that many, if they exist."""
        return self.kernel.solutions(state, self.snapshot, most)

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Route triples with a value to a pattern, because the value is in demand now."""
        self.kernel.router.open_to(pattern, place, value)

    def close_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Undo `open_to`."""
        self.kernel.router.close_to(pattern, place, value)

    def open_all(self, pattern: PatternState) -> None:
        """Route all matching triples to a fed pattern."""
        self.kernel.router.open_all(pattern)

    def close_all(self, pattern: PatternState) -> None:
        """Undo `open_all`."""
        self.kernel.router.close_all(pattern)

    def size(self, pattern: PatternState, most: int) -> int:
        """Count the graph's triples that match the constants of a pattern, up to `most`."""
        return self.count(tuple(max(term, UNBOUND) for term in pattern.key[:3]), most)

    def hold(self, pattern: PatternState, triples: Sequence[tuple[int, ...]]) -> None:
        """Add present triples to a pattern, because they are in demand now."""
        _each(triples, pattern.insert, pattern.insert_all)
        if pattern.held:
            batch.count(pattern, triples, self._dictionary.hold)

    def drop(self, pattern: PatternState, triples: Sequence[tuple[int, ...]]) -> None:
        """Undo `hold`."""
        _each(triples, pattern.delete, pattern.delete_all)
        if pattern.held:
            batch.count(pattern, triples, self._dictionary.drop)

    def present(
        self, pattern: PatternState, at: Mapping[int, int], but: But | None = None
    ) -> Iterator[tuple[int, ...]]:
        """List the triples with some ids at these places that a pattern would hold if all were in demand."""
        untaken = self.kernel.untaken
        found = self.listed(pattern, at, but)
        return (ids for ids in found if ids not in untaken) if untaken else found

    def snapshot(self, pattern: PatternState) -> Iterator[tuple[int, ...]]:
        """List the graph's matches of a pattern, as ids."""
        return self.listed(pattern, {})

    def listed(
        self, pattern: PatternState, at: Mapping[int, int], but: But | None = None
    ) -> Iterator[tuple[int, ...]]:
        """List the graph's matches of a pattern that have some ids at these places."""
        guard = pattern.guard
        # variables are negative, and 0 matches any term
        s, p, o = (max(at.get(place, term), UNBOUND) for place, term in enumerate(pattern.key[:3]))
        found = self.matching((s, p, o), but)
        return found if guard is None else (ids for ids in found if guard(*ids))

    def matching(self, key: tuple[int, int, int], but: But | None = None) -> Iterator[tuple[int, ...]]:
        """List the triples with these ids; 0 matches any term."""
        return chain.from_iterable(self._matching(key, but))

    def _matching(self, key: tuple[int, int, int], but: But | None) -> Iterator[Iterator[tuple[int, ...]]]:
        terms = self._dictionary.terms
        triples, size = iter(self._triples((terms[key[0]], terms[key[1]], terms[key[2]]))), _FIRST
        if but is not None:  # before terms get ids
            place, passed = but[0], {terms[known] for known in but[1]}
            triples = (triple for triple in triples if triple[place] not in passed)
        while piece := list(islice(triples, size)):
            yield self._ids_of(piece, key)
            size = _PIECE

    def check(self, states: Iterable[SegmentState], asked: tuple[int, ...] = ()) -> None:
        """Raise if these segments cannot be maintained with the options and parameters of the
        subscription.
        """

    def reset(self) -> None:
        """Discard all state except the segments."""
        self.kernel.untaken.clear()

    def forget(self) -> None:
        """Discard everything, because an interruption may have left any part half-way through a change."""
        self.queries = 0
        self.kernel = self._make_kernel()
        self._router = self.kernel.router
        self.lone.clear()
        self._made.clear()
        self._cached.clear()
        self.reset()

    def reload(self) -> None:
        """Read again the state that the view keeps beside its queries, which are stopped meanwhile."""

    def release(self) -> None:
        """Free the state of the view itself, after its last query is removed."""

    def describe(self) -> list[str]:
        """Describe the state that the view keeps beside its segments, in lines for `explain()`."""
        return []

    def containers(self) -> list[Any]:
        """List the containers of the state that the view keeps beside its segments, for measuring."""
        return []

    def _make_kernel(self) -> Kernel:
        return Kernel(demand=self.state.demand)

    def _asked(self, segment: Segment, relation: Relation) -> AskedPaths:

        def listed(pattern: PatternState, slots: tuple[int, ...]) -> Listed:
            return Listed(self.listed, pattern, slots)

        lister = None if self.lags else self.listed
        comparisons = tuple(comparisons_of(segment))
        return AskedPaths(relation, place_of_id(self.state.terms), comparisons, listed, lister)

    def _bind(self, segment: Segment) -> Segment:
        """Replace constants by ids and conditions by tests."""
        patterns = tuple(map(self._bind_pattern, segment.patterns))
        tests = tuple(
            self._extra(pattern)
            + tuple(self._filter(condition, pattern.variables, segment.meter) for condition in filters)
            for pattern, filters in zip(segment.patterns, segment.filters, strict=True)
        )
        conditions = tuple(
            self._condition(condition, segment.variables, segment.meter) for condition in segment.conditions
        )
        return replace(segment, patterns=patterns, filters=tests, conditions=conditions)

    def _bind_pattern(self, pattern: TriplePattern) -> TriplePattern:
        def number(term: Any) -> Any:
            return term if isinstance(term, Variable) else self._dictionary.intern(self.state.to_native(term))

        return TriplePattern(
            number(pattern.subject), number(pattern.predicate), number(pattern.object), pattern.graph
        )

    def _filter(self, condition: Condition, variables: tuple[Variable, ...], meter: Meter | None) -> RowTest:
        """Compile a filter of one pattern.

        Patterns are shared, so their tests must be the same for all plans. A test that the budget of one plan
        may stop would end the others' walks too, so it gets a text of its own, which makes the pattern
        private to the plan.
        """
        if meter is None or condition.is_plain:
            return self._test(condition, variables, None)
        test = self._test(condition, variables, meter)
        return replace(test, text=f"{test.text} # {id(meter)}", passes=meter.guard(test.passes))

    def _condition(
        self, condition: Condition, variables: tuple[Variable, ...], meter: Meter | None
    ) -> RowTest:
        """Compile a filter of several patterns, which runs in walks; its time counts if it may be long."""
        test = self._test(condition, variables, meter)
        if meter is None or condition.is_plain:
            return test
        return replace(test, passes=partial(meter.run, test.passes))

    def _test(self, condition: Condition, variables: tuple[Variable, ...], meter: Meter | None) -> RowTest:
        """Compile a filter to a test of the values of its variables."""
        terms = self.state.terms if meter is None else self.state.terms.metered(meter)
        slots = [i for i, v in enumerate(variables) if v.readable and v.name in condition.variables]
        columns = {variables[slot].name: place for place, slot in enumerate(slots)}
        return RowTest(condition.text, tuple(slots), condition.condition(columns, terms))

    def _extra(self, pattern: TriplePattern) -> tuple[RowTest, ...]:  # noqa: ARG002 - used by `QuadView`
        return ()

    def number(self, term: Any) -> int:
        """Return the id of a term of a query."""
        return self._dictionary.intern(self.state.to_native(term))

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the triples that match a key of ids (0 for any term), up to `most`."""
        terms = self._dictionary.terms
        found = self._triples((terms[key[0]], terms[key[1]], terms[key[2]]))
        return sum(1 for _ in islice(found, most))

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List the places of parameters in a pattern; triples are routed by the first."""
        return [place for place, term in enumerate(pattern) if term in relation.columns]


def _each(triples: Sequence[tuple[int, ...]], one: Update, many: UpdateAll) -> None:
    if len(triples) < _MANY:
        for ids in triples:
            one(*ids)
    else:
        many(triples)


class QuadView(View):
    """Listens to all named graphs: its patterns are quads, the default graph is left out."""

    def __init__(self, state: State, quads: Lister, default: Term) -> None:
        super().__init__(state, quads)
        self._default = self._dictionary.intern(default)
        self._dictionary.hold([self._default])

    def _make_kernel(self) -> Kernel:
        return QuadKernel(demand=self.state.demand)

    def _extra(self, pattern: TriplePattern) -> tuple[RowTest, ...]:
        """Exclude quads of the default graph: GRAPH ?g ranges over named graphs only (SPARQL 1.1, 18.6)."""
        assert pattern.graph is not None  # noqa: S101 - only quads come here
        default = self._default
        slot = pattern.variables.index(pattern.graph)
        return (RowTest("is a named graph", (slot,), lambda row: row[0] != default),)

    def release(self) -> None:
        """Release the name of the default graph."""
        self._dictionary.drop([self._default])
        self._dictionary.sweep()
