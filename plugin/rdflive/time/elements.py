"""Elements of a stream: a triple, several triples, or a graph, put in at an instant."""

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

    Terms are rdflib's or the store's own. Raises TypeError for what is no triple or graph, and ValueError for
    a term that the store cannot hold.
    """
    if type(element) is tuple and len(element) == 3 and type(element[0]) in _SUBJECTS:  # the common case
        return (_native(element, adapter),)
    if isinstance(element, ConjunctiveGraph):  # a Dataset is one
        raise TypeError(
            f"an element is one graph, and a {type(element).__name__} holds several: add each by itself"
        )
    if isinstance(element, rdflib.Graph):
        return tuple(_native(triple, adapter) for triple in element)
    # A string is iterable, but its characters are no triples.
    if isinstance(element, str) or not isinstance(element, Iterable):
        raise TypeError(f"{element!r} is no element of a stream: add a triple, triples, or a graph")
    found = tuple(element)
    # three terms are one triple; three tuples, or three triples of pyoxigraph, are as many triples
    if len(found) == 3 and not isinstance(found[0], tuple | list) and not _is_triple(found[0]):
        return (_native(found, adapter),)
    return tuple(_native(triple, adapter) for triple in found)


def _is_triple(term: Any) -> bool:
    """Return True if this is a triple of another library than rdflib."""
    return not isinstance(term, Node) and hasattr(term, "predicate")


def _native(triple: Any, adapter: Adapter) -> Triple:
    try:
        s, p, o = triple
    except (TypeError, ValueError) as error:
        raise TypeError(f"{triple!r} is no triple: give a subject, a predicate and an object") from error
    if type(s) in _SUBJECTS and type(p) is URIRef and type(o) in _OBJECTS:  # quicker than their base classes
        return adapter.to_native(s), adapter.to_native(p), adapter.to_native(o)
    if isinstance(s, Node):
        if not (isinstance(s, _SUBJECTS) and isinstance(p, URIRef) and isinstance(o, _OBJECTS)):
            raise TypeError(f"{(s, p, o)!r} is no triple of RDF: see its subject and predicate")
        return adapter.to_native(s), adapter.to_native(p), adapter.to_native(o)
    own = type(adapter.to_native(URIRef("urn:any")))
    # terms of rdflib were taken above, so these must be the store's own
    if type(p) is not own or own is URIRef:
        raise TypeError(
            f"{(s, p, o)!r} has terms of neither rdflib nor {own.__module__}, the library of the graph "
            "beside the stream"
        )
    return s, p, adapter.to_native(o)  # the store may spell a literal in another way
