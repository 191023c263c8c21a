"""Terms as text: N-Triples for programs, and a short form for people."""

from __future__ import annotations

from typing import Any, Final

from rdflib import XSD, BNode, Literal, URIRef
from rdflib.namespace import NamespaceManager

__all__ = ["to_compact", "to_ntriples", "to_printable"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
# what could steer a terminal
_CONTROLS: Final = {code: f"\\u{code:04X}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_BARE: Final = frozenset({XSD.boolean, XSD.integer, XSD.decimal, XSD.double})
"""Datatypes whose values SPARQL writes without quotes."""


def to_ntriples(term: Any) -> str:
    """Write a term in one line, as N-Triples does.

    >>> to_ntriples(Literal('a "b"', lang="en"))
    '"a \\\\"b\\\\""@en'
    """
    if isinstance(term, URIRef):
        return f"<{term}>"
    if isinstance(term, BNode):
        return f"_:{term}"
    return f'"{term.translate(_ESCAPES)}"{_suffix(term, to_ntriples)}'


def to_compact(term: Any, namespaces: NamespaceManager) -> str:
    """Write a term for people: prefixed names, bare numbers, and nothing that steers the terminal."""
    if isinstance(term, URIRef):
        text = namespaces.normalizeUri(term)
    elif isinstance(term, Literal):
        if term.datatype in _BARE and not term.ill_typed:
            text = str(term)
        else:
            text = f'"{term.translate(_ESCAPES)}"{_suffix(term, namespaces.normalizeUri)}'
    else:
        text = f"_:{term}"
    return to_printable(text)


def to_printable(text: str) -> str:
    """Write what could steer a terminal, or end a line, as escapes.

    >>> to_printable("one\\ntwo")
    'one\\\\u000Atwo'
    """
    return text.translate(_CONTROLS)


def _suffix(literal: Literal, write: Any) -> str:
    if literal.language:
        return f"@{literal.language}"
    # a plain literal is an xsd:string, and Oxigraph knows no other
    return f"^^{write(literal.datatype)}" if literal.datatype not in (None, XSD.string) else ""
