"""The exact text forms of rows of terms, and of the reports of windows, in the journal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

from rdflib.namespace import XSD
from rdflib.term import BNode, Literal, Node, URIRef

from rdflive.model import Delta, exact_literal
from rdflive.time.instants import dated, to_instant

__all__ = [
    "Row",
    "RowTermTexts",
    "read_report",
    "read_row",
    "row_key",
    "texts_of",
    "write_report",
    "write_row",
]

Row: TypeAlias = tuple[Any, ...]
"""Terms of the store, None where unbound."""

_BETWEEN: Final = "\t"  # escaped inside every term
_ESCAPED: Final = re.compile('[\\\\"\t\n\r\0\ud800-\udfff]')  # SQLite takes no lone surrogates
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-F]{4})|(.))")
_NOT_IN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LITERAL: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@(.+)|\^\^<(.*)>)?')
_LETTERS: Final = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_CHARACTERS: Final = {text[1]: character for character, text in _LETTERS.items()}


class RowTermTexts(Protocol):
    """The text form of the terms of one library. Both methods raise ValueError for other values."""

    def write(self, term: Any) -> str:
        """Write a term as text without tabs."""

    def read(self, text: str) -> Any:
        """Read the text of `write`."""


def write_row(texts: RowTermTexts, row: Row) -> str:
    r"""Write a row, without the number of its columns.

    >>> write_row(RdflibTexts(), (URIRef("urn:a"), None, Literal("Zug", lang="de")))
    '<urn:a>\t\t"Zug"@de'
    """
    return _BETWEEN.join("" if term is None else texts.write(term) for term in row)


def read_row(texts: RowTermTexts, text: str, width: int) -> Row:
    r"""Read a row of `width` columns; raises ValueError if the text has another number of columns.

    >>> read_row(RdflibTexts(), "\t_:b", 2)
    (None, rdflib.term.BNode('b'))
    """
    # splitting "" gives one column, and the row of an ASK has none
    terms = text.split(_BETWEEN) if width or text else []
    if len(terms) != width:
        raise ValueError(f"a row of {width} columns has {len(terms)}: {text!r}")
    return tuple(texts.read(term) if term else None for term in terms)


def row_key(text: str) -> str:
    r"""Return the key of a row's text, which is the same for equal rows: language tags become lower case.

    >>> row_key('"a"@EN-gb\t"b@C"')
    '"a"@en-gb\t"b@C"'
    """
    return _BETWEEN.join(map(_term_key, text.split(_BETWEEN))) if '"@' in text else text


def _term_key(text: str) -> str:
    # a literal with one of these endings has no language tag
    if not text.startswith('"') or text.endswith(('"', ">")):
        return text
    literal, _, language = text.rpartition("@")
    return f"{literal}@{language.lower()}"


def texts_of(term: Any) -> RowTermTexts:
    """Return the text form for the library of a term; raises ValueError for any other library."""
    if isinstance(term, Node):
        return RdflibTexts()
    if type(term).__module__ == "pyoxigraph":
        return OxigraphTexts()
    raise ValueError(f"terms like {term!r} are neither rdflib's nor pyoxigraph's")


class RdflibTexts:
    """N-Triples extended to every term of rdflib, such as an IRI with a space."""

    def write(self, term: Any) -> str:
        """Write an IRI, a blank node with its label, or a literal with its lexical form."""
        if isinstance(term, Literal):
            quoted = f'"{_escape(term)}"'
            if term.language:
                return f"{quoted}@{term.language}"
            return quoted if term.datatype is None else f"{quoted}^^<{_escape(term.datatype)}>"
        if isinstance(term, BNode):
            return f"_:{_escape(term)}"
        if isinstance(term, URIRef):
            return f"<{_escape(term)}>"
        raise ValueError(f"{term!r} is neither an IRI nor a blank node nor a literal")

    def read(self, text: str) -> Any:
        """Read a term; a literal keeps its lexical form regardless of `rdflib.NORMALIZE_LITERALS`."""
        if text.startswith("<") and text.endswith(">"):
            return URIRef(_unescape(text[1:-1]))
        if text.startswith("_:"):
            return BNode(_unescape(text[2:]))
        match = _LITERAL.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a term")
        lexical, language, datatype = match.groups()
        return exact_literal(_unescape(lexical), language, None if datatype is None else _unescape(datatype))


class OxigraphTexts:
    """N-Triples of RDF 1.2, as pyoxigraph writes and reads them: triple terms and directions too."""

    def write(self, term: Any) -> str:
        """Write a term of pyoxigraph."""
        from pyoxigraph import Literal, NamedNode, Triple

        if isinstance(term, NamedNode):  # a lenient parser accepts characters that N-Triples must escape
            return f"<{_NOT_IN_IRI.sub(_code, term.value)}>"
        if isinstance(term, Triple):
            return f"<<( {' '.join(map(self.write, term))} )>>"
        # `str` would not escape the IRI of the datatype
        if isinstance(term, Literal) and not term.language and term.datatype.value != XSD.string:
            return f"{Literal(term.value)}^^{self.write(term.datatype)}"
        return str(term)

    def read(self, text: str) -> Any:
        """Read a term; blank nodes keep their labels."""
        from pyoxigraph import RdfFormat, parse

        line = f"{_subject()} {_subject()} {text} ."
        try:
            (quad,) = parse(line, format=RdfFormat.N_TRIPLES, lenient=True)
        except SyntaxError as error:
            raise ValueError(f"{text!r} is not a term: {error}") from error
        return quad.object


@cache
def _subject() -> Any:
    from pyoxigraph import NamedNode

    return NamedNode("urn:x-rdflive:any")


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _LETTERS.get(match[0]) or _code(match), text)


def _code(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04X}"


def _unescape(text: str) -> str:
    if "\\" not in text:
        return str(text)
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CHARACTERS[match[2]], text)


def write_report(delta: Delta, texts: Mapping[Row, str]) -> str:
    """Write the report of a delta as JSON, given the texts of its rows; "" for a delta without windows.

    Missed changes are reported as retracted, because the file does not record which rows expired.
    """
    if delta.time is None and not delta._ends:
        return ""
    expired = {} if delta.initial else delta._expired
    return json.dumps(
        {
            "time": delta.time,
            "expired": {texts[row]: weight for row, weight in expired.items()},
            "ends": {texts[row]: end for row, end in delta._ends.items() if row in texts},
        },
        default=datetime.isoformat,
    )


def read_report(text: str, rows: Mapping[str, Row]) -> dict[str, Any]:
    """Read a report of `write_report` as arguments of `Delta`."""
    if not text:
        return {}
    found = json.loads(text)
    return {
        "time": _instant(found["time"]),
        "expired": {rows[row]: weight for row, weight in found["expired"].items()},
        "ends": {rows[row]: _instant(end) for row, end in found["ends"].items()},
    }


def _instant(value: Any) -> Any:
    # an instant outside the range of datetime is text already
    return dated(to_instant(value)) if isinstance(value, str) else value
