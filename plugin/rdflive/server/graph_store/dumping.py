"""The graphs of a dataset as documents, written by child processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

import rdflib
from rdflib.graph import Graph
from rdflib.term import URIRef

from rdflive.feeds.terms import UnwritableError, write_term
from rdflive.server.failures import Problem
from rdflive.server.graph_store.graphs import has_graph
from rdflive.server.isolation.frames import Frames
from rdflive.server.sparql import formats
from rdflive.server.sparql.answering import native_of
from rdflive.server.sparql.formats import N_QUADS, TRIG, choose
from rdflive.syntax.prefixes import own_prefixes

__all__ = ["DumpGraph"]

_BLOCK: Final = 500
"""Lines that are written together."""


@dataclass(frozen=True, slots=True)
class DumpGraph:
    """A graph to write, or the whole dataset, in a format of `accept`."""

    graph: str | None
    """The name of a graph, "" for the default graph, None for the whole dataset."""
    accept: str
    piece_seconds: float
    """The time limit for each piece of the answer."""

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Write the graph; raise `Problem` 404 and 406."""
        if not has_graph(dataset, self.graph):
            raise Problem(404, f"there is no graph <{self.graph}>")
        offered = formats.DATASETS if self.graph is None else formats.GRAPHS
        kind = choose(self.accept, offered, formats.ALIASES)
        frames.piece_seconds = self.piece_seconds
        frames.begin(formats.content_type(kind))
        try:
            (_dump_rdflib if native_of(dataset) is None else _dump_oxigraph)(
                dataset, self.graph, kind, frames
            )
        except UnwritableError as error:
            raise Problem(406, f"the format cannot hold the graph: {error}") from error


def _dump_oxigraph(dataset: rdflib.Dataset, graph: str | None, kind: str, output: Any) -> None:
    from pyoxigraph import DefaultGraph, NamedNode, RdfFormat

    form = RdfFormat.from_media_type(kind)
    options: dict[str, Any] = {}
    if kind not in (N_QUADS, formats.N_TRIPLES):
        options["prefixes"] = own_prefixes(dataset)
    if graph is not None:
        options["from_graph"] = NamedNode(graph) if graph else DefaultGraph()
    native_of(dataset).dump(output, form, **options)


def _dump_rdflib(dataset: rdflib.Dataset, graph: str | None, kind: str, output: Frames) -> None:
    if graph is not None:
        named = Graph(dataset.store, URIRef(graph)) if graph else dataset.default_graph
        named.namespace_manager = dataset.namespace_manager
        formats.write_graph(named, kind, output)
        return
    lines = chain.from_iterable(_lines(dataset, each, kind) for each in dataset.graphs())
    while block := "".join(islice(lines, _BLOCK)):
        output.write(block.encode())


def _lines(dataset: rdflib.Dataset, graph: Graph, kind: str) -> Iterator[str]:
    """Yield the lines of one graph of the whole dataset."""
    is_default = graph.identifier == dataset.default_graph.identifier
    name = "" if is_default else write_term(graph.identifier)
    end = f" {name} .\n" if name and kind == N_QUADS else " .\n"
    is_block = bool(name) and kind == TRIG
    if is_block:
        yield f"GRAPH {name} {{\n"
    for triple in Graph(dataset.store, graph.identifier):
        yield " ".join(map(formats.written, triple)) + end
    if is_block:
        yield "}\n"
