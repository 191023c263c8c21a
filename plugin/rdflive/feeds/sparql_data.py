"""Requests of nothing but ground data, one triple per line: read as changes, without a SPARQL parser.

So are logs written, by rdflive too. rdflib takes a third of a millisecond per triple to parse them, and
time that grows with the square of their number to run them.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from rdflib.term import BNode, URIRef

from rdflive.feeds.decoder import Frame
from rdflive.feeds.terms import RowError, RowReader
from rdflive.model import Change, Quad

__all__ = ["read_data"]

_SIGNS: Final[dict[str, Literal[1, -1]]] = {"INSERT": 1, "DELETE": -1}
_OPERATION: Final = re.compile(r"(INSERT|DELETE)[ \t]+DATA[ \t]*\{", re.IGNORECASE)
_GRAPH: Final = re.compile(r"GRAPH[ \t]+(<[^>]*>)[ \t]*\{", re.IGNORECASE)
_CLOSED: Final = re.compile(r"\}[ \t]*(;?)")
_DOUBTFUL: Final = re.compile(r"\\[uU]|_:")
"""Escapes that engines resolve at different times, and blank nodes, which no request can name."""


def read_data(frame: Frame) -> tuple[Change, ...] | None:
    """Read the changes of a request; None for one that is of another kind, or spelt in another way.

    >>> from rdflive.feeds.lines import Line
    >>> lines = ["INSERT DATA {", "<urn:s> <urn:p> 'o' .", "}"]
    >>> read_data(tuple(Line(text, 1) for text in lines)) is None  # a string in single quotes
    True
    """
    reader = _DataReader()
    try:
        for line in frame:
            if _DOUBTFUL.search(line.text) or not reader.take(line.text.strip(" \t")):
                return None
    except RowError:
        return None
    return tuple(reader.changes) if reader.is_whole else None


class _DataReader:
    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._sign: Literal[1, -1] | None = None
        self._graph: URIRef | None = None
        self._may_begin = True

    @property
    def is_whole(self) -> bool:
        """True behind an operation that nothing continues."""
        # a `;` at the end is left to the parser
        return self._sign is None and not self._may_begin

    def take(self, text: str) -> bool:
        """Read a line; false where it is none of those known."""
        if not text or text.startswith("#"):
            return True
        if self._sign is None:
            match = _OPERATION.fullmatch(text)
            if match is None or not self._may_begin:
                return False
            self._sign, self._may_begin = _SIGNS[match[1].upper()], False
        elif text.startswith("}"):
            return self._close(text)
        elif self._graph is None and (match := _GRAPH.fullmatch(text)):
            graph = RowReader(match[1]).node("graph", blank=False)
            assert not isinstance(graph, BNode)  # noqa: S101 - for the type checker: `blank` says so
            self._graph = graph
        else:
            quad = RowReader(text).quad()
            # a fourth term is of N-Quads, and for the parser to refuse
            if quad.graph is not None:
                return False
            self.changes.append(Change(self._sign, Quad(*quad[:3], self._graph)))
        return True

    def _close(self, text: str) -> bool:
        match = _CLOSED.fullmatch(text)
        if match is None or (self._graph is not None and match[1]):
            return False
        if self._graph is not None:
            self._graph = None
        else:
            self._sign, self._may_begin = None, bool(match[1])
        return True
