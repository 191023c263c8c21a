"""Elements of a stream: a triple, several triples, or a graph, added at an instant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import rdflib
from rdflib.graph import ConjunctiveGraph
from rdflib.term import BNode, Literal, Node, URIRef

from rdflive.model import Triple
from rdflive.store import Adapter

__all__ = ["read_element"]

_SUBJECTS: Final = (URIRef, BNode)
_OBJECTS: Final = (URIRef, BNode, Literal)


def read_element(element: Any, adapter: Adapter) -> tuple[Triple, ...]:
    """Return the triples of an element, in the terms of the store of the background graph.

    Terms are rdflib's or the store's own. Raises TypeError for an object that is not a triple or graph, and
    ValueError for a term that the store cannot hold.
    """
    if type(element) is tuple and len(element) == 3 and type(element[0]) in _SUBJECTS:  # the common case
        return (_native(element, adapter),)
    if isinstance(element, ConjunctiveGraph):  # a Dataset is one
        raise TypeError(
            f"an element is one graph, but a {type(element).__name__} has several: add each separately"
        )
    if isinstance(element, rdflib.Graph):
        return tuple(_native(triple, adapter) for triple in element)
    # A string is iterable, but its characters are not triples.
    if isinstance(element, str) or not isinstance(element, Iterable):
        raise TypeError(f"{element!r} is not an element of a stream: add a triple, triples, or a graph")
    found = tuple(element)
    # three terms are one triple; three tuples, or three triples of pyoxigraph, are three triples
    if len(found) == 3 and not isinstance(found[0], tuple | list) and not _is_triple(found[0]):
        return (_native(found, adapter),)
    return tuple(_native(triple, adapter) for triple in found)


def _is_triple(term: Any) -> bool:
    """Return True for a triple of a library other than rdflib."""
    return not isinstance(term, Node) and hasattr(term, "predicate")


def _native(triple: Any, adapter: Adapter) -> Triple:
    try:
        s, p, o = triple
    except (TypeError, ValueError) as error:
        raise TypeError(f"{triple!r} is not a triple: give a subject, a predicate and an object") from error
    if type(s) in _SUBJECTS and type(p) is URIRef and type(o) in _OBJECTS:  # faster than `isinstance`
        return adapter.to_native(s), adapter.to_native(p), adapter.to_native(o)
    if isinstance(s, Node):
        if not (isinstance(s, _SUBJECTS) and isinstance(p, URIRef) and isinstance(o, _OBJECTS)):
            raise TypeError(f"{(s, p, o)!r} is not a triple of RDF: see its subject and predicate")
        return adapter.to_native(s), adapter.to_native(p), adapter.to_native(o)
    own = type(adapter.to_native(URIRef("urn:any")))
    # terms of rdflib are handled above, so these must be the store's own
    if type(p) is not own or own is URIRef:
        raise TypeError(
            f"{(s, p, o)!r} has terms of neither rdflib nor {own.__module__}, the library of the "
            "background graph"
        )
    return s, p, adapter.to_native(o)  # the store may spell a literal differently
