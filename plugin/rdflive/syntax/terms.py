"""Conversion of SPARQL tokens to terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from rdflib import XSD
from rdflib.term import Literal, URIRef

from rdflive.model import DirectionalString, exact_literal
from rdflive.syntax.iris import resolve

__all__ = ["Names", "TokenError", "literal", "number", "string"]

_CODE: Final = r"u(?P<four>[0-9A-Fa-f]{4})|U(?P<eight>[0-9A-Fa-f]{8})"
_STRING_ESCAPE: Final = re.compile(rf"\\(?:(?P<one>[tbnrf\"'\\])|{_CODE}|(?P<wrong>.))", re.DOTALL)
_IRI_ESCAPE: Final = re.compile(rf"\\(?:{_CODE}|(?P<wrong>.))")
_NAME_ESCAPE: Final = re.compile(r"\\(?:(?P<one>[_~.\-!$&'()*+,;=/?#@%])|(?P<wrong>.))")
_SHORT: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_CANONICAL: Final = re.compile("0|-?[1-9][0-9]*")
# a lookup in the namespace takes as long as the creation of a term
_INTEGER, _DECIMAL, _DOUBLE = XSD.integer, XSD.decimal, XSD.double
_LANGUAGE: Final = re.compile("[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--(?:ltr|rtl))?")


class TokenError(ValueError):
    """A token is malformed."""


class Names:
    """The namespaces of prefixes, and the base of relative IRIs."""

    __slots__ = ("base", "prefixes")

    def __init__(self, prefixes: Mapping[str, Any], base: str = "") -> None:
        self.prefixes = dict(prefixes)
        self.base = base

    def iri(self, token: str) -> URIRef:
        """Return the IRI between `<` and `>`, resolved against the base; raises `TokenError`."""
        text = token[1:-1]
        if "\\" in text:
            text = _unescaped(text, _IRI_ESCAPE, "an IRI")
        return URIRef(resolve(self.base, text) if self.base else text)

    def prefixed(self, token: str) -> URIRef | None:
        """Return the IRI of a prefixed name, None if its prefix is unknown; raises `TokenError`."""
        prefix, _, local = token.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None:
            return None
        return URIRef(
            str(namespace) + (_unescaped(local, _NAME_ESCAPE, "a name") if "\\" in local else local)
        )


def string(token: str) -> Literal:
    """Return the string between quotation marks; raises `TokenError`."""
    width = 3 if token[:3] in ('"""', "'''") else 1
    text = token[width:-width]
    return Literal(_unescaped(text, _STRING_ESCAPE, "a string") if "\\" in text else text)


def number(token: str) -> Literal:
    """Return the literal of a number token.

    >>> number("-1.5e0").datatype == XSD.double, number(".5").datatype == XSD.decimal
    (True, True)
    """
    if _CANONICAL.fullmatch(token):
        return Literal(token, datatype=_INTEGER, normalize=False)
    return Literal(
        token, datatype=_DOUBLE if "e" in token or "E" in token else _DECIMAL if "." in token else _INTEGER
    )


def literal(text: Literal, language: str | None, datatype: URIRef | None) -> Literal:
    """Return a string with a datatype, or with a language and an optional base direction, as in `en--ltr`.

    Raises `TokenError` for an invalid language tag.
    """
    if language is None:
        return exact_literal(str(text), datatype=datatype)
    if not _LANGUAGE.fullmatch(language):
        raise TokenError(
            f"@{language} is not a language tag: separate its parts by -, and write -- before ltr or rtl"
        )
    tag, _, direction = language.partition("--")
    try:
        return DirectionalString(str(text), tag, direction) if direction else Literal(text, lang=tag)
    except ValueError as error:
        raise TokenError(f"@{language} is not a language tag") from error


def _unescaped(text: str, escape: re.Pattern[str], what: str) -> str:
    def character(match: re.Match[str]) -> str:
        found = match.groupdict()
        code = found.get("four") or found.get("eight")
        if code:
            number = int(code, 16)
            if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                raise TokenError(f"the escape {match[0]} is no character")
            return chr(number)
        if found["wrong"] is not None:
            raise TokenError(_wrong_escape(found["wrong"], what))
        return _SHORT.get(found["one"], found["one"])

    return escape.sub(character, text)


def _wrong_escape(character: str, what: str) -> str:
    code = r"; four hexadecimal digits follow \u, eight follow \U" if character in "uU" else ""
    shown = character if character.isprintable() else "·"
    if what == "a string":
        return rf"\{shown} is not an escape: write a backslash in a string as \\{code}"
    return rf"\{shown} is not an escape of {what}{code}"
