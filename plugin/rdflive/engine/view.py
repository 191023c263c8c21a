"""One graph of a store as the engine sees it: its patterns, and access to its triples."""

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
from rdflive.engine.asked_paths import AskedPaths, comparisons_of
from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.kernel import Kernel, QuadKernel, SegmentState
from rdflive.engine.lone import News, Tell
from rdflive.engine.origins import origins
from rdflive.engine.pattern import PatternState, RowTest, Update, UpdateAll
from rdflive.engine.ranges import place_of_id
from rdflive.engine.relation import Listed, Relation
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
"""A place of a triple, and the ids there of which no triples are listed."""

_FIRST: Final = 16
"""Triples that are listed at once at first, for most look-ups find few."""
_PIECE: Final = 4096
"""Triples of the store whose terms are looked up together."""
_MANY: Final = 1000
"""Triples that come into demand or leave it at once, for which it is worth to generate a loop."""
_NOBODY: Final[tuple[Any, tuple[Any, ...]]] = (None, ())


class State(Protocol):
    """The store that a view belongs to: see `rdflive.engine.store_state.StoreState`."""

    dictionary: Dictionary
    terms: TermTable
    to_native: Callable[[Any], Term]
    news: News
    """The solutions of this commit of queries that need no ids; see `QueryState.is_lone`."""
    touched: dict[Any, None]
    """The views whose kernels took a change of this commit."""
    demand: Demand
    """What came into demand and left it, in all views."""

    def commit(self, sequence: int) -> None:
        """Hand on what the changes of a batch came to, when all views have taken them."""

    def await_flush(self, view: View) -> None:
        """Call a view's `flush` at the beginning of the next commit."""

    def give_up(self, view: View) -> None:
        """Start a view and its queries again at the next commit, because the view failed half-way."""

    def renew(self, sequence: int) -> None:
        """Start everything again, because what has changed is not known."""


class View:
    """Listens to one graph and maintains the segments over it; all methods run under the store's lock.

    `commit` and `renew` are those of the store: a commit comes after all views have taken the changes of a
    batch.
    """

    is_direct = True
    """Whether it takes a change when it comes, and not at the next commit."""
    lags = False
    """Whether it may list what its queries are not told of yet."""

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
        """Segments whose rows are made of the terms of a triple, and what makes the function that does."""
        self._made: dict[SegmentState, Tell] = {}
        """What `lone` has made."""
        self._tells: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        """A cache: by predicate, its shelves and what `_find_lone` found there."""
        self.queries = 0
        """How many queries look at this graph."""
        self.seen = 0
        """How many changes of the graph came by."""
        self.reports = False
        """Whether the last `flush` was a report of windows."""
        self.looks_up = True
        """Whether the triples of one subject or object are found soon, so that patterns may be held by
        demand.
        """
        self.seconds = 0.0
        """Time spent on the changes that matched some pattern."""
        self._together: list[tuple[Literal[1, -1], tuple[Term, ...]]] | None = None
        """Collects the changes of a commit that are to be taken together."""

    @property
    def is_by_demand(self) -> bool:
        """Whether patterns may be held by demand."""
        return self.looks_up

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Take the changes of a commit that happened, as `apply` takes one.

        Those that match no pattern are over. The others are taken together, for a pattern may come to ask for
        what a later one of them brings.
        """
        if len(changes) >= batch.MANY and self.is_direct and self._router.open is EMPTY:
            return self._apply_many(changes)
        # where nothing is listed meanwhile, each is taken by itself
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
        """Take many changes as `apply_all` does, predicate by predicate."""
        self.seen += len(changes)
        router, known = self._router, self._known
        signs, triples = zip(*changes, strict=True)
        # the id of the predicate with the sign of the change; 0 where no pattern knows it
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
            told = self._find_lone(p, shelves) if self.lone else ()
            if told:
                for change in found:
                    matched = self._tell(told, 1 if key > 0 else -1, change) or matched
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
        """Take changes of a commit, and never raise, as `_take` does with one."""
        start = perf_counter()
        try:
            self.take_net(deletes, inserts)
        except Exception:  # noqa: BLE001 - logged; the writes have happened
            self._give_up()
        self.seconds += perf_counter() - start

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Take one change that really happened. A change that matches no pattern costs a few probes.

        Returns True if it matched, so that `commit` must follow.
        """
        self.seen += 1
        router, known = self._router, self._known
        if router.open is not EMPTY:
            return router.may_match(known, change) and self._take(sign, change)
        # `Router.may_match` written out for the common case: every write passes here
        p = known(change[1], -1)
        shelves = router.nodes.get(p)
        if shelves is None:
            return False
        free, by_object, by_subject, by_both = shelves
        if free:
            if self.lone:
                looked, told = self._tells.get(p, _NOBODY)
                if looked is not shelves:
                    told = self._find_lone(p, shelves)
                if told:
                    return self._tell(told, sign, change)
        elif not (
            (by_object is not None and known(change[2], -1) in by_object)
            or (by_subject is not None and known(change[0], -1) in by_subject)
            or (by_both is not None and (known(change[0], -1), known(change[2], -1)) in by_both)
        ):
            return False
        return self._take(sign, change)

    def wanted(self) -> set[Term] | None:
        """Give the predicates of triples that some pattern could match; None where it may be any."""
        router, terms = self._router, self._dictionary.terms
        if router.open is not EMPTY or any(p < 0 for p in router.awaited):
            return None
        # what is not asked for now may be, after another change of the same commit
        return {terms[p] for p in (*router.nodes, *router.awaited)}

    def pass_by(self, count: int) -> None:
        """Count changes that no pattern could match."""
        self.seen += count

    def _ids_of(
        self, triples: Sequence[tuple[Term, ...]], known: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        """Give the ids of triples or quads; those at some places are `known`, the others `UNBOUND` there."""
        intern_all, count = self._dictionary.intern_all, len(triples)
        columns: Iterable[Any] = zip_longest(zip(*triples, strict=True), known, fillvalue=UNBOUND)
        ids = [repeat(number, count) if number else intern_all(column) for column, number in columns]
        return zip(*ids, strict=True)

    def _ids(self, change: tuple[Term, ...]) -> tuple[int, ...]:
        return tuple(map(self._dictionary.intern, change))

    def _tell(self, told: tuple[tuple[Tell, int], ...], sign: int, change: tuple[Term, ...]) -> bool:
        """Tell queries of one pattern, which keep nothing, of a triple without numbers for its terms."""
        try:
            for tell, hits in told:
                tell(sign, change, hits)
        except Exception:  # noqa: BLE001 - logged; the write has happened
            self._give_up()
            return True
        return bool(self.state.news or self.state.touched)

    def _take(self, sign: Literal[1, -1], change: tuple[Term, ...]) -> bool:
        """Take a change, and never raise: the write has happened, so a view that fails is started again
        instead.
        """
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
        log.exception("a view failed on an update; it and its queries are started again")
        self.state.give_up(self)

    def _find_lone(self, predicate: int, shelves: tuple[Any, ...]) -> tuple[Any, ...]:
        """List the queries that each triple of a predicate matches, if no pattern takes some of them only."""
        free, *keyed = shelves
        told: tuple[Any, ...] = ()
        walks = [(pattern, state) for pattern in free for _, state in pattern.walks]
        if not any(keyed) and all(not p.keeps and s in self.lone for p, s in walks):
            firsts = {id(pattern): state for pattern, state in reversed(walks)}  # a match is counted once
            told = tuple((self._tell_of(s), int(firsts[id(p)] is s)) for p, s in walks)
        self._tells[predicate] = shelves, told
        return told

    def _tell_of(self, state: SegmentState) -> Tell:
        tell = self._made.get(state)
        if tell is None:
            tell = self._made[state] = self.lone[state]()
        return tell

    def take(self, sign: int, ids: tuple[int, ...]) -> None:
        """Take one change, given as ids."""
        # The kernel stores ids in paths and masks without knowing the dictionary, so references are counted
        # here.
        count = self._dictionary.hold if sign > 0 else self._dictionary.drop
        for pattern in self.kernel.apply(sign, *ids):
            pattern.hits += 1
            if pattern.keeps:
                count([ids[place] for place in pattern.places])

    def take_net(self, deletes: Collection[tuple[int, ...]], inserts: Collection[tuple[int, ...]]) -> None:
        """Take changes that the store has already, given as ids; each of another triple.

        Deletes come first. So where an insert brings a value into demand, what the store lists differs from
        the state of the patterns by the inserts that follow alone.
        """
        if len(deletes) + len(inserts) >= batch.MANY:
            came = batch.route(self.kernel, inserts)
            # one by one where an insert may bring values into demand
            if not any(pattern.links for pattern in came):
                gone = batch.route(self.kernel, deletes)
                batch.take(self.kernel, self._dictionary, gone, came)
                return
        for ids in deletes:
            self.take(-1, ids)
        untaken = self.kernel.untaken
        untaken.update(inserts)
        for ids in inserts:
            # what is left where this raises is forgotten by `reset`
            self.take(1, ids)
            untaken.discard(ids)

    def flush(self) -> Callable[[], object] | None:
        """Take the changes that were put off until the commit; see `State.await_flush`.

        Gives a second step, where something changes that was not written; None where nothing does.
        """
        return None

    def add(
        self, segment: Segment, relation: Relation | None = None, rows: Relation | None = None
    ) -> SegmentState:
        """Start maintaining a segment on what the graph holds now; one of a family with its relation, one
        that rows of another step ask for with these.
        """
        dictionary = self._dictionary
        self._tells.clear()
        asked = None if relation is None else self._asked(segment, relation)
        fed = origins(self, segment, relation)
        state = self.kernel.add(self._bind(segment), self.snapshot, asked, rows, self, fed)
        for pattern in state.patterns:
            # the router knows the constants by their ids as long as the pattern is there
            dictionary.hold(term for term in pattern.key if term >= 0)
            # The pattern may be shared, and its matches are held once.
            if pattern.keeps and not pattern.held:
                pattern.held = True
                dictionary.hold(chain.from_iterable(pattern.matches() or ()))
        return state

    def remove(self, state: SegmentState) -> None:
        """Stop maintaining a segment and free what only it used."""
        dictionary = self._dictionary
        self.lone.pop(state, None)
        self._made.pop(state, None)
        self._tells.clear()
        for pattern, matches in self.kernel.remove(state):
            pattern.held = False
            dictionary.drop(chain.from_iterable(matches))
        for pattern in state.patterns:
            dictionary.drop(term for term in pattern.key if term >= 0)

    def solutions(self, state: SegmentState, most: int | None = None) -> list[tuple[int, ...]]:
        """List the current solutions of a segment; with `most` at least so many, if there are."""
        return self.kernel.solutions(state, self.snapshot, most)

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Have triples with a value taken to a pattern of a family: it is asked for from now on."""
        self.kernel.router.open_to(pattern, place, value)

    def close_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Undo `open_to`."""
        self.kernel.router.close_to(pattern, place, value)

    def open_all(self, pattern: PatternState) -> None:
        """Have all triples that match taken to a pattern that is fed."""
        self.kernel.router.open_all(pattern)

    def close_all(self, pattern: PatternState) -> None:
        """Undo `open_all`."""
        self.kernel.router.close_all(pattern)

    def size(self, pattern: PatternState, most: int) -> int:
        """Count what the graph holds that matches the constants of a pattern, as far as `most`."""
        return self.count(tuple(max(term, UNBOUND) for term in pattern.key[:3]), most)

    def hold(self, pattern: PatternState, triples: Sequence[tuple[int, ...]]) -> None:
        """Have a pattern take triples that are there, because they are in demand now."""
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
        """List what a pattern would hold now that has some ids at these places, if it were all in demand."""
        untaken = self.kernel.untaken
        found = self.listed(pattern, at, but)
        return (ids for ids in found if ids not in untaken) if untaken else found

    def snapshot(self, pattern: PatternState) -> Iterator[tuple[int, ...]]:
        """List what the graph holds that matches a pattern, as ids."""
        return self.listed(pattern, {})

    def listed(
        self, pattern: PatternState, at: Mapping[int, int], but: But | None = None
    ) -> Iterator[tuple[int, ...]]:
        """List what the graph holds that matches a pattern and has some ids at these places."""
        guard = pattern.guard
        # variables are negative, and 0 asks for any term
        s, p, o = (max(at.get(place, term), UNBOUND) for place, term in enumerate(pattern.key[:3]))
        found = self.matching((s, p, o), but)
        return found if guard is None else (ids for ids in found if guard(*ids))

    def matching(self, key: tuple[int, int, int], but: But | None = None) -> Iterator[tuple[int, ...]]:
        """List the triples with these ids; 0 stands for any term."""
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
        """Raise if these segments cannot be maintained with the options and parameters asked for."""

    def reset(self) -> None:
        """Forget everything but the segments."""
        self.kernel.untaken.clear()

    def forget(self) -> None:
        """Forget everything, because an interruption may have left any part half-way through a change."""
        self.queries = 0
        self.kernel = self._make_kernel()
        self._router = self.kernel.router
        self.lone.clear()
        self._made.clear()
        self._tells.clear()
        self.reset()

    def reload(self) -> None:
        """Read again what the view keeps beside its queries, which are stopped meanwhile."""

    def release(self) -> None:
        """Free what the view itself keeps, when it has no queries any more."""

    def describe(self) -> list[str]:
        """Tell what the view keeps beside its segments, and how, in lines for `explain()`."""
        return []

    def containers(self) -> list[Any]:
        """List the containers of what the view keeps beside its segments, for measuring."""
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
        may stop would end the others' walks too; it gets a text of its own, which makes the pattern the
        plan's own.
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
        """Compile a filter to a test of the values of the variables that it reads."""
        terms = self.state.terms if meter is None else self.state.terms.metered(meter)
        slots = [i for i, v in enumerate(variables) if v.readable and v.name in condition.variables]
        columns = {variables[slot].name: place for place, slot in enumerate(slots)}
        return RowTest(condition.text, tuple(slots), condition.condition(columns, terms))

    def _extra(self, pattern: TriplePattern) -> tuple[RowTest, ...]:  # noqa: ARG002 - a quad has one
        return ()

    def number(self, term: Any) -> int:
        """Give the id of a term of a query."""
        return self._dictionary.intern(self.state.to_native(term))

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the triples that match a key of ids, in which 0 stands for any term, as far as `most`."""
        terms = self._dictionary.terms
        found = self._triples((terms[key[0]], terms[key[1]], terms[key[2]]))
        return sum(1 for _ in islice(found, most))

    def asked_places(self, pattern: TriplePattern, relation: Relation) -> list[int]:
        """List where parameters of a family stand in a pattern; triples are routed by the first."""
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
        """Leave out quads of the default graph: GRAPH ?g ranges over named graphs only (SPARQL 1.1, 18.6)."""
        assert pattern.graph is not None  # noqa: S101 - only quads come here
        default = self._default
        slot = pattern.variables.index(pattern.graph)
        return (RowTest("is a named graph", (slot,), lambda row: row[0] != default),)

    def release(self) -> None:
        """Let go of the name of the default graph."""
        self._dictionary.drop([self._default])
        self._dictionary.sweep()
