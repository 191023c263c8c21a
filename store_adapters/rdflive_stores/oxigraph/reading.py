"""The terms that users of oxrdflib read: as oxrdflib makes them of the store's, but not each time again."""

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
"""Finds what rdflib warns of in an IRI."""
_text: Final = str.__new__


def read(term: Any) -> Any:
    """Give what oxrdflib gives for a term of the store.

    IRIs, blank nodes and plain strings are put together here, for rdflib tries several readings of each of
    them; other literals, which often come again, are kept for a while.

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
def _literal(term: Literal, normalize: bool) -> Any:  # noqa: ARG001 - rdflib looks at it
    return from_ox(term)
