"""The prefixes of queries and of displayed answers."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final

from rdflib import Graph

from rdflive.model.term_text import is_prefix, is_writable
from rdflive.syntax.tokens import tokenize

__all__ = [
    "Prefixes",
    "bound_prefixes",
    "declared_prefixes",
    "own_prefixes",
    "usual_prefixes",
    "writable_prefixes",
]

_TRIES: Final = 10


def declared_prefixes(query: str) -> dict[str, str]:
    """Return the prefixes that a query declares.

    >>> declared_prefixes("PREFIX : <http://example.org/> ASK { :a :b :c }")
    {'': 'http://example.org/'}
    """
    return dict(_declared(query))


@lru_cache(maxsize=256)  # bounds the memory of endless new texts
def _declared(query: str) -> Mapping[str, str]:
    tokens = list(tokenize(query))
    return {
        name.text.removesuffix(":"): iri.text[1:-1]
        for word, name, iri in zip(tokens, islice(tokens, 1, None), islice(tokens, 2, None), strict=False)
        if word.text.upper() == "PREFIX" and name.kind == "prefixed" and iri.kind == "iri"
    }


def usual_prefixes() -> dict[str, str]:
    """Return the prefixes that every rdflib graph has."""
    return dict(_usual())


def bound_prefixes(graph_or_store: Any) -> dict[str, str]:
    """Return all prefixes bound on a graph or store; another thread may bind prefixes meanwhile.

    >>> bound_prefixes(Graph())["owl"]
    'http://www.w3.org/2002/07/owl#'
    """
    for _ in range(_TRIES):
        try:
            return {prefix: str(namespace) for prefix, namespace in graph_or_store.namespaces()}
        except RuntimeError:  # another thread has bound a prefix
            continue
    return {}


def writable_prefixes(graph_or_store: Any) -> dict[str, str]:
    """Return the bound prefixes that a query can declare; a store may bind any name to any text.

    >>> graph = Graph()
    >>> graph.bind("ex", "http://example.org/")
    >>> graph.bind("_x", "urn:x:")
    >>> graph.bind("y", "urn:y> #")
    >>> writable_prefixes(graph).keys() & {"ex", "_x", "y"}
    {'ex'}
    """
    bound = bound_prefixes(graph_or_store)
    return {prefix: name for prefix, name in bound.items() if is_prefix(prefix) and is_writable(name)}


def own_prefixes(graph: Graph) -> dict[str, str]:
    """Return the prefixes bound on a graph, without the usual ones.

    >>> graph = Graph()
    >>> graph.bind("ex", "http://example.org/")
    >>> own_prefixes(graph)
    {'ex': 'http://example.org/'}
    """
    usual = _usual()
    return {prefix: name for prefix, name in bound_prefixes(graph).items() if usual.get(prefix) != name}


@cache
def _usual() -> Mapping[str, str]:
    return bound_prefixes(Graph())


class Prefixes:
    """Looks up prefixes when text is written: those of the query, then the given ones, then the graph's.

    The graph's prefixes are those bound at that time. The reference to the graph's store is weak, so a delta
    keeps no graph alive.
    """

    __slots__ = ("_given", "_query", "_store")

    def __init__(self, query: str, given: Mapping[str, Any] | None = None, graph: Any = None) -> None:
        self._query = query
        self._given = dict(given or {})
        manager = getattr(graph, "namespace_manager", None)  # only rdflib graphs have prefixes
        self._store = None if manager is None else weakref.ref(manager.store)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prefixes) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._query)

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self._query, self._given, self._store

    def __call__(self) -> dict[str, str]:
        """Return the namespace of each prefix."""
        given = {prefix: str(namespace) for prefix, namespace in self._given.items()}
        return {**self._bound(), **given, **declared_prefixes(self._query)}

    def _bound(self) -> dict[str, str]:
        store = None if self._store is None else self._store()
        return {} if store is None else bound_prefixes(store)
