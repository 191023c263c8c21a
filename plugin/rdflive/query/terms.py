"""The operations on rdflib terms that the engine uses, so that it does not depend on rdflib."""

from __future__ import annotations

from typing import Any, Final

from rdflib.term import BNode, Literal

from rdflive.model import Foreign, is_triple

__all__ = ["FALSE", "TRUE", "Foreign", "blank_node", "is_triple", "to_text"]

FALSE: Final = Literal(False)
"""The term false."""
TRUE: Final = Literal(True)
"""The term true."""


def blank_node(label: str) -> BNode:
    """Make the blank node with a label."""
    return BNode(label)


def to_text(term: Any) -> str:
    """Write a term so that different terms differ."""
    return "" if term is None else str(term.n3())
