"""Triple patterns of ids, and an index of things by the pattern that they read or conclude."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from rdflive.engine.dictionary import UNBOUND

__all__ = ["Key", "KeyIndex", "matches"]

Item = TypeVar("Item")


class Key(NamedTuple):
    """A triple pattern: ids, with 0 for any term."""

    subject: int
    predicate: int
    object: int
    relation: int = 0
    """1 if subject and object must be equal, -1 if they must differ, 0 if either may be."""


def matches(key: Key, triple: tuple[int, int, int]) -> bool:
    """Tell whether a triple matches a pattern, without looking at its `relation`."""
    # not strict, as a key has its relation as a fourth field
    return all(want in (UNBOUND, term) for want, term in zip(key, triple, strict=False))


class KeyIndex(Generic[Item]):
    """Finds the items under the patterns that can match a common triple with a given pattern.

    >>> index = KeyIndex[str]()
    >>> index.add(Key(0, 5, 7), "all"); index.add(Key(3, 5, 7), "one"); index.add(Key(0, 6, 0), "other")
    >>> list(index.unifiable(Key(4, 5, 0)))
    ['all']
    """

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[int, dict[int, dict[int, dict[Item, tuple[int, ...]]]]] = {}
        """Predicate → object → subject → items, each with the relations that it was added with."""

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def add(self, key: Key, item: Item) -> None:
        """Put an item under a pattern; repeating it changes nothing."""
        by_object = self._nodes.setdefault(key.predicate, {})
        by_subject = by_object.setdefault(key.object, {})
        items = by_subject.setdefault(key.subject, {})
        relations = items.get(item, ())
        if key.relation not in relations:
            items[item] = (*relations, key.relation)

    def remove(self, key: Key, item: Item) -> None:
        """Remove an item from a pattern, if it is there."""
        by_object = self._nodes.get(key.predicate, {})
        by_subject = by_object.get(key.object, {})
        items = by_subject.get(key.subject, {})
        relations = tuple(r for r in items.pop(item, ()) if r != key.relation)
        if relations:
            items[item] = relations
        if not items:
            by_subject.pop(key.subject, None)
        if not by_subject:
            by_object.pop(key.object, None)
        if not by_object:
            self._nodes.pop(key.predicate, None)

    def unifiable(self, key: Key) -> Iterator[Item]:
        """List the items whose pattern some triple matches that also matches this pattern."""
        for by_object in _compatible(self._nodes, key.predicate):
            for by_subject in _compatible(by_object, key.object):
                for items in _compatible(by_subject, key.subject):
                    # copied, because `Demand.ask` takes items out of the index while it reads them
                    for item, relations in tuple(items.items()):
                        # Only "must be equal" (1) and "must differ" (-1) exclude each other.
                        if any(relation * key.relation >= 0 for relation in relations):
                            yield item

    def has_matching(self, s: int, p: int, o: int) -> bool:
        """Tell whether the triple matches the pattern of some item, without looking at relations."""
        for predicate in (p, UNBOUND):
            by_object = self._nodes.get(predicate)
            if by_object is not None:
                for value in (o, UNBOUND):
                    by_subject = by_object.get(value)
                    if by_subject is not None and (s in by_subject or UNBOUND in by_subject):
                        return True
        return False

    def matching(self, s: int, p: int, o: int) -> list[Item]:
        """List the items whose pattern the triple matches, without looking at relations."""
        found: list[Item] = []
        for predicate in (p, UNBOUND):
            by_object = self._nodes.get(predicate)
            if by_object is not None:
                for value in (o, UNBOUND):
                    by_subject = by_object.get(value)
                    if by_subject is not None:
                        found += by_subject.get(s, ())
                        found += by_subject.get(UNBOUND, ())
        return found


Node = TypeVar("Node")


def _compatible(nodes: dict[int, Node], value: int) -> tuple[Node, ...]:
    if value == UNBOUND:
        return tuple(nodes.values())
    return tuple(nodes[near] for near in (value, UNBOUND) if near in nodes)
