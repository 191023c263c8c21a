"""Checking and running of SPARQL updates, each as one commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import rdflib
from rdflib.term import URIRef

from rdflive.errors import ValidationError
from rdflive.plugins import manager
from rdflive.server.failures import Problem, Refused
from rdflive.server.sparql.answering import native_of, refused_by_oxigraph
from rdflive.server.sparql.guards import check, placed
from rdflive.server.sparql.operations import ProtocolOperation
from rdflive.store import ChangeLogError, Transaction
from rdflive.syntax.prefixes import bound_prefixes
from rdflive.syntax.reader import read_update
from rdflive.syntax.tree import Tree
from rdflive.syntax.writing import write

__all__ = ["checked_update", "run_update", "updated"]

_MATCHING: Final = frozenset({"Modify", "DeleteWhere"})
"""The operations that have patterns."""


def checked_update(dataset: rdflib.Dataset, operation: ProtocolOperation) -> tuple[str, bool]:
    """Return the text of an update for engines, and True if it has patterns, whose matching may take long.

    The text includes the dataset of the protocol. Raises `QuerySyntaxError`, and `Problem`: 403 for LOAD and
    SERVICE, 400 if text and protocol both name a dataset, and 400 if patterns need a default graph that is
    the union on Oxigraph.
    """
    tree = read_update(operation.text, bound_prefixes(dataset), base=operation.base)
    check(tree, operation.text)
    requests = [_seeing(request, dataset, operation) for request in tree.request or ()]
    return write(tree.changed(request=tuple(requests))), any(each.name in _MATCHING for each in requests)


def run_update(dataset: rdflib.Dataset, text: str) -> int:
    """Run a checked update as one commit, all or nothing; return the number of a commit that includes it.

    Raises `Problem` 400 for a failed update, 507 for one that the change log on disk cannot take, and
    `Refused` for an update that a guard refuses; then nothing has changed.
    """
    store = manager.store_of(dataset)
    problem: Problem
    try:
        # not in a batch, so that guards can refuse it before the writing
        with manager.locked(store) as locked:
            adapter: Any = locked
            adapter.write(updated(dataset), Transaction({}, updates=[text], name="server", keep={}))
            return int(adapter.capture.number)
    except (MemoryError, RecursionError):
        raise
    except ValidationError as error:
        problem = Refused(error)
    except ChangeLogError as error:
        problem = Problem(507, f"nothing was changed: {error}", headers={"Retry-After": "60"})
    except Exception as error:  # noqa: BLE001 - the engines raise plain Exception, RuntimeError and others
        problem = (
            refused_by_oxigraph(error, text)
            if isinstance(error, SyntaxError)
            else Problem(400, f"nothing was changed, as the update failed: {error}")
        )
    raise problem  # not from the error: Oxigraph must drop the objects of its frames in this thread


def updated(dataset: rdflib.Dataset) -> rdflib.Dataset:
    """Return the dataset to update: for Oxigraph without the union of graphs."""
    if native_of(dataset) is None or not dataset.default_union:
        return dataset
    twin = rdflib.Dataset(dataset.store)
    twin.namespace_manager = dataset.namespace_manager
    return twin


def _seeing(request: Tree, dataset: rdflib.Dataset, operation: ProtocolOperation) -> Tree:
    """Return an operation with the dataset for its patterns."""
    if request.name not in _MATCHING:
        return request
    names_its_own = request.using or request.withClause is not None
    if operation.has_dataset:
        if names_its_own:
            word, place = ("USING", request.using[0]) if request.using else ("WITH", request)
            raise placed(
                400,
                f"both using-graph-uri and {word}",
                operation.text,
                place.begin,
                "name the dataset: leave one of them out",
            )
        return _with_using(request, operation)
    if dataset.default_union and native_of(dataset) is not None and not names_its_own:
        raise placed(
            400,
            "the pattern",
            operation.text,
            (request.where or request.quads).begin,
            "would match only the default graph of Oxigraph, but this server shows the union of all graphs: "
            "name graphs by USING or WITH",
        )
    return request


def _with_using(request: Tree, operation: ProtocolOperation) -> Tree:
    clauses = [("default", name) for name in operation.default] + [("named", n) for n in operation.named]
    using = tuple(Tree("UsingClause", {kind: URIRef(name)}) for kind, name in clauses)
    if request.name == "Modify":
        return request.changed(using=using)
    # DELETE WHERE has no place for USING
    return Tree(
        "Modify", {"delete": request.quads, "using": using, "where": _group(request.quads.part or ())}
    )


def _group(parts: Iterable[Tree]) -> Tree:
    """Return quads as a group of patterns."""
    return Tree("GroupGraphPattern", {"part": tuple(map(_pattern, parts))})


def _pattern(part: Tree) -> Tree:
    if part.name == "TriplesBlock":
        return part
    return Tree("GraphGraphPattern", {"term": part.term, "graph": _group([part.part] if part.part else [])})
