"""Deltas as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, TextIO

from rdflib import XSD, BNode, URIRef

from rdflive.model import Delta, Solution
from rdflive.sinks.sink import to_rdflib

__all__ = ["TRIPLE", "NdjsonSink", "pair_text", "solution_text", "to_json", "to_line", "to_ndjson"]

TRIPLE: Final = ("subject", "predicate", "object")
"""The names under which the triples of CONSTRUCT are written."""
_STRING: Final = str(XSD.string)
_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


class NdjsonSink:
    """Writes each delta as one line of JSON to a text stream, and flushes it.

    >>> import sys
    >>> from rdflive.model import Header
    >>> NdjsonSink(sys.stdout)(Delta(Header("ASK", ()), {(): 1}, sequence=0, initial=True))
    {"sequence": 0, "initial": true, "boolean": true}
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, delta: Delta) -> None:
        """Write one line."""
        self._stream.write(to_ndjson(delta) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream open: the caller owns it."""


def to_ndjson(delta: Delta) -> str:
    """Return a delta as one JSON object without line breaks: `sequence`, `initial`, `added`, `removed`.

    Solutions bind variables to terms as in SPARQL 1.1 Query Results JSON; the triples of CONSTRUCT bind
    `subject`, `predicate` and `object`. With a key, `changed` lists objects with `old` and `new`.
    An ASK query has `boolean` in place of these lists.
    """
    # the store's own terms: rdflib would spell Oxigraph's `NaN` as `nan`, which is no xsd:double
    native = delta.native
    return to_line(
        delta.sequence,
        map(solution_text, native.added),
        map(solution_text, native.removed),
        initial=delta.initial,
        answer=delta.answer,
        changed=[tuple(map(solution_text, pair)) for pair in native.changed] if delta.key else None,
    )


def to_line(
    sequence: int,
    added: Iterable[str],
    removed: Iterable[str],
    *,
    initial: bool,
    answer: bool | None,
    changed: Iterable[tuple[str, ...]] | None = None,
) -> str:
    """Return the object for solutions in JSON; `answer` is the answer of an ASK query.

    `changed` pairs removed solutions with the added ones of the same key.
    """
    head = f'{{"sequence": {sequence}, "initial": {json.dumps(initial)}, '
    if answer is not None:
        return f'{head}"boolean": {json.dumps(answer)}}}'
    lists = f'"added": [{", ".join(added)}], "removed": [{", ".join(removed)}]'
    if changed is not None:
        lists += f', "changed": [{", ".join(pair_text(*pair) for pair in changed)}]'
    return f"{head}{lists}}}"


def pair_text(old: str, new: str) -> str:
    """Return the JSON of a changed solution, whose old and new solutions are in JSON."""
    return f'{{"old": {old}, "new": {new}}}'


def solution_text(solution: Any) -> str:
    """Return a solution, or a triple, as one JSON object."""
    terms = solution.asdict() if isinstance(solution, Solution) else dict(zip(TRIPLE, solution, strict=True))
    text = _encode({name: to_json(term) for name, term in terms.items()})
    # half a surrogate pair has no UTF-8; `backslashreplace` writes it as the escape of JSON
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def to_json(term: Any) -> dict[str, Any]:
    """Return a term in the SPARQL 1.1 Query Results JSON format; triples and directions as in SPARQL 1.2.

    >>> to_json(URIRef("http://e/s"))
    {'type': 'uri', 'value': 'http://e/s'}
    """
    if not isinstance(term, str):  # rdflib's terms are strings
        return _native_to_json(term)
    term = to_rdflib(term)
    if isinstance(term, URIRef):
        return {"type": "uri", "value": str(term)}
    if isinstance(term, BNode):
        return {"type": "bnode", "value": str(term)}
    datatype = None if term.datatype is None else str(term.datatype)
    return _literal(str(term), term.language, datatype)


def _native_to_json(term: Any) -> dict[str, Any]:
    """Return a term of pyoxigraph in JSON; its class is known by name, as it may not be installed."""
    kind = type(term).__name__
    if kind == "NamedNode":
        return {"type": "uri", "value": term.value}
    if kind == "Literal" and getattr(term, "direction", None) is None:
        language = term.language
        # receivers that compare texts must recognise a tag in other letters
        return _literal(term.value, language and language.lower(), term.datatype.value)
    if kind == "Triple":
        return {"type": "triple", "value": {name: to_json(getattr(term, name)) for name in TRIPLE}}
    if kind == "Literal":
        # rdflib has no literal with a direction
        language, direction = term.language.lower(), str(term.direction)
        return {"type": "literal", "value": term.value, "xml:lang": language, "its:dir": direction}
    return to_json(to_rdflib(term))


def _literal(value: str, language: str | None, datatype: str | None) -> dict[str, Any]:
    shown = {"type": "literal", "value": value}
    if language:
        shown["xml:lang"] = language
    elif datatype is not None and datatype != _STRING:  # a plain literal is an xsd:string
        shown["datatype"] = datatype
    return shown
