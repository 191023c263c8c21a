"""Triples that a query might match: its own patterns, with a node in place of each variable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from rdflib import BNode, Literal, URIRef, Variable
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.plugins.sparql.parserutils import CompValue

NODE = "urn:example:"
Triple = tuple[Any, Any, Any]


def example_triples(algebra: Any, *, literals: bool) -> list[Triple]:
    """Instantiate all patterns of a query; with `literals` other terms than subjects become the number 1."""
    patterns = list(_patterns(algebra))
    subjects = {s for s, _, _ in patterns}
    fresh = count()

    def node(term: Any) -> Any:
        if not isinstance(term, Variable | BNode):
            return term
        return Literal(1) if literals and term not in subjects else URIRef(NODE + str(term))

    def link(subject: Any, path: Any, target: Any) -> Iterator[Triple]:
        match path:
            case InvPath():
                yield from link(target, path.arg, subject)
            case AlternativePath():
                yield from link(subject, path.args[0], target)
            case MulPath():
                yield from link(subject, path.path, target)
            case SequencePath():
                between = [URIRef(f"{NODE}between{next(fresh)}") for _ in path.args[1:]]
                for start, step, end in zip([subject, *between], path.args, [*between, target], strict=True):
                    yield from link(start, step, end)
            case NegatedPath():
                yield (subject, URIRef(NODE + "other"), target)
            case _:
                yield (subject, path, target)

    made = (
        triple
        for s, p, o in patterns
        for triple in link(node(s), p if isinstance(p, Path) else _predicate(node(p)), node(o))
    )
    return [triple for triple in dict.fromkeys(made) if not isinstance(triple[0], Literal)]


def graph_names(algebra: Any) -> list[URIRef]:
    """List the graphs that a query names."""
    clauses = [clause.get("default") or clause.get("named") for clause in algebra.get("datasetClause") or ()]
    found = [node.term for node in _nodes(algebra) if node.name == "Graph"]
    return list(dict.fromkeys(name for name in (*clauses, *found) if isinstance(name, URIRef)))


def _predicate(term: Any) -> Any:
    return URIRef(NODE + "predicate") if isinstance(term, Literal) else term


def _patterns(algebra: Any) -> Iterator[Triple]:
    for node in _nodes(algebra):
        if node.name in ("BGP", "TriplesBlock"):
            yield from (tuple(triple) for triple in node.triples if len(triple) == 3)


def _nodes(value: Any) -> Iterator[CompValue]:
    """Walk the algebra, expressions included: EXISTS holds patterns."""
    if isinstance(value, CompValue):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple | set):
        for part in value:
            yield from _nodes(part)
