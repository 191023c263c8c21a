"""Reading of a store's quads in small slices, without the store's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

import rdflib

from rdflive.server.sparql.answering import native_of

__all__ = ["Ended", "QuadSlices"]

SLICE: Final = 50
"""Quads of one slice: about a tenth of a millisecond, during which no other thread runs Python."""
PAUSE: Final = 0.005
"""Seconds between two slices, so that a reader uses at most a few percent of a processor."""


class Ended(Exception):  # noqa: N818 - not an error
    """The reader was stopped."""


class QuadSlices:
    """Reads patterns of a dataset; made, used and dropped by one thread.

    Oxigraph reads the state at the start of a pattern. rdflib's store in memory copies its set of triples
    to read all of them, which takes about 50 ms per million.

    The process may be forked meanwhile: Oxigraph reads a quad without letting other Python threads run, so no
    fork happens while its store is locked.
    """

    def __init__(self, dataset: rdflib.Dataset, ended: threading.Event) -> None:
        self._ended = ended
        self.iri: Callable[[Any], str]
        """Returns the text of an IRI, and "" for another term."""
        self._match, self._node, self.iri = _oxigraph(dataset) or _rdflib(dataset)
        self._is_union = dataset.default_union

    def all(self) -> Iterator[Any]:
        """Start to read the triples of all graphs."""
        return self._match((None, None, None), True)

    def match(self, *pattern: str | None) -> Iterator[Any]:
        """Start to read the matches of a pattern that a query would see; its parts are IRIs or None."""
        nodes = tuple(None if iri is None else self._node(iri) for iri in pattern)
        return self._match(nodes, self._is_union)

    def take(self, triples: Iterator[Any], most: int = SLICE) -> list[Any]:
        """Pause, and return the next triples; raise `Ended`."""
        if self._ended.wait(PAUSE):
            raise Ended
        return list(islice(triples, most))


_Parts: TypeAlias = tuple[
    Callable[[tuple[Any, ...], bool], Iterator[Any]], Callable[[str], Any], Callable[[Any], str]
]
"""Functions that read a pattern (in all graphs or the default graph), make a node of an IRI, and `iri`."""


def _oxigraph(dataset: rdflib.Dataset) -> _Parts | None:
    store = native_of(dataset)
    if store is None:
        return None
    from pyoxigraph import DefaultGraph, NamedNode

    return (
        lambda pattern, everywhere: store.quads_for_pattern(*pattern, None if everywhere else DefaultGraph()),
        NamedNode,
        lambda term: term.value if type(term) is NamedNode else "",
    )


def _rdflib(dataset: rdflib.Dataset) -> _Parts:
    return (
        lambda pattern, everywhere: (
            triple
            for triple, _ in dataset.store.triples(pattern, None if everywhere else dataset.default_graph)
        ),
        rdflib.URIRef,
        lambda term: str(term) if type(term) is rdflib.URIRef else "",
    )
