"""What the parsers of rdflib say of a document that they cannot read."""

from __future__ import annotations

import json
from xml.sax import SAXParseException

from rdflib.plugins.parsers.notation3 import BadSyntax

__all__ = ["parser_fault"]


def parser_fault(name: str, error: Exception) -> str:
    """Say in which file or text, on which line and why one of rdflib's parsers failed.

    >>> from rdflib import Graph
    >>> try:
    ...     _ = Graph().parse(data="<urn:a> <urn:b> .", format="turtle")
    ... except Exception as error:
    ...     print(parser_fault("trains.ttl", error))
    trains.ttl, line 1: objectList expected
    """
    line, reason = _read(error)
    return f"{name}, line {line}: {reason}" if line else f"{name}: {reason}"


def _read(error: Exception) -> tuple[int, str]:
    """Give the line, 0 where it is not known, and the reason."""
    match error:
        case BadSyntax():
            reason = str(error).partition("Bad syntax (")[2].partition(") at ^ in:")[0]
            return error.lines + 1, reason or str(error)
        case SAXParseException():
            return error.getLineNumber() or 0, error.getMessage()
        case json.JSONDecodeError():
            return error.lineno, error.msg
        case UnicodeDecodeError():
            return error.object.count(b"\n", 0, error.start) + 1, "not UTF-8"
        case _:
            return 0, " ".join(str(error).split()) or type(error).__name__
