"""Evaluation of a query by the engine of the dataset's store."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, Protocol

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Dataset, Graph
from rdflib.paths import Path
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.sparql import Prologue, QueryContext, SPARQLError
from rdflib.term import Node, URIRef

from rdflive.feeds.terms import UnwritableError
from rdflive.model import is_triple
from rdflive.server.failures import Problem
from rdflive.server.sparql import formats
from rdflive.server.sparql.formats import choose
from rdflive.server.sparql.guards import check
from rdflive.server.sparql.operations import ProtocolOperation
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.prefixes import bound_prefixes
from rdflive.syntax.rdflib_algebra import to_rdflib
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree
from rdflive.syntax.writing import write

__all__ = ["AnswerWriter", "SelectedGraphs", "answer", "native_of", "refused_by_oxigraph"]


class SelectedGraphs(Dataset):
    """A dataset over the same store, with the default graph `merged` and a selection of named graphs.

    >>> whole = Dataset()
    >>> _ = whole.add((URIRef("urn:a"), URIRef("urn:p"), URIRef("urn:b"), URIRef("urn:g")))
    >>> some = SelectedGraphs(whole, [URIRef("urn:g")], [])
    >>> len(list(some.merged.triples((None, None, None)))), list(some.contexts())
    (1, [])
    """

    def __init__(self, whole: Dataset, default: Iterable[URIRef], named: Iterable[URIRef]) -> None:
        super().__init__(whole.store)
        self.namespace_manager = whole.namespace_manager
        self.merged = _Merged(whole, list(default))
        self._named = {name: Graph(whole.store, name) for name in named}

    def contexts(self, triple: Any = None) -> Generator[Graph, None, None]:  # noqa: ARG002 - rdflib's interface
        """Yield the named graphs."""
        yield from self._named.values()

    def get_context(self, identifier: Any, quoted: bool = False, base: str | None = None) -> Graph:  # noqa: ARG002 - rdflib's interface
        """Return a named graph; other graphs are empty."""
        return self._named.get(identifier, Graph())


class _Merged(Graph):
    """The union of graphs, with each triple once."""

    def __init__(self, whole: Dataset, names: list[URIRef]) -> None:
        super().__init__(whole.store)
        self.namespace_manager = whole.namespace_manager
        self._graphs = [Graph(whole.store, name) for name in names]

    def triples(self, triple: Any) -> Generator[Any, None, None]:
        """Yield the matching triples."""
        subject, path, value = triple
        # a path may cross graphs, so it is evaluated over their union
        if isinstance(path, Path):
            for start, end in path.eval(self, subject, value):
                yield start, path, end
        elif len(self._graphs) == 1:
            yield from self._graphs[0].triples(triple)
        else:
            seen: set[tuple[Node, Node, Node]] = set()
            for graph in self._graphs:
                for found in graph.triples(triple):
                    if found not in seen:
                        seen.add(found)
                        yield found


_PLACE: Final = re.compile(r"error at (\d+):(\d+): ")
_SHOWN: Final = 60
"""Characters shown before the place of an error."""
_SAID: Final = 150
"""The longest reason of a parser that is shown."""


class AnswerWriter(formats.Output, Protocol):
    """The output for an answer: first its type, then its bytes."""

    def begin(self, content_type: str) -> None:
        """Set the value of Content-Type."""


def answer(dataset: rdflib.Dataset, operation: ProtocolOperation, accept: str, output: AnswerWriter) -> None:
    """Evaluate a query and write its answer in a format of `accept`.

    Raises `QuerySyntaxError`, and `Problem`: 400 for a query that cannot be evaluated, 403 for SERVICE, 406.
    """
    tree = read_query(operation.text, bound_prefixes(dataset), base=operation.base)
    check(tree, operation.text)
    evaluated = _answer_rdflib if native_of(dataset) is None else _answer_oxigraph
    try:
        evaluated(dataset, tree, operation, lambda offered: choose(accept, offered, formats.ALIASES), output)
    except UnwritableError as error:
        raise Problem(406, f"the format cannot hold the answer: {error}") from error
    except (SPARQLError, NotImplementedError, ValueError, RuntimeError) as error:
        # a RuntimeError too, but not an error of the values: `run_child` reports it
        if isinstance(error, RecursionError):
            raise
        raise Problem(400, f"the query cannot be evaluated: {error}") from error


def native_of(dataset: rdflib.Dataset) -> Any:
    """Return the native store that evaluates SPARQL; None if rdflib evaluates queries."""
    return getattr(dataset.store, "_inner", None)


def refused_by_oxigraph(error: SyntaxError, written: str) -> Problem:
    """Return the problem of an error that Oxigraph finds in the rewritten text, such as an invalid IRI.

    Its place is not in the client's text, so the text before it is shown.
    """
    found = _PLACE.match(str(error))
    line, column = (int(found[1]), int(found[2])) if found else (0, 0)
    before = "".join(written.split("\n")[max(0, line - 1) : line])[: max(0, column - 1)]
    # it may list every character that is allowed there
    reason = str(error)[found.end() if found else 0 :]
    said = f": {reason}" if len(reason) <= _SAID else ""
    return Problem(400, f"Oxigraph refuses it after {before[-_SHOWN:]!r}{said}")


_Choose = Callable[[tuple[str, ...]], str]


def _answer_oxigraph(
    dataset: rdflib.Dataset,
    tree: Tree,
    operation: ProtocolOperation,
    choose_format: _Choose,
    output: AnswerWriter,
) -> None:
    from pyoxigraph import (
        DefaultGraph,
        NamedNode,
        QueryResultsFormat,
        QuerySolutions,
        QueryTriples,
        RdfFormat,
        serialize,
    )

    options: dict[str, Any] = {}
    if operation.has_dataset:
        options["default_graph"] = [
            DefaultGraph() if name == str(DATASET_DEFAULT_GRAPH_ID) else NamedNode(name)
            for name in operation.default
        ]
        options["named_graphs"] = [NamedNode(name) for name in operation.named]
    elif dataset.default_union:  # the option would make Oxigraph ignore FROM
        options["use_default_graph_as_union"] = not tree.query.datasetClause
    written = write(tree)
    try:
        result = native_of(dataset).query(written, **options)
    except SyntaxError as error:
        raise refused_by_oxigraph(error, written) from error
    if isinstance(result, QueryTriples):
        kind = choose_format(formats.GRAPHS)
        output.begin(formats.content_type(kind))
        file: Any = output  # Oxigraph uses `write` and `flush` of a file
        serialize(result, file, RdfFormat.from_media_type(kind))
    else:
        kind = choose_format(formats.TABLES)
        output.begin(formats.content_type(kind))
        if kind == formats.CSV and isinstance(result, QuerySolutions):
            # pyoxigraph writes IRIs without quotation marks, although they may contain commas
            names = [variable.value for variable in result.variables]
            formats.write_csv(names, (map(_csv_field, solution) for solution in result), output)
        else:
            result.serialize(output, QueryResultsFormat.from_media_type(kind))


def _csv_field(term: Any) -> str:
    """Return a term of Oxigraph as a field of CSV, which does not mark kinds of terms."""
    from pyoxigraph import BlankNode, Triple

    if isinstance(term, Triple):
        return f"<<( {term} )>>"
    return "" if term is None else str(term) if isinstance(term, BlankNode) else str(term.value)


def _answer_rdflib(
    dataset: rdflib.Dataset,
    tree: Tree,
    operation: ProtocolOperation,
    choose_format: _Choose,
    output: AnswerWriter,
) -> None:
    main = to_rdflib(algebra_of(tree))
    kind = choose_format(formats.TABLES if main.name in ("SelectQuery", "AskQuery") else formats.GRAPHS)
    context = _context(dataset, operation, main.datasetClause or ())
    context.prologue = Prologue()
    context.prologue.base = tree.base
    # not evalQuery, which would fetch the graphs of FROM as documents
    result = evalPart(context, main)
    output.begin(formats.content_type(kind))
    if result["type_"] == "ASK":
        formats.write_truth(bool(result["askAnswer"]), kind, output)
    elif result["type_"] == "SELECT":
        formats.write_table(list(map(str, result["vars_"])), result["bindings"], kind, output)
    else:
        graph = result["graph"]
        # a template may make triples that are not RDF, which are left out (SPARQL 1.1, 16.2)
        for s, p, o in list(graph):
            if not is_triple(s, p, o):
                graph.remove((s, p, o))
        formats.write_graph(graph, kind, output)


def _context(dataset: rdflib.Dataset, operation: ProtocolOperation, clauses: Any) -> QueryContext:
    """Return rdflib's context of evaluation, with the dataset of the protocol, of the text, or all."""
    default = [clause.default for clause in clauses if clause.default]
    named = [clause.named for clause in clauses if clause.named]
    if operation.has_dataset:
        default, named = list(map(URIRef, operation.default)), list(map(URIRef, operation.named))
    if not default and not named:
        return QueryContext(dataset, initBindings={})
    selection = SelectedGraphs(dataset, default, named)
    context = QueryContext(selection, initBindings={})
    context.graph = selection.merged
    return context
