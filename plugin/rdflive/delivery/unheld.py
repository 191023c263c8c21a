"""Notes on predicates, classes and graphs that a query names and the data lack: probable misspellings.

A missing name is no error, because the data may come later. The note is a warning of `logging`, which Python
prints even if logging is not configured.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from rdflib import OWL, RDF, RDFS, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.term import Node

from rdflive.delivery.question import Question
from rdflive.delivery.spelling import spelling_notes
from rdflive.entail.entailment import Regime
from rdflive.entail.rules import RuleRegime
from rdflive.model import rows_are_unread
from rdflive.plugins import manager
from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.notes import query_notes
from rdflive.query.plan import Plan
from rdflive.store import NAMED, Adapter, GraphKey

__all__ = ["log_notes", "unheld_notes", "unsaid_notes"]

log = logging.getLogger("rdflive")

_SCANNED: Final = 10_000
"""Number of quads that are scanned for similar names."""
_COMPARED: Final = 1_000
"""Largest number of names of each kind to compare with."""
_LOGGED: Final = 100
"""Largest number of notes for one store: with more, the names are probably not misspelled."""
_KNOWN: Final = 10_000
"""Largest number of names in each cache, which saves look-ups for many subscriptions."""
_LIKE: Final = 0.6
_VOCABULARY: Final = tuple(str(namespace) for namespace in (RDF, RDFS, OWL))
_OWN: Final = "urn:x-rdflive:"
"""Prefix of the names in rdflive's own queries, such as the one that only keeps a store watched."""
_ANY: Final = (None, None, None)

_Kind: TypeAlias = Literal["predicate", "class", "graph"]
_Missing: TypeAlias = tuple[_Kind, URIRef]


class _Name(NamedTuple):
    """A name of a query, and the graph to look it up in: None for the graph of the query."""

    kind: _Kind
    iri: URIRef
    graph: Any


@dataclass(slots=True)
class _QueryNames:
    """The names in a store when it was scanned."""

    of: dict[_Kind, dict[str, list[str]]] = field(default_factory=dict)
    """The IRIs of each kind, by their local names in lower case."""
    near: dict[_Missing, str | None] = field(default_factory=dict)
    """A cache of the nearest name, because a search takes milliseconds."""


@dataclass(slots=True)
class _Seen:
    """The names known to be in a store, and the notes already made."""

    held: set[_Name] = field(default_factory=set)
    said: set[str | _Missing] = field(default_factory=set)
    settled: set[Any] = field(default_factory=set)
    """Families without notes, by shape, graph and regime."""
    scanned: int = -1
    """The commit at which `names` were read."""
    names: _QueryNames = field(default_factory=_QueryNames)


_seen: Final[WeakKeyDictionary[Any, _Seen]] = WeakKeyDictionary()
"""By store and not by adapter: a note must not be repeated after the last subscription has closed."""


def unsaid_notes(
    adapter: Adapter, graph: Any, question: Question, rows: Iterable[tuple[Node, ...]]
) -> Iterator[str]:
    """List the new notes on a query: names that its data lack, and variables that no pattern binds.

    Each note comes once per store. `rows` are the terms for the parameters of the question. Each name that
    has not been found before costs a look-up. Called under the store's lock; the iterator searches the
    nearest names later, without the lock.
    """
    seen = _seen.setdefault(manager.store_of(graph), _Seen())
    if len(seen.said) >= _LOGGED or rows_are_unread():
        return iter(())
    plan = question.plan
    family = plan.query.shape, adapter.graph_key(graph), question.regime
    if plan.parameters and family in seen.settled:
        return iter(())
    unbound = [note for note in query_notes(plan) if note not in seen.said]
    seen.said.update(unbound)
    if question.windowed:
        return iter(unbound)  # the future content of a window is unknown
    rows = list(rows)
    spelt = [note for note in spelling_notes(adapter, plan, rows) if note not in seen.said]
    seen.said.update(spelt)
    unbound += spelt
    missing = _missing(adapter, graph, plan, rows, question.regime, seen)
    if (
        plan.parameters
        and not (unbound or _asks_for_classes(plan))
        and seen.held.issuperset(_named(plan, ()))
    ):
        if len(seen.settled) >= _KNOWN:
            seen.settled.clear()
        seen.settled.add(family)
    new = [each for each in missing if each not in seen.said]
    new = new[: max(0, _LOGGED - len(seen.said))]
    seen.said.update(new)
    return chain(unbound, _notes(adapter, seen, new))


def log_notes(notes: Iterable[str], query: str) -> None:
    """Log notes. Called without the lock: handlers may be slow, and may use the store."""
    for note in notes:
        log.warning("%s; the query is %.200r", note, query)


def unheld_notes(adapter: Adapter, graph: Any, plan: Plan, regime: Regime | None) -> Iterator[str]:
    """List the predicates, classes and graphs of a query that its data lack now, each with the nearest name.

    A name is looked up in the graph of its pattern, and then in the whole store. The nearest name is chosen
    from the first 10,000 quads that the store lists, at most 1,000 names of each kind. There are no notes for
    an empty store, and none for a name that entailment may add. Called under the store's lock; the iterator
    searches the nearest names later, without the lock.
    """
    seen = _seen.setdefault(manager.store_of(graph), _Seen())
    seen.held.clear()  # the data may have lost names since
    seen.settled.clear()
    own = tuple(plan.query.parameters.values())
    return chain(
        spelling_notes(adapter, plan, [own]),
        _notes(adapter, seen, _missing(adapter, graph, plan, [()], regime, seen)),
    )


def _missing(
    adapter: Adapter,
    graph: Any,
    plan: Plan,
    rows: Iterable[tuple[Node, ...]],
    regime: Regime | None,
    seen: _Seen,
) -> dict[_Missing, None]:
    missing: dict[_Missing, None] = {}
    for name in dict.fromkeys(_named(plan, rows)):
        if name in seen.held or name.iri.startswith(_OWN):
            continue
        if _is_held(adapter, graph, name):
            if len(seen.held) >= _KNOWN:
                seen.held.clear()
            seen.held.add(name)
        elif regime is None or not _may_come(adapter, name, regime):
            missing[name.kind, name.iri] = None
    return missing if missing and _has(adapter.quads(_ANY)) else {}


def _notes(adapter: Adapter, seen: _Seen, found: Collection[_Missing]) -> Iterator[str]:
    """Scan the names of the store now, and search them as the iterator is read."""
    # scanned again when the number of commits has doubled
    if found and (seen.scanned < 0 or adapter.capture.sequence > 2 * seen.scanned):
        seen.names = _QueryNames(_scan(adapter))
        seen.scanned = adapter.capture.sequence
    return map(partial(_note, seen.names), found)


def _note(names: _QueryNames, missing: _Missing) -> str:
    kind, iri = missing
    try:
        near = names.near[missing]
    except KeyError:
        near = _nearest(names.of[kind], iri)
        if len(names.near) < _KNOWN:
            names.near[missing] = near
    note = f"nothing in the data has the {kind} {_shown(iri)} yet"
    return f"{note}; the nearest is {_shown(near)}" if near is not None else note


def _named(plan: Plan, rows: Iterable[tuple[Node, ...]]) -> Iterator[_Name]:
    """List the names in all patterns of a plan, with the parameters of all rows."""
    number: dict[Any, int] = {variable: at for at, variable in enumerate(plan.parameters)}
    for node in (step.node for step in plan.steps):
        if not isinstance(node, algebra.Basic):
            continue
        graph = node.graph
        if isinstance(graph, URIRef):
            yield _Name("graph", graph, None)
        elif isinstance(graph, Variable):
            among = (c for c in node.conditions if isinstance(c, algebra.OneOf) and c.name == graph.name)
            yield from (
                _Name("graph", iri, None) for one in among for iri in one.terms if isinstance(iri, URIRef)
            )
        for pattern in node.patterns:
            of = NAMED if isinstance(graph, Variable) else graph
            at = number.get(pattern.object)
            if at is None or pattern.predicate != RDF.type:
                yield from _of_pattern(pattern, of)
            else:  # see `_asks_for_classes`
                yield from (one for row in rows for one in _of_pattern(replace(pattern, object=row[at]), of))


def _asks_for_classes(plan: Plan) -> bool:
    """True if a class is a parameter, so that each member of the family needs its own look-up."""
    basics = (step.node for step in plan.steps if isinstance(step.node, algebra.Basic))
    patterns = (pattern for basic in basics for pattern in basic.patterns)
    return any(p.predicate == RDF.type and p.object in plan.parameters for p in patterns)


def _of_pattern(pattern: TriplePattern, of: Any) -> Iterator[_Name]:
    if pattern.predicate == RDF.type and isinstance(pattern.object, URIRef):
        yield _Name("class", pattern.object, of)
    elif isinstance(pattern.predicate, URIRef):
        yield _Name("predicate", pattern.predicate, of)


def _is_held(adapter: Adapter, graph: Any, name: _Name) -> bool:
    native = adapter.to_native(name.iri)
    if name.kind == "graph":
        return _has(adapter.triples(native, _ANY))
    pattern = (None, adapter.to_native(RDF.type), native) if name.kind == "class" else (None, native, None)
    if name.graph is not NAMED:
        key: GraphKey = adapter.graph_key(graph) if name.graph is None else adapter.to_native(name.graph)
        if _has(adapter.triples(key, pattern)):
            return True
    return _has(adapter.quads(pattern))


def _may_come(adapter: Adapter, name: _Name, regime: Regime) -> bool:
    """True if entailment may add a name: one in the schema, in a rule head, or of RDF, RDFS or OWL."""
    if str(name.iri).startswith(_VOCABULARY):
        return True
    if isinstance(regime, RuleRegime):
        heads = (term for rule in regime.program.rules for pattern in rule.head for term in pattern)
        if name.iri in heads:
            return True
    native = adapter.to_native(name.iri)
    return _has(adapter.quads((native, None, None))) or _has(adapter.quads((None, None, native)))


def _nearest(named: dict[str, list[str]], iri: URIRef) -> str | None:
    """Choose the name with the most similar local name, then the most similar IRI."""
    local = _local(iri)
    near = [name for key in get_close_matches(local, named, cutoff=_LIKE) for name in named[key]]
    return max(
        near,
        default=None,
        key=lambda name: (_ratio(local, _local(name)), _ratio(iri, name), name),
    )


def _scan(adapter: Adapter) -> dict[_Kind, dict[str, list[str]]]:
    """Read the names in the first quads of a store."""
    convert = adapter.to_rdflib() or _same
    a = adapter.to_native(RDF.type)
    found: dict[_Kind, dict[Any, None]] = {"predicate": {}, "class": {}, "graph": {}}
    for _, p, o, graph in islice(adapter.quads(_ANY), _SCANNED):
        found["predicate"][p] = found["graph"][graph] = None
        if p == a:
            found["class"][o] = None
    names: dict[_Kind, dict[str, list[str]]] = {"predicate": {}, "class": {}, "graph": {}}
    for kind, terms in found.items():
        for term in islice(terms, _COMPARED):
            with suppress(ValueError, TypeError):  # the default graph of some stores is no term
                iri = convert(term)
                if isinstance(iri, URIRef) and iri != DATASET_DEFAULT_GRAPH_ID:
                    names[kind].setdefault(_local(iri), []).append(str(iri))
    return names


def _local(iri: str) -> str:
    """Return the local name of an IRI in lower case."""
    begin = max(iri.rstrip("#/:").rfind(mark) for mark in "#/:")
    return iri[begin + 1 :].casefold()


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _shown(iri: str) -> str:
    return f"<{''.join(c if c.isprintable() else '·' for c in iri[:200])}>"


def _has(found: Iterator[Any]) -> bool:
    return next(iter(found), None) is not None


def _same(term: Any) -> Any:
    return term
