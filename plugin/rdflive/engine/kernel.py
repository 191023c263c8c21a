"""The inner loop of the engine: updates as integers in, solutions as tuples of integers out.

The kernel knows no terms, stores, batches or callbacks, so a compiled module could replace it and pass the
same tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, MutableMapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from rdflive.engine.connected import WalkPlan, compile_walk
from rdflive.engine.demand import Demand, Fed, Feeding
from rdflive.engine.gates import Gates
from rdflive.engine.pattern import (
    Identity,
    Masks,
    PatternState,
    RowTest,
    Walk,
    loader,
    pattern_identity,
    pattern_key,
)
from rdflive.engine.relation import AskedPaths, Relation
from rdflive.engine.router import Patterns, Router
from rdflive.engine.star import NO_CENTRE, Star, star_key
from rdflive.engine.trie import put, take
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.demand import ROWS, Origins
from rdflive.query.segment import Segment

__all__ = ["Kernel", "QuadKernel", "SegmentState", "Snapshot"]

Row: TypeAlias = tuple[int, ...]
NOT_FED: Final[Origins] = {}
Snapshot: TypeAlias = Callable[[PatternState], Iterable[tuple[int, ...]]]
"""Lists the triples (or quads) of the graph that match a pattern and pass its guard."""


class SegmentState:
    """One segment of one query inside the kernel, and its solutions since they were last taken.

    A segment is a part of a basic graph pattern whose patterns are connected by variables.
    """

    __slots__ = (
        "added", "fresh", "joined", "many", "paths", "patterns", "plan", "rank", "relation", "removed",
        "rows", "segment", "stars",
    )  # fmt: skip

    plan: WalkPlan
    joined: Sequence[PatternState]
    """The patterns that walks go through, with the relations of requested values."""

    def __init__(
        self,
        segment: Segment,
        relation: Relation | None = None,
        rows: Relation | None = None,
        rank: int = 0,
    ) -> None:
        self.segment = segment
        self.relation = relation
        """The parameters of a family's members, if they are joined with the patterns."""
        self.rows = rows
        """The values that rows of another step request, if they are joined with the patterns."""
        self.rank = rank
        """Its position among the segments of the kernel: earlier ones have their solutions first."""
        self.added: list[Row] = []
        self.removed: list[Row] = []
        self.patterns: list[PatternState] = []
        self.paths: list[tuple[PatternState, tuple[int, ...]]] = []
        self.stars: list[Star] = []
        self.many: dict[int, Walk] = {}
        """The walks of many triples that are compiled so far, by the pattern that they start at."""
        self.fresh: _Fresh | None = None
        """State to be filled before the first update; None after that."""

    def path(self, j: int, slots: tuple[int, ...]) -> Any:
        """Return the access path of a pattern from some of its slots; create it if it is missing."""
        pattern = self.joined[j]
        if (pattern, slots) not in self.paths:
            is_new = pattern.use(slots)
            # after `use`: the paths in the list are removed if an interruption comes
            self.paths.append((pattern, slots))
            if is_new and j < len(self.patterns) and self.fresh is not None:
                self.fresh.paths.setdefault(pattern, []).append(slots)
        return pattern.paths[slots]

    def containers(self) -> list[Any]:
        """List the dictionaries and sets that hold state for this segment, shared ones included."""
        kept = [(pattern, path) for pattern, path in self.paths if pattern in self.patterns]
        paths = {id(pattern.paths[path]): pattern.paths[path] for pattern, path in kept}
        links = {fed.link: None for pattern in self.patterns for fed in pattern.feeds if not fed.is_member}
        demand = [link.wanted for link in links]
        rows = [] if self.rows is None else self.rows.containers()
        return [*paths.values(), *{id(star.mask): star.mask for star in self.stars}.values(), *demand, *rows]


class Kernel:
    """The patterns, stars and walks of all segments on one graph; equal patterns and stars are shared."""

    def __init__(
        self, make: Callable[[], MutableMapping[Any, Any]] = dict, demand: Demand | None = None
    ) -> None:
        self._make = make
        self.demand = demand or Demand()
        """Collects the values that enter and leave demand."""
        self.untaken: set[Row] = set()
        """Triples that are in the store but not yet applied here. Patterns that follow demand ignore them
        when they read the store.
        """
        self.router = Router(make)
        self.patterns: dict[Identity, PatternState] = {}
        self.stars: dict[Any, Star] = {}
        self.gates = Gates(make)
        self._begun = 0
        """Number of segments started so far."""
        self.dirty: dict[SegmentState, None] = {}
        """The segments with new solutions; a dict, because the order must not depend on hashes."""

    def apply(self, sign: int, s: int, p: int, o: int) -> Patterns:
        """Apply one update, and return the patterns that it matched.

        `sign` is +1 for the insert of an absent triple, -1 for the delete of a present one. The id -1 is a
        term that no pattern knows. Added solutions are appended to `SegmentState.added`, removed ones to
        `removed`.

        If a filter raises, the patterns are as they were before the call, but some segments have applied a
        part of the change: the caller must restart them.
        """
        router = self.router
        found: Patterns
        # `Router.route` inlined for the common case: every write that may match passes here
        if router.is_plain:
            node = router.nodes.get(p)
            if node is None:
                return ()
            found, by_object, by_subject, by_both = node
            if by_object is not None:
                found = found + by_object.get(o, ()) if found else by_object.get(o, ())
            if by_subject is not None:
                found += by_subject.get(s, ())
            if by_both is not None:
                found += by_both.get((s, o), ())
        else:
            found = router.route(s, p, o)
        if not found:
            return found
        if len(found) == 1:
            # the code below, as one generated function
            pattern = found[0]
            update = pattern.enter if sign > 0 else pattern.exit
            if update is None and len(pattern.walks) == 1 and not pattern.links:
                update = pattern.write_alone(self.dirty)[sign < 0]
            if update is not None:
                update(s, p, o)
                return found
        if sign > 0:
            # All patterns store the triple before any walk starts, so that each walk sees it in every
            # pattern. A walk then skips the solutions of earlier patterns, see `connected`.
            for pattern in found:
                pattern.insert(s, p, o)
            try:
                if self.demand.fresh:
                    found = self._follow(found, s, p, o)
                for pattern in found:
                    trie = pattern.trie
                    for walk, state in pattern.walks if trie is None else trie.reached((s, p, o)):
                        walk(s, p, o, state.added)
                        if state.added:
                            self.dirty[state] = None
            except BaseException:
                _take_back(found, s, p, o)
                raise
        else:
            # Walks run before any pattern changes, because afterwards they would not find the removed
            # solutions. So a walk that raises leaves nothing to undo.
            for pattern in found:
                trie = pattern.trie
                for walk, state in pattern.walks if trie is None else trie.reached((s, p, o)):
                    walk(s, p, o, state.removed)
                    if state.removed:
                        self.dirty[state] = None
            for pattern in found:
                pattern.delete(s, p, o)
        return found

    def _follow(self, found: Patterns, *ids: int) -> Patterns:
        """Load the values that an insert brought into demand; return all patterns with the triple.

        The triple itself may match a pattern that had no demand for it before.
        """
        # left there if this raises, because the view is reset then
        self.untaken.add(ids)
        while self.demand.fresh:
            self.demand.load()
            late = tuple(pattern for pattern in self.router.route(*ids) if pattern not in found)
            for pattern in late:
                pattern.insert(*ids)
            found += late
        self.untaken.discard(ids)
        return found

    def walk_all(self, pattern: PatternState, triples: Sequence[Row], sign: int) -> None:
        """Walk from inserted or deleted triples of a pattern, in all segments; see `batch`."""
        together: Collection[Row] = ()
        reached: dict[SegmentState, Sequence[Row]]
        if pattern.trie is None:
            reached = dict.fromkeys([state for _, state in pattern.walks], triples)
        else:
            behind: dict[SegmentState, list[Row]] = defaultdict(list)
            for triple in triples:
                for state in dict.fromkeys([state for _, state in pattern.trie.reached(triple)]):
                    behind[state].append(triple)
            reached = {**behind}
        for state, found in reached.items():
            seeds = [j for j, other in enumerate(state.patterns) if other is pattern]
            if len(seeds) > 1 and not together:
                together = set(triples)
            solutions = state.added if sign > 0 else state.removed
            for j in seeds:
                walk = state.many.get(j)
                if walk is None:
                    walk = compile_walk(state.plan, state.segment.arrays[j], many=True)
                    state.many[j] = walk
                walk(found, solutions, together)
            if solutions:
                self.dirty[state] = None

    def add(
        self,
        segment: Segment,
        snapshot: Snapshot,
        asked: AskedPaths | None = None,
        rows: Relation | None = None,
        view: Any = None,
        origins: Origins = NOT_FED,
    ) -> SegmentState:
        """Start maintaining a segment (its constants are ids) on the triples that the snapshot lists.

        For a family, `asked` has its relation. `rows` is the relation of values that rows of another step
        request. Both are still empty. The patterns with `origins` are held by demand, and `view` lists their
        triples.
        """
        self._begun += 1
        state = SegmentState(segment, None if asked is None else asked.relation, rows, self._begun)
        try:
            self._add(state, snapshot, asked, view, origins)
        except BaseException:
            self.demand.fresh.clear()
            self.remove(state)
            raise
        return state

    def _add(
        self,
        state: SegmentState,
        snapshot: Snapshot,
        asked: AskedPaths | None,
        view: Any,
        origins: Origins,
    ) -> None:
        segment = state.segment
        # negative, because ids of constants are not
        numbers = {v: -1 - i for i, v in enumerate(segment.variables)}
        state.fresh = fresh = _Fresh(self.demand)
        made: dict[int | None, PatternState] = {}
        if state.relation is not None:
            made[None] = state.relation.pattern
        if state.rows is not None:
            made[ROWS] = state.rows.pattern
        whole = [j for j in range(len(segment.patterns)) if j not in origins]
        for j in (*whole, *origins):
            feedings = [
                Feeding(view, made[i], slot, place, is_member=i is None, may_widen=segment.state != "demand")
                for i, slot, place in origins.get(j, ())
            ]
            made[j] = self._pattern(segment.patterns[j], numbers, segment.filters[j], feedings, fresh)
            # one by one: the patterns in the list are removed if an interruption comes
            state.patterns.append(made[j])
        state.patterns = [made[j] for j in range(len(segment.patterns))]
        stars = {centre: self._star(state, centre, fresh) for centre in segment.centres}
        masks = {centre: (star.mask, star.full) for centre, star in stars.items() if star is not None}
        relations = [relation.pattern for relation in (state.relation, state.rows) if relation is not None]
        state.joined = joined = [*state.patterns, *relations]

        # A mask loses the bit of a pattern when the path from the centre has no neighbour left. So a star
        # needs that path even if no walk does. Patterns of one variable have none: a delete clears the bit.
        for centre in segment.centres:
            for j, pattern in enumerate(segment.patterns):
                if centre in pattern.variables and len(pattern.variables) > 1:
                    state.path(j, (pattern.variables.index(centre),))
        conditions = [
            ([segment.variables[slot] for slot in test.slots], test.passes) for test in segment.conditions
        ]
        state.plan = WalkPlan(
            segment.joined, joined, masks, segment.projection, conditions, state.path, segment.meter, asked
        )
        # before `load`: compiling a walk requests the paths to fill
        walks = [compile_walk(state.plan, array) for array in segment.arrays]
        fresh.load(snapshot)
        state.fresh = None
        self.gates.fill()
        # last, so that no update runs a walk with unfilled paths
        for pattern_state in relations:
            pattern_state.write()
        for seed, (pattern_state, walk) in enumerate(zip(joined, walks, strict=True)):
            if seed < len(state.patterns):
                put(self.gates, pattern_state, walk, state, seed)
            else:
                pattern_state.add_walk(walk, state)

    def solutions(self, state: SegmentState, snapshot: Snapshot, most: int | None = None) -> list[Row]:
        """List the current solutions of a segment, starting at the pattern with the fewest matches.

        With `most` the search stops after that many.
        """
        relation = state.relation if state.rows is None else state.rows
        if relation is not None:
            return self.solutions_of(state, relation, list(relation))
        seed = min(range(len(state.patterns)), key=lambda j: state.patterns[j].size())
        walk = compile_walk(state.plan, state.segment.arrays[seed], many=True)
        pattern = state.patterns[seed]
        matches = pattern.matches()
        # a pattern that keeps nothing is read from the store
        triples = pattern.triples(matches) if matches is not None else snapshot(pattern)
        rows: list[Row] = []
        if most is None:
            walk(list(triples), rows, ())
            return rows
        for triple in triples:
            walk((triple,), rows, ())
            if len(rows) >= most:
                break
        return rows

    def solutions_of(self, state: SegmentState, relation: Relation, asked: Iterable[Row]) -> list[Row]:
        """List the current solutions of a segment for some tuples of a relation that it is joined with."""
        (walk,) = (walk for walk, of in relation.pattern.walks if of is state)
        rows: list[Row] = []
        for row in asked:
            walk(*row, rows)
        return rows

    def remove(self, state: SegmentState) -> list[tuple[PatternState, Iterable[Row]]]:
        """Stop maintaining a segment and free the state that only it used.

        Returns the patterns that no longer keep anything, with the matches that they had kept: the caller
        still holds their ids in the dictionary.
        """
        self.dirty.pop(state, None)
        relations = [relation.pattern for relation in (state.relation, state.rows) if relation is not None]
        for pattern in dict.fromkeys((*state.patterns, *relations)):
            take(pattern, state)
        # Taken before the paths go: these generators read path objects, which outlive their removal.
        kept = {pattern: pattern.matches() for pattern in state.patterns}
        for star in state.stars:
            star.users -= 1
            if not star.users:
                star.release()
                del self.stars[star.key]
        for pattern, path in state.paths:
            pattern.leave(path)
        # the generated `insert` and `delete` still name removed paths
        for pattern in (*kept, *relations):
            pattern.write()
        for pattern in state.patterns:
            pattern.users -= 1
            if not pattern.users:
                for fed in pattern.feeds:
                    fed.stop()
                self.router.remove(pattern)
                del self.patterns[pattern.identity]
        return [(pattern, rows) for pattern, rows in kept.items() if rows is not None and not pattern.keeps]

    def _pattern(
        self,
        pattern: TriplePattern,
        numbers: dict[Variable, int],
        tests: Sequence[RowTest],
        feedings: Sequence[Feeding],
        fresh: _Fresh,
    ) -> PatternState:
        terms: list[Any] = [numbers[t] if isinstance(t, Variable) else t for t in pattern]
        key = pattern_key(terms)
        state = self.patterns.get(pattern_identity(key, tests, feedings))
        if state is None:
            state = PatternState(key, tests, self._make, feedings, self.demand)
            self.patterns[state.identity] = state
            self.router.add(state)
            fresh.feeds += [(fed, list(fed.link.wanted)) for fed in state.feeds]
        if not state.keeps:
            fresh.patterns[state] = None
        state.users += 1
        return state

    def _star(self, state: SegmentState, centre: Variable | None, fresh: _Fresh) -> Star | None:
        members = [
            (state.patterns[j], pattern.variables.index(centre) if centre else NO_CENTRE)
            for j, pattern in enumerate(state.segment.patterns)
            # those held by demand are looked up: with their bits, no other segment could share the star
            if (centre is None or centre in pattern.variables) and not state.patterns[j].feeds
        ]
        if not members or (len(members) < 2 and len(state.patterns) > 1):
            return None
        star = self.stars.get(star_key(members))
        if star is None:
            star = self.stars[star_key(members)] = Star(members, self._make, self.gates)
            star.watch()
            fresh.stars.append(star)
        star.users += 1
        state.stars.append(star)
        return star


class QuadKernel(Kernel):
    """The kernel of the named graphs: its patterns are quads, whose graph is a variable."""

    def apply(self, sign: int, *quad: int) -> Patterns:
        """Apply one update of a quad, as `Kernel.apply` does for a triple."""
        found = self.router.route(*quad)
        if sign > 0:
            for pattern in found:
                pattern.insert(*quad)
        try:
            if self.demand.fresh:
                found = self._follow(found, *quad)
            for pattern in found:
                trie = pattern.trie
                for walk, state in pattern.walks if trie is None else trie.reached(quad):
                    solutions = state.added if sign > 0 else state.removed
                    walk(*quad, solutions)
                    if solutions:
                        self.dirty[state] = None
        except BaseException:
            if sign > 0:
                _take_back(found, *quad)
            raise
        if sign < 0:
            for pattern in found:
                pattern.delete(*quad)
        return found


def _take_back(patterns: Patterns, *ids: int) -> None:
    """Undo the inserts of an update, after a walk raised."""
    for pattern in patterns:
        pattern.delete(*ids)


class _Fresh:
    """Patterns, paths and masks that a new segment added, to be filled before its first update."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self.patterns: dict[PatternState, None] = {}
        """Patterns that kept nothing before."""
        self.feeds: list[tuple[Fed, list[int]]] = []
        """New patterns, with the values in demand when they were made."""
        self.paths: dict[PatternState, list[tuple[int, ...]]] = {}
        self.stars: list[Star] = []

    def load(self, snapshot: Snapshot) -> None:
        masks: dict[PatternState, Masks] = {}
        for star in self.stars:
            for pattern, slot, bit in star.own_members:
                masks.setdefault(pattern, {}).setdefault(slot, []).append((star.mask, bit))
        for pattern in {**self.paths, **masks}:
            pattern.write()
            if not pattern.feeds:
                triples = snapshot(pattern)
            elif pattern in self.patterns:
                continue  # filled below, or when values are requested
            else:
                # listed by the first path, which is not new
                triples = pattern.triples(list(pattern.matches() or ()))
            found = iter(triples)
            first = next(found, None)
            if first is None:
                continue
            if pattern in self.patterns:
                # also counts demand for others
                insert = pattern.insert_all
            else:
                insert = loader(pattern, self.paths.get(pattern, ()), masks.get(pattern, {}))
            insert(chain((first,), found))
        for fed, values in self.feeds:
            self._demand.open(fed, values)
        self._demand.load()
