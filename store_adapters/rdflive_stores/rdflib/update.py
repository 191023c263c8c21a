"""SPARQL updates on rdflib's in-memory stores, without the faults of rdflib's own engine.

In rdflib 7 DELETE and INSERT alternate solution by solution, DELETE WHERE takes `GRAPH ?g` for a new graph,
USING reads from the network or the disk, CREATE is missing, and SILENT swallows Ctrl-C. This module
implements CREATE and the operations with WHERE after SPARQL 1.1 Update, sections 3.1.3 and 3.2.1. rdflib
evaluates the pattern, and runs all other operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from rdflib.graph import ConjunctiveGraph, Dataset, Graph
from rdflib.plugins.sparql import update as engine
from rdflib.plugins.sparql.algebra import BGP, Join
from rdflib.plugins.sparql.algebra import Graph as GraphPattern
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.sparql import QueryContext
from rdflib.term import BNode, URIRef

from rdflive.errors import UnsupportedQueryError
from rdflive.model import is_triple
from rdflive.store import WriteRefusedError
from rdflive.store.rdflib_graphs import default_graph
from rdflive.syntax.rdflib_algebra import filled, to_rdflib_update
from rdflive.syntax.reader import read_update

__all__ = ["run_update"]


def run_update(graph: Graph, text: str) -> None:
    """Run a request on a graph or dataset with the prefixes bound on it; errors of rdflib are raised.

    Raises WriteRefusedError for USING on a graph that is no dataset, and for syntax that rdflib cannot
    evaluate.

    >>> graph = Graph().parse(data="<urn:a> <urn:p> <urn:b> . <urn:b> <urn:p> <urn:a> .")
    >>> run_update(graph, "DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }")
    >>> len(graph)
    2
    """
    tree = read_update(text, dict(graph.namespaces()))
    try:
        operations = to_rdflib_update(tree, is_filled=True).algebra
    except UnsupportedQueryError as error:
        raise WriteRefusedError(str(error)) from error
    if not isinstance(graph, ConjunctiveGraph) and any(operation.using for operation in operations):
        raise WriteRefusedError(
            "USING names graphs of a dataset, and the update runs on a single rdflib.Graph: mirror the feed "
            "into an rdflib.Dataset"
        )
    for operation in operations:
        context = _context(graph, operation)
        try:
            _OPERATIONS[operation.name](context, operation)
        except Exception:
            if not operation.silent:
                raise


def _context(graph: Graph, operation: Any) -> QueryContext:
    context = QueryContext(graph, initBindings={})
    context.prologue = operation.prologue
    return context


def _create(context: QueryContext, operation: Any) -> None:
    """Create an empty graph; refuse a graph that exists, also without triples."""
    store, name = context.dataset.store, operation.graphiri
    if any(getattr(graph, "identifier", graph) == name for graph in store.contexts()):
        raise WriteRefusedError(f"{name.n3()} cannot be created: it exists already")
    store.add_graph(context.dataset.get_context(name))


def _delete_where(context: QueryContext, operation: Any) -> None:
    where = BGP(operation.triples)
    for name, triples in operation.quads.items():
        where = Join(where, GraphPattern(name, BGP(triples)))
    # a list, because the pattern must not see the changes
    solutions = list(evalPart(context, where))
    _change(context, _target(context, None), solutions, operation, Graph.remove)


def _modify(context: QueryContext, operation: Any) -> None:
    target = _target(context, operation.withClause)
    if operation.using:
        where = _context(_using(context, operation.using), operation)
    else:
        where = context.pushGraph(target) if operation.withClause else context
    # evaluated once, on the state before; then all deletes, then all inserts (SPARQL 1.1 Update, 3.1.3)
    solutions = list(evalPart(where, operation.where))
    _change(context, target, solutions, operation.delete, Graph.remove)
    _change(context, target, solutions, operation.insert, Graph.add)


def _target(context: QueryContext, name: URIRef | None) -> Graph:
    """Return the graph of the triples outside GRAPH: the default graph, or that of WITH."""
    if name is not None:
        return context.dataset.get_context(name)
    graph: Any = context.graph
    return Graph(
        graph.store, default_graph(graph) if isinstance(graph, ConjunctiveGraph) else graph.identifier
    )


def _using(context: QueryContext, clauses: Iterable[Any]) -> Dataset:
    """Copy the graphs of USING clauses into a new dataset; a missing graph is empty."""
    dataset = Dataset()
    for clause in clauses:
        copy = dataset.default_graph if clause.default else dataset.graph(clause.named)
        for triple in context.dataset.get_context(clause.default or clause.named):
            copy.add(triple)
    return dataset


def _change(
    context: QueryContext,
    target: Graph,
    solutions: Iterable[Mapping[Any, Any]],
    template: Any,
    change: Callable[[Graph, Any], Any],
) -> None:
    """Add or remove the triples of a template for each solution."""
    if not template:
        return
    graphs: dict[Any, Graph] = {None: target}
    for solution in solutions:
        for name, triple in _filled(template, solution):
            if name not in graphs:
                graphs[name] = context.dataset.get_context(name)  # raises for a single graph
            change(graphs[name], triple)


def _filled(template: Any, solution: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Fill in a template for a solution: legal triples, each with the name of its graph, None outside GRAPH.

    A blank-node label stands for one new blank node per solution, in all graphs.
    """
    nodes: defaultdict[BNode, BNode] = defaultdict(BNode)

    def value_of(term: Any) -> Any:
        return nodes[term] if isinstance(term, BNode) else solution.get(term)

    blocks = [(None, template.triples), *template.quads.items()]
    for given, triples in blocks:
        name = None if given is None else solution.get(given)
        if given is not None and not isinstance(name, URIRef | BNode):
            continue
        for terms in triples:
            triple = tuple(filled(term, value_of) for term in terms)
            if None not in triple and is_triple(*triple):
                yield name, triple


_OPERATIONS: Final[Mapping[str, Callable[[QueryContext, Any], None]]] = {
    "Load": engine.evalLoad,
    "Clear": engine.evalClear,
    "Drop": engine.evalDrop,
    "Create": _create,
    "Add": engine.evalAdd,
    "Move": engine.evalMove,
    "Copy": engine.evalCopy,
    "InsertData": engine.evalInsertData,
    "DeleteData": engine.evalDeleteData,
    "DeleteWhere": _delete_where,
    "Modify": _modify,
}
