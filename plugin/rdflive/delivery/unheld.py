"""Predicates, classes and graphs that a query names and the data do not hold: most likely spelled otherwise.

What is missing may come later, so it is no error. It is logged as a warning, because Python shows warnings to
whoever has not configured logging, and who misspelled a name looks at an empty answer and knows of no log.
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
"""So many quads are looked at for names that may be meant."""
_COMPARED: Final = 1_000
"""With so many names of each kind at most."""
_LOGGED: Final = 100
"""So many notes of one store are logged; thousands of queries are not all misspelled."""
_KNOWN: Final = 10_000
"""So many names are remembered as held, so that a name is looked up once for many subscriptions."""
_LIKE: Final = 0.6
_VOCABULARY: Final = tuple(str(namespace) for namespace in (RDF, RDFS, OWL))
_OWN: Final = "urn:x-rdflive:"
"""Begins the names in queries of rdflive's own, such as one that only keeps a store watched."""
_ANY: Final = (None, None, None)

_Kind: TypeAlias = Literal["predicate", "class", "graph"]
_Missing: TypeAlias = tuple[_Kind, URIRef]


class _Name(NamedTuple):
    """A name of a query, and the graph that it is looked for in: that of the query is None."""

    kind: _Kind
    iri: URIRef
    graph: Any


@dataclass(slots=True)
class _QueryNames:
    """The names that a store had when it was scanned."""

    of: dict[_Kind, dict[str, list[str]]] = field(default_factory=dict)
    """The IRIs of each kind, by what stands behind their namespace, in small letters."""
    near: dict[_Missing, str | None] = field(default_factory=dict)
    """The nearest that was found for a name; to search takes milliseconds."""


@dataclass(slots=True)
class _Seen:
    """What is known of the data of a store, and what has been said of it."""

    held: set[_Name] = field(default_factory=set)
    said: set[str | _Missing] = field(default_factory=set)
    settled: set[Any] = field(default_factory=set)
    """Families, by their shapes and what they are asked of, of which nothing is to be said."""
    scanned: int = -1
    """The commit at which `names` were read."""
    names: _QueryNames = field(default_factory=_QueryNames)


_seen: Final[WeakKeyDictionary[Any, _Seen]] = WeakKeyDictionary()
"""By store: an adapter goes with its last subscription, and a note is not to come again then."""


def unsaid_notes(
    adapter: Adapter, graph: Any, question: Question, rows: Iterable[tuple[Node, ...]]
) -> Iterator[str]:
    """Say once for each store what a query names and its data do not hold, or what no pattern binds.

    The rows are what is asked for, where the question has parameters. Costs a look-up for each name that has
    not been found before. Called under the store's lock; the nearest are searched as the notes are read,
    without it.
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
        return iter(unbound)  # what a window will hold is not known
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
    """Log notes. Called without the lock: handlers may take long, and use the store."""
    for note in notes:
        log.warning("%s; the query is %.200r", note, query)


def unheld_notes(adapter: Adapter, graph: Any, plan: Plan, regime: Regime | None) -> Iterator[str]:
    """Say which predicates, classes and graphs of a query its data do not hold now, each with the nearest.

    A name is looked up in the graph that its pattern looks at, and then in the whole store. The nearest is
    chosen among the names of the first 10,000 quads that the store lists, at most 1,000 of each kind. Nothing
    is said of an empty store, and nothing of a name that entailment may bring. Called under the store's
    lock; the nearest are searched as the notes are read, without it.
    """
    seen = _seen.setdefault(manager.store_of(graph), _Seen())
    seen.held.clear()  # it is asked what holds now
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
    """Read the names that may be meant now, and search them later."""
    # a growing store is read ever less often
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
    """List the names that patterns look for, wherever in the query they stand, for the parameters of all
    rows.
    """
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
    """Tell whether the members of a family ask for classes, which not all of them need to find."""
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
    """Tell whether entailment may bring a name: schema or rules have it, or are about the vocabulary."""
    if str(name.iri).startswith(_VOCABULARY):
        return True
    if isinstance(regime, RuleRegime):
        heads = (term for rule in regime.program.rules for pattern in rule.head for term in pattern)
        if name.iri in heads:
            return True
    native = adapter.to_native(name.iri)
    return _has(adapter.quads((native, None, None))) or _has(adapter.quads((None, None, native)))


def _nearest(named: dict[str, list[str]], iri: URIRef) -> str | None:
    """Choose the most similar name by what stands behind the namespace, then as a whole."""
    local = _local(iri)
    near = [name for key in get_close_matches(local, named, cutoff=_LIKE) for name in named[key]]
    return max(
        near,
        default=None,
        key=lambda name: (_ratio(local, _local(name)), _ratio(iri, name), name),
    )


def _scan(adapter: Adapter) -> dict[_Kind, dict[str, list[str]]]:
    """Read the names of the first quads of a store."""
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
    """Give what stands behind the namespace of an IRI, in small letters."""
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
