"""The kinds of entailed triples that are kept for one graph, and the way from explicit triples to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from rdflive.dictionary import Dictionary
from rdflive.entail.collection import no_collection
from rdflive.entail.entailment import ExplicitGraph, Triple
from rdflive.entail.schema import Schema
from rdflive.entail.sources import Sources
from rdflive.entail.table import Key, Pick, Table
from rdflive.entail.templates import Atom, Atoms, Kind, Place, Templates
from rdflive.entail.vocabulary import Vocabulary
from rdflive.entail.ways import Ways

__all__ = ["Kinds", "Step"]

Step: TypeAlias = tuple[Table, Pick, Atom, int]
"""What an explicit triple entails: of which kind, its key, by which atom, its weight."""


class Kinds:
    """The schema, the templates it makes, and a table for every kind that is kept."""

    def __init__(self, graph: ExplicitGraph, *, paths: bool) -> None:
        self.words = Vocabulary.of(graph.to_native)
        self.schema = Schema(self.words)
        self.sources = Sources(graph, self.words)
        self.is_literal = self.sources.is_literal
        self.templates = Templates(
            self.schema, is_iri=graph.iri_test(), is_literal=self.is_literal, paths=paths
        )
        self.tables: dict[Kind, Table] = {}
        self._dictionary = graph.dictionary
        self._routes: dict[Any, dict[Any, dict[tuple[Kind, Atom], Step]]] = {}

    def __contains__(self, predicate: Any) -> bool:
        return predicate in self._routes

    def steps(self, p: Any, o: Any) -> Iterable[Step] | None:
        """Give what explicit triples of a property entail that is kept; None where it is not known."""
        by_class = self._routes.get(p)
        if by_class is None:
            return None
        templates = self.templates
        return by_class.get(o if p in templates.typing and o in templates.classes else None, _NONE).values()

    def kind_of(self, triple: Triple) -> Kind:
        """Give the kind of an entailed triple."""
        _, p, o = triple
        return (p, o) if p == self.words.type and o in self.templates.classes else (p, None)

    def can_count(self, kind: Kind, atoms: Atoms) -> bool:
        """Tell whether counting pays at all.

        Not where only explicit triples are of the kind, nor for the classes that nothing is known of: when
        one of them gets known it must be nowhere yet.
        """
        return kind != (self.words.type, None) and not self.templates.is_trivial(kind, atoms)

    def open(self, kind: Kind, atoms: Atoms) -> Table:
        """Begin to keep a kind."""
        table = self.tables[kind] = Table(kind, self._dictionary)
        self.route(table, atoms)
        return table

    def close(self, table: Table) -> None:
        """Keep a kind no longer."""
        self.route(table, {})
        table.release()
        del self.tables[table.kind]

    def route(self, table: Table, atoms: Atoms) -> None:
        """Have explicit triples find a table by these atoms, and no others."""
        for atom in table.ways.atoms:
            p, c = atom.source
            del self._routes[p][c][table.kind, atom]
            if not self._routes[p][c]:
                del self._routes[p][c]
            if not self._routes[p]:
                del self._routes[p]
        for atom, weight in atoms.items():
            p, c = atom.source
            step = (table, table.pick(atom), atom, weight)
            self._routes.setdefault(p, {}).setdefault(c, {})[table.kind, atom] = step
        table.ways = Ways(atoms)
        table.settle()
        table.is_trivial = self.templates.is_trivial(table.kind, atoms)

    def entailing(self, table: Table, key: Key, ways: Ways | None = None) -> Iterator[Triple]:
        """List the explicit triples that entail a triple, by other ways than those of its table if given."""
        known = self.templates.classes if ways is None else ways.known
        ways = table.ways if ways is None else ways
        table.lookups += len(ways)
        return ways.entailing(self.sources, known, *table.terms(key))

    def holds(self, table: Table, key: Key, ways: Ways | None = None) -> bool:
        """Tell whether some explicit triple entails a triple."""
        return next(self.entailing(table, key, ways), None) is not None

    def extension(self, table: Table, atoms: Iterable[Atom], known: Collection[Any]) -> set[Key]:
        """Give the keys of all triples that are entailed by these atoms, with these classes known."""
        found: set[Key] = set()
        table.size = 0
        for atom in atoms:
            triples = list(self.sources.matches(atom, known))
            table.size += len(triples)
            found.update(table.keys(atom, triples))
        return found

    def keys(self, table: Table, atom: Atom, known: Collection[Any]) -> Iterable[Key]:
        """Give what explicit triples entail by one atom, each as often as they do."""
        read = _Read(self.sources.matches(atom, known), self._dictionary)
        if _reads_object(atom):
            read.number_objects()
        return table.column(atom, read.subjects, read.values)

    def count(self, tables: Mapping[Table, Atoms], now: int = 0) -> None:
        """Count the supports of all triples of some kinds, reading every explicit triple once for all."""
        uses: dict[Atom, list[tuple[Table, Atom, int]]] = {}
        for table, atoms in tables.items():
            for atom, weight in atoms.items():
                source = Atom(atom.source, Place.SUBJECT, Place.OBJECT, other=atom.other, own=True)
                uses.setdefault(source, []).append((table, atom, weight))
        counts: dict[Table, Counter[Key]] = {table: Counter() for table in tables}
        sizes = Counter[Table]()
        with no_collection():
            for source, entails in uses.items():
                read = self._count(source, entails, counts)
                sizes.update({table: read for table, _, _ in entails})
        for table, counted in counts.items():
            table.keep(counted, sizes[table], now)

    def _count(
        self, source: Atom, entails: list[tuple[Table, Atom, int]], counts: dict[Table, Counter[Key]]
    ) -> int:
        """Add what the explicit triples of one kind entail; gives how many there are."""
        read = _Read(self.sources.matches(source, self.templates.classes), self._dictionary)
        if any(_reads_object(atom) for _, atom, _ in entails):
            read.number_objects()
        odd = {i for i, triple in enumerate(read.triples) if self.is_literal(triple[0])}
        for table, atom, weight in entails:
            subjects, values = read.subjects, read.values
            if atom.guard or (odd and not atom.own):
                fits = [
                    i
                    for i, (_, _, o) in enumerate(read.triples)
                    if (atom.own or i not in odd) and not (atom.guard and self.is_literal(o))
                ]
                subjects, values = [subjects[i] for i in fits], [values[i] for i in fits]
            keys = table.column(atom, subjects, values)
            if weight == 1:
                counts[table].update(keys)
            else:
                for key in keys:
                    counts[table][key] += weight
        return len(read.triples)


class _Read:
    """Explicit triples of one kind, as columns of ids; in place of the objects, until they are numbered,
    stand the subjects."""

    def __init__(self, triples: Iterable[Triple], dictionary: Dictionary) -> None:
        self._number = _numberer(dictionary.ids.get, dictionary.intern)
        self.triples = list(triples)
        self.values = self.subjects = [self._number(s) for s, _, _ in self.triples]

    def number_objects(self) -> None:
        """Give the objects ids as well."""
        self.values = [self._number(o) for _, _, o in self.triples]


def _reads_object(atom: Atom) -> bool:
    return atom.guard or Place.OBJECT in (atom.subject, atom.object)


def _numberer(known: Callable[[Any], int | None], intern: Callable[[Any], int]) -> Callable[[Any], int]:
    """Make a quicker `intern` for many terms, most of them known."""
    return lambda term: known(term) or intern(term)


_NONE: dict[Any, Any] = {}
