"""RDFS entailment of one graph, one kind of triples at a time: Goasdoué et al., Sections 5 and 6.

A *kind* is the triples of one property, or the type triples of one class. It is kept in one of two ways.
*Saturated*: its triples are stored, each with its support, the number of explicit triples that entail it.
*Reformulated*: nothing is stored, and when an explicit triple changes that may entail some of the kind, the
graph is asked along rules 14 to 17.

Example: `:HighSpeed rdfs:subClassOf :Train` and `:T101 a :HighSpeed, :Train`. The kind of class :Train has
T101 with support 2. Deleting `:T101 a :Train` leaves support 1, so no solution changes. Reformulated, the
delete makes T101 a suspect, and one look-up of its classes finds :HighSpeed.

Both ways give the same changes, so a kind can switch at any time; `choice.py` says when.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rdflib import RDF, RDFS, URIRef

from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Sign
from rdflive.entail.kinds import Kinds, Strategy, estimate, should_forget
from rdflive.entail.maintenance import follow
from rdflive.entail.net import Net
from rdflive.entail.proof import Proof
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
"""After this many changes of the graph, counted kinds are checked for being worth their memory."""
NAMES: Final = 100
"""How many classes and properties that nobody asks for any more are still planned for before a clean-up."""
SHOWN: Final = 20
"""How many classes and properties are described."""


@dataclass(frozen=True, slots=True)
class Rdfs:
    """Entailment by subclasses, subproperties, domains and ranges: the DB fragment of Goasdoué et al.."""

    strategy: Strategy = "auto"
    counts: Counts = "support"
    only_classes: bool = False
    """Whether nothing but subclasses is reasoned with: an instance of a class is one of its superclasses."""

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Make what keeps the triples entailed by a graph."""
        return RdfsEntailment(graph, self)

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """Types and subclasses where these are all; else any predicate may be below another."""
        return frozenset({RDF.type, RDFS.subClassOf}) if self.only_classes else None

    @property
    def identity(self) -> str:
        """Name the regime; how it is kept makes no difference to the answers."""
        return "subclasses" if self.only_classes else "rdfs"


class RdfsEntailment:
    """Maintains what a graph entails by subclasses, subproperties, domains and ranges."""

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
        """Start maintaining what matches these patterns.

        Schema triples that cannot be reasoned with are left out, see `check`.
        """
        requests = list(map(self._request, patterns))
        new = [kind for kind in dict.fromkeys(requests) if kind not in self._wants]
        is_first = bool(requests) and not self._wants
        # First, so that `_is_wanted` is true for them while tables are opened.
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
        """Stop maintaining what nobody wants any more."""
        self._unwant(map(self._request, patterns))

    def _unwant(self, requests: Iterable[Kind]) -> None:
        kinds = self._kinds
        gone = []
        for kind, count in Counter(requests).items():
            # what falls to zero is taken out, so that `kind in self._wants` says what is wanted
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
        # Names stay known after the last query on them, because forgetting rebuilds templates. It is put off
        # until they are many.
        if kinds.templates.cycles or self._asked > 2 * len(self._wants) + NAMES:
            self._route(self._refresh(()))

    def _refresh(self, changed: Collection[Triple]) -> dict[Kind, Atoms]:
        """Make the templates of the kinds that are wanted now, by a schema that was changed."""
        named = [kind for kind in self._wants if kind not in (ALL, ALL_TYPES)]
        self._asked = len(named)
        templates, sources = self._kinds.templates, self._kinds.sources
        saw_schema = sources.sees_schema
        # a schema triple may be what a kind is made from: whether there is one is asked before that is known
        sources.sees_schema = True
        found = templates.refresh(changed, named, everything=len(named) < len(self._wants))
        sources.sees_schema = saw_schema
        return found

    def _route(self, changed: Iterable[Kind]) -> None:
        """Update how explicit triples find kinds whose atoms changed while what is entailed did not."""
        kinds = self._kinds
        for kind in changed:
            if kind in kinds.tables and kind in kinds.templates.atoms:
                kinds.route(kinds.tables[kind], kinds.templates.atoms_of(kind))
            elif kind in kinds.tables:
                kinds.close(kinds.tables[kind])

    @uncollected
    def _open(self, new: list[Kind]) -> None:
        """Make tables for the kinds that are newly wanted."""
        kinds, templates = self._kinds, self._kinds.templates
        named = [kind for kind in new if kind not in (ALL, ALL_TYPES)]
        everything = len(named) < len(new)
        self._asked += len(named)
        kinds.sources.sees_schema = True  # as in `_refresh`
        if templates.goes_ahead or not templates.must_go_ahead(everything=everything):
            self._route(templates.ask(named))
        else:
            self._route(self._refresh(()))
        # only patterns that may match schema triples need the closed schema
        kinds.sources.sees_schema = self._sees_schema
        opened = [
            kinds.open(kind, templates.atoms.get(kind, {}))
            for kind in (list(templates.atoms) if everything else named)
            if kind not in kinds.tables and self._is_wanted(kind)
        ]
        self._saturate(opened)

    def _saturate(self, tables: Iterable[EntailedTable]) -> None:
        """Count what can be counted of these tables, if that is the strategy."""
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
        """Raise `SchemaError` if the schema cannot be reasoned with as it was asked for."""
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
        """Tell whether a change of the graph may change what is wanted."""
        p, kinds = change[1], self._kinds
        return (
            p in kinds.routes.heard
            or ALL in self._wants
            or (p in kinds.templates.properties and bool(kinds.templates.idle))
        )

    def update(self, changes: Changes) -> Iterable[tuple[Sign, IdTriple]]:
        """Give the net changes of what is wanted, by those of the graph."""
        # the schema is read by `_load` as soon as something is wanted
        if not self._wants:
            return ()
        before, self._updates = self._updates, self._updates + len(changes)
        schema = [change for change in changes if self._is_schema(change[1][1])]
        # Data first, by the old templates: `follow_schema` then compares templates over the same data.
        if schema:
            self._take([change for change in changes if not self._is_schema(change[1][1])])
            self._replan(schema)
        else:
            self._take(changes)
        if self._regime.strategy == "auto" and before // LOOKS != self._updates // LOOKS:
            self._forget()
        # Data and schema changed together, so a triple may have moved as one of several kinds.
        return self._net.drain(mixed=0 < len(schema) < len(changes))

    def _take(self, changes: Changes) -> None:
        """Follow changes of explicit triples by the present templates."""
        kinds = self._kinds
        everything = ALL in self._wants
        left = follow(kinds, self._net, changes, everything=everything, now=self._now)
        if left:
            woken = kinds.wake({kinds.source_of(p, o) for _, (_, p, o) in left}, self._is_wanted)
            follow(kinds, self._net, left, everything=everything, now=self._now)
            # counted afterwards, because the graph has these changes already
            self._saturate(woken)

    @property
    def _now(self) -> int | None:
        """The time from which kinds may be counted; None if the strategy does not allow it."""
        return self._updates if self._regime.strategy == "auto" else None

    def _forget(self) -> None:
        self._kinds.routes.forget()
        for table in self._kinds.tables.values():
            if table.counts is not None and should_forget(table, self._updates):
                self._kinds.forget(table)

    @uncollected
    def _replan(self, changes: Changes) -> None:
        """Follow changes of the schema: of its closure like data, then of what data entail by it."""
        kinds, saw_schema = self._kinds, self._sees_schema
        triples = [triple for _, triple in changes]
        # Schema triples are data too for a query that reads them.
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
        # what no longer reads the schema is compared with what it read
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
        """Count the explicit triples that entail a triple; with counts="paths", its derivations.

        Raises `SchemaError` if there are endless derivations.
        """
        kind = self._kinds.kind_of(triple)
        self._check_paths(kind, self._kinds.templates.atoms_of(kind))
        return support(self._kinds, triple)

    def why(self, triple: Triple) -> list[Proof]:
        """Give a proof of a triple from each explicit triple that entails it."""
        return why(self._kinds, triple)

    def containers(self) -> list[Any]:
        """List the containers of what is stored, for measuring."""
        return [table.counts for table in self._kinds.tables.values() if table.counts is not None]

    def describe(self) -> list[str]:
        """Tell how each wanted kind is kept and what that costs."""
        self._kinds.routes.forget()
        tables = [table for table in self._kinds.tables.values() if not table.is_trivial]
        shown = [f"{_name(table.kind)}: {estimate(table, self._updates)}" for table in tables[:SHOWN]]
        more = len(tables) - len(shown)
        return [*shown, f"and {more:,} more classes and properties"] if more else shown


def refusal(triple: Triple) -> str:
    """Say why a schema triple is not reasoned with."""
    s, _, o = triple
    return (
        f"{s} is made a subproperty of {o}, by which data would become schema: remove this triple, or state "
        "what follows from it"
    )


def _cyclic(cycle: Iterable[object]) -> str:
    return (
        f"counts='paths' needs a schema without cycles, and this one has {' -> '.join(map(str, cycle))}: "
        "take counts='support'"
    )


def _name(kind: Kind) -> str:
    p, c = kind
    return f"property {p}" if c is None else f"class {c}"
