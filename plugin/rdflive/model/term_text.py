"""Terms as text: N-Triples, and a short form for display."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from rdflib import XSD, Literal

from rdflive.model.terms import TripleTerm

__all__ = ["TermWriter", "is_prefix", "is_writable", "to_ntriples", "to_printable"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_STEERING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, changes of the writing direction, and surrogates."""
_BARE: Final = frozenset(map(str, (XSD.boolean, XSD.integer, XSD.decimal, XSD.double)))
"""Datatypes whose literals SPARQL writes without quotes."""
_BEGIN: Final = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_INNER: Final = f"{_BEGIN}_0-9\u00b7\u0300-\u036f\u203f\u2040-"
_LOCAL: Final = re.compile(
    f"(?:(?:[{_BEGIN}_:0-9]|%[0-9A-Fa-f]{{2}})(?:(?:[:.{_INNER}]|%[0-9A-Fa-f]{{2}})*(?:[:{_INNER}]|%[0-9A-Fa-f]{{2}}))?)?"
)
"""The local part of a prefixed name without backslashes (PN_LOCAL)."""
_NAME: Final = re.compile(f"(?:[{_BEGIN}](?:[.{_INNER}]*[{_INNER}])?)?")
"""A prefix (PN_PREFIX) or an empty string."""
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
"""An absolute IRI (IRIREF)."""


def is_prefix(text: str) -> bool:
    """True if a text, which may be empty, is a valid prefix in SPARQL and Turtle.

    >>> is_prefix("ex"), is_prefix(""), is_prefix("_x")
    (True, True, False)
    """
    return _NAME.fullmatch(text) is not None


def is_writable(iri: str) -> bool:
    """True if a text is an absolute IRI that needs no escapes; a graph may hold others.

    >>> is_writable("urn:x"), is_writable("urn:x> } ; DROP ALL #"), is_writable("x")
    (True, False, False)
    """
    return _IRI.fullmatch(iri) is not None


def to_printable(text: str) -> str:
    """Escape control characters, line ends and changes of the writing direction.

    >>> to_printable("one\\ntwo")
    'one\\\\u000Atwo'
    """
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04X}", text)


def to_ntriples(term: Any) -> str:
    """Return a term in N-Triples syntax on one line; None, an unbound variable, is UNDEF.

    Control characters become escapes, which N-Triples reads as the same characters.

    >>> to_ntriples(Literal('a "b"', lang="en"))
    '"a \\\\"b\\\\""@en'
    """
    return to_printable(_written(term, lambda iri: f"<{iri}>", bare=False))


class TermWriter:
    """Writes terms for display: prefixed names, numbers without quotes, no control characters.

    `prefixes` maps prefixes to namespaces. The longest matching namespace applies, and of several prefixes
    for it the last one. A text of more than `most` characters ends with an ellipsis.

    >>> from rdflib import URIRef
    >>> write = TermWriter({"": "http://example.org/"})
    >>> write(URIRef("http://example.org/T101")), write(URIRef("urn:x")), write(Literal(7)), write(None)
    (':T101', '<urn:x>', '7', 'UNDEF')
    """

    def __init__(self, prefixes: Mapping[str, str], *, most: int | None = None) -> None:
        # a store may bind invalid prefixes, and an empty namespace would match everything
        self._prefixes = {str(n): str(p) for p, n in prefixes.items() if n and is_prefix(str(p))}
        self._lengths = sorted({len(namespace) for namespace in self._prefixes}, reverse=True)
        self._most = most
        self.used: dict[str, str] = {}
        """The prefixes used so far, with their namespaces."""

    def __call__(self, term: Any) -> str:
        """Return the text of one term of any library, or of None."""
        text = to_printable(_written(term, self._short, bare=True))
        return text if self._most is None or len(text) <= self._most else f"{text[: self._most - 1]}…"

    def row(self, terms: tuple[Any, ...]) -> str:
        """Return the text of the terms of a solution or a triple."""
        return " ".join(map(self, terms))

    def _short(self, iri: str) -> str:
        for length in self._lengths:
            prefix = self._prefixes.get(iri[:length]) if length <= len(iri) else None
            if prefix is not None and _LOCAL.fullmatch(iri, length):
                self.used[prefix] = iri[:length]
                return f"{prefix}:{iri[length:]}"
        return f"<{iri}>"


def _written(term: Any, name: Callable[[str], str], *, bare: bool) -> str:
    """Return the text of a term of rdflib, pyoxigraph (which may be absent) or another library."""
    match type(term).__name__:
        case "NoneType":
            return "UNDEF"
        case "URIRef":
            return name(str(term))
        case "NamedNode":
            return name(term.value)
        case "BNode":
            return f"_:{term}"
        case "Literal" | "DirectionalString":
            return _literal(term, name, bare=bare)
        case "Triple" | "TripleTerm":
            parts = (
                term.parts if isinstance(term, TripleTerm) else (term.subject, term.predicate, term.object)
            )
            return f"<<( {' '.join(_written(part, name, bare=bare) for part in parts)} )>>"
    return str(term)  # a blank node of pyoxigraph, or a term of another adapter


def _literal(term: Any, name: Callable[[str], str], *, bare: bool) -> str:
    text = str(term) if isinstance(term, Literal) else str(term.value)
    # a plain literal is an xsd:string; Oxigraph has only the latter
    datatype = (
        None
        if term.language or term.datatype is None
        else str(getattr(term.datatype, "value", term.datatype))
    )
    if bare and datatype in _BARE:
        read = term if isinstance(term, Literal) else Literal(text, datatype=datatype)
        if not read.ill_typed:
            return text
    direction = getattr(term, "direction", None)
    suffix = f"@{term.language}" if term.language else ""
    if direction is not None:
        suffix += f"--{direction}"
    elif datatype is not None and datatype != str(XSD.string):
        suffix = f"^^{name(datatype)}"
    return f'"{text.translate(_ESCAPES)}"{suffix}'
