"""The names of streams and windows, resolved as rdflib resolves those of the query."""

from __future__ import annotations

from typing import Final

from rdflib import URIRef
from rdflib.plugins.sparql.parser import expandUnicodeEscapes
from rdflib.plugins.sparql.sparql import Prologue

from rdflive.syntax.tokens import Token
from rdflive.time.languages.cursor import Cursor

__all__ = ["NAMES", "Names"]

NAMES: Final = ("iri", "prefixed")
"""The kinds of tokens that are names."""


class Names:
    """The prefixes and the base of a text, and the IRIs of its names.

    >>> cursor = Cursor("PREFIX ex: <http://e/> ex:s")
    >>> names = Names()
    >>> cursor.take("PREFIX"), names.declare_prefix(cursor), names.take(cursor, "a name")
    (True, None, rdflib.term.URIRef('http://e/s'))
    """

    __slots__ = ("_prologue", "declared")

    def __init__(self) -> None:
        self._prologue = Prologue()
        self._prologue.base = ""
        self.declared: dict[str, URIRef] = {}
        """The prefixes that the text declares; rdflib knows a few others, such as xsd."""

    def declare_prefix(self, cursor: Cursor) -> None:
        """Read what follows PREFIX."""
        name = cursor.token
        if name.kind != "prefixed" or not name.text.endswith(":"):
            raise cursor.expected("a prefix with its colon, as in ex:")
        cursor.advance()
        iri = self.declared[name.text[:-1]] = self._iri(cursor)
        self._prologue.bind(name.text[:-1], iri)

    def declare_base(self, cursor: Cursor) -> None:
        """Read what follows BASE."""
        self._prologue.base = self._iri(cursor)

    def take(self, cursor: Cursor, wanted: str) -> URIRef:
        """Take a name; raises `QuerySyntaxError` where none comes next, or one with an unknown prefix."""
        if cursor.token.kind not in NAMES:
            raise cursor.expected(wanted)
        return self.resolve(cursor.advance())

    def resolve(self, token: Token) -> URIRef:
        """Give the IRI of a name."""
        if token.kind == "iri":
            try:
                return URIRef(str(self._prologue.absolutize(_bare(token))))
            except ValueError as error:
                raise Cursor.wrong(token, f"{token.text} is no IRI: {error}") from error
        if "\\" in token.text:  # rdflib leaves escapes in the names of graphs as they are
            raise Cursor.wrong(token, f"{token.text!r} has an escape: write the IRI between < and >")
        prefix, _, local = token.text.partition(":")
        try:
            return self._prologue.resolvePName(prefix, local)
        except Exception as error:  # that is what rdflib raises for an unknown prefix
            raise Cursor.wrong(
                token, f"the prefix of {token.text!r} is unknown: declare PREFIX {prefix}: <...>"
            ) from error

    def _iri(self, cursor: Cursor) -> URIRef:
        if cursor.token.kind != "iri":
            raise cursor.expected("an IRI between < and >")
        return self.resolve(cursor.advance())


def _bare(token: Token) -> URIRef:
    return URIRef(expandUnicodeEscapes(token.text[1:-1]))
