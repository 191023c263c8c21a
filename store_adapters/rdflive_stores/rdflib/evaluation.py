"""Evaluation of queries by rdflib's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.sparql import Prologue, QueryContext
from rdflib.term import Variable

from rdflive.errors import UnsupportedQueryError
from rdflive.model import Term, is_triple
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.rdflib_algebra import to_rdflib
from rdflive.syntax.tree import Tree

__all__ = ["evaluate"]


def evaluate(
    graph: Any, query: Tree, names: Sequence[str], bindings: Mapping[str, Any]
) -> list[tuple[Term | None, ...]]:
    """Return all solutions; rdflib has no states of a store that last, so none is left for later.

    Raises UnsupportedQueryError for FROM, which rdflib would fetch from the web.

    >>> from rdflib import Graph
    >>> from rdflive.syntax.reader import read_query
    >>> evaluate(Graph(), read_query("ASK { FILTER(1 < 2) }"), (), {})
    [()]
    """
    main = to_rdflib(algebra_of(query))
    if main.datasetClause:
        raise UnsupportedQueryError("rdflib's engine would fetch the graphs of FROM", construct="FROM")
    context = QueryContext(graph, initBindings={Variable(name): term for name, term in bindings.items()})
    context.prologue = Prologue()
    context.prologue.base = query.base
    # not evalQuery, which would parse the text again
    result = evalPart(context, main)
    if result["type_"] == "ASK":
        return [()] if result["askAnswer"] else []
    if result["type_"] == "CONSTRUCT":
        # a template may make triples that are not RDF, which are left out (SPARQL 1.1, 16.2)
        return [triple for triple in result["graph"] if is_triple(*triple)]
    columns = [Variable(name) for name in names]
    return [tuple([solution.get(column) for column in columns]) for solution in result["bindings"]]
