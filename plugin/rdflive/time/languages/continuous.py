"""Continuous queries: their windows, what they give and how often, and the SPARQL that is left."""

from __future__ import annotations

from dataclasses import dataclass

from rdflib import URIRef

from rdflive.query.given import read_query
from rdflive.time.instants import to_duration
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.dataset import Dataset, Language, StreamWindow
from rdflive.time.languages.datatypes import check_datatypes
from rdflive.time.languages.functions import check_functions
from rdflive.time.languages.prologue import read_prologue
from rdflive.time.windowed import Output

__all__ = ["ContinuousQuery", "Language", "parse_continuous"]


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A query over windows of streams."""

    name: str | URIRef | None
    """What REGISTER calls it; None without REGISTER."""
    output: Output
    """The operator that is named; "delta" where none is."""
    every: int | None
    """COMPUTE EVERY, in nanoseconds; every window over time is reported as often."""
    windows: tuple[StreamWindow, ...]
    """In the order of the text."""
    text: str
    """Plain SPARQL, each character where it was; windows with a name are graphs of that name."""
    language: Language


def parse_continuous(text: str) -> ContinuousQuery:
    """Read the windows of an RSP-QL or C-SPARQL query and leave the rest as it is.

    RSP-QL is that of Dell'Aglio et al., "RSP-QL Semantics" (2014), in the syntax of the W3C community group
    and of its engines; C-SPARQL that of Barbieri et al. (2010), as in Figure 2 of IMaRS.
    Raises `QuerySyntaxError` and `UnsupportedQueryError` with line and column.

    >>> query = parse_continuous("ASK FROM STREAM <http://e/s> [RANGE 10s STEP 1s] { ?s ?p ?o }")
    >>> query.windows[0].window, query.text
    (Sliding(range=10, step=1), 'ASK                                              { ?s ?p ?o }')
    """
    text = read_query(text).text
    cursor = Cursor(text)
    head = read_prologue(cursor)
    dataset = Dataset(cursor, head.names, head.every)
    dataset.read()
    if dataset.language is None:
        raise cursor.wrong(
            cursor.tokens[0],
            "it has no window; declare one with FROM STREAM <s> [RANGE 10s STEP 1s] (C-SPARQL) or "
            "FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP PT1S] (RSP-QL); subscribe takes plain SPARQL",
        )
    # after `read`: only what that leaves is SPARQL, which `check_datatypes` has parsed
    check_functions(cursor, head.names)
    check_datatypes(cursor, head.names)
    every = None if head.every is None else to_duration(head.every)
    return ContinuousQuery(
        head.name, head.output, every, tuple(dataset.windows), cursor.rest, dataset.language
    )
