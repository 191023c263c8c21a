"""The entailed triples of one kind, with their supports if they are counted, and the ways to entail them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import IdTriple
from rdflive.entail.sources import Sources
from rdflive.entail.templates import Atom, Atoms, Kind, Placeholder
from rdflive.model import Triple

__all__ = ["EntailedTable", "Key", "Pick", "Ways"]


class Ways:
    """The atoms of a kind; for former atoms also the classes that the schema named then.

    Most atoms of a class mean "belongs to a subclass". A resource has few classes but a class may have
    thousands of subclasses, so these atoms are merged: the classes of the resource are listed and looked up
    in a set.
    """

    def __init__(self, atoms: Atoms, known: Collection[Any] = ()) -> None:
        self.atoms = atoms
        self.known = known

    def add(self, atom: Atom, weight: int) -> None:
        """Add one atom."""
        self.atoms[atom] = weight
        if "_sorted" in self.__dict__:
            _sort(atom, *self._sorted)

    @cached_property
    def _sorted(self) -> tuple[list[Atom], dict[Any, set[Any]]]:
        """The atoms that are looked up one by one, and the classes of the merged atoms by their property.

        They are computed on the first look-up, which may never happen.
        """
        single: list[Atom] = []
        classes: dict[Any, set[Any]] = {}
        for atom in self.atoms:
            _sort(atom, single, classes)
        return single, classes

    @property
    def is_trivial(self) -> bool:
        """True if, by these atoms, only explicit triples are of the kind."""
        return all(atom.own for atom in self.atoms)

    def __len__(self) -> int:
        """Return the greatest number of look-ups in the graph for one triple."""
        return sum(map(len, self._sorted))

    def entailing(
        self, sources: Sources, known: Collection[Any], subject: Any, value: Any
    ) -> Iterator[Triple]:
        """List the explicit triples that entail a triple of the kind; for a class `value` is None."""
        single, by_property = self._sorted
        for atom in single:
            yield from sources.matches(atom, known, subject, value)
        # such a triple entails only itself, by an own atom, and own atoms are single
        if sources.is_literal(subject):
            return
        for p, classes in by_property.items():
            for triple in sources.explicit((subject, p, None)):
                if triple[2] in classes:
                    yield triple


def _sort(atom: Atom, single: list[Atom], classes: dict[Any, set[Any]]) -> None:
    p, c = atom.source
    # A guard must test the object, and an own atom accepts literal subjects; neither can be merged.
    plain = not (atom.guard or atom.own)
    if plain and c is not None and atom.subject is Placeholder.SUBJECT and atom.object is None:
        classes.setdefault(p, set()).add(c)
    else:
        single.append(atom)


Key: TypeAlias = Any
"""Identifies a triple within its kind: the id of the subject for a class, else the ids of subject and
object.
"""
Pick: TypeAlias = Callable[[int, int], Key]
"""Returns the key of the triple that an explicit triple entails, by the ids of its subject and object."""


class EntailedTable:
    """One kind of entailed triples.

    With `counts` (saturated) the triples are stored, each with its support. Without (reformulated) the
    explicit triples are looked up by `ways`.
    """

    __slots__ = (
        "_constants", "_dictionary", "_object", "_predicate", "counts", "is_trivial",
        "kind", "lookups", "since", "size", "suspects", "updates", "ways",
    )  # fmt: skip

    def __init__(self, kind: Kind, dictionary: Dictionary) -> None:
        self.kind = kind
        self.ways = Ways({})
        self.is_trivial = True
        """True if only explicit triples are of the kind."""
        self.counts: dict[Key, int] | None = None
        self.suspects: dict[Key, tuple[bool, int]] = {}
        """Triples of a reformulated kind that the present update may have changed.

        The value is True if an explicit triple that entails them was removed, and the net gain of support.
        """
        self.lookups = 0
        """Look-ups in the graph since the present form was chosen."""
        self.updates = 0
        """Number of changes of explicit triples that entail a triple of the kind, since then."""
        self.since = 0
        """The time of that choice, in updates of the graph."""
        self.size = 0
        """Number of explicit triples that entail a triple of the kind, as of the last count or listing and
        since.
        """
        self._dictionary = dictionary
        self._constants: dict[Any, int] = {}
        p, c = kind
        self._predicate = self._hold(p)
        self._object = None if c is None else self._hold(c)

    def ids(self, key: Key) -> IdTriple:
        """Return the triple of a key."""
        if self._object is not None:
            return key, self._predicate, self._object
        return key[0], self._predicate, key[1]

    def terms(self, key: Key) -> tuple[Any, Any]:
        """Return the subject and object of a key; for a class the object is None."""
        terms = self._dictionary.terms
        return (terms[key], None) if self._object is not None else (terms[key[0]], terms[key[1]])

    def support(self, subject: Any, value: Any) -> int:
        """Return the support of a triple of a counted kind. For a class, `value` is ignored."""
        assert self.counts is not None  # noqa: S101 - called for counted kinds only
        known = self._dictionary.ids.get
        s = known(subject, -1)
        return self.counts.get(s if self._object is not None else (s, known(value, -1)), 0)

    def pick(self, atom: Atom) -> Pick:
        """Return the function that computes the key of the triple that an atom entails.

        The table holds the constants of the atom in the dictionary until it is released.
        """
        subject = self._index(atom.subject)
        if self._object is not None:
            return _SINGLE.get(subject) or (lambda *_: subject)
        value = self._index(atom.object)
        if (subject, value) == (SUBJECT, OBJECT):
            return _pair

        def general(s: int, o: int) -> Key:
            first = s if subject == SUBJECT else o if subject == OBJECT else subject
            return first, s if value == SUBJECT else o if value == OBJECT else value

        return general

    def column(self, atom: Atom, subjects: Sequence[int], values: Sequence[int]) -> Iterable[Key]:
        """Return the keys that an atom entails, from many explicit triples at once."""
        if self._object is not None and isinstance(atom.subject, Placeholder):
            return subjects if atom.subject is Placeholder.SUBJECT else values
        if (atom.subject, atom.object) == (Placeholder.SUBJECT, Placeholder.OBJECT):
            return zip(subjects, values, strict=True)
        return map(self.pick(atom), subjects, values)

    def _index(self, place: Any) -> int:
        if isinstance(place, Placeholder):
            return SUBJECT if place is Placeholder.SUBJECT else OBJECT
        return self._hold(place)

    def _hold(self, term: Any) -> int:
        number = self._constants.get(term)
        if number is None:
            number = self._constants[term] = self._dictionary.intern(term)
            self._dictionary.hold([number])
        return number

    def shift(self, keys: Iterable[Key], weight: int) -> list[Key]:
        """Add to the supports of many triples; return those that begin or cease to be entailed."""
        counts = self.counts
        assert counts is not None  # noqa: S101 - called for counted kinds only
        moved = []
        # Keys are added up first, so that each entry changes once and holds its ids once.
        for key, times in Counter(keys).items():
            old = counts.get(key, 0)
            new = old + times * weight
            if new:
                counts[key] = new
            else:
                del counts[key]
            if not new or not old:
                moved.append(key)
        self._change_all(self._dictionary.hold if weight > 0 else self._dictionary.drop, moved)
        return moved

    def settle(self) -> None:
        """Release constants that no atom uses."""
        if len(self._constants) == len(self.kind) - self.kind.count(None):
            return
        used = {*self.kind, *(term for atom in self.ways.atoms for term in (atom.subject, atom.object))}
        for term in [term for term in self._constants if term not in used]:
            self._dictionary.drop([self._constants.pop(term)])

    def settle_key(self, key: Key) -> None:
        """Hold the ids of a new key, or release those of a key without support."""
        counts = self.counts
        assert counts is not None  # noqa: S101 - called for counted kinds only
        terms = self._terms_of(key)
        if counts[key]:
            self._dictionary.hold(terms)
        else:
            del counts[key]
            self._dictionary.drop(terms)

    def suspect(self, key: Key, sign: int, weight: int) -> None:
        """Record that an explicit triple that entails a triple was added or removed, for a kind that is not
        counted.
        """
        self.size += sign
        went, gained = self.suspects.get(key, (False, 0))
        self.suspects[key] = went or sign < 0, gained + sign * weight

    def keep(self, counts: Counter[Key], size: int, now: int) -> None:
        """Start counting, with the support of each triple; `size` explicit triples were read for that."""
        # Held before the counts are set: an interruption may leave a reference too many, not one too few.
        self._change_all(self._dictionary.hold, counts)
        self.counts = dict(counts)  # deleting from a Counter is slower: it runs Python code
        self.lookups = self.updates = 0
        self.size, self.since = size, now

    def forget(self) -> None:
        """Stop counting."""
        counts, self.counts = self.counts, None
        self.lookups = self.updates = 0
        self.size = sum((counts or {}).values())
        self._change_all(self._dictionary.drop, counts or ())

    def release(self) -> None:
        """Release all held terms; the table must not be used after this."""
        self.forget()
        self._dictionary.drop(self._constants.values())

    def _change_all(self, change: Callable[[Iterable[int]], None], keys: Iterable[Key]) -> None:
        """Hold or drop the terms of many keys."""
        change(keys if self._object is not None else chain.from_iterable(keys))

    def _terms_of(self, key: Key) -> tuple[int, ...]:
        terms: tuple[int, ...] = (key,) if self._object is not None else key
        return terms


SUBJECT, OBJECT = -1, -2
"""Positions in an explicit triple; negative, so that they differ from the ids of constants."""


def _subject(s: int, o: int) -> Key:  # noqa: ARG001
    return s


def _object(s: int, o: int) -> Key:  # noqa: ARG001
    return o


def _pair(s: int, o: int) -> Key:
    return s, o


_SINGLE: dict[int, Pick] = {SUBJECT: _subject, OBJECT: _object}
