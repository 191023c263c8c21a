"""Reads updates of INSERT DATA and DELETE DATA by Oxigraph's TriG parser.

That takes less time than the update itself; making the terms in Python would take several times as long. With
the tokens accepted here, the content of a data block is also valid TriG with the same meaning. Any other
request is left to the SPARQL parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pyoxigraph import Quad, RdfFormat, parse

from rdflive_stores.oxigraph.bulk import Changing
from rdflive_stores.oxigraph.changes import canonical_quad

__all__ = ["read_ground"]

# no escapes such as \u007D, because Oxigraph decodes them before it splits the text into tokens
_GAP: Final = r"(?:[ \t\r\n]|\#[^\n\r\\]*+)*+"
_SPACE: Final = rf"(?=[ \t\r\n\#]){_GAP}"
_IRI: Final = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_PREFIX: Final = r"(?:[A-Za-z](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?)?:"
# Oxigraph's parser accepts dots at one place of a name
_REST: Final = r"[A-Za-z0-9_:\-]"
_NAME: Final = rf"{_PREFIX}(?:[A-Za-z0-9_:]{_REST}*+(?:\.++{_REST}++)?+(?!\.++{_REST}))?"
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
    rf"(?P<prologue>(?:{_GAP}(?i:PREFIX){_SPACE}{_PREFIX}{_GAP}{_IRI})*)"
    rf"{_GAP}(?i:(?P<verb>INSERT|DELETE){_SPACE}DATA){_GAP}\{{"
)
_GRAPH: Final = re.compile(rf"{_GAP}(?i:GRAPH){_SPACE}(?P<name>{_IRI}|{_NAME}){_GAP}\{{")
_CLOSE: Final = re.compile(rf"{_GAP}\}}")
_CLOSE_GRAPH: Final = re.compile(rf"{_GAP}\}}(?:{_GAP}\.)?")
_NEXT: Final = re.compile(rf"{_GAP}(?:;{_GAP}|\Z)")
_DECLARED: Final = re.compile(_PREFIX)
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]*")


def read_ground(text: str, prefixes: Mapping[str, str] | None, base_iri: str | None) -> Changing | None:
    """Read a request of INSERT DATA and DELETE DATA alone; None if the SPARQL parser must read it.

    The arguments are those of `Store.update`, which would read the same quads. Blank nodes are new.

    >>> read_ground("PREFIX e: <urn:> INSERT DATA { e:IC5 e:late true } ;", None, None).came[0].predicate
    <NamedNode value=urn:late>
    >>> read_ground("DELETE WHERE { ?train <urn:late> true }", None, None)
    """
    try:
        declared = _declared(tuple((prefixes or {}).items()))
    except TypeError:  # the store raises the error
        return None
    documents = None if declared is None or type(text) is not str else _documents(text, declared)
    if documents is None:
        return None
    quads: dict[str, list[Quad]] = {"DELETE": [], "INSERT": []}
    try:
        for verb, document in documents:
            quads[verb] += parse(document, RdfFormat.TRIG, base_iri=base_iri, rename_blank_nodes=True)
    except (SyntaxError, ValueError, AttributeError):  # the last for a lone surrogate
        return None
    went, came = quads.values()
    if went and came and not {*map(canonical_quad, went)}.isdisjoint(map(canonical_quad, came)):
        return None  # the order of the operations matters, and an empty graph may remain
    return Changing(went, came)


@lru_cache(16)
def _declared(prefixes: tuple[tuple[str, str], ...]) -> str | None:
    """Write the declarations of prefixes; None if the store may refuse one that TriG accepts."""
    lines = []
    for prefix, iri in prefixes:
        if not (_DECLARED.fullmatch(f"{prefix}:") and isinstance(iri, str) and _ABSOLUTE.fullmatch(iri)):
            return None
        lines.append(f"PREFIX {prefix}: <{iri}>\n")
    return "".join(lines)


def _documents(text: str, declared: str) -> list[tuple[str, str]] | None:
    """Return the verb and the TriG document of each operation; None if the request is not ground."""
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
