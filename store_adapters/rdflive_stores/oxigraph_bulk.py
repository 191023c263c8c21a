"""Inserts many quads into an Oxigraph store that is watched, and looks only at those that somebody wants.

Asking whether a predicate is wanted once for all its quads takes a tenth of the time of recording each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import filterfalse, islice
from operator import attrgetter
from typing import Any, Final

from pyoxigraph import Quad, Store

from rdflive.store import UNION, WRITING, Capture, QuadTerms
from rdflive_stores.oxigraph_changes import canonical_quad, record
from rdflive_stores.oxigraph_terms import canonical

__all__ = ["insert", "load_unwanted"]

_PIECE: Final = 1024
"""Quads of a document that are looked at together."""
_predicate: Final = attrgetter("predicate")
_graph: Final = attrgetter("graph_name")


def insert(
    native: Store,
    capture: Capture,
    write: Callable[[list[Quad]], None],
    quads: list[Quad],
    *,
    may_pass: bool,
) -> None:
    """Insert quads inside a batch and record those that came; the unwanted are counted if that `may_pass`."""
    wanted, unwanted = _parted(capture, quads) if may_pass else (quads, [])
    absent = _absent(native, wanted)
    passed = set(_absent(native, unwanted))
    capture.state |= WRITING
    try:
        write(quads)
    except BaseException:  # a bulk operation may have got half way
        absent = [quad for quad in absent if quad in native]
        passed = {quad for quad in passed if quad in native}
        raise
    finally:
        if UNION in capture.listeners:
            record(native, capture, (), dict.fromkeys(map(canonical_quad, absent)))
        elif absent:
            capture.record_all(1, dict.fromkeys(map(_terms, absent)))
        for graph, count in Counter(map(_graph, passed)).items():
            capture.pass_by(graph, count)
        capture.state &= ~WRITING


def load_unwanted(
    native: Store, capture: Capture, load: Callable[[], None], quads: Iterable[Quad], graph: Any
) -> bool:
    """Load a document inside a batch, if nobody wants any of its quads; tells whether that was done.

    `quads` are those of the document, all of one graph.
    """
    is_new, pieces = not native, iter(quads)
    asked: set[Any] = set()
    absent: set[Quad] = set()
    while piece := list(islice(pieces, _PIECE)):
        predicates = set(map(_predicate, piece)) - asked
        if any(map(capture.wants, predicates)):
            return False
        asked |= predicates
        if not is_new:
            absent.update(filterfalse(native.__contains__, piece))
    capture.state |= WRITING
    try:
        load()
    except BaseException:  # a bulk operation may have got half way
        absent = {quad for quad in absent if quad in native}
        raise
    finally:
        count = len(native) if is_new else len(absent)
        if count:
            capture.pass_by(graph, count)
        capture.state &= ~WRITING
    return True


def _parted(capture: Capture, quads: list[Quad]) -> tuple[list[Quad], list[Quad]]:
    """Part the quads that somebody may want from the others."""
    predicates = set(map(_predicate, quads))
    wanted = set(filter(capture.wants, predicates))
    if not wanted or wanted == predicates:
        return (quads, []) if wanted else ([], quads)
    return (
        [quad for quad in quads if quad.predicate in wanted],
        [quad for quad in quads if quad.predicate not in wanted],
    )


def _absent(native: Store, quads: list[Quad]) -> list[Quad]:
    return list(filterfalse(native.__contains__, quads)) if native else quads


def _terms(quad: Quad) -> QuadTerms:
    """Give the terms of a quad in the form in which the store returns them."""
    s, p, o, graph = quad
    return s, p, canonical(o), graph
