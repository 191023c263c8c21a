"""RDFS entailment of one graph, one kind of triples at a time: Goasdoué et al., Sections 5 and 6.

A *kind* is the triples of one property, or the type triples of one class. It has one of two forms.
*Saturated*: the table stores its triples, each with its support, the number of explicit triples that entail
it. *Reformulated*: the table stores no triples. When an explicit triple changes that may entail a triple of
the kind, the graph is looked up along rules 14 to 17.

Example: `:HighSpeed rdfs:subClassOf :Train` and `:T101 a :HighSpeed, :Train`. The kind of class :Train has
T101 with support 2. Deleting `:T101 a :Train` leaves support 1, so no solution changes. Reformulated, the
delete makes T101 a suspect, and one look-up of its classes finds :HighSpeed.

Both forms give the same changes, so a kind can switch at any time; `should_count` and `should_forget` in
`kinds.py` decide when.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rdflib import RDF, RDFS, URIRef

from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Proof, Sign
from rdflive.entail.kinds import Kinds, Strategy, estimate, should_forget
from rdflive.entail.maintenance import follow
from rdflive.entail.net import Net
from rdflive.entail.reading import list_triples, support, why
from rdflive.entail.schema_change import follow_schema
from rdflive.entail.table import EntailedTable, Ways
from rdflive.entail.templates import Atom, Atoms, Kind
from rdflive.errors import SchemaError
from rdflive.model import TermPattern, Triple
from rdflive.store.garbage_collection import uncollected

__all__ = ["Counts", "Rdfs", "RdfsEntailment", "refusal"]

log = logging.getLogger("rdflive")

Changes: TypeAlias = Sequence[tuple[Sign, Triple]]
Counts: TypeAlias = Literal["support", "paths"]

ALL: Final[Kind] = ("any", "predicate")
ALL_TYPES: Final[Kind] = ("any", "class")
LOOKS: Final = 1024
"""Number of changes of the graph after which counted kinds are checked for being worth their memory."""
NAMES: Final = 100
"""Number of classes and properties without a query that are kept in the templates before a clean-up."""
SHOWN: Final = 20
"""Number of classes and properties that `describe` lists."""


@dataclass(frozen=True, slots=True)
class Rdfs:
    """Entailment by subclasses, subproperties, domains and ranges: the DB fragment of Goasdoué et al.."""

    strategy: Strategy = "auto"
    counts: Counts = "support"
    only_classes: bool = False
    """True to use subclasses only: an instance of a class is an instance of its superclasses."""

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Return the entailment of a graph."""
        return RdfsEntailment(graph, self)

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """rdf:type and rdfs:subClassOf if only subclasses are used; else None, as any predicate may be a
        subproperty.
        """
        return frozenset({RDF.type, RDFS.subClassOf}) if self.only_classes else None

    @property
    def identity(self) -> str:
        """The name of the regime; the strategy makes no difference to the answers."""
        return "subclasses" if self.only_classes else "rdfs"


class RdfsEntailment:
    """Maintains the triples that a graph entails by subclasses, subproperties, domains and ranges."""

    looks_up = True

    def __init__(self, graph: ExplicitGraph, regime: Rdfs) -> None:
        self._graph = graph
        self._regime = regime
        self._wants: Counter[Kind] = Counter()
        self._net = Net()
        self._updates = 0
        self._clear()
        self._is_schema = frozenset(self._kinds.words.schema).__contains__

    def _clear(self) -> None:
        regime = self._regime
        self._kinds = Kinds(self._graph, paths=regime.counts == "paths", only_classes=regime.only_classes)
        self._asked = 0

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining the triples that match these patterns.

        Schema triples that cannot be reasoned with are left out, see `check`.
        """
        requests = list(map(self._request, patterns))
        new = [kind for kind in dict.fromkeys(requests) if kind not in self._wants]
        is_first = bool(requests) and not self._wants
        # before tables are opened, which reads `_is_wanted`
        self._wants.update(requests)
        try:
            if is_first:
                self._load()
            if new:
                self._open(new)
        except BaseException:
            self._unwant(requests)
            raise

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining patterns that no query wants."""
        self._unwant(map(self._request, patterns))

    def _unwant(self, requests: Iterable[Kind]) -> None:
        kinds = self._kinds
        gone = []
        for kind, count in Counter(requests).items():
            # zero counts are deleted, so that `kind in self._wants` is True for wanted kinds only
            self._wants[kind] -= count
            if self._wants[kind] <= 0:
                del self._wants[kind]
                gone.append(kind)
        if not self._wants:
            for table in kinds.tables.values():
                table.release()
            self._clear()
            return
        several = ALL in gone or ALL_TYPES in gone
        for kind in list(kinds.tables) if several else gone:
            if kind in kinds.tables and not self._is_wanted(kind):
                kinds.close(kinds.tables[kind])
        # Names stay known after the last query on them, because removing names rebuilds all templates.
        if kinds.templates.cycles or self._asked > 2 * len(self._wants) + NAMES:
            self._route(self._refresh(()))

    def _refresh(self, changed: Collection[Triple]) -> dict[Kind, Atoms]:
        """Return the atoms of the kinds whose templates changed, by the new templates of the wanted kinds."""
        named = [kind for kind in self._wants if kind not in (ALL, ALL_TYPES)]
        self._asked = len(named)
        templates, sources = self._kinds.templates, self._kinds.sources
        saw_schema = sources.sees_schema
        # templates may need to know if schema triples exist, before it is known that queries read them
        sources.sees_schema = True
        found = templates.refresh(changed, named, everything=len(named) < len(self._wants))
        sources.sees_schema = saw_schema
        return found

    def _route(self, changed: Iterable[Kind]) -> None:
        """Update the routes to kinds whose atoms changed while the entailed triples did not."""
        kinds = self._kinds
        for kind in changed:
            if kind in kinds.tables and kind in kinds.templates.atoms:
                kinds.route(kinds.tables[kind], kinds.templates.atoms_of(kind))
            elif kind in kinds.tables:
                kinds.close(kinds.tables[kind])

    @uncollected
    def _open(self, new: list[Kind]) -> None:
        """Open tables for the newly wanted kinds."""
        kinds, templates = self._kinds, self._kinds.templates
        named = [kind for kind in new if kind not in (ALL, ALL_TYPES)]
        everything = len(named) < len(new)
        self._asked += len(named)
        kinds.sources.sees_schema = True  # as in `_refresh`
        if templates.goes_ahead or not templates.must_go_ahead(everything=everything):
            self._route(templates.ask(named))
        else:
            self._route(self._refresh(()))
        # only patterns that may match schema triples read the closed schema
        kinds.sources.sees_schema = self._sees_schema
        opened = [
            kinds.open(kind, templates.atoms.get(kind, {}))
            for kind in (list(templates.atoms) if everything else named)
            if kind not in kinds.tables and self._is_wanted(kind)
        ]
        self._saturate(opened)

    def _saturate(self, tables: Iterable[EntailedTable]) -> None:
        """Count those of these tables that can be counted, if the strategy is "saturate"."""
        if self._regime.strategy == "saturate":
            kinds = self._kinds
            counted = {
                t: t.ways.atoms for t in tables if t.counts is None and kinds.can_count(t.kind, t.ways)
            }
            kinds.count(counted, self._updates)

    def _request(self, pattern: TermPattern) -> Kind:
        _, p, o = pattern
        if p is None:
            return ALL
        if p != self._kinds.words.type:
            return p, None
        return ALL_TYPES if o is None else (p, o)

    @uncollected
    def _load(self) -> None:
        for p in self._kinds.words.schema:
            for s, _, o in self._graph.triples((None, p, None)):
                self._kinds.schema.change(1, (s, p, o))
        self._refresh(())

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise `SchemaError` if the schema cannot be reasoned with under the requested options."""
        kinds = self._kinds
        if kinds.schema.refused:
            raise SchemaError(refusal(next(iter(kinds.schema.refused))))
        if not kinds.templates.cycles:
            return
        for request in map(self._request, patterns):
            for kind, table in kinds.tables.items():
                if kind == request or request == ALL or (request == ALL_TYPES and kind[1] is not None):
                    self._check_paths(kind, table.ways.atoms)

    def _check_paths(self, kind: Kind, atoms: Iterable[Atom]) -> None:
        cycles = self._kinds.templates.cycles
        for start in (kind, *(atom.source for atom in atoms)) if cycles else ():
            if start in cycles:
                raise SchemaError(_cyclic(cycles[start]))

    @property
    def _sees_schema(self) -> bool:
        """True if some wanted kind may contain entailed schema triples, so that the schema must be closed."""
        known = self._kinds.templates.properties
        return ALL in self._wants or any(word in known for word in self._kinds.words.schema)

    def _is_wanted(self, kind: Kind) -> bool:
        wants = self._wants
        is_type = kind[0] == self._kinds.words.type
        return ALL in wants or kind in wants or (is_type and ALL_TYPES in wants)

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the graph may change a wanted triple."""
        p, kinds = change[1], self._kinds
        return (
            p in kinds.routes.heard
            or ALL in self._wants
            or (p in kinds.templates.properties and bool(kinds.templates.idle))
        )

    def update(self, changes: Changes) -> Iterable[tuple[Sign, IdTriple]]:
        """Return the net changes of the wanted triples that follow from changes of the graph."""
        # `_load` reads the schema with the first wanted pattern
        if not self._wants:
            return ()
        before, self._updates = self._updates, self._updates + len(changes)
        schema = [change for change in changes if self._is_schema(change[1][1])]
        # Data first, by the old templates: `follow_schema` then compares both templates over the same data.
        if schema:
            self._take([change for change in changes if not self._is_schema(change[1][1])])
            self._replan(schema)
        else:
            self._take(changes)
        if self._regime.strategy == "auto" and before // LOOKS != self._updates // LOOKS:
            self._forget()
        # If data and schema changed together, a triple may have moved under several kinds.
        return self._net.drain(mixed=0 < len(schema) < len(changes))

    def _take(self, changes: Changes) -> None:
        """Apply changes of explicit triples by the present templates."""
        kinds = self._kinds
        everything = ALL in self._wants
        left = follow(kinds, self._net, changes, everything=everything, now=self._now)
        if left:
            woken = kinds.wake({kinds.source_of(p, o) for _, (_, p, o) in left}, self._is_wanted)
            follow(kinds, self._net, left, everything=everything, now=self._now)
            # counted afterwards, because the graph already has these changes
            self._saturate(woken)

    @property
    def _now(self) -> int | None:
        """The time to note for kinds that begin to be counted; None if the strategy does not switch."""
        return self._updates if self._regime.strategy == "auto" else None

    def _forget(self) -> None:
        self._kinds.routes.forget()
        for table in self._kinds.tables.values():
            if table.counts is not None and should_forget(table, self._updates):
                self._kinds.forget(table)

    @uncollected
    def _replan(self, changes: Changes) -> None:
        """Apply changes of the schema: to its closure, then to the triples that the data entail."""
        kinds, saw_schema = self._kinds, self._sees_schema
        triples = [triple for _, triple in changes]
        # For a query that reads them, schema triples are also data.
        closed = kinds.schema.reaching(triples) if saw_schema else {}
        for sign, triple in changes:
            kinds.schema.change(sign, triple)
            if sign > 0 and triple in kinds.schema.refused:
                log.error("not reasoned with: %s", refusal(triple))
        self._take(kinds.schema.changed(closed))
        known = kinds.templates.classes
        before = self._refresh(triples)
        for cycle in list(kinds.templates.cycles.values())[:1]:
            log.error("%s; supports are counted where paths have no end", _cyclic(cycle))
        # atoms that no longer read the schema are compared with atoms that did
        kinds.sources.sees_schema |= self._sees_schema
        may_count = self._regime.strategy == "saturate"
        with kinds.reading_once():
            for kind, atoms in before.items():
                if self._is_wanted(kind):
                    new = Ways(kinds.templates.atoms_of(kind), kinds.templates.classes)
                    old = Ways(atoms, known)
                    follow_schema(kinds, kind, old, new, self._net, now=self._updates, may_count=may_count)
        kinds.sources.sees_schema = self._sees_schema

    def triples(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return list_triples(self._kinds, self._graph.dictionary.terms, pattern)

    def support(self, triple: Triple) -> int:
        """Return the number of explicit triples that entail a triple; with counts="paths", of its
        derivations.

        Raises `SchemaError` if there are infinitely many derivations.
        """
        kind = self._kinds.kind_of(triple)
        self._check_paths(kind, self._kinds.templates.atoms_of(kind))
        return support(self._kinds, triple)

    def why(self, triple: Triple) -> list[Proof]:
        """Return a proof of a triple from each explicit triple that entails it."""
        return why(self._kinds, triple)

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return [table.counts for table in self._kinds.tables.values() if table.counts is not None]

    def describe(self) -> list[str]:
        """Describe how each wanted kind is kept and at what cost."""
        self._kinds.routes.forget()
        tables = [table for table in self._kinds.tables.values() if not table.is_trivial]
        shown = [f"{_name(table.kind)}: {estimate(table, self._updates)}" for table in tables[:SHOWN]]
        more = len(tables) - len(shown)
        return [*shown, f"and {more:,} more classes and properties"] if more else shown


def refusal(triple: Triple) -> str:
    """Return the reason why a schema triple is not reasoned with."""
    s, _, o = triple
    return (
        f"{s} is declared a subproperty of {o}, so data would entail schema triples: remove this triple, or "
        "add the triples that it entails"
    )


def _cyclic(cycle: Iterable[object]) -> str:
    return (
        f"counts='paths' needs a schema without cycles, and this one has {' -> '.join(map(str, cycle))}: "
        "use counts='support'"
    )


def _name(kind: Kind) -> str:
    p, c = kind
    return f"property {p}" if c is None else f"class {c}"
