"""Checking and running of SPARQL updates, each as one commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

import rdflib
from rdflib.term import BNode, Identifier, URIRef, Variable

from rdflive.errors import ValidationError
from rdflive.plugins import manager
from rdflive.server.failures import Problem, Refused, problem_of
from rdflive.server.sparql.answering import native_of, refused_by_oxigraph
from rdflive.server.sparql.guards import check, placed
from rdflive.server.sparql.operations import ProtocolOperation
from rdflive.store import ChangeLogError, Transaction
from rdflive.syntax.ground import is_plain_data
from rdflive.syntax.prefixes import bound_prefixes
from rdflive.syntax.reader import read_update
from rdflive.syntax.tree import Tree
from rdflive.syntax.writing import write

__all__ = [
    "FEW", "CheckedUpdate", "FailedUpdate", "checked_update", "has_few_matches", "is_data", "run_update",
    "run_update_of_few", "updated",
]  # fmt: skip

_MATCHING: Final = frozenset({"Modify", "DeleteWhere"})
"""The operations that have patterns."""
_DATA: Final = frozenset({"InsertData", "DeleteData"})
FEW: Final = 1000
"""The most triples that are matched without a trial."""
_FEW_PATTERNS: Final = 20
"""The most patterns whose matches are counted."""

TriplePattern: TypeAlias = Sequence[Identifier]


class FailedUpdate(Problem):
    """An engine could not run an update."""


@dataclass(frozen=True, slots=True)
class CheckedUpdate:
    """The text of an update for engines, and what its matching costs."""

    text: str
    may_take_long: bool
    """True if the update has patterns."""
    patterns: tuple[TriplePattern, ...] = ()
    """Patterns whose matches bound the cost: the only one of the update, and what it deletes and inserts.
    Empty if there is no such bound.
    """


def is_data(operation: ProtocolOperation) -> bool:
    """Return True if engines may read the client's own text: plain data, in which nothing can be forbidden.

    Then `run_update` raises `FailedUpdate` where `checked_update` would know the reason.
    """
    return is_plain_data(operation.text)


def checked_update(dataset: rdflib.Dataset, operation: ProtocolOperation) -> CheckedUpdate:
    """Return the text of an update for engines; it includes the dataset of the protocol.

    Raises `QuerySyntaxError`, and `Problem`: 403 for LOAD and SERVICE, 400 if text and protocol both name a
    dataset, and 400 if patterns need a default graph that is the union on Oxigraph.
    """
    tree = read_update(operation.text, bound_prefixes(dataset), base=operation.base)
    check(tree, operation.text)
    requests = [_seeing(request, dataset, operation) for request in tree.request or ()]
    return CheckedUpdate(
        write(tree.changed(request=tuple(requests))),
        any(each.name in _MATCHING for each in requests),
        tuple(_bounding(requests)),
    )


def run_update_of_few(dataset: rdflib.Dataset, update: CheckedUpdate) -> int | None:
    """Run an update if its `patterns` have few matches now; None if they have more, or there are none.

    Raises as `run_update` does.
    """
    # the same lock for the count and for the update, so that no write comes in between
    with manager.locked(manager.store_of(dataset)):
        patterns = update.patterns
        is_short = bool(patterns) and all(has_few_matches(dataset, pattern) for pattern in patterns)
        return run_update(dataset, update.text) if is_short else None


def has_few_matches(dataset: rdflib.Dataset, pattern: TriplePattern, most: int = FEW) -> bool:
    """Return True if a triple pattern has no more than `most` matches in all graphs together.

    Waits for the store's lock, and reads no more than one match beyond.

    >>> has_few_matches(rdflib.Dataset(), (Variable("s"), URIRef("urn:p"), Variable("o")))
    True
    """
    with manager.locked(manager.store_of(dataset)) as adapter:
        try:
            terms = [None if isinstance(t, Variable | BNode) else adapter.to_native(t) for t in pattern]
        except ValueError:  # the store can hold no such term
            return True
        s, p, o = terms
        return sum(1 for _ in islice(adapter.quads((s, p, o)), most + 1)) <= most


def run_update(dataset: rdflib.Dataset, *texts: str) -> int:
    """Run checked updates as one commit, all or nothing; return the number of a commit that includes it.

    Raises `FailedUpdate` (400), `Refused` for an update that a guard refuses, and `Problem` 507 for one that
    the change log on disk cannot take; then nothing has changed.
    """
    store = manager.store_of(dataset)
    problem: Problem
    try:
        # not in a batch, so that guards can refuse it before the writing
        with manager.locked(store) as locked:
            adapter: Any = locked
            adapter.write(updated(dataset), Transaction({}, updates=texts, name="server", keep={}))
            return int(adapter.capture.number)
    except (MemoryError, RecursionError):
        raise
    except ValidationError as error:
        problem = Refused(error)
    except ChangeLogError as error:
        problem = problem_of(error)
    except Exception as error:  # noqa: BLE001 - the engines raise plain Exception, RuntimeError and others
        if isinstance(error, SyntaxError):
            told = refused_by_oxigraph(error, texts[0])
            problem = FailedUpdate(told.status, told.detail, line=told.line, column=told.column)
        else:
            problem = FailedUpdate(400, f"nothing was changed, as the update failed: {error}")
    raise problem  # not from the error: Oxigraph must drop the objects of its frames in this thread


def _bounding(requests: Iterable[Tree]) -> list[TriplePattern]:
    """Return the patterns of an update that has one triple pattern, and data beside it; else none.

    What the update writes is bounded by its length and the matches of that pattern. The store reads what
    matches the templates, in order to find the changes.
    """
    matching = [each for each in requests if each.name not in _DATA]
    if len(matching) != 1 or matching[0].name not in _MATCHING or matching[0].using:  # USING copies graphs
        return []
    request = matching[0]
    where = _triples(request.quads if request.name == "DeleteWhere" else request.where)
    written = [triple for quads in (request.delete, request.insert) for triple in _triples(quads)]
    patterns = [*where, *written]
    is_plain = len(where) == 1 and all(isinstance(term, Identifier) for each in patterns for term in each)
    return patterns if is_plain and len(patterns) <= _FEW_PATTERNS else []


def _triples(group: Tree | None) -> list[Sequence[Any]]:
    """Return the triples of a group or of quads; one that is no pattern of triples for each other part."""
    parts = _flat(() if group is None else group.part)
    return [triple for part in parts for triple in part.triples or ((None,),)]


def _flat(parts: Iterable[Tree] | None) -> Iterator[Tree]:
    """Yield the parts of a group; those of a graph in place of the graph."""
    for part in parts or ():
        if part.name == "GraphGraphPattern":
            yield from part.graph.part or ()
        elif part.name == "GraphQuads":
            yield from () if part.part is None else (part.part,)
        else:
            yield part


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
