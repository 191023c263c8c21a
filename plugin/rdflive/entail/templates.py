"""What the explicit triples of a kind entail, computed once per kind and not per triple: closed templates.

Every instance rule of Goasdoué et al., Figure 8, has exactly one instance triple in its body. So what an
explicit triple entails depends only on its *kind*: its property, or for a type triple its class. The template
of a kind is closed under the rules once, over placeholders for subject and object. No derivation is followed
per triple, so cycles of the schema do no harm.

Example: with `:delay rdfs:domain :Train` and `:Train rdfs:subClassOf :Vehicle`, the template of kind :delay
is (SUBJECT, :delay, OBJECT), (SUBJECT, a, :Train), (SUBJECT, a, :Vehicle). Each of the three is an atom of
the kind that it gives: kind :Vehicle has the atom "every subject of :delay".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from rdflive.entail.schema import Schema

__all__ = ["Atom", "Atoms", "Item", "Kind", "Placeholder", "Templates", "self_atom", "steps_from"]

Kind: TypeAlias = tuple[Any, Any]
"""(property, None), or (`rdf:type` or a subproperty of it, class); (`rdf:type`, None) is the type triples of
all classes that are not known.
"""


class Placeholder(Enum):
    """Stands for a term of the explicit triple in a template."""

    SUBJECT = "subject"
    OBJECT = "object"

    # The one of Enum is written in Python, and items are hashed all the time.
    __hash__ = object.__hash__


Item: TypeAlias = tuple[Any, Any, Any]
"""A triple of a template: terms, or placeholders as subject and object."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One way to entail triples of a kind: each explicit triple of the kind `source` entails one.

    `subject` and `object` are placeholders or terms. For a class `object` is None.
    """

    source: Kind
    subject: Any
    object: Any
    guard: bool = False
    """True if the object of the explicit triple must not be a literal (it would become a subject)."""
    other: bool = False
    """True if the object must not be a known class: each of these is a source of its own."""
    own: bool = False
    """True if the explicit triple entails itself, which holds even with a literal as subject."""


Atoms: TypeAlias = dict[Atom, int]
"""Atoms with their weights: 1, or with counts="paths" the number of derivations."""


def self_atom(kind: Kind, *, other: bool = False) -> Atom:
    """Give the atom by which explicit triples of a kind entail themselves."""
    return Atom(
        kind, Placeholder.SUBJECT, Placeholder.OBJECT if kind[1] is None else None, other=other, own=True
    )


def steps_from(
    item: Item, schema: Schema, *, literal: bool, is_literal: Callable[[Any], bool]
) -> Iterable[tuple[Item, str, tuple[Any, Any, Any]]]:
    """List what one application of an instance rule gives: the new item, the rule, the schema triple.

    `literal` tells whether the object of the explicit triple is a literal.
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
    """The templates of all kinds that are *known*: named by the schema and leading to a kind that is asked
    for.
    """

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
        """Per known kind, the atoms that entail its triples."""
        self.cycles: dict[Kind, list[Any]] = {}
        """With counts="paths": kinds with endless derivations, each with the cycle of the schema that is the
        cause.
        """
        self._entails: dict[Kind, list[tuple[Kind, Atom, int]]] = {}
        """Source kind → the atoms that its template gives, with the kind of each."""
        self._visits: dict[Kind, frozenset[Any]] = {}
        """Source kind → the classes and properties that its template depends on, to find stale templates."""
        self._visitors: dict[Any, set[Kind]] = {}
        """The same by class or property."""

    def is_trivial(self, kind: Kind, atoms: Atoms) -> bool:
        """Tell whether, by these atoms, only explicit triples are of a kind."""
        return len(atoms) == 1 and self_atom(kind, other=kind == (self._word, None)) in atoms

    def atoms_of(self, kind: Kind) -> Atoms:
        """Give the atoms that entail the triples of any kind, known or not."""
        found = self.atoms.get(kind)
        return self._unknown(kind, self.atoms) if found is None else found

    def _unknown(self, kind: Kind, atoms: dict[Kind, Atoms]) -> Atoms:
        p, c = kind
        if c is None:
            return {self_atom(kind): 1}
        # a class that the schema does not name: the atoms of all such classes, narrowed to this one
        return {
            Atom((atom.source[0], c), atom.subject, None, own=atom.own): weight
            for atom, weight in atoms.get((p, None), {}).items()
        }

    def refresh(self, changed: set[Any], asked: Collection[Kind], everything: bool) -> dict[Kind, Atoms]:
        """Follow a change of the schema at these subjects, and of the kinds asked for by name or altogether.

        Returns the kinds whose atoms changed, or that became or ceased to be known, each with its old atoms.
        """
        typing = self._schema.typing
        # a new subproperty of rdf:type, or a schema triple about rdf:type itself, may change every template
        is_new = typing != self.typing or self._word in changed
        self.typing = typing
        before = self.classes | self.properties
        self.classes, self.properties = self._leading(asked, everything=everything)
        # templates stop at names that lead to nothing wanted; some may have stopped at one that now does
        changed = changed | (self.classes | self.properties) - before
        sources = self._sources()
        passing = self._visiting(changed)
        stale = {s for s in self._entails if is_new or s not in sources or s in passing}
        return self._renew(stale, sources)

    def ask(self, asked: Collection[Kind], everything: bool) -> dict[Kind, Atoms]:
        """Make more kinds known. Returns what `refresh` does, although nothing new is entailed."""
        classes, properties = self._leading(asked, everything=everything)
        classes, properties = classes - self.classes, properties - self.properties
        self.classes |= classes
        self.properties |= properties
        # one that is a class was known as a property perhaps, and the reverse; its templates are made anew
        stale = self._visiting(classes | properties)
        return self._renew(stale, stale | self._sources_of(classes, properties))

    def _visiting(self, nodes: set[Any]) -> set[Kind]:
        return {source for node in nodes for source in self._visitors.get(node, ())}

    def _sources(self) -> set[Kind]:
        return self._sources_of(self.classes, self.properties)

    def _sources_of(self, classes: set[Any], properties: set[Any]) -> set[Kind]:
        return {(p, None) for p in properties} | {(p, c) for p in self.typing for c in classes}

    def _renew(self, stale: set[Kind], sources: set[Kind]) -> dict[Kind, Atoms]:
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

        Templates stop at these, so that a large ontology costs nothing for the parts that no query reads.
        """
        schema, word = self._schema, self._word
        classes = {c for _, c in asked if c is not None}
        properties = {p for p, _ in asked} | self.typing
        if everything or any(word in edges for edges in (schema.sub_property, schema.domain, schema.range)):
            # A rule about rdf:type itself may make any property or class lead to any other.
            return schema.classes | classes, schema.properties | properties
        classes = schema.below(schema.vocabulary.sub_class, classes)
        for edges in (schema.domain, schema.range):
            properties |= {p for p, above in edges.items() if not classes.isdisjoint(above)}
        return classes, schema.below(schema.vocabulary.sub_property, properties)

    def _touch(self, kind: Kind, before: dict[Kind, Atoms]) -> Atoms:
        """Give the atoms of a kind for changing, after saving the old ones in `before`."""
        if kind not in before:
            before[kind] = self.atoms.get(kind, {})
            self.atoms[kind] = dict(before[kind])
        return self.atoms[kind]

    def _drop(self, source: Kind, before: dict[Kind, Atoms]) -> None:
        for node in self._visits.pop(source, ()):
            self._visitors[node].discard(source)
            if not self._visitors[node]:
                del self._visitors[node]
        self.cycles.pop(source, None)
        for kind, atom, _ in self._entails.pop(source, ()):
            del self._touch(kind, before)[atom]

    def _add(self, source: Kind, before: dict[Kind, Atoms]) -> None:
        p, c = source
        start: Item = (Placeholder.SUBJECT, p, Placeholder.OBJECT if c is None else c)
        self._visits[source] = frozenset()  # each of the two templates below adds to it
        # With a literal as object, ranges do not apply and fewer items follow. Both templates are made; what
        # only the larger one has gets a guard.
        items = self._template(source, start, literal=False)
        is_typed = c is None and any(item[0] is Placeholder.OBJECT for item in items)
        always = self._template(source, start, literal=True) if is_typed else items
        entails = self._entails[source] = []
        for item, weight in items.items():
            known = always.get(item, 0)
            for guard, times in ((False, known), (True, weight - known)):
                # A schema may speak of a literal or blank node as of a property, but no triple can have one.
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
        """Close the triple of a kind under the rules; each item with its weight."""
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
            # An item comes after all that lead to it, so its number of paths is complete when it is passed
            # on.
            for item in reversed(ordered):
                for new in steps(item):
                    ways[new] = ways.get(new, 0) + ways[item]
        if start[1] == self._word:
            visits.add(start[2])
        self._visits[source] |= visits
        for node in visits:
            self._visitors.setdefault(node, set()).add(source)
        return ways

    def _leads(self, item: Item) -> bool:
        _, p, o = item
        return p in self.properties if p != self._word else o is Placeholder.OBJECT or o in self.classes


def _depth_first(
    start: Item, successors: Callable[[Item], list[Item]]
) -> tuple[list[Item], list[Item] | None]:
    """List what can be reached, each item after all items that it leads to, and one cycle if there is any."""
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
