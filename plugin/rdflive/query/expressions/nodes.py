"""The parts of rdflib's expression nodes, whatever shape its parser left them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rdflib.namespace import RDF
from rdflib.plugins.sparql.parserutils import CompValue, Expr

__all__ = ["EXISTS", "arguments", "elements", "operands", "part_of", "replace"]

EXISTS = frozenset({"Builtin_EXISTS", "Builtin_NOTEXISTS"})
_VARIADIC = frozenset({"Builtin_CONCAT", "Builtin_COALESCE"})


def elements(node: Any) -> list[Any] | None:
    """Give the items of a list of expressions; None for anything else."""
    # terms are str; pyparsing's results are registered as sequences
    return list(node) if isinstance(node, Sequence) and not isinstance(node, str) else None


def operands(node: CompValue) -> list[Any]:
    """Give the operands of a chain: `expr` and those of `other`."""
    return [node.expr, *(elements(node.other) or [])]


def part_of(node: CompValue, key: str) -> Any:
    """Give a part of a node of rdflib's algebra.

    The pattern of an EXISTS is an attribute once rdflib has translated it. The item of that name is what it
    was parsed to, from which the translation has taken the filters.
    """
    return vars(node).get(key, node[key])


def arguments(node: CompValue) -> list[Any]:
    """Give the arguments of a function call in the order of the text."""
    found: list[Any] = []
    for key in node:
        # the name of a called function, and a word before its arguments
        if key in ("iri", "distinct"):
            continue
        items = elements(node[key])
        if items is None and node[key] == RDF.nil and node.name in _VARIADIC:
            items = []  # rdflib parses an empty list of arguments as rdf:nil
        found.extend([node[key]] if items is None else items)
    return found


def replace(node: Any, mapping: Callable[[Any], Any]) -> Any:
    """Copy an expression, putting what `mapping` gives in the place of a part, unless it gives None.

    Outer parts are asked first, and what they become is not looked into. The pattern of an EXISTS is
    neither copied nor looked into.
    """
    other = mapping(node)
    if other is not None:
        return other
    if isinstance(node, CompValue):
        if node.name in EXISTS:
            return node
        evaluate = getattr(node, "_evalfn", None)
        copy = Expr(node.name, evaluate.__func__) if evaluate is not None else CompValue(node.name)
        for key in node:
            if not key.startswith("_"):  # rdflib's own notes on variables
                copy[key] = replace(node[key], mapping)
        return copy
    items = elements(node)
    return node if items is None else [replace(item, mapping) for item in items]
