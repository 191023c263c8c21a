"""Excerpts of texts with a caret below the error, and messages of rdflib's parsers."""

from __future__ import annotations

import json
import re
from typing import Final
from unicodedata import category, combining, east_asian_width
from xml.sax import SAXParseException

from rdflib.plugins.parsers.notation3 import BadSyntax

from rdflive.syntax.tokens import tokenize

__all__ = ["excerpt", "parser_fault", "with_excerpt"]

_WIDTH: Final = 100
"""Maximum characters of a shown line; a longer line is cut around the caret."""
_BEFORE: Final = 60
_PLACED: Final = re.compile(r"^Parser error (at|between) [^:]*: ")
"""The place in messages of pyoxigraph."""


def excerpt(text: str, line: int, column: int) -> str:
    """Return a line of a text with carets below the token that begins at the column.

    Control characters, which could affect a terminal, become middle dots.

    >>> print(excerpt("ASK {\\n  ?s ?p }", 2, 9))
    2 |   ?s ?p }
      |         ^
    """
    lines = text.split("\n")
    shown = "".join(map(_printable, lines[line - 1].rstrip("\r"))) if line <= len(lines) else ""
    at = min(column - 1, len(shown))
    width = _width(text, line, column) if at < len(shown) else 1
    begin = max(0, at - _BEFORE) if len(shown) > _WIDTH else 0
    end = min(len(shown), begin + _WIDTH)
    head, tail = "…" if begin else "", "…" if end < len(shown) else ""
    before, marked = shown[begin:at], shown[at : min(at + width, end)]
    number = str(line)
    caret = "^" * max(1, sum(map(_cells, marked)))
    return (
        f"{number} | {head}{shown[begin:end]}{tail}\n"
        f"{' ' * len(number)} | {' ' * len(head)}{''.join(map(_blank, before))}{caret}"
    )


def with_excerpt(message: str, text: str, line: int, column: int) -> str:
    """Return the first line of a message, followed by an excerpt of the text."""
    first = message.partition("\n")[0]
    return f"{first}\n{excerpt(text, line, column)}" if line else first


def _width(text: str, line: int, column: int) -> int:
    """Return the length, within the line, of the token that begins at the column."""
    found = next((t for t in tokenize(text) if (t.line, t.column) == (line, column)), None)
    if found is None or found.kind == "unfinished":
        return 1
    return max(1, len(found.text.partition("\n")[0].rstrip("\r")))


def _printable(character: str) -> str:
    return "·" if character != "\t" and category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character


def _cells(character: str) -> int:
    """Return the number of terminal cells of a character."""
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _blank(character: str) -> str:
    return "\t" if character == "\t" else " " * _cells(character)


def parser_fault(name: str, error: Exception) -> str:
    """Return a message with the source, place and reason of an error of rdflib's parsers, or pyoxigraph's.

    >>> from rdflib import Graph
    >>> try:
    ...     _ = Graph().parse(data="<urn:a> <urn:b> .", format="turtle")
    ... except Exception as error:
    ...     print(parser_fault("trains.ttl", error))
    trains.ttl, line 1: objectList expected
    """
    line, column, reason = _read(error)
    place = f", line {line}" * (line > 0) + f", column {column}" * (column > 0)
    return f"{name}{place}: {reason}"


def _read(error: Exception) -> tuple[int, int, str]:
    """Return the line and the column (0 if unknown) and the reason of an error."""
    match error:
        case BadSyntax():
            reason = str(error).partition("Bad syntax (")[2].partition(") at ^ in:")[0]
            return error.lines + 1, 0, reason or str(error)
        case SAXParseException():
            return error.getLineNumber() or 0, 0, error.getMessage()
        case SyntaxError():
            return error.lineno or 0, error.offset or 0, _PLACED.sub("", error.msg)
        case json.JSONDecodeError():
            return error.lineno, 0, error.msg
        case UnicodeDecodeError():
            return error.object.count(b"\n", 0, error.start) + 1, 0, "not UTF-8"
        case _:
            return 0, 0, " ".join(str(error).split()) or type(error).__name__
