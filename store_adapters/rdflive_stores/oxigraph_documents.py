"""Documents of RDF as the quads that an Oxigraph store would load from them."""

from __future__ import annotations

from typing import IO, Any, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, parse

__all__ = ["Source", "parsed"]

Source: TypeAlias = bytes | str | IO[bytes] | IO[str] | None


def parsed(
    native: Store,
    source: Source,
    syntax: RdfFormat | None,
    to_graph: NamedNode | BlankNode | DefaultGraph | None,
    options: Any,
) -> list[Quad]:
    """Parse as the store does on loading: blank nodes renamed, triples put into `to_graph`."""
    native.load("", RdfFormat.N_TRIPLES, to_graph=to_graph)  # refuses what is no name of a graph
    quads = parse(source, syntax, rename_blank_nodes=True, **options)
    if to_graph is None:
        return list(quads)
    default = DefaultGraph()
    return [
        Quad(q.subject, q.predicate, q.object, to_graph if q.graph_name == default else q.graph_name)
        for q in quads
    ]
