"""The parts of expressions."""

from __future__ import annotations

from typing import Any

from rdflive.syntax.tree import Tree

__all__ = ["arguments", "elements", "operands"]


def elements(node: Any) -> list[Any] | None:
    """Return the items of a list of expressions; None for anything else."""
    return list(node) if isinstance(node, list | tuple) else None


def operands(node: Tree) -> list[Any]:
    """Return the operands of a chain: `expr` and those of `other`."""
    return [node.expr, *(elements(node.other) or [])]


def arguments(node: Tree) -> list[Any]:
    """Return the arguments of a function call in the order of the text."""
    found: list[Any] = []
    for key, value in node.fields.items():
        # not the name of a called function, its version, and a word before its arguments
        if key not in ("iri", "version", "distinct"):
            items = elements(value)
            found.extend([value] if items is None else items)
    return found
