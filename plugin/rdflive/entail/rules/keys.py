"""Triple patterns of ids, and an index of items by the patterns that they read or conclude."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from rdflive.engine.dictionary import UNBOUND

__all__ = ["Key", "KeyIndex", "matches"]

Item = TypeVar("Item")
_Items: TypeAlias = dict[Item, tuple[int, ...]]


class Key(NamedTuple):
    """A triple pattern: ids, with 0 for any term."""

    subject: int
    predicate: int
    object: int
    relation: int = 0
    """1 if subject and object must be equal, -1 if they must differ, 0 otherwise."""


def matches(key: Key, triple: tuple[int, int, int]) -> bool:
    """Return True if a triple matches a pattern, ignoring its `relation`."""
    # not strict, as a key has its relation as a fourth field
    return all(want in (UNBOUND, term) for want, term in zip(key, triple, strict=False))


class KeyIndex(Generic[Item]):
    """Finds the items under the patterns that can match a common triple with a given pattern.

    >>> index = KeyIndex[str]()
    >>> index.add(Key(0, 5, 7), "all"); index.add(Key(3, 5, 7), "one"); index.add(Key(0, 6, 0), "other")
    >>> list(index.unifiable(Key(4, 5, 0)))
    ['all']
    """

    __slots__ = ("_nodes", "_open")

    def __init__(self) -> None:
        self._nodes: dict[int, _KeyNode[Item]] = {}
        """The items by predicate; under 0 the items whose pattern has any predicate."""
        self._open: _KeyNode[Item] | None = None

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def add(self, key: Key, item: Item) -> None:
        """Add an item under a pattern; adding it twice changes nothing."""
        node = self._nodes.get(key.predicate)
        if node is None:
            node = self._nodes[key.predicate] = _KeyNode()
            self._open = self._nodes.get(UNBOUND)
        items = node.items(key, make=True)
        relations = items.get(item, ())
        if key.relation not in relations:
            items[item] = (*relations, key.relation)

    def remove(self, key: Key, item: Item) -> None:
        """Remove an item from a pattern, if it is there."""
        node = self._nodes.get(key.predicate)
        if node is None:
            return
        items = node.items(key)
        relations = tuple(r for r in items.pop(item, ()) if r != key.relation)
        if relations:
            items[item] = relations
        elif not items and node.forget(key):
            del self._nodes[key.predicate]
            self._open = self._nodes.get(UNBOUND)

    def unifiable(self, key: Key) -> Iterator[Item]:
        """List the items whose pattern matches some triple that this pattern matches too."""
        nodes = [node for near in (key.predicate, UNBOUND) if (node := self._nodes.get(near)) is not None]
        for node in nodes if key.predicate != UNBOUND else tuple(self._nodes.values()):
            for items in node.unifiable(key):
                # copied, because `RuleDemand.ask` removes items from the index during the iteration
                for item, relations in tuple(items.items()):
                    # Only "must be equal" (1) and "must differ" (-1) exclude each other.
                    if any(relation * key.relation >= 0 for relation in relations):
                        yield item

    def matching(self, s: int, p: int, o: int) -> list[Item]:
        """List the items whose pattern matches the triple, ignoring relations."""
        found: list[Item] = []
        # written for speed: this runs for every changed triple
        for node in (self._nodes.get(p), self._open):
            if node is not None:
                if node.free:
                    found += node.free
                if node.by_object and (items := node.by_object.get(o)):
                    found += items
                if node.by_subject and (items := node.by_subject.get(s)):
                    found += items
                if node.by_both and (items := node.by_both.get((s, o))):
                    found += items
        return found

    def has_matching(self, s: int, p: int, o: int) -> bool:
        """Return True if the pattern of some item matches the triple, ignoring relations."""
        for node in (self._nodes.get(p), self._open):
            if node is not None and (
                node.free or o in node.by_object or s in node.by_subject or (s, o) in node.by_both
            ):
                return True
        return False


class _KeyNode(Generic[Item]):
    """The items whose patterns have one predicate, each with the relations that it was added with."""

    __slots__ = ("by_both", "by_object", "by_subject", "free")

    def __init__(self) -> None:
        self.free: _Items[Item] = {}
        self.by_object: dict[int, _Items[Item]] = {}
        self.by_subject: dict[int, _Items[Item]] = {}
        self.by_both: dict[tuple[int, int], _Items[Item]] = {}

    def items(self, key: Key, *, make: bool = False) -> _Items[Item]:
        """Return the items under a pattern."""
        s, _, o, _ = key
        if s == UNBOUND == o:
            return self.free
        place: Any = self.by_object if s == UNBOUND else self.by_subject if o == UNBOUND else self.by_both
        end: Any = o if s == UNBOUND else s if o == UNBOUND else (s, o)
        found: _Items[Item] = place.setdefault(end, {}) if make else place.get(end, {})
        return found

    def forget(self, key: Key) -> bool:
        """Remove a pattern without items; True if no items are left."""
        s, _, o, _ = key
        self.by_object.pop(o if s == UNBOUND else UNBOUND, None)
        self.by_subject.pop(s if o == UNBOUND else UNBOUND, None)
        self.by_both.pop((s, o), None)
        return not (self.free or self.by_object or self.by_subject or self.by_both)

    def unifiable(self, key: Key) -> Iterator[_Items[Item]]:
        """List the items under the patterns that agree with a pattern in subject and object."""
        s, _, o, _ = key
        yield self.free
        for place, end in ((self.by_object, o), (self.by_subject, s)):
            if end == UNBOUND:
                yield from tuple(place.values())
            elif end in place:
                yield place[end]
        if s != UNBOUND != o:
            yield self.by_both.get((s, o), {})
        elif self.by_both:
            for (subject, value), items in tuple(self.by_both.items()):
                if s in (subject, UNBOUND) and o in (value, UNBOUND):
                    yield items
