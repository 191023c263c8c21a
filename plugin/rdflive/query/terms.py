"""What the engine asks about rdflib terms, so that it need not know them."""

from __future__ import annotations

from typing import Any, Final

from rdflib.term import BNode, Literal, URIRef

from rdflive.model import Foreign

__all__ = ["FALSE", "TRUE", "Foreign", "blank_node", "is_triple", "to_text"]

FALSE: Final = Literal(False)
"""The term false."""
TRUE: Final = Literal(True)
"""The term true."""


def blank_node(label: str) -> BNode:
    """Make the blank node with a label."""
    return BNode(label)


def is_triple(s: Any, p: Any, o: Any) -> bool:  # noqa: ARG001 - an object may be anything
    """Tell whether RDF allows the triple.

    >>> is_triple(Literal("x"), URIRef("urn:p"), Literal("y"))
    False
    """
    return isinstance(s, URIRef | BNode) and isinstance(p, URIRef)


def to_text(term: Any) -> str:
    """Write a term such that different terms differ."""
    return "" if term is None else str(term.n3())
