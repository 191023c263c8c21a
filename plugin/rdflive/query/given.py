"""The user's input for a query: its text or a file, prefixes and bindings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rdflib import Graph
from rdflib.plugins.sparql.sparql import Query
from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import PlanError, QuerySyntaxError, QueryTypeError, RdfliveError, UnsupportedQueryError

__all__ = ["GivenQuery", "check_bindings", "check_row", "namespaces", "placed", "read_query"]

_PLAIN: Final = (str, int, float)
_NO_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SHOWN: Final = 100
"""Characters of the input that are quoted."""


@dataclass(frozen=True, slots=True)
class GivenQuery:
    """The text of a query, and the file that it was read from."""

    text: str
    source: str = ""
    """The path of the file; empty for a text."""

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Make errors of the query name its file, in front of line and column."""
        try:
            yield
        except (QuerySyntaxError, UnsupportedQueryError, PlanError) as error:
            if self.source:
                error.args = (placed(error, self.source), *error.args[1:])
            raise


def placed(error: RdfliveError, source: str) -> str:
    """Write an error after the name of its source, with the place once.

    >>> placed(QuerySyntaxError("not SPARQL at line 2, column 3: ...", line=2, column=3), "late.rq")
    'late.rq, line 2, column 3: not SPARQL: ...'
    """
    line, column = getattr(error, "line", 0), getattr(error, "column", 0)
    place = f"line {line}, column {column}"
    text = str(error).replace(f" ({place})", "", 1).replace(f" at {place}", "", 1)
    return f"{source}, {place}: {text}" if line else f"{source}: {text}"


def read_query(query: object) -> GivenQuery:
    """Return the text of a query, or read the file at a `pathlib.Path`.

    Raises `QueryTypeError` for anything else, OSError for a file that cannot be read, and `QuerySyntaxError`
    for one that is not UTF-8.

    >>> read_query("ASK {}")
    GivenQuery(text='ASK {}', source='')
    """
    if isinstance(query, str):
        return GivenQuery(query)
    if not isinstance(query, os.PathLike):
        raise QueryTypeError(
            "query must be the text of a SPARQL query, or a pathlib.Path of a file that holds one, got "
            f"{type(query).__name__}: {_short(query)}{_advice(query)}"
        )
    path = os.fsdecode(query)
    with open(path, "rb") as stream:
        content = stream.read()
    try:
        return GivenQuery(content.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise QuerySyntaxError(f"{path}, line {line}: not UTF-8", line=line) from error


def namespaces(graph: object, init_ns: object) -> dict[str, Any]:
    """Return the prefixes bound on a graph, and those of `initNs`, which have precedence.

    Raises TypeError unless `initNs` maps prefixes to IRIs, ValueError for a text that is no IRI.
    """
    bound: dict[str, Any] = {}
    if isinstance(graph, Graph):
        # as the graph lists them, without a new term for each
        bound = {
            prefix: URIRef(name) if type(name) is not URIRef else name
            for prefix, name in graph.namespace_manager.store.namespaces()
        }
    if init_ns is None:
        return bound
    if not isinstance(init_ns, Mapping):
        raise TypeError(f"initNs must map prefixes to IRIs, as {{'ex': 'http://e/'}}, got {_short(init_ns)}")
    for prefix, iri in init_ns.items():
        if not isinstance(prefix, str) or not isinstance(iri, str | type):  # as RDF is
            raise TypeError(f"initNs must map prefixes to IRIs, got {_short(iri)} for {_short(prefix)}")
        # those of a graph are a URIRef each, and may be as its data has them
        if not isinstance(iri, URIRef) and _NO_IRI.search(str(iri)):
            raise ValueError(
                f"initNs binds {_short(prefix)} to {_short(str(iri))}, which is no IRI of SPARQL"
            )
    return {**bound, **init_ns}


def check_row(row: object) -> None:
    """Raise TypeError or ValueError for an object that is no row of parameters."""
    if not isinstance(row, Mapping):
        raise TypeError(f"a row of parameters maps variables to terms, as {{'line': EX.S1}}, got {row!r}")
    check_bindings(row)


def check_bindings(init_bindings: object) -> None:
    """Raise TypeError unless `initBindings` maps names of variables to terms of rdflib, and ValueError if it
    has a variable twice, as `x` and `?x`.

    >>> check_bindings({"train": ["IC5"]})
    Traceback (most recent call last):
    TypeError: initBindings['train'] must be a URIRef, Literal or BNode of rdflib, got ['IC5']
    """
    if init_bindings is None:
        return
    if not isinstance(init_bindings, Mapping):
        raise TypeError(
            f"initBindings must map names of variables to terms of rdflib, got {_short(init_bindings)}"
        )
    for name, term in init_bindings.items():
        if not isinstance(name, str):
            raise TypeError(f"initBindings must have names of variables as keys, got {_short(name)}")
        if not isinstance(term, URIRef | Literal | BNode):  # a Graph is a Node too
            advice = f"; give Literal({_short(term)})" if type(term) in _PLAIN else ""
            raise TypeError(
                f"initBindings[{name!r}] must be a URIRef, Literal or BNode of rdflib, got {_short(term)}"
                + advice
            )
    names = [name.lstrip("?$") for name in init_bindings]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"initBindings gives ?{name} two terms: {_short(init_bindings)}")


def _short(given: object) -> str:
    text = f"<{type(given).__name__}>" if isinstance(given, Graph) else repr(given)  # a Dataset's repr warns
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _advice(query: object) -> str:
    """Return advice for an object that is no query."""
    if isinstance(query, Query):
        return "; rdflib has prepared it: pass its text instead, and its prefixes as initNs"
    if isinstance(query, bytes):
        return "; decode it first"
    if callable(getattr(query, "query", None)):  # a graph of rdflib, or a store
        return "; are graph and query swapped?"
    if isinstance(getattr(query, "query", None), str):  # as of rdflive.prepare
        return "; pass its text, .query"
    if callable(query):
        return "; are query and callback swapped? The query comes first"
    return ""
