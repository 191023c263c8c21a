"""What every sink offers, and the terms that it is given."""

from __future__ import annotations

from typing import Any, Protocol

from rdflib import XSD, BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.model import Delta, exact_literal

__all__ = ["Sink", "to_rdflib"]


class Sink(Protocol):
    """Sends deltas somewhere: give it to `subscribe` as the callback, and close it after the subscription.

    A delta that it could not send raises, and what the sink was given later then lacks it.
    """

    def __call__(self, delta: Delta, /) -> None:
        """Send one delta."""

    def close(self) -> None:
        """Let go of what the sink opened itself; a stream that it was given stays open."""


def to_rdflib(term: Any) -> URIRef | BNode | Literal:
    """Turn a term of a delta into rdflib's, whichever library the subscribed graph is of.

    A literal keeps its lexical form, but language tags, which are equal in any case, become lower case:
    what was sent as `en-GB` may go as `en-gb`, and who adds texts up must find it. Raises `RdfliveError`
    for a term that rdflib cannot hold.

    >>> to_rdflib(Literal("colour", lang="en-GB"))
    rdflib.term.Literal('colour', lang='en-gb')
    """
    if isinstance(term, Literal) and term.language and not term.language.islower():
        return Literal(term, lang=term.language.lower())
    if isinstance(term, URIRef | BNode | Literal):
        return term
    match type(term).__name__:  # pyoxigraph's: it need not be installed
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
