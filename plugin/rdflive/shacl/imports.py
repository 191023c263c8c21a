"""Shapes of files, and the files that they import by owl:imports (SHACL, Section 3.1).

Only local files are read: `owl:imports <common.ttl>` in shapes.ttl reads common.ttl beside it.
"""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from rdflib import RDF, Dataset, Graph, URIRef
from rdflib.namespace import OWL
from rdflib.term import Node
from rdflib.util import guess_format

from rdflive.shacl.shapes import ShapesError
from rdflive.shacl.values import shown
from rdflive.shacl.vocabulary import SH
from rdflive.syntax.excerpt import parser_fault

__all__ = ["import_notes", "parse_shapes", "read_shapes", "with_imports"]

_LOCAL_HOSTS: Final = ("", "localhost")


def read_shapes(path: str | os.PathLike[str]) -> Graph:
    """Read a file with shapes, .gz too. Several graphs in a file are merged.

    Raises OSError if it cannot be opened, and `ShapesError` with the line if it is not RDF.
    """
    name = os.fsdecode(path)
    iri = Path(name).absolute().as_uri()
    read, graph = Dataset(), Graph(identifier=URIRef(iri))
    syntax = guess_format(name.removesuffix(".gz")) or "turtle"
    with gzip.open(name) if name.endswith(".gz") else open(name, "rb") as stream:
        try:
            # both are binary streams, but not BinaryIO in typeshed
            read.parse(file=cast(BinaryIO, stream), format=syntax, publicID=iri)
        except Exception as error:  # rdflib's parsers raise exceptions of many classes
            raise ShapesError(parser_fault(name, error)) from error
    for prefix, namespace in read.namespaces():
        graph.bind(prefix, namespace)
    for s, p, o, _ in read.quads():
        graph.add((s, p, o))
    return graph


def parse_shapes(text: str) -> Graph:
    """Return the graph of a Turtle text; raises `ShapesError` with the line if it is not Turtle."""
    graph = Graph()
    try:
        graph.parse(data=text, format="turtle")
    except Exception as error:  # as in `read_shapes`
        raise ShapesError(parser_fault("shapes", error)) from error
    return graph


def with_imports(graphs: Iterable[Graph]) -> list[Graph]:
    """Return graphs with shapes and the files that they import, directly or indirectly, each once.

    Raises `ShapesError` for a file that cannot be read.
    """
    found = list(graphs)
    known = {place for graph in found for place in _places(graph)}
    for graph in found:  # grows as files are read
        for importing, imported in _imports(graph):
            path = _local(imported)
            if path is None or _place(imported) in known:
                continue
            try:
                if not os.path.isfile(path):  # reading from a device may never end
                    said = "not a regular file" if os.path.exists(path) else "no such file"
                    raise OSError(errno.ENOENT, said)
                read = read_shapes(path)
            except (OSError, ShapesError) as error:
                reason = f"{path}: {error.strerror}" if isinstance(error, OSError) else error
                raise ShapesError(f"{reason}; {shown(importing)} imports it") from error
            found.append(read)
            known.update(_places(read))
    return found


def import_notes(graphs: Iterable[Graph]) -> Iterator[str]:
    """List notes about imports that were not followed."""
    graphs = list(graphs)
    known = {place for graph in graphs for place in _places(graph)}
    for graph in graphs:
        for importing, imported in _imports(graph):
            if _place(imported) not in known:
                said = f"owl:imports {shown(imported)} of {shown(importing)}"
                yield f"{said} is not followed: pass the imported graph with the shapes"


def _imports(graph: Graph) -> list[tuple[Node, Node]]:
    return sorted(graph.subject_objects(OWL.imports), key=lambda pair: tuple(map(shown, pair)))


def _places(graph: Graph) -> Iterator[str]:
    """List the names by which this graph may be imported: its own, and those of its ontologies."""
    yield _place(URIRef(SH))  # its relevant content is built in
    described = {*graph.subjects(RDF.type, OWL.Ontology), *graph.subjects(OWL.imports)}
    named = graph.graphs() if isinstance(graph, Dataset) else [graph]
    yield from map(_place, (*(each.identifier for each in named), *described))


def _place(name: Node) -> str:
    """Return the name of an imported graph without its fragment; for a file, its real path."""
    path = _local(name)
    return str(name).partition("#")[0] if path is None else path


def _local(name: Node) -> str | None:
    """Return the real path of a local file; None for another name."""
    if not isinstance(name, URIRef) or not name.lower().startswith("file:"):
        return None
    try:
        parts = urlsplit(name)
        path = os.path.realpath(url2pathname(parts.path))
    except ValueError:  # e.g. file://[x, or with a zero byte: no file has such a name
        return None
    return path if parts.netloc in _LOCAL_HOSTS else None
