"""Finds the patterns that a triple can match, by their constants, in all eight combinations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from rdflive.engine.pattern import Key, PatternState
from rdflive.model import Term

__all__ = ["EMPTY", "Patterns", "Router"]

Patterns: TypeAlias = tuple[PatternState, ...]
Shelves: TypeAlias = tuple[Any, ...]
Ids: TypeAlias = tuple[int, ...]
EMPTY: Final[Shelves] = ((), None, None, None)


class Router:
    """Finds matching patterns with at most eight probes per triple, however many patterns there are.

    `nodes` maps a predicate to its shelves. `open` holds the shelves of the patterns whose predicate is a
    variable. Shelves are a tuple: the patterns without other constants, then dictionaries of patterns by
    object, by subject and by both, each None while empty. Example: the pattern `?t :delay 4` is in
    `nodes[delay][1][4]`.

    So a triple whose predicate no pattern names costs one probe, or at most five. Ids are >= 0; -1 is a term
    that no pattern knows.
    """

    __slots__ = ("_make", "awaited", "guarded", "is_plain", "nodes", "open")

    def __init__(self, make: Callable[[], Any] = dict) -> None:
        self._make = make
        self.nodes: Any = make()
        self.open: Shelves = EMPTY
        self.awaited: dict[int, int] = {}
        """By predicate (negative for a variable), the number of patterns that wait for values in demand."""
        self.guarded = 0
        """Number of patterns with a guard, for which constants alone do not decide."""
        self.is_plain = True
        """True if the constants under the triple's predicate alone decide which patterns match."""

    def route(self, s: int, p: int, o: int, *graph: int) -> Patterns:
        """Return the distinct patterns that the triple or quad matches (no pattern names its graph)."""
        found: Patterns = ()
        for free, by_object, by_subject, by_both in (self.nodes.get(p, EMPTY), self.open):
            found += free
            if by_object is not None:
                found += by_object.get(o, ())
            if by_subject is not None:
                found += by_subject.get(s, ())
            if by_both is not None:
                found += by_both.get((s, o), ())
        if self.guarded and found:
            return tuple(q for q in found if q.guard is None or q.guard(s, p, o, *graph))
        return found

    def may_match(self, known: Callable[[Term, int], int], change: tuple[Term, ...]) -> bool:
        """Return True if some pattern's constants fit a triple (or quad) of terms.

        `known` returns the id of a term, or its second argument. Ids are looked up one by one and only for a
        dictionary that is probed, because hashing an rdflib literal is not cheap.
        """
        named = self.nodes.get(known(change[1], -1))
        looked: tuple[Shelves, ...] = (named,)
        if self.open is not EMPTY:
            looked = named or EMPTY, self.open
        elif named is None:
            return False
        for free, by_object, by_subject, by_both in looked:
            if free or (by_object is not None and known(change[2], -1) in by_object):
                return True
            if by_subject is not None and known(change[0], -1) in by_subject:
                return True
            if by_both is not None and (known(change[0], -1), known(change[2], -1)) in by_both:
                return True
        return False

    def relevant(self, triples: Collection[Ids]) -> Collection[Ids]:
        """Drop triples that no pattern matches, as far as predicates and objects decide."""
        if self.open is not EMPTY:
            return triples
        objects: dict[int, Any] = {}
        for p in {triple[1] for triple in triples}:
            free, by_object, by_subject, by_both = self.nodes.get(p, EMPTY)
            objects[p] = None if free or by_subject or by_both else by_object or ()
        return [triple for triple in triples if (found := objects[triple[1]]) is None or triple[2] in found]

    def of_predicate(self, p: int, triples: Sequence[Ids]) -> Iterator[tuple[PatternState, Sequence[Ids]]]:
        """Route triples with one predicate; only if `is_plain`."""
        free, *keyed = self.nodes.get(p, EMPTY)
        for pattern in free:
            yield pattern, triples
        for shelf, value in zip(keyed, (itemgetter(2), itemgetter(0), itemgetter(0, 2)), strict=True):
            if shelf is not None:
                for triple in triples:
                    for pattern in shelf.get(value(triple), ()):
                        yield pattern, (triple,)

    def add(self, pattern: PatternState) -> None:
        """Start routing to a pattern; a fed pattern waits for the values in demand."""
        self.guarded += pattern.guard is not None
        if pattern.feeds:
            # for values that enter demand
            self.awaited[pattern.key[1]] = self.awaited.get(pattern.key[1], 0) + 1
        else:
            self.open_all(pattern)
        self._note_plain()

    def remove(self, pattern: PatternState) -> None:
        """Stop routing to a pattern; a predicate without patterns is removed."""
        self.guarded -= pattern.guard is not None
        if not pattern.feeds:
            self.close_all(pattern)
        elif self.awaited[pattern.key[1]] > 1:
            self.awaited[pattern.key[1]] -= 1
        else:
            del self.awaited[pattern.key[1]]
        self._note_plain()

    def _note_plain(self) -> None:
        self.is_plain = self.open is EMPTY and not self.guarded

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Route triples with a value at a place to a fed pattern."""
        # most values have one pattern, and share its tuple
        self._put(
            _with(pattern.key, place, value),
            lambda patterns: (*patterns, pattern) if patterns else pattern.alone,
        )

    def close_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Undo `open_to`."""
        self._put(
            _with(pattern.key, place, value), lambda patterns: tuple(q for q in patterns if q is not pattern)
        )

    def open_all(self, pattern: PatternState) -> None:
        """Route all matching triples to a fed pattern."""
        self._put(pattern.key, lambda patterns: (*patterns, pattern))

    def close_all(self, pattern: PatternState) -> None:
        """Undo `open_all`."""
        self._put(pattern.key, lambda patterns: tuple(q for q in patterns if q is not pattern))

    def _put(self, key: Key, change: Callable[[Patterns], Patterns]) -> None:
        # the graph of a quad pattern is always a variable, so three places decide
        s, p, o = key[:3]
        shelves = list(self.nodes.get(p, EMPTY) if p >= 0 else self.open)
        if s < 0 and o < 0:
            shelves[0] = change(shelves[0])
        else:
            place, at = (1, o) if s < 0 else (2, s) if o < 0 else (3, (s, o))
            shelf = self._make() if shelves[place] is None else shelves[place]
            shelf[at] = change(shelf.get(at, ()))
            if not shelf[at]:
                del shelf[at]
            # None while empty, which `route` checks without a probe
            shelves[place] = shelf or None
        if p < 0:
            self.open = tuple(shelves) if any(shelves) else EMPTY
            self._note_plain()
        elif any(shelves):
            self.nodes[p] = tuple(shelves)
        else:  # nothing may be there: a value whose opening failed is closed too
            self.nodes.pop(p, None)


def _with(key: Key, place: int, value: int) -> Key:
    return (*key[:place], value, *key[place + 1 :])
