"""Checks of assigned, projected and grouped variables (grammar notes of SPARQL 1.1, 19.8, and 18.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from rdflib.term import Variable

from rdflive.syntax.tree import Tree, leaves, replace

__all__ = ["assigned", "has_aggregate", "misplaced_aggregate", "shown_of", "wrong_in_select"]


def shown_of(query: Mapping[str, Any], scope: set[Variable]) -> set[Variable]:
    """Return the variables that a SELECT projects; `scope` holds those of its pattern and may be changed."""
    projection = query.get("projection")
    if projection is None:
        scope.update(_named_keys(query), _rows(query))
        return scope
    return {part.var or part.evar for part in projection}


def wrong_in_select(query: Mapping[str, Any], scope: Set[Variable]) -> tuple[Any, str] | None:
    """Return the first invalid part of a SELECT and the reason; None if it is valid."""
    named = set(_named_keys(query))
    for key in query.get("groupby", ()):
        if isinstance(key, Tree) and key.name == "GroupAs" and key.var in scope:
            return key, assigned(key.var)
    grouped = _is_grouped(query)
    projection = query.get("projection")
    if projection is None:
        return (None, _STAR) if grouped else None
    keys = {key.var if isinstance(key, Tree) else key for key in query.get("groupby", ())}
    known = {*scope, *named, *(key for key in keys if isinstance(key, Variable)), *_rows(query)}
    for part in projection:
        if part.evar is None:
            if grouped and part.var not in keys:
                return part, _ungrouped(part.var)
            known.add(part.var)
            continue
        if part.evar in known:
            return part, assigned(part.evar)
        free = next((name for name in _outside(part.expr) if name in scope and name not in keys), None)
        if grouped and free is not None:
            return part, _ungrouped(free)
        known.add(part.evar)
    return None


_STAR = "SELECT * cannot be grouped: name the selected variables"


def misplaced_aggregate(tree: Tree) -> tuple[Tree, str] | None:
    """Return the first aggregate in an invalid position and the reason; None if there is none."""
    waiting: list[tuple[Any, str]] = [(tree, "")]
    while waiting:
        part, inside = waiting.pop()
        if isinstance(part, Tree):
            if part.name.startswith("Aggregate_"):
                if inside:
                    return part, inside
                inside = _NESTED
            elif part.name in ("Filter", "Bind"):
                inside = _STRAY
            elif part.name in ("GroupGraphPattern", "SubSelect"):
                inside = ""  # a subquery in `SUM(IF(EXISTS { ... }, 1, 0))` may aggregate by itself
            for field, value in reversed(part.fields.items()):
                waiting.append((value, _STRAY if field == "groupby" else inside))
        elif isinstance(part, tuple):
            waiting.extend((each, inside) for each in reversed(part))
    return None


_NESTED = "an aggregate cannot contain another: group in a subquery and aggregate its results"
_STRAY = (
    "aggregates are allowed in SELECT, HAVING and ORDER BY only: aggregate in a subquery, or filter groups "
    "with HAVING"
)


def _named_keys(query: Mapping[str, Any]) -> Iterator[Variable]:
    keys = query.get("groupby", ())
    return (key.var for key in keys if isinstance(key, Tree) and key.name == "GroupAs")


def _rows(query: Mapping[str, Any]) -> Iterator[Variable]:
    """Return the variables of VALUES at the end of a query."""
    data = query.get("values")
    return iter(() if data is None else data.var)


def _is_grouped(query: Mapping[str, Any]) -> bool:
    if query.get("groupby"):
        return True
    parts = [part.expr for part in query.get("projection", ()) if part.evar is not None]
    parts += query.get("having", ())
    parts += [part.expr for part in query.get("orderby", ())]
    return any(map(has_aggregate, parts))


def has_aggregate(expression: Any) -> bool:
    """True if an expression has an aggregate outside of its EXISTS patterns."""
    found = False

    def look(part: Any) -> Any:
        nonlocal found
        found = found or (isinstance(part, Tree) and part.name.startswith("Aggregate_"))
        return part if found else None

    replace(expression, look)
    return found


def _outside(expression: Any) -> Iterator[Variable]:
    """Yield the variables of an expression outside of aggregates and patterns."""
    bare = replace(
        expression, lambda part: "" if isinstance(part, Tree) and part.name.startswith(_CLOSED) else None
    )
    return (leaf for leaf in leaves(bare) if isinstance(leaf, Variable))


_CLOSED = ("Aggregate_", "Builtin_EXISTS", "Builtin_NOTEXISTS")


def assigned(variable: Variable) -> str:
    """Return the message for a variable that cannot be assigned."""
    return f"{variable.n3()} already has a value here: choose another name, or compare the two in a FILTER"


def _ungrouped(variable: Variable) -> str:
    name = variable.n3()
    return (
        f"{name} is neither grouped nor aggregated, so it has no single value per group: put it into "
        f"GROUP BY, or select (SAMPLE({name}) AS ?name)"
    )
