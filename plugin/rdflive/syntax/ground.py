"""Recognises updates that only insert and delete data, without the SPARQL parser.

With the tokens accepted here, the content of a data block is also valid TriG with the same meaning, which a
store may read faster than SPARQL. Any other request is left to the SPARQL parser.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["PREFIX_OF_DATA", "data_documents", "is_plain_data"]

# no escapes such as \u007D, because Oxigraph decodes them before it splits the text into tokens
_GAP: Final = r"(?:[ \t\r\n]|\#[^\n\r\\]*+)*+"
_SPACE: Final = rf"(?=[ \t\r\n\#]){_GAP}"
_IRI: Final = r"<[^<>\"{}|^`\\\x00-\x20]*>"
PREFIX_OF_DATA: Final = r"(?:[A-Za-z](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?)?:"
# Oxigraph's parser accepts dots at one place of a name
_REST: Final = r"[A-Za-z0-9_:\-]"
_NAME: Final = rf"{PREFIX_OF_DATA}(?:[A-Za-z0-9_:]{_REST}*+(?:\.++{_REST}++)?+(?!\.++{_REST}))?"
_STRING: Final = "|".join(
    rf"{quote}{quote}(?!{quote})|{quote}(?:[^{quote}\\\n\r]|\\[tbnrf\"'\\](?![uU]))+{quote}"
    for quote in ('"', "'")
)
_LITERAL: Final = rf"(?:{_STRING})(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^(?:{_IRI}|{_NAME}))?"
_NUMBER: Final = r"[+\-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
_WORD: Final = rf"(?:{_NUMBER}|a|true|false)(?=[ \t\r\n;,}}\])]|\.[ \t\r\n}}])"
_PLAIN: Final = (
    # the most frequent form of a statement as one token
    rf"{_IRI}[ \t]*{_IRI}[ \t]*(?:{_IRI}|\"[^\"\\\n\r]+\")[ \t]*\.(?![0-9])"
    rf"|{_IRI}|{_LITERAL}|{_WORD}|{_NAME}|[.;,]"
)
# `_:x.GRAPH` is one label
_LABEL: Final = r"_:[A-Za-z0-9]++(?!\.*[A-Za-z0-9_\-])"
# a hundred at a time, because Python's matcher needs memory for each repetition
_TOKENS: Final = re.compile(rf"(?:{_GAP}(?:{_PLAIN})){{1,100}}")
_TOKENS_AND_BLANKS: Final = re.compile(rf"(?:{_GAP}(?:{_PLAIN}|{_LABEL}|[\[\]()])){{1,100}}")
_BEGIN: Final = re.compile(
    rf"(?P<prologue>(?:{_GAP}(?i:PREFIX){_SPACE}{PREFIX_OF_DATA}{_GAP}{_IRI})*)"
    rf"{_GAP}(?i:(?P<verb>INSERT|DELETE){_SPACE}DATA){_GAP}\{{"
)
_GRAPH: Final = re.compile(rf"{_GAP}(?i:GRAPH){_SPACE}(?P<name>{_IRI}|{_NAME}){_GAP}\{{")
_CLOSE: Final = re.compile(rf"{_GAP}\}}")
_CLOSE_GRAPH: Final = re.compile(rf"{_GAP}\}}(?:{_GAP}\.)?")
_NEXT: Final = re.compile(rf"{_GAP}(?:;{_GAP}|\Z)")
_RELATIVE: Final = re.compile(r"<(?![A-Za-z][A-Za-z0-9+.\-]*:)")


def is_plain_data(text: str) -> bool:
    """Return True if a text is INSERT DATA and DELETE DATA without blank nodes and relative IRIs.

    Prefixes may be unknown, and terms in a wrong place: an engine refuses them. Returns False in doubt.

    >>> is_plain_data("PREFIX e: <urn:> INSERT DATA { e:IC5 e:late true } ; DELETE DATA { e:IC5 e:delay 4 }")
    True
    >>> is_plain_data("INSERT DATA { <IC5> <urn:late> true }"), is_plain_data("DELETE WHERE { ?s ?p 4 }")
    (False, False)
    """
    return _RELATIVE.search(text) is None and _operations(text, "", _TOKENS) is not None


def data_documents(text: str, declared: str) -> list[tuple[str, str]] | None:
    """Return the verb and the TriG document of each operation; None for requests of other operations.

    `declared` is TriG that declares the prefixes of the store.

    >>> data_documents("DELETE DATA { <urn:a> <urn:p> 4 }", "")
    [('DELETE', '\\n{  <urn:a> <urn:p> 4 }')]
    """
    found = _operations(text, declared, _TOKENS)
    if found is None:
        # SPARQL forbids a label in two operations, and blank nodes in DELETE DATA
        found = _operations(text, declared, _TOKENS_AND_BLANKS)
        if found is not None and [verb for verb, _ in found] != ["INSERT"]:
            return None
    return found


def _operations(text: str, declared: str, tokens: re.Pattern[str]) -> list[tuple[str, str]] | None:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text) or not found:
        begin = _BEGIN.match(text, at)
        data = None if begin is None else _data(text, begin.end(), tokens)
        behind = None if data is None else _NEXT.match(text, data[1])
        if begin is None or data is None or behind is None:
            return None
        if found and begin["prologue"]:
            return None  # the store accepts only one prologue
        declared += begin["prologue"] + "\n"
        found.append((begin["verb"].upper(), declared + data[0]))
        at = behind.end()
    return found


def _data(text: str, at: int, tokens: re.Pattern[str]) -> tuple[str, int] | None:
    """Return the content of a data block as TriG, and the position after its closing brace."""
    parts: list[str] = []
    while True:
        end = _end(text, at, tokens)
        parts.append(f"{{ {text[at:end]} }}")
        graph = _GRAPH.match(text, end)
        if graph is None:
            break
        end = _end(text, graph.end(), tokens)
        parts.append(f"GRAPH {graph['name']} {{ {text[graph.end() : end]} }}")
        closed = _CLOSE_GRAPH.match(text, end)
        if closed is None:
            return None
        at = closed.end()
    closed = _CLOSE.match(text, end)
    return None if closed is None else ("\n".join(parts), closed.end())


def _end(text: str, at: int, tokens: re.Pattern[str]) -> int:
    while (match := tokens.match(text, at)) is not None:
        at = match.end()
    return at
