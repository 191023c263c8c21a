"""Documents of RDF as the quads that an Oxigraph store would load from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, parse

__all__ = ["Source", "content", "parsed"]

Source: TypeAlias = bytes | str | IO[bytes] | IO[str] | None


def parsed(
    native: Store,
    source: Source,
    syntax: RdfFormat | None,
    to_graph: NamedNode | BlankNode | DefaultGraph | None,
    options: Any,
) -> Iterator[Quad]:
    """Parse as the store does on loading: blank nodes renamed, triples put into `to_graph`."""
    native.load("", RdfFormat.N_TRIPLES, to_graph=to_graph)  # refuses what is no name of a graph
    quads = parse(source, syntax, rename_blank_nodes=True, **options)
    default = DefaultGraph()
    if to_graph is None or to_graph == default:
        return quads
    return (
        Quad(q.subject, q.predicate, q.object, to_graph if q.graph_name == default else q.graph_name)
        for q in quads
    )


def content(source: Source, path: str | os.PathLike[str] | None) -> bytes | str:
    """Read a document that is to be parsed twice."""
    if path is not None:
        with open(path, "rb") as file:
            return file.read()
    assert source is not None  # noqa: S101 - the store has one or the other
    return source if isinstance(source, bytes | str) else source.read()
