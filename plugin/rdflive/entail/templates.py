"""Templates: the triples that explicit triples entail, computed once per kind and not per triple.

Every instance rule of Goasdoué et al., Figure 8, has exactly one instance triple in its body. So the triples
that an explicit triple entails depend only on its *kind*: its property, or for a type triple its class. The
template of a kind is closed under the rules once, over placeholders for subject and object. No derivation is
followed per triple, so cycles of the schema are harmless.

Example: with `:delay rdfs:domain :Train` and `:Train rdfs:subClassOf :Vehicle`, the template of kind :delay
is (SUBJECT, :delay, OBJECT), (SUBJECT, a, :Train), (SUBJECT, a, :Vehicle). Each of the three is an atom of
the kind of its triple: kind :Vehicle has the atom "every subject of :delay".

The same atoms can be built in two directions. *Backward* from each requested kind, by the inverted rules: the
cost depends on the kinds that lead to these. *Forward* from each kind with explicit triples, if all kinds are
requested: the cost depends on the kinds that these entail. A class without instances has no template until
its first instance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from rdflive.entail.schema import Schema, reach
from rdflive.model import Triple

__all__ = ["Atom", "Atoms", "Item", "Kind", "KindTemplates", "Placeholder", "self_atom"]

Kind: TypeAlias = tuple[Any, Any]
"""(property, None), or (`rdf:type` or a subproperty of it, class). (`rdf:type`, None) is the type triples of
all unknown classes.
"""


class Placeholder(Enum):
    """Stands for a term of the explicit triple in a template."""

    SUBJECT = "subject"
    OBJECT = "object"

    # faster than the one of Enum, which is written in Python
    __hash__ = object.__hash__


SUBJECT, OBJECT = Placeholder

Item: TypeAlias = tuple[Any, Any, Any]
"""A triple of a template: terms, or placeholders as subject and object."""


class Atom(NamedTuple):
    """One way to entail triples of a kind: each explicit triple of the kind `source` entails one.

    `subject` and `object` are placeholders or terms. For a class `object` is None.
    """

    source: Kind
    subject: Any
    object: Any
    guard: bool = False
    """True if the object of the explicit triple must not be a literal (it would become a subject)."""
    other: bool = False
    """True if the object must not be a known class, because each known class is a source of its own."""
    own: bool = False
    """True if the explicit triple entails itself, which holds even with a literal as subject."""


Atoms: TypeAlias = dict[Atom, int]
"""Atoms with their weights: 1, or with counts="paths" the number of derivations."""
Entailed: TypeAlias = tuple[Kind, Atom, int]
"""An atom, with the kind that it entails triples of and its weight."""


def self_atom(kind: Kind, *, other: bool = False) -> Atom:
    """Return the atom by which explicit triples of a kind entail themselves."""
    return Atom(kind, SUBJECT, OBJECT if kind[1] is None else None, other=other, own=True)


class KindTemplates:
    """The atoms of all requested kinds, and of kinds on the way to them."""

    def __init__(
        self,
        schema: Schema,
        *,
        is_iri: Callable[[Any], bool],
        is_literal: Callable[[Any], bool],
        is_used: Callable[[Kind], bool],
        paths: bool = False,
    ) -> None:
        self._schema = schema
        self._word = schema.vocabulary.type
        self._is_iri, self._is_literal, self._is_used, self._paths = is_iri, is_literal, is_used, paths
        self.classes: set[Any] = set()
        """The classes whose triples may entail a triple of a requested kind."""
        self.properties: set[Any] = set()
        self.typing: set[Any] = {self._word}
        """`rdf:type` and its subproperties."""
        self.goes_ahead = False
        """True if atoms are built forward, from their sources."""
        self.idle: set[Kind] = set()
        """The sources that have no template because they have no explicit triples."""
        self.atoms: dict[Kind, Atoms] = {}
        """Per kind, the atoms that entail its triples."""
        self.cycles: dict[Kind, list[Any]] = {}
        """With counts="paths": kinds or sources with infinitely many derivations, each with the cycle of the
        schema that causes this.
        """
        self._made: dict[Kind, list[Entailed]] = {}
        """The atoms by the kind that they were built from: the entailed kind, or their source."""
        self._visits: dict[Kind, set[Any]] = {}
        """The classes and properties visited while building, to find the atoms that a change makes stale."""
        self._visitors: dict[Any, set[Kind]] = {}
        """The same by class or property."""

    def atoms_of(self, kind: Kind) -> Atoms:
        """Return the atoms that entail the triples of any kind, known or not."""
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

    def refresh(
        self, changed: Collection[Triple], asked: Collection[Kind], *, everything: bool
    ) -> dict[Kind, Atoms]:
        """Apply changes of the schema and of the requested kinds; `everything` requests all kinds.

        Returns the kinds whose atoms changed, or that became or ceased to be known, each with its old atoms.
        """
        typing, went_ahead = self._schema.typing, self.goes_ahead
        self.goes_ahead = self.must_go_ahead(everything=everything)
        # a new subproperty of rdf:type, or a schema triple about rdf:type itself, may change every template
        is_new = typing != self.typing or went_ahead != self.goes_ahead
        is_new |= any(self._word == s for s, _, _ in changed)
        self.typing = typing
        # a changed schema triple affects the templates that visited one end of it
        changed_ends = {triple[0 if self.goes_ahead else 2] for triple in changed}
        before: dict[Kind, Atoms] = {}
        for start in list(self._made) if is_new else self._visiting(changed_ends):
            self._drop(start, before)
        known = self.classes
        self.classes, self.properties = self._leading(asked)
        sources = self._sources(self.classes, self.properties)
        self.idle &= sources
        starts = self._starts(asked, sources)
        for start in self._made.keys() - starts:
            self._drop(start, before)
        return self._renew(before, starts, {(self._word, c) for c in known ^ self.classes})

    def ask(self, asked: Collection[Kind]) -> dict[Kind, Atoms]:
        """Request more kinds. Returns the same as `refresh`, although no new triple is entailed."""
        classes, properties = self._leading(asked)
        sources = self._sources(classes - self.classes, properties - self.properties)
        self.classes |= classes
        self.properties |= properties
        return self._renew({}, self._starts(asked, sources), ())

    def wake(self, source: Kind) -> list[Entailed]:
        """Build the atoms of an idle source; the graph must not have had triples of it before."""
        self.idle.discard(source)
        self._add(source, None)
        return self._made[source]

    def must_go_ahead(self, *, everything: bool) -> bool:
        """Return True if atoms are built forward.

        A schema triple about rdf:type itself may lead from any class to any other, so all of them are then
        known.
        """
        words, above = self._schema.vocabulary, self._schema.above
        return (
            everything
            or len(self._schema.typing) > 1
            or any(self._word in above[word] for word in (words.sub_property, words.domain, words.range))
        )

    def _leading(self, asked: Collection[Kind]) -> tuple[set[Any], set[Any]]:
        """Return the classes and properties whose triples may entail a triple of a requested kind.

        The parts of a large ontology that no query reads cost nothing.
        """
        schema, words = self._schema, self._schema.vocabulary
        classes = {c for _, c in asked if c is not None}
        properties = {p for p, _ in asked} | self.typing
        if self.goes_ahead:
            return schema.classes | classes, schema.properties | properties
        classes = reach(schema.below[words.sub_class], classes)
        for edges in (schema.below[words.domain], schema.below[words.range]):
            properties |= {p for c in classes for p in edges.get(c, ())}
        return classes, reach(schema.below[words.sub_property], properties)

    def _sources(self, classes: set[Any], properties: set[Any]) -> set[Kind]:
        if not self.goes_ahead:
            return set()
        return {(p, None) for p in properties} | {(p, c) for p in self.typing for c in classes}

    def _starts(self, asked: Collection[Kind], sources: set[Kind]) -> set[Kind]:
        """Return the kinds to build atoms from: the requested kinds, or the used sources."""
        if not self.goes_ahead:
            return {(self._word, None), *asked}
        # the kinds of all other classes and of the schema are never requested one by one
        always = {(p, None) for p in (*self.typing, *self._schema.vocabulary.schema)}
        self.idle -= always
        self.idle |= {s for s in sources.difference(self._made, self.idle, always) if not self._is_used(s)}
        return sources - self.idle

    def _visiting(self, nodes: set[Any]) -> set[Kind]:
        return {start for node in nodes for start in self._visitors.get(node, ())}

    def _renew(
        self, before: dict[Kind, Atoms], starts: set[Kind], named: Collection[Kind]
    ) -> dict[Kind, Atoms]:
        """Build the missing atoms, and compare with the old ones; `named` became or ceased to be known."""
        for start in starts.difference(self._made):
            self._add(start, before)
        for kind in before:
            if not self.atoms[kind]:
                del self.atoms[kind]
        old = {**self.atoms, **before}
        different = {
            kind: atoms or self._unknown(kind, old)
            for kind, atoms in before.items()
            if atoms != self.atoms.get(kind, {})
        }
        # even without atoms it begins or ceases to have triples of its own
        return different | {kind: self._unknown(kind, old) for kind in named if kind not in old}

    def _drop(self, start: Kind, before: dict[Kind, Atoms]) -> None:
        for node in self._visits.pop(start):
            self._visitors[node].discard(start)
            if not self._visitors[node]:
                del self._visitors[node]
        self.cycles.pop(start, None)
        for kind, atom, _ in self._made.pop(start):
            del self._touch(kind, before)[atom]

    def _touch(self, kind: Kind, before: dict[Kind, Atoms] | None) -> Atoms:
        """Return the atoms of a kind for changing, after saving the old ones in `before`."""
        if before is None:
            return self.atoms.setdefault(kind, {})
        if kind not in before:
            before[kind] = self.atoms.get(kind, {})
            self.atoms[kind] = dict(before[kind])
        return self.atoms[kind]

    def _add(self, start: Kind, before: dict[Kind, Atoms] | None) -> None:
        self._visits[start] = set()
        made = self._made[start] = list(self._ahead(start) if self.goes_ahead else self._back(start))
        for kind, atom, weight in made:
            self._touch(kind, before)[atom] = weight
        for node in self._visits[start]:
            self._visitors.setdefault(node, set()).add(start)

    def _back(self, kind: Kind) -> Iterator[Entailed]:
        """Build the atoms of a kind by the inverted rules: the items that entail a triple of it."""
        p, c = kind
        goal: Item = (SUBJECT, p, OBJECT if c is None else c)
        # A schema may name a literal or blank node as a property, but no triple can have one.
        steps = self._schema.premises if self._is_iri(p) else lambda _: ()
        for item, weight in self._closed(kind, goal, steps).items():
            s, q, o = item
            source = (q, o) if q == self._word and c is not None else (q, None)
            # with a range, the subject of the goal is the object of the explicit triple
            guard = s is not SUBJECT
            place = OBJECT if guard else SUBJECT
            is_own = item == goal
            other = is_own and kind == (self._word, None)
            yield kind, Atom(source, place, OBJECT if c is None else None, guard, other, is_own), weight

    def _ahead(self, source: Kind) -> Iterator[Entailed]:
        """Build the atoms of a source: its template."""
        p, c = source
        start: Item = (SUBJECT, p, OBJECT if c is None else c)
        # With a literal as object, ranges do not apply and fewer items follow. Both templates are built.
        # Items that are in the larger one only get a guard.
        items = self._template(source, start, self._is_literal)
        is_typed = c is None and any(item[0] is OBJECT for item in items)
        always = self._template(source, start, self._is_literal_object) if is_typed else items
        other = c is None and p in self.typing
        for item, weight in items.items():
            s, q, o = item
            is_own = item is start
            # see `_back`
            if not (is_own or self._is_iri(q)):
                continue
            kind, place = ((q, o), None) if q == self._word and o is not OBJECT else ((q, None), o)
            known = always.get(item, 0)
            for guard, times in ((False, known), (True, weight - known)):
                if times > 0:
                    yield kind, Atom(source, s, place, guard, other, is_own), times

    def _is_literal_object(self, term: Any) -> bool:
        return term is OBJECT or self._is_literal(term)

    def _template(self, source: Kind, start: Item, is_literal: Callable[[Any], bool]) -> dict[Item, int]:
        """Close the triple of a kind under the rules; each item with its weight."""

        def steps(item: Item) -> Iterable[Item]:
            return [new for new, _, _ in self._schema.conclusions(item, is_literal)]

        return self._closed(source, start, steps)

    def _closed(self, start: Kind, item: Item, steps: Callable[[Item], Iterable[Item]]) -> dict[Item, int]:
        """List the items reachable by steps from an item, with the weight of each: 1, or the number of
        paths.
        """
        ways = {item: 1}
        if self._paths:
            ways = self._counted(start, item, steps)
        else:
            waiting = [item]
            # a queue that grows while it is read
            for passed in waiting:
                new = dict.fromkeys((new for new in steps(passed) if new not in ways), 1)
                ways |= new
                waiting += new
        self._visits[start].update(o if p == self._word and o is not OBJECT else p for _, p, o in ways)
        return ways

    def _counted(self, start: Kind, item: Item, steps: Callable[[Item], Iterable[Item]]) -> dict[Item, int]:
        ordered, cycle = _depth_first(item, steps)
        if cycle is not None:
            self.cycles[start] = [o if p == self._word else p for _, p, o in cycle]
            return dict.fromkeys(ordered, 1)
        ways = {item: 1}
        # An item comes after all its predecessors, so its number of paths is complete here.
        for passed in reversed(ordered):
            for new in steps(passed):
                ways[new] = ways.get(new, 0) + ways[passed]
        return ways


def _depth_first(
    start: Item, successors: Callable[[Item], Iterable[Item]]
) -> tuple[list[Item], list[Item] | None]:
    """List the reachable items, each after its successors, and one cycle if there is any."""
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
