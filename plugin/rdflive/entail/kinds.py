"""The kinds of entailed triples that one graph keeps, the routes to them, and the choice of their form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Literal, TypeAlias

from rdflive.entail.entailment import ExplicitGraph
from rdflive.entail.routes import Route, Routes
from rdflive.entail.schema import RdfsTerms, Schema
from rdflive.entail.sources import Columns, Sources
from rdflive.entail.table import EntailedTable, Key, Ways
from rdflive.entail.templates import Atom, Atoms, Kind, KindTemplates
from rdflive.model import Triple

__all__ = ["RENT", "Kinds", "Strategy", "estimate", "should_count", "should_forget"]

Strategy: TypeAlias = Literal["auto", "saturate", "reformulate"]

RENT: Final = 1e-5
"""The cost of keeping one entry during one update of the graph, in look-ups."""
LEAST: Final = 100
"""The least price: below this many look-ups no change of strategy is worth its cost."""


def should_count(table: EntailedTable, suspects: int) -> bool:
    """Return True if a reformulated kind has cost as many look-ups as counting it would.

    The cost is the number of look-ups made so far, plus those for the suspects of the present update. The
    price is the number of explicit triples that entail a triple of the kind, because counting reads them all.
    This is the ski-rental rule: buying when the rent paid equals the price costs at most twice the best
    choice in hindsight.
    """
    # One suspect may need a look-up along every way.
    return table.lookups + suspects * len(table.ways) > _price(table)


def should_forget(table: EntailedTable, now: int) -> bool:
    """Return True if a saturated kind costs more to keep than it saves, by the same rule.

    `now` counts updates of the graph.
    """
    return _rent(table, now) - _saved(table) > _price(table)


def estimate(table: EntailedTable, now: int) -> str:
    """Describe the known costs of a kind in either form."""
    if table.is_trivial:
        return "explicit triples only"
    count = len(table.ways.atoms)
    ways = f"{count:,} {'way' if count == 1 else 'ways'} to entail it"
    if table.counts is None:
        return (
            f"reformulated, {ways}; {table.lookups:,} look-ups for {table.updates:,} changes; counting it "
            f"costs {_price(table):,}"
        )
    return (
        f"saturated, {ways}; {len(table.counts):,} entries, whose memory is worth {_rent(table, now):,.0f} "
        f"look-ups so far; they saved up to {_saved(table):,} at {table.updates:,} changes"
    )


def _price(table: EntailedTable) -> int:
    # Small kinds would otherwise switch back and forth with every few updates.
    return max(table.size, LEAST)


def _rent(table: EntailedTable, now: int) -> float:
    return (now - table.since) * len(table.counts or ()) * RENT


def _saved(table: EntailedTable) -> int:
    # without counts, each change would have cost up to one look-up per way
    return table.updates * len(table.ways)


class Kinds:
    """The schema, the templates that follow from it, and a table for every kind that is kept."""

    def __init__(self, graph: ExplicitGraph, *, paths: bool, only_classes: bool = False) -> None:
        self.words = RdfsTerms.of(graph.to_native, only_classes=only_classes)
        self.schema = Schema(self.words)
        self.sources = Sources(graph, self.schema)
        self.is_literal = self.sources.is_literal
        self.templates = KindTemplates(
            self.schema,
            is_iri=graph.iri_test(),
            is_literal=self.is_literal,
            is_used=self.sources.has,
            paths=paths,
        )
        self.tables: dict[Kind, EntailedTable] = {}
        self.intern = graph.dictionary.intern
        self._dictionary = graph.dictionary
        # Only inside `reading_once`; between updates columns would be out of date.
        self._columns: dict[Kind, Columns] | None = None
        self.routes = Routes(self.words.schema)

    def find(self, p: Any, o: Any) -> Route | None:
        """Return the route from explicit triples with this property and object to kept kinds; None if there
        is none.

        The property must be one that `routes` knows.
        """
        templates = self.templates
        # inlined `source_of`: this runs for every change
        return self.routes.find(p, o if p in templates.typing and o in templates.classes else None)

    def source_of(self, p: Any, o: Any) -> Kind:
        """Return the kind of an explicit triple as a source; all unknown classes share one kind."""
        templates = self.templates
        return p, o if p in templates.typing and o in templates.classes else None

    def kind_of(self, triple: Triple) -> Kind:
        """Return the kind of an entailed triple."""
        _, p, o = triple
        return (p, o) if p == self.words.type and o in self.templates.classes else (p, None)

    def can_count(self, kind: Kind, ways: Ways) -> bool:
        """Return True if counting supports can pay.

        It cannot if only explicit triples are of the kind. The kind of all classes that the schema does not
        name must not be counted either: a class that the schema names later gets a kind of its own.
        """
        return kind != (self.words.type, None) and not ways.is_trivial

    def open(self, kind: Kind, atoms: Atoms) -> EntailedTable:
        """Start keeping a kind."""
        table = self.tables[kind] = EntailedTable(kind, self._dictionary)
        self.route(table, atoms)
        return table

    def close(self, table: EntailedTable) -> None:
        """Stop keeping a kind."""
        # first, so that no route leads to a table whose terms are released
        self.route(table, {})
        table.release()
        del self.tables[table.kind]

    def route(self, table: EntailedTable, atoms: Atoms) -> None:
        """Replace the routes to a table by the routes of these atoms."""
        old = table.ways.atoms
        for atom, _ in old.items() - atoms.items():
            self.routes.remove(table, atom)
        for atom, weight in atoms.items() - old.items():
            self.routes.add((table, table.pick(atom), atom, weight))
        table.ways = Ways(atoms)
        table.settle()
        table.is_trivial = table.ways.is_trivial

    def wake(self, sources: Iterable[Kind], is_wanted: Callable[[Kind], bool]) -> set[EntailedTable]:
        """Build the templates of idle sources, before their first explicit triples are followed.

        Returns the tables of the kinds that these sources entail. Existing counts do not change.
        """
        found = set[EntailedTable]()
        for source in sources:
            for kind, atom, weight in self.templates.wake(source):
                if is_wanted(kind):
                    table = self.tables.get(kind) or self.open(kind, {})
                    self.routes.add((table, table.pick(atom), atom, weight))
                    table.ways.add(atom, weight)
                    table.is_trivial &= atom.own
                    found.add(table)
        return found

    def entailing(self, table: EntailedTable, key: Key, ways: Ways | None = None) -> Iterator[Triple]:
        """List the explicit triples that entail a triple, by the given ways or else those of its table."""
        known = self.templates.classes if ways is None else ways.known
        ways = table.ways if ways is None else ways
        # for `should_count`, which compares the cost of look-ups with the price of counting
        table.lookups += len(ways)
        return ways.entailing(self.sources, known, *table.terms(key))

    def holds(self, table: EntailedTable, key: Key, ways: Ways | None = None) -> bool:
        """Return True if some explicit triple entails a triple."""
        return next(self.entailing(table, key, ways), None) is not None

    def extension(self, table: EntailedTable, atoms: Iterable[Atom], known: Collection[Any]) -> set[Key]:
        """Return the keys of all triples that these atoms entail, with `known` as the classes of the
        schema.
        """
        return {key for atom in atoms for key in self.keys(table, atom, known)}

    @contextmanager
    def reading_once(self) -> Iterator[None]:
        """Read the explicit triples of each kind at most once inside the block; they must not change
        meanwhile.
        """
        self._columns = {}
        try:
            yield
        finally:
            self._columns = None

    def columns(self, source: Kind, known: Collection[Any], *, other: bool) -> Columns:
        """Read the explicit triples of a kind. With `other`, read only those whose class the schema does not
        name.
        """
        cache = {} if self._columns is None else self._columns
        # not cached with `other`: the result depends on `known`, which changes with the schema
        found = cache.get(source) if not other else None
        if found is None:
            p, c = source
            triples = self.sources.explicit((None, p, c))
            if other:
                triples = [triple for triple in triples if triple[2] not in known]
            found = Columns(triples, self._dictionary, self.is_literal)
            if not other:
                cache[source] = found
        return found

    def keys(self, table: EntailedTable, atom: Atom, known: Collection[Any]) -> Iterable[Key]:
        """Return the keys that explicit triples entail by one atom, with repetitions."""
        return table.column(atom, *self.columns(atom.source, known, other=atom.other).of(atom))

    def count(self, tables: Mapping[EntailedTable, Atoms], now: int = 0) -> None:
        """Count the supports of all triples of some kinds, reading each explicit triple once for all of
        them.
        """
        counts: dict[EntailedTable, Counter[Key]] = {table: Counter() for table in tables}
        sizes = Counter[EntailedTable]()
        # Several kinds often have the same sources, as all superclasses of a class do.
        with nullcontext() if self._columns is not None else self.reading_once():
            for table, atoms in tables.items():
                for atom, weight in atoms.items():
                    columns = self.columns(atom.source, self.templates.classes, other=atom.other)
                    sizes[table] += len(columns)
                    keys = table.column(atom, *columns.of(atom))
                    if weight == 1:
                        counts[table].update(keys)  # Counter does this in C
                    else:
                        for key in keys:
                            counts[table][key] += weight
            for table, counted in counts.items():
                table.keep(counted, sizes[table], now)
        # the sorted routes still treat these tables as not counted
        self.routes.forget()

    def forget(self, table: EntailedTable) -> None:
        """Stop counting a kind."""
        table.forget()
        self.routes.forget()
