"""Which graph a request of the Graph Store Protocol means, and whether the dataset has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

import rdflib
from rdflib.term import URIRef
from starlette.requests import Request

from rdflive.server.failures import Problem
from rdflive.server.sparql.answering import native_of
from rdflive.server.sparql.operations import ABSOLUTE

__all__ = ["DEFAULT", "StoreTarget", "has_graph", "read_target"]

DEFAULT: Final = ""
"""The default graph, in place of a name."""


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """The graph of a request."""

    graph: str | None
    """The name of a graph, `DEFAULT`, or None for the dataset as a whole."""
    base: str
    """The base for relative IRIs of a document: the name of the graph, or the URL of the request."""
    together: int | None = None
    """Triples of one commit (`commit=`); None writes a document as one commit."""


def read_target(request: Request) -> StoreTarget:
    """Return the graph that the URL of a request means; raise `Problem` 400.

    `?graph=IRI` and `?default` name a graph, and a path below `/store/` is itself the name.
    """
    try:
        fields = parse_qsl(request.url.query, keep_blank_values=True, errors="strict", max_num_fields=10)
    except ValueError as error:
        raise Problem(400, f"the parameters cannot be read: {error}") from error
    names = [name for name, _ in fields]
    if len(set(names)) < len(names) or not {"graph", "default", "commit"}.issuperset(names):
        raise Problem(400, "the parameters are graph=IRI or default, and commit=N, each at most once")
    given = dict(fields)
    is_direct = "path" in request.path_params
    if ("graph" in given) + ("default" in given) + is_direct > 1:
        raise Problem(400, "give one of graph=IRI, default and a path below /store/")
    address = str(request.url.replace(query="", fragment=""))
    together = _number(given["commit"]) if "commit" in given else None
    if "default" in given:
        if given["default"]:
            raise Problem(400, "default takes no value: write graph=IRI for a named graph")
        return StoreTarget(DEFAULT, address, together)
    if not is_direct and "graph" not in given:
        return StoreTarget(None, address, together)
    name = address if is_direct else given["graph"]
    if not ABSOLUTE.fullmatch(name):
        raise Problem(400, f"graph must be an absolute IRI, got {name!r}")
    return StoreTarget(name, name, together)


def has_graph(dataset: rdflib.Dataset, graph: str | None) -> bool:
    """Return whether a dataset has a graph; its default graph always exists."""
    if not graph:
        return True
    native = native_of(dataset)
    if native is None:
        return any(getattr(each, "identifier", each) == URIRef(graph) for each in dataset.store.contexts())
    from pyoxigraph import NamedNode

    return bool(native.contains_named_graph(NamedNode(graph)))


def _number(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 12 else 0
    if number < 1:
        raise Problem(400, f"commit must be a number of triples from 1, got {text!r}")
    return number
