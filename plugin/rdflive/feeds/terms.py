"""The terms of one row of an N-Triples-like format, with rdflib's grammar and stricter checks.

rdflib reads `<a> <http://b>` as one IRI, leaves bad escapes unchanged and gives every blank node a new label.
A feed must be read exactly, and later changes refer to blank nodes by their labels.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from rdflib.plugins.parsers.ntriples import r_literal, r_tail, unquote
from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.model import Quad, exact_literal

__all__ = [
    "LABEL",
    "RdflibTerm",
    "RowError",
    "RowReader",
    "UnwritableError",
    "plain_quad",
    "write_quad",
    "write_term",
]

RdflibTerm: TypeAlias = URIRef | BNode | Literal

_FIRST: Final = (
    "A-Za-z0-9_:\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_INNER: Final = f"{_FIRST}\u00b7\u0300-\u036f\u203f\u2040\\-"
LABEL: Final = re.compile(f"[{_FIRST}](?:[{_INNER}.]*[{_INNER}])?")
"""The blank node labels of N-Triples 1.1."""
_NODE: Final = re.compile(f"_:({LABEL.pattern})")
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*")
_IRI: Final = rf"<({_ABSOLUTE.pattern})>[ \t]*"
_PLAIN: Final = re.compile(
    rf"{_IRI}{_IRI}(?:{_IRI}|\"([^\"\\]*)\"(?:\^\^<({_ABSOLUTE.pattern})>)?[ \t]*)(?:{_IRI})?\.[ \t]*"
)
"""A row without blank nodes, escapes, languages and comments; most rows match."""
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.?)", re.DOTALL)
_SHORT_ESCAPES: Final = frozenset(rf"\{char}" for char in "tbnrf\"'\\")
_AFTER_LITERAL: Final = " \t.<#"
_SHOWN: Final = 40


class RowError(ValueError):
    """A row is malformed; the driver turns the error into a `FeedError` with the position."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line
        """The number of the line in the feed; 0 for the only line of a frame."""


class RowReader:
    """Reads one row from left to right; malformed parts raise `RowError`.

    >>> row = RowReader('<http://e/s> <http://e/p> "o"@en .')
    >>> row.quad().object
    rdflib.term.Literal('o', lang='en')
    """

    __slots__ = ("rest",)

    def __init__(self, text: str) -> None:
        self.rest = text.strip(" \t\r\n")
        """The unread part of the row."""

    @property
    def has_term(self) -> bool:
        """False if the dot, a comment or the end of the row comes next."""
        return not self.rest.startswith((".", "#")) and bool(self.rest)

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Read a match of the pattern and the space after it; return None if it does not match here."""
        match = pattern.match(self.rest)
        if match is None:
            return None
        self._skip(match.end())
        return match.group()

    def quad(self) -> Quad:
        """Read subject, predicate, object, an optional graph, and the end of the row."""
        plain = plain_quad(self.rest)
        if plain is not None:
            self.rest = ""
            return plain
        subject, predicate = self.node("subject"), self.node("predicate", blank=False)
        object_ = self.term("object")
        graph = self.node("graph") if self.has_term else None
        self.end()
        return Quad(subject, predicate, object_, graph)

    def node(self, role: str, *, blank: bool = True) -> URIRef | BNode:
        """Read an IRI or, if `blank`, a blank node."""
        text = self.rest
        term = self.term(role)
        if isinstance(term, URIRef) or (blank and isinstance(term, BNode)):
            return term
        kind = "literal" if isinstance(term, Literal) else "blank node"
        accepted = "an IRI or a blank node" if blank else "an IRI"
        shown = _show(text[: len(text) - len(self.rest)].rstrip())
        raise RowError(f"the {role} is the {kind} {shown}; it must be {accepted}")

    def term(self, role: str) -> RdflibTerm:
        """Read an IRI, a blank node (`_:x` or `<_:x>`; both keep the label) or a literal."""
        if not self.has_term:
            raise RowError(f"the {role} is missing")
        try:
            return self._term()
        except RowError as error:
            raise RowError(f"the {role} {error}") from error

    def end(self) -> None:
        """Read the dot that ends the row; only a comment may follow it."""
        rest = self.rest
        tail = r_tail.match(rest)
        if tail is None:
            if not rest or rest.startswith("#"):
                raise RowError("the dot that ends the row is missing")
            raise RowError(f"expected the dot that ends the row, not {_show(rest)}")
        if tail.end() < len(rest):
            raise RowError(f"the row continues after its dot: {_show(rest[tail.end() :])}")

    def _term(self) -> RdflibTerm:
        text = self.rest
        if text.startswith("<<"):
            raise RowError("is a quoted triple; RDF-star is not supported")
        match text[0]:
            case "<" if text.startswith("<_:"):
                return self._label(">")
            case "<":
                iri, length = _leading_iri(text)
                self._skip(length)
                return iri
            case "_":
                return self._label("")
            case '"':
                return self._literal()
            case _:
                raise RowError(
                    "must be an IRI in angle brackets, a blank node or a literal in double quotes, "
                    f"not {_show(text)}"
                )

    def _label(self, close: str) -> BNode:
        """Read `_:x`, or `<_:x>` where `close` is the bracket."""
        match = _NODE.match(self.rest, len(close))
        if match is None or not self.rest.startswith(close, match.end()):
            raise RowError(f"is not a valid blank node label: {_show(self.rest)}")
        self._skip(match.end() + len(close))
        return BNode(match.group(1))

    def _literal(self) -> Literal:
        text = self.rest
        match = r_literal.match(text)
        if match is None:
            raise RowError(f"is a literal without its closing quote: {_show(text)}")
        lexical, language, datatype = match.groups()
        length = match.end()
        # read again: rdflib's pattern matches more than IRIs
        if text.startswith("^^", match.end(1) + 1):
            datatype, extent = _leading_iri(text[match.end(1) + 3 :])
            length = match.end(1) + 3 + extent
        elif text[length : length + 1] not in _AFTER_LITERAL:  # the empty string is in any string
            what = "a malformed language tag" if language or text[length] == "@" else "something"
            raise RowError(f"has {what} after its closing quote: {_show(text[match.end(1) + 1 :])}")
        self._skip(length)
        return exact_literal(_unescape(lexical), language, datatype)

    def _skip(self, length: int) -> None:
        self.rest = self.rest[length:].lstrip(" \t")


def plain_quad(text: str, begin: int = 0) -> Quad | None:
    """Read a row from an offset to its end; None for a row that needs the full grammar.

    That has escapes, language tags, blank nodes or comments.

    >>> plain_quad("A <urn:s> <urn:p> 'o' .", 2)
    """
    match = _PLAIN.fullmatch(text, begin)
    if match is None:
        return None
    s, p, iri, lexical, datatype, graph = match.groups()
    # `URIRef(s)` would check again for characters that `_ABSOLUTE` excludes
    return Quad(
        str.__new__(URIRef, s),
        str.__new__(URIRef, p),
        exact_literal(lexical, datatype=datatype) if iri is None else str.__new__(URIRef, iri),
        None if graph is None else str.__new__(URIRef, graph),
    )


def _leading_iri(text: str) -> tuple[URIRef, int]:
    """Return the leading absolute IRI in angle brackets and its length with the brackets."""
    end = text.find(">")
    if end < 0 or not text.startswith("<"):
        raise RowError(f"is an IRI without its angle brackets: {_show(text)}")
    iri = _unescape(text[1:end])
    if _ABSOLUTE.fullmatch(iri) is None:
        fault = "a relative IRI" if ":" not in iri else "not a valid absolute IRI"
        raise RowError(f"is {fault}: {_show(text[: end + 1])}")
    return URIRef(iri), end + 1


def _unescape(text: str) -> str:
    """Decode escapes; refuse those that rdflib would leave unchanged or decode to a surrogate."""
    if "\\" not in text:
        return text
    for escape in _ESCAPE.finditer(text):
        code = escape.group(1) or escape.group(2)
        if code is None and escape.group() not in _SHORT_ESCAPES:
            raise RowError(f"has a bad escape: {_show(escape.group())}")
        if code is not None and (int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF):
            raise RowError(f"has an escape that is no character: {_show(escape.group())}")
    return unquote(text)


def _show(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_WRITABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LABEL: Final = re.compile(r"\w(?:[\w.:\-]*[\w:\-])?")


class UnwritableError(RdfliveError, ValueError):
    """A term of the store has no N-Triples form."""


def write_term(term: Any) -> str:
    r"""Return an rdflib term in N-Triples syntax; raises `UnwritableError` if it could not be read back.

    >>> write_term(Literal('a "b"\n', lang="en"))
    '"a \\"b\\"\\n"@en'
    """
    if isinstance(term, Literal) and not _SURROGATE.search(term):
        text = f'"{term.translate(_ESCAPES)}"'
        if term.language:
            return f"{text}@{term.language}"
        return text if term.datatype is None else f"{text}^^{write_term(term.datatype)}"
    if isinstance(term, BNode) and _LABEL.fullmatch(term):
        return f"_:{term}"
    if isinstance(term, URIRef) and _WRITABLE.fullmatch(term):
        return f"<{term}>"
    raise UnwritableError(
        f"{term!r} cannot be written as N-Triples: it must be an absolute IRI without spaces and quotes, a "
        "blank node with a plain label, or a literal without half a surrogate pair, which has no UTF-8"
    )


def write_quad(quad: Quad) -> str:
    """Return a quad as a line of N-Quads without its line end; the graph None is left out."""
    return " ".join([*(write_term(term) for term in quad if term is not None), "."])
