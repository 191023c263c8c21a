"""Shapes that a command is given: files of RDF; and guards, which may be queries too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, TypeAlias

import rdflib

import rdflive
from rdflive.cli.load import load
from rdflive.cli.query import QueryText, read_query
from rdflive.errors import RdfliveError

__all__ = ["check_guards", "check_shapes", "guarded", "read_shapes"]

Guards: TypeAlias = list[rdflib.Graph | QueryText]

_QUERIES: Final = (".rq", ".sparql")


def read_shapes(paths: Sequence[str]) -> rdflib.Graph:
    """Read files with shapes into one graph, whatever graphs they have."""
    dataset, graph = rdflib.Dataset(), rdflib.Graph()
    load(dataset, paths)
    for prefix, name in dataset.namespaces():
        graph.bind(prefix, name)
    for s, p, o, _ in dataset.quads():
        graph.add((s, p, o))
    return graph


def check_shapes(paths: Sequence[str]) -> rdflib.Graph:
    """Read shapes; raises `ShapesError` for those that cannot be validated, before a long load."""
    shapes = read_shapes(paths)
    rdflive.validate(rdflib.Dataset(), shapes, initial=False).close()
    return shapes


def check_guards(given: Sequence[str]) -> Guards:
    """Read what `--guard` is given: shapes of all files together, and each query; raises what is wrong."""
    queries = [text for text in given if text.endswith(_QUERIES) or "{" in text]
    files = [path for path in given if path not in queries]
    guards: Guards = [check_shapes(files)] if files else []
    for text in queries:
        query = read_query(text)
        if query.form() not in ("SELECT", "ASK"):
            raise RdfliveError(
                f"{query.source}: a guard is a SELECT that must stay empty, or an ASK that must stay false"
            )
        with query.placed():
            rdflive.explain(query.text, initNs=query.assumed())
        guards.append(query)
    return guards


@contextmanager
def guarded(dataset: rdflib.Dataset, guards: Guards) -> Iterator[None]:
    """Guard a dataset inside the block."""
    with ExitStack() as stack:
        for each in guards:
            if isinstance(each, QueryText):
                with each.placed():
                    stack.enter_context(rdflive.guard(dataset, each.text))
            else:
                stack.enter_context(rdflive.guard(dataset, each))
        yield
