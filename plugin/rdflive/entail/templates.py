"""What explicit triples entail, by their kind alone: closed templates.

Every instance rule of paper 003, Figure 8, has one instance triple in its body. So what an explicit triple
entails depends on its *kind* only: its property, or for a type triple its class. The template of a kind is
closed under the rules once, over placeholders, and no derivation is followed per triple, so cycles of the
schema do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from rdflive.entail.schema import Schema

__all__ = ["Atom", "Atoms", "Item", "Kind", "Placeholder", "Templates", "self_atom", "steps_from"]

Kind: TypeAlias = tuple[Any, Any]
"""A property and None, or `rdf:type` (or a subproperty) and a class; with None, any class not named."""


class Placeholder(Enum):
    """What stands for the terms of an explicit triple in a template."""

    SUBJECT = "subject"
    OBJECT = "object"

    __hash__ = object.__hash__


Item: TypeAlias = tuple[Any, Any, Any]
"""A triple of a template: terms, and places of the explicit triple in front and at the end."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One way to entail triples of a kind: from each explicit triple of the kind `source`.

    `subject` and `object` are places or terms; of a class `object` is None.
    """

    source: Kind
    subject: Any
    object: Any
    guard: bool = False
    """True where the object of the explicit triple must not be a literal."""
    other: bool = False
    """True where it must not be a known class either: those are sources of their own."""
    own: bool = False
    """True where explicit triples entail themselves, as they do even with a literal as subject."""


Atoms: TypeAlias = dict[Atom, int]
"""Atoms, each with how often it entails: once, or the number of its derivations where paths count."""


def self_atom(kind: Kind, *, other: bool = False) -> Atom:
    """Give the atom by which explicit triples entail themselves."""
    return Atom(
        kind, Placeholder.SUBJECT, Placeholder.OBJECT if kind[1] is None else None, other=other, own=True
    )


def steps_from(
    item: Item, schema: Schema, *, literal: bool, is_literal: Callable[[Any], bool]
) -> Iterable[tuple[Item, str, tuple[Any, Any, Any]]]:
    """List what one instance rule gives from an item: the new item, the rule, the schema triple.

    `literal` tells whether the object of the explicit triple is one.
    """
    s, p, o = item
    words = schema.vocabulary
    for above in schema.sub_property.get(p, ()):
        yield (s, above, o), "rdfs7", (p, words.sub_property, above)
    for kind in schema.domain.get(p, ()):
        yield (s, words.type, kind), "rdfs2", (p, words.domain, kind)
    if not (literal if o is Placeholder.OBJECT else is_literal(o)):
        for kind in schema.range.get(p, ()):
            yield (o, words.type, kind), "rdfs3", (p, words.range, kind)
    if p == words.type and o is not Placeholder.OBJECT:
        for above in schema.sub_class.get(o, ()):
            yield (s, p, above), "rdfs9", (o, words.sub_class, above)


class Templates:
    """The templates of all kinds that the schema names or somebody asks for, by what they entail."""

    def __init__(
        self,
        schema: Schema,
        *,
        is_iri: Callable[[Any], bool],
        is_literal: Callable[[Any], bool],
        paths: bool = False,
    ) -> None:
        self._schema = schema
        self._word = schema.vocabulary.type
        self._is_iri, self._is_literal, self._paths = is_iri, is_literal, paths
        self.classes: set[Any] = set()
        self.properties: set[Any] = set()
        self.typing: set[Any] = {self._word}
        """`rdf:type` and its subproperties."""
        self.atoms: dict[Kind, Atoms] = {}
        """How the triples of each known kind are entailed."""
        self.cycles: dict[Kind, list[Any]] = {}
        """Where paths count: the kinds whose paths have no end, each with a cycle of the schema."""
        self._entails: dict[Kind, list[tuple[Kind, Atom, int]]] = {}
        self._visits: dict[Kind, frozenset[Any]] = {}

    def is_trivial(self, kind: Kind, atoms: Atoms) -> bool:
        """Tell whether only explicit triples are of a kind, as far as these atoms go."""
        return len(atoms) == 1 and self_atom(kind, other=kind == (self._word, None)) in atoms

    def atoms_of(self, kind: Kind) -> Atoms:
        """Give how the triples of any kind are entailed, known or not."""
        found = self.atoms.get(kind)
        return self._unknown(kind, self.atoms) if found is None else found

    def _unknown(self, kind: Kind, atoms: dict[Kind, Atoms]) -> Atoms:
        p, c = kind
        if c is None:
            return {self_atom(kind): 1}
        return {
            Atom((atom.source[0], c), atom.subject, None, own=atom.own): weight
            for atom, weight in atoms.get((p, None), {}).items()
        }

    def refresh(self, changed: set[Any], asked: Collection[Kind], everything: bool) -> dict[Kind, Atoms]:
        """Follow a change of the schema, at these subjects, and of what is asked for, by name or altogether.

        Gives the kinds whose atoms changed, or that are known since then or no longer, each with its atoms
        from before.
        """
        typing = self._schema.typing
        is_new = typing != self.typing or self._word in changed
        self.typing = typing
        before = self.classes | self.properties
        self.classes, self.properties = self._leading(asked, everything=everything)
        changed = changed | (self.classes | self.properties) - before
        sources = self._sources()
        stale = [s for s in self._entails if is_new or s not in sources or self._passes(s, changed)]
        return self._renew(stale, sources)

    def ask(self, asked: Collection[Kind], everything: bool) -> dict[Kind, Atoms]:
        """Learn to know more kinds; gives what `refresh` does, though nothing is entailed that was not."""
        before = self.classes | self.properties
        classes, properties = self._leading(asked, everything=everything)
        self.classes, self.properties = self.classes | classes, self.properties | properties
        new = (self.classes | self.properties) - before
        return self._renew([s for s in self._entails if self._passes(s, new)], self._sources())

    def _passes(self, source: Kind, nodes: set[Any]) -> bool:
        return not self._visits[source].isdisjoint(nodes)

    def _sources(self) -> set[Kind]:
        return {(p, None) for p in self.properties} | {(p, c) for p in self.typing for c in self.classes}

    def _renew(self, stale: list[Kind], sources: set[Kind]) -> dict[Kind, Atoms]:
        before: dict[Kind, Atoms] = {}
        for source in stale:
            self._drop(source, before)
        for source in sources.difference(self._entails):
            self._add(source, before)
        for kind in before:
            if not self.atoms[kind]:
                del self.atoms[kind]
        old = {**self.atoms, **before}
        return {
            kind: atoms or self._unknown(kind, old)
            for kind, atoms in before.items()
            if atoms != self.atoms.get(kind, {})
        }

    def _leading(self, asked: Collection[Kind], *, everything: bool) -> tuple[set[Any], set[Any]]:
        """Give the classes and properties whose triples may entail one of the kinds that are asked for.

        Templates do not go beyond them.
        """
        schema, word = self._schema, self._word
        classes = {c for _, c in asked if c is not None}
        properties = {p for p, _ in asked} | self.typing
        if everything or any(word in edges for edges in (schema.sub_property, schema.domain, schema.range)):
            return schema.classes | classes, schema.properties | properties
        classes = schema.below(schema.vocabulary.sub_class, classes)
        for edges in (schema.domain, schema.range):
            properties |= {p for p, above in edges.items() if not classes.isdisjoint(above)}
        return classes, schema.below(schema.vocabulary.sub_property, properties)

    def _touch(self, kind: Kind, before: dict[Kind, Atoms]) -> Atoms:
        """Give the atoms of a kind to be changed, keeping those from before as they are."""
        if kind not in before:
            before[kind] = self.atoms.get(kind, {})
            self.atoms[kind] = dict(before[kind])
        return self.atoms[kind]

    def _drop(self, source: Kind, before: dict[Kind, Atoms]) -> None:
        self._visits.pop(source, None)
        self.cycles.pop(source, None)
        for kind, atom, _ in self._entails.pop(source, ()):
            del self._touch(kind, before)[atom]

    def _add(self, source: Kind, before: dict[Kind, Atoms]) -> None:
        p, c = source
        start: Item = (Placeholder.SUBJECT, p, Placeholder.OBJECT if c is None else c)
        self._visits[source] = frozenset()
        items = self._template(source, start, literal=False)
        is_typed = c is None and any(item[0] is Placeholder.OBJECT for item in items)
        always = self._template(source, start, literal=True) if is_typed else items
        entails = self._entails[source] = []
        for item, weight in items.items():
            known = always.get(item, 0)
            for guard, times in ((False, known), (True, weight - known)):
                if times > 0 and (item == start or self._is_iri(item[1])):
                    kind, atom = self._atom(source, item, guard=guard, own=item == start)
                    entails.append((kind, atom, times))
                    self._touch(kind, before)[atom] = times

    def _atom(self, source: Kind, item: Item, *, guard: bool, own: bool) -> tuple[Kind, Atom]:
        s, p, o = item
        other = source[1] is None and source[0] in self.typing
        if p == self._word and o is not Placeholder.OBJECT:
            return (p, o), Atom(source, s, None, guard, other, own)
        return (p, None), Atom(source, s, o, guard, other, own)

    def _template(self, source: Kind, start: Item, *, literal: bool) -> dict[Item, int]:
        """Close the triple of a kind under the rules; each item with the number of ways that count."""
        visits: set[Any] = {start[1]}

        def steps(item: Item) -> list[Item]:
            found = [
                new
                for new, _, _ in steps_from(item, self._schema, literal=literal, is_literal=self._is_literal)
            ]
            visits.update(o if p == self._word else p for _, p, o in found)
            return [new for new in found if self._leads(new)]

        ordered, cycle = _depth_first(start, steps)
        ways = dict.fromkeys(ordered, 1)
        if self._paths and cycle is not None:
            self.cycles[source] = [o if p == self._word else p for _, p, o in cycle]
        elif self._paths:
            ways = {start: 1}
            for item in reversed(ordered):
                for new in steps(item):
                    ways[new] = ways.get(new, 0) + ways[item]
        if start[1] == self._word:
            visits.add(start[2])
        self._visits[source] |= visits
        return ways

    def _leads(self, item: Item) -> bool:
        _, p, o = item
        return p in self.properties if p != self._word else o is Placeholder.OBJECT or o in self.classes


def _depth_first(
    start: Item, successors: Callable[[Item], list[Item]]
) -> tuple[list[Item], list[Item] | None]:
    """List what can be reached, each item after all that it leads to, and a cycle if there is one."""
    done: list[Item] = []
    finished: set[Item] = set()
    path: dict[Item, None] = {start: None}
    waiting = [iter(successors(start))]
    cycle: list[Item] | None = None
    while waiting:
        for new in waiting[-1]:
            if new in path:
                nodes = list(path)
                cycle = cycle or [*nodes[nodes.index(new) :], new]
            elif new not in finished:
                path[new] = None
                waiting.append(iter(successors(new)))
                break
        else:
            waiting.pop()
            item, _ = path.popitem()
            finished.add(item)
            done.append(item)
    return done, cycle
