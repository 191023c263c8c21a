"""The terms of change rows, read from their N-Triples text: each text once. It needs no PySpark."""

from __future__ import annotations

import re
from typing import Final

from rdflib.term import Literal, URIRef

from rdflive.feeds import RowError
from rdflive.feeds.terms import RdflibTerm, RowReader
from rdflive.model import Quad, exact_literal

__all__ = ["TermTexts"]

_ABSOLUTE: Final = r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*"
_IRI: Final = re.compile(f"<({_ABSOLUTE})>")
_LITERAL: Final = re.compile(
    rf'"([^"\\\n\r]*)"(?:@([a-zA-Z]+(?:-[a-zA-Z0-9]+)*)|\^\^<({_ABSOLUTE})>)?'
)  # without escapes: nothing has to be decoded
_MOST: Final = 1 << 17


class TermTexts:
    """Reads terms as `RowReader` does, and caches the last ones.

    >>> TermTexts().quad("<http://e/s>", "<http://e/p>", '"o"@en', None).object
    rdflib.term.Literal('o', lang='en')
    """

    def __init__(self) -> None:
        self._terms: dict[str, RdflibTerm] = {}

    def quad(self, s: str, p: str, o: str, g: str | None) -> Quad:
        """Read the terms of a quad; raise `RowError` for a malformed or misplaced one."""
        subject, predicate, object_ = (
            self._term(s, "subject"),
            self._term(p, "predicate"),
            self._term(o, "object"),
        )
        graph = None if g is None else self._term(g, "graph")
        # each of these calls raises an error with the reason
        if type(subject) is Literal:
            RowReader(s).node("subject")
        if type(predicate) is not URIRef:
            RowReader(p).node("predicate", blank=False)
        if type(graph) is Literal and g is not None:
            RowReader(g).node("graph")
        return Quad(subject, predicate, object_, graph)

    def _term(self, text: str, role: str) -> RdflibTerm:
        term = self._terms.get(text)
        if term is None:
            term = _read(text, role)
            if len(self._terms) >= _MOST:
                self._terms.clear()
            self._terms[text] = term
        return term


def _read(text: str, role: str) -> RdflibTerm:
    if match := _IRI.fullmatch(text):
        return URIRef(match[1])
    if match := _LITERAL.fullmatch(text):
        return exact_literal(*match.groups())
    if role == "graph" and not text.strip():
        raise RowError(f"the graph is {text!r}; NULL stands for the default graph")
    reader = RowReader(text)
    term = reader.term(role)
    if reader.rest:
        raise RowError(f"the {role} has text after its term: {reader.rest[:40]!r}")
    return term
