"""The protocol of sinks, and the terms of deltas as rdflib's terms."""

from __future__ import annotations

from typing import Any, Protocol

from rdflib import XSD, BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.model import Delta, exact_literal

__all__ = ["Sink", "to_rdflib"]


class Sink(Protocol):
    """Sends deltas: pass it to `subscribe` as the callback, and close it after the subscription.

    A call raises if the delta cannot be sent; the sink then continues without it.
    """

    def __call__(self, delta: Delta, /) -> None:
        """Send one delta."""

    def close(self) -> None:
        """Close the resources that the sink opened; a stream of the caller stays open."""


def to_rdflib(term: Any) -> URIRef | BNode | Literal:
    """Return a term of a delta, rdflib's or pyoxigraph's, as rdflib's term.

    A literal keeps its lexical form. Language tags, which ignore case, become lower case: a solution added
    with `en-GB` may be removed with `en-gb`, and receivers that compare texts must recognise it. Raises
    `RdfliveError` for a term that rdflib cannot hold.

    >>> to_rdflib(Literal("colour", lang="en-GB"))
    rdflib.term.Literal('colour', lang='en-gb')
    """
    if isinstance(term, Literal) and term.language and not term.language.islower():
        return Literal(term, lang=term.language.lower())
    if isinstance(term, URIRef | BNode | Literal):
        return term
    match type(term).__name__:  # pyoxigraph's, by name as it may not be installed
        case "NamedNode":
            return URIRef(term.value)
        case "BlankNode":
            return BNode(term.value)
        case "Literal" if getattr(term, "direction", None) is None:
            if term.language:
                return Literal(term.value, lang=term.language.lower())
            plain = term.datatype.value == str(XSD.string)
            return exact_literal(term.value, datatype=None if plain else term.datatype.value)
    raise RdfliveError(f"{term} cannot be sent: rdflib has no such term; leave it out of the query's answer")
