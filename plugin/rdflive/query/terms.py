"""What the engine asks about rdflib terms, so that it need not know them."""

from __future__ import annotations

from typing import Any, Final

from rdflib.term import BNode, Literal, URIRef

__all__ = ["FALSE", "TRUE", "blank_node", "foreign", "is_foreign", "is_triple", "to_text"]

FALSE: Final = Literal(False)
TRUE: Final = Literal(True)
_FOREIGN: Final = URIRef("urn:x-rdflive:foreign")


def blank_node(label: str) -> BNode:
    """Make the blank node with a label."""
    return BNode(label)


def foreign(term: Any) -> Literal:
    """Stand for a store's term that rdflib cannot hold: no operation knows its datatype, but it counts.

    >>> foreign("<< urn:a urn:b urn:c >>").datatype
    rdflib.term.URIRef('urn:x-rdflive:foreign')
    """
    return Literal(str(term), datatype=_FOREIGN)


def is_foreign(term: Any) -> bool:
    """Tell whether a term stands for one that rdflib cannot hold."""
    return isinstance(term, Literal) and term.datatype == _FOREIGN


def is_triple(s: Any, p: Any, o: Any) -> bool:  # noqa: ARG001 - an object may be anything
    """Tell whether RDF allows the triple.

    >>> is_triple(Literal("x"), URIRef("urn:p"), Literal("y"))
    False
    """
    return isinstance(s, URIRef | BNode) and isinstance(p, URIRef)


def to_text(term: Any) -> str:
    """Write a term such that different terms differ."""
    return "" if term is None else str(term.n3())
