"""Expressions as plain values that can be pickled: rdflib's nodes refuse it."""

from __future__ import annotations

from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue, Expr

from rdflive.query.expressions.nodes import elements

__all__ = ["freeze", "thaw"]


def freeze(node: Any) -> Any:
    """Write a node as nested tuples: of a part its name, its evaluator and its members.

    >>> freeze(CompValue("Builtin_STR", arg=1))
    ('part', 'Builtin_STR', None, (('arg', ('term', 1)),))
    """
    if isinstance(node, CompValue):
        evaluate = getattr(node, "_evalfn", None)
        # without rdflib's own notes, such as `_vars`, which nobody reads here
        members = tuple((key, freeze(node[key])) for key in node if not key.startswith("_"))
        # rdflib binds the evaluator to its node; the function itself is pickled by its name
        return "part", node.name, None if evaluate is None else evaluate.__func__, members
    items = elements(node)
    return ("term", node) if items is None else ("list", tuple(map(freeze, items)))


def thaw(frozen: Any) -> Any:
    """Make the node again.

    >>> thaw(("list", (("term", 1), ("term", 2))))
    [1, 2]
    """
    kind, *content = frozen
    if kind == "term":
        return content[0]
    if kind == "list":
        return list(map(thaw, content[0]))
    name, evaluate, members = content
    node = CompValue(name) if evaluate is None else Expr(name, evaluate)
    for key, member in members:
        node[key] = thaw(member)
    return node
