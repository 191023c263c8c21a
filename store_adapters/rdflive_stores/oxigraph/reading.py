"""Converts the store's terms to rdflib's like oxrdflib, but faster."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import rdflib
from oxrdflib._converter import from_ox
from pyoxigraph import BlankNode, Literal, NamedNode
from rdflib import XSD, BNode, URIRef

__all__ = ["read"]

_XSD_STRING: Final = URIRef(XSD.string)
_STRING: Final = NamedNode(_XSD_STRING)
_is_odd: Final = re.compile(r'[<>" {}|\\^`]').search
"""Finds the characters in an IRI for which rdflib logs a warning."""
_text: Final = str.__new__


def read(term: Any) -> Any:
    """Return oxrdflib's term for a term of the store.

    IRIs, blank nodes and plain strings are built here, without rdflib's checks. Other literals, which often
    repeat, are cached.

    >>> read(Literal("late")).n3()
    '"late"^^<http://www.w3.org/2001/XMLSchema#string>'
    """
    kind = type(term)
    if kind is NamedNode:
        text = term.value
        return from_ox(term) if _is_odd(text) else _text(URIRef, text)
    if kind is Literal:
        if term.datatype != _STRING:
            return _literal(term, rdflib.NORMALIZE_LITERALS)
        text = term.value
        made: Any = _text(rdflib.Literal, text)
        made._language, made._datatype, made._value, made._ill_typed = None, _XSD_STRING, text, False
        return made
    return _text(BNode, term.value) if kind is BlankNode else from_ox(term)


@lru_cache(4096)
def _literal(term: Literal, normalize: bool) -> Any:  # noqa: ARG001 - part of the cache's key
    return from_ox(term)
