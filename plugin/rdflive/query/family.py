"""Finds the constants of a query that may differ between the members of a family.

Queries that differ only in such constants share one plan, in which variables stand for them: the parameters.
A constant can be a parameter if a variable could replace it in every place with the same meaning, and a
change then concerns few members. So it is the subject or object of a pattern, the end of a path, or compared
with a variable of a pattern, because members are kept in the order of compared values. Any other constant,
such as a predicate or the name of a graph, separates families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any, Final

from rdflib.paths import Path
from rdflib.term import Literal, Node, URIRef, Variable

from rdflive.model import TripleTerm
from rdflive.query.expressions import conjuncts
from rdflive.query.shapes import operands_of
from rdflive.syntax.algebra import AGGREGATE
from rdflive.syntax.tree import Tree

__all__ = ["constants_of", "names_of", "places_of", "shape_of"]

_MOST: Final = 8
"""Most parameters of a query; queries with more constants have a plan each."""
_ORDERED: Final = frozenset({"=", "<", "<=", ">", ">="})


def constants_of(algebra: Tree, bound: Collection[str] = ()) -> list[Node]:
    """List the constants of a query that can be parameters, in the order of rdflib's algebra.

    Variables that are `bound` to a term are constants too. Constants of a template may be anywhere.
    """
    found = places_of(algebra, bound)
    return found if len(found) <= _MOST else []


def places_of(algebra: Tree, bound: Collection[str] = ()) -> list[Node]:
    """List the constants, with variables that are `bound`, that a parameter can replace in every place."""
    variables = frozenset(map(Variable, bound))
    everywhere = Counter(_terms(algebra, variables))
    possible = Counter(_places(algebra, variables))
    shown = Counter(_terms(algebra.template, variables))
    return [term for term, count in possible.items() if count + shown[term] == everywhere[term]]


def names_of(query: Tree) -> tuple[URIRef, ...]:
    """List the IRIs of a query's algebra that occur only in triple patterns, not in paths.
    >>> from rdflive.syntax.algebra import algebra_of
    >>> from rdflive.syntax.reader import read_query
    >>> text = "SELECT * { ?s <http://e/p> <http://e/o> ; <http://e/q>+ ?x FILTER(?x != <http://e/o>) }"
    >>> names_of(algebra_of(read_query(text)))
    (rdflib.term.URIRef('http://e/p'),)
    """
    inside = Counter(_in_patterns(query))
    everywhere = Counter(_terms(query, frozenset()))
    return tuple(name for name, count in inside.items() if count == everywhere[name])


def _in_patterns(node: Any) -> Iterator[URIRef]:
    if isinstance(node, Tree):
        if node.name == "BGP":
            # a path may match its ends without a triple
            plain = (triple for triple in node.triples if not isinstance(triple[1], Path))
            yield from (term for triple in plain for term in triple if isinstance(term, URIRef))
            return
        for value in node.fields.values():
            yield from _in_patterns(value)
    elif isinstance(node, list | tuple):
        for part in node:
            yield from _in_patterns(part)


def shape_of(node: Any, parameters: Mapping[Node, Any], names: list[Node]) -> str:
    """Write a part of rdflib's algebra with parameters in place of constants.

    The IRIs of triple patterns are appended to `names` instead: families differ in the text and in these.
    """
    if isinstance(node, Tree):
        if node.name == "BGP":
            triples = ([_name_of(term, parameters, names) for term in triple] for triple in node.triples)
            return f"BGP({', '.join(map(' '.join, triples))})"
        # a separator is no term, though it may equal one
        parts = (
            f"{key}={shape_of(value, {} if key == 'separator' else parameters, names)}"
            for key, value in node.fields.items()
        )
        return f"{node.name}({', '.join(parts)})"
    if isinstance(node, dict):
        return f"{{{shape_of(list(node.items()), parameters, names)}}}"
    if isinstance(node, list | tuple):
        return f"[{', '.join(shape_of(part, parameters, names) for part in node)}]"
    if isinstance(node, set | frozenset):
        return f"{{{', '.join(sorted(shape_of(part, parameters, names) for part in node))}}}"
    if isinstance(node, Path):
        # as rdflib writes !(<a>|<b>), it could be !<a,b>, where <a,b> is one IRI
        return f"{type(node).__name__}{shape_of(list(vars(node).items()), parameters, names)}"
    if isinstance(node, Node) and node in parameters:
        return f"${parameters[node].name}"
    return repr(node)


def _name_of(term: Any, parameters: Mapping[Node, Any], names: list[Node]) -> str:
    if not isinstance(term, URIRef) or term in parameters:
        return shape_of(term, parameters, names)
    names.append(term)
    return "%"


def _places(node: Any, variables: Set[Node]) -> Iterator[Node]:
    """List the constants at places where a parameter may be, each as often as it occurs there."""
    if isinstance(node, Tree):
        if node.name == "BGP":
            ends = (term for s, _, o in node.triples for term in (s, o))
            yield from (term for term in ends if _is_constant(term, variables))
            return
        if node.name == "Filter":
            bound = _bound(node.p)
            for part in conjuncts(node.expr):
                yield from _compared(part, bound, variables)
        elif node.name == "AggregateJoin":
            yield from _grouped(node, variables)
        # the algebra assigns a grouped variable to itself, through SAMPLE
        elif node.name == "Extend" and node.var in variables and str(node.expr).startswith(AGGREGATE):
            yield node.var
        for value in node.fields.values():
            yield from _places(value, variables)
    elif isinstance(node, list | tuple):
        for part in node:
            yield from _places(part, variables)


def _grouped(node: Tree, variables: Set[Node]) -> Iterator[Node]:
    """List the bound variables that a query groups by, which divides no group."""
    keys = [key for key in node.p.expr or () if isinstance(key, Variable) and key in variables]
    yield from keys
    samples = (part.vars for part in node.A if part.name == "Aggregate_Sample")
    yield from (over for over in samples if isinstance(over, Variable) and over in keys)


def _bound(node: Tree) -> set[Node]:
    """Return the variables that the triple patterns of a group bind."""
    while node.name == "Filter":
        node = node.p
    bgps = [operand for operand in operands_of(node) if operand.name == "BGP"]
    return {term for bgp in bgps for s, _, o in bgp.triples for term in (s, o) if isinstance(term, Variable)}


def _compared(part: Any, bound: Set[Node], variables: Set[Node]) -> Iterator[Node]:
    """List the constants that a filter compares with a bound variable."""
    if isinstance(part, Tree) and part.name == "RelationalExpression" and part.op in _ORDERED:
        for one, other in ((part.expr, part.other), (part.other, part.expr)):
            if isinstance(one, Variable) and one in bound - variables and _is_constant(other, variables):
                yield other


def _is_constant(term: Any, variables: Set[Node]) -> bool:
    return isinstance(term, URIRef | Literal) or (isinstance(term, Variable) and term in variables)


def _terms(node: Any, variables: Set[Node]) -> Iterator[Node]:
    """List the constants of a part of the algebra, each as often as it occurs."""
    if isinstance(node, Tree):
        for key, value in node.fields.items():
            # not the projection: a bound variable is projected as its term
            if key not in ("PV", "separator"):
                yield from _terms(value, variables)
    elif isinstance(node, Path):
        yield from _terms([getattr(node, name, None) for name in ("arg", "args", "path")], variables)
    elif isinstance(node, TripleTerm):
        yield from _terms(node.parts, variables)
    elif isinstance(node, dict):
        yield from _terms([*node, *node.values()], variables)
    elif _is_constant(node, variables):
        yield node
    elif isinstance(node, list | tuple | set | frozenset):
        for part in node:
            yield from _terms(part, variables)
