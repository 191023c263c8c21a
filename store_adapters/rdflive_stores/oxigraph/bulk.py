"""Changes many quads of a watched Oxigraph store, and records only quads that a pattern can match.

After a document is loaded into an empty store, these quads are read from the store by predicate. If the store
is not empty, a look-up of each quad before the write finds the new ones.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse, islice
from operator import attrgetter
from typing import IO, Any, Final, NamedTuple, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, parse

from rdflive.model import Term
from rdflive.store import UNION, WRITING, Capture, QuadTerms, uncollected
from rdflive_stores.oxigraph.changes import canonical_quad, record
from rdflive_stores.oxigraph.terms import canonical, is_possible

__all__ = ["Changing", "Source", "change", "content", "load_unseen", "parsed"]

Source: TypeAlias = bytes | str | IO[bytes] | IO[str] | None


def parsed(
    native: Store,
    source: Source,
    syntax: RdfFormat | None,
    to_graph: NamedNode | BlankNode | DefaultGraph | None,
    options: Any,
) -> Iterator[Quad]:
    """Parse like `Store.load`: blank nodes are renamed, and triples go into `to_graph`."""
    native.load("", RdfFormat.N_TRIPLES, to_graph=to_graph)  # raises for an invalid name of a graph
    quads = parse(source, syntax, rename_blank_nodes=True, **options)
    default = DefaultGraph()
    if to_graph is None or to_graph == default:
        return quads
    return (
        Quad(q.subject, q.predicate, q.object, to_graph if q.graph_name == default else q.graph_name)
        for q in quads
    )


def content(source: Source, path: str | os.PathLike[str] | None) -> bytes | str:
    """Read a document, so that it can be parsed twice."""
    if path is not None:
        with open(path, "rb") as file:
            return file.read()
    assert source is not None  # noqa: S101 - one of the two is given
    return source if isinstance(source, bytes | str) else source.read()


_PIECE: Final = 1024
"""Number of quads of a document that are tested together."""
_predicate: Final = attrgetter("predicate")
_ends: Final = attrgetter("subject", "object")
_graph: Final = attrgetter("graph_name")


class Changing(NamedTuple):
    """The quads of an operation; no quad is in both lists."""

    went: list[Quad]
    """Quads to delete, if present."""
    came: list[Quad]
    """Quads to insert, if absent."""


@uncollected
def change(
    native: Store,
    capture: Capture,
    write: Callable[[], object],
    changes: Changing,
    graphs: set[Any],
    *,
    may_pass: bool,
) -> None:
    """Run a write that deletes and inserts quads of some graphs, and record the real changes. If `may_pass`,
    quads that no pattern can match are only counted.
    """
    held: list[Quad] = []
    absent: list[Quad] = []
    passed_held: set[Quad] = set()
    passed: set[Quad] = set()
    try:
        predicates = capture.wanted() if may_pass else None
        doomed, doomed_unwanted = _parted(predicates, changes.went)
        wanted, unwanted = _parted(predicates, changes.came)
        if not wanted and len(graphs) == 1 and not native:
            _fill(native, capture, write, (), *graphs)
            return
        held = list(filter(native.__contains__, doomed))
        passed_held = set(filter(native.__contains__, doomed_unwanted))
        absent = _absent(native, wanted)
        passed = set(_absent(native, unwanted))
        write()
    except BaseException:  # a bulk operation may be half done
        # no comprehension with `if`: after Ctrl-C in one, Python 3.13 skips `finally`
        held = list(filterfalse(native.__contains__, held))
        passed_held = set(filterfalse(native.__contains__, passed_held))
        absent = list(filter(native.__contains__, absent))
        passed = set(filter(native.__contains__, passed))
        raise
    finally:
        if UNION in capture.listeners:
            record(
                native,
                capture,
                dict.fromkeys(map(canonical_quad, held)),
                dict.fromkeys(map(canonical_quad, absent)),
            )
        else:
            if held:
                capture.record_all(-1, dict.fromkeys(map(_terms, held)))
            if absent:
                capture.record_all(1, dict.fromkeys(map(_terms, absent)))
        seen = [*passed_held, *passed]
        if seen:
            counts = Counter(map(_graph, seen)) if len(graphs) > 1 else dict.fromkeys(graphs, len(seen))
            for graph, count in counts.items():
                capture.pass_by(graph, count)
        capture.recorded()


def load_unseen(
    native: Store, capture: Capture, load: Callable[[], None], quads: Iterable[Quad], graph: Any
) -> bool:
    """Load a document inside a batch without recording its quads, if no listener needs them; returns true if
    so.

    `quads` are those of the document, all of one graph; they are read only if the store is not empty.
    """
    absent: set[Quad] | None = None
    capture.state |= WRITING
    try:
        predicates = capture.wanted()
        if predicates is None:
            return False
        if not native:
            _fill(native, capture, load, predicates, graph)
            return True
        absent = _unseen(native, predicates, quads)
        if absent is None:
            return False
        load()
    except BaseException:  # a bulk operation may be half done
        absent = set(filter(native.__contains__, absent or ()))
        raise
    finally:
        if absent:
            capture.pass_by(graph, len(absent))
        capture.state &= ~WRITING
    return True


def _unseen(native: Store, predicates: set[Term], quads: Iterable[Quad]) -> set[Quad] | None:
    """Return the quads that the store lacks; None if any quad has one of the predicates."""
    absent: set[Quad] = set()
    pieces = iter(quads)
    while piece := list(islice(pieces, _PIECE)):
        if not predicates.isdisjoint(map(_predicate, piece)):
            return None
        absent.update(filterfalse(native.__contains__, piece))
    return absent


@uncollected
def _fill(
    native: Store, capture: Capture, write: Callable[[], object], predicates: Iterable[Term], graph: Any
) -> None:
    """Write to a graph of an empty store, record its quads with these predicates, and count the others.

    All quads in the store are new, so quads that no view needs are not read.
    """
    capture.state |= WRITING
    try:
        write()
    finally:  # a bulk operation may be half done
        count = len(native)
        # reuses the known predicate and graph in place of new terms
        came: list[QuadTerms] = [
            (s, predicate, o, graph)
            for predicate in predicates
            if is_possible(None, predicate, None)
            for s, o in map(_ends, native.quads_for_pattern(None, predicate, None, graph))
        ]
        if came:
            capture.record_all(1, came)
        if count > len(came):
            capture.pass_by(graph, count - len(came))
        capture.state &= ~WRITING


def _parted(predicates: set[Term] | None, quads: list[Quad]) -> tuple[list[Quad], list[Quad]]:
    """Separate the quads that a view may need from the others."""
    if predicates is None:
        return quads, []
    given = set(map(_predicate, quads))
    wanted = predicates & given
    if not wanted or wanted == given:
        return (quads, []) if wanted else ([], quads)
    return (
        [quad for quad in quads if quad.predicate in wanted],
        [quad for quad in quads if quad.predicate not in wanted],
    )


def _absent(native: Store, quads: list[Quad]) -> list[Quad]:
    return list(filterfalse(native.__contains__, quads)) if native else quads


def _terms(quad: Quad) -> QuadTerms:
    """Return the terms of a quad in the form that the store returns."""
    s, p, o, graph = quad
    return s, p, canonical(o), graph
