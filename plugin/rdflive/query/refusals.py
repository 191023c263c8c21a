"""Constructs that cannot be maintained, with their place in the text, and alternatives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rdflive.errors import UnsupportedQueryError
from rdflive.query.expressions import CallFault
from rdflive.syntax.tree import Tree, place_of, walk

__all__ = ["depth_limited", "refused"]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The name of a refused construct, the reason, and the alternative."""

    name: str
    reason: str
    advice: str


_BY_ITSELF: Final = "its value changes although the graph does not"
_RANDOM: Final = "add it in the callback"
_REFUSALS: Final = {
    "ServiceGraphPattern": _Refusal(
        "SERVICE",
        "changes of a remote endpoint are not seen",
        "bring the remote triples into the graph and subscribe without SERVICE",
    ),
    "DescribeQuery": _Refusal(
        "DESCRIBE",
        "SPARQL leaves open which triples describe a resource",
        "write CONSTRUCT { ?s ?p ?o } WHERE { ... } with the triples you need",
    ),
    "NOW": _Refusal(
        "NOW()",
        _BY_ITSELF,
        "compare a time with it, alone or with a duration that is added or subtracted, as "
        'FILTER(?time > NOW() - "P1D"^^xsd:dayTimeDuration), or pass the time as initBindings and subscribe '
        "again with a later time",
    ),
    "NOW alone": _Refusal(
        "NOW()",
        _BY_ITSELF,
        "write the time in its place, and start again with a later time; rdflive.subscribe on a graph "
        "has a clock for comparisons with NOW()",
    ),
    "NOW moved": _Refusal(
        "a comparison with NOW()",
        "only a duration can be added to NOW(), and only a duration or a time subtracted from it",
        'write one, as "P1D"^^xsd:dayTimeDuration, "PT90S"^^xsd:dayTimeDuration or '
        '"P1M"^^xsd:yearMonthDuration',
    ),
    "NOW compared": _Refusal(
        "a comparison with NOW()",
        "NOW() has an order with an xsd:dateTime, and the time since one has an order with a duration",
        'write such a constant, as "2026-01-01T00:00:00Z"^^xsd:dateTime or "P1D"^^xsd:dayTimeDuration',
    ),
    "RAND": _Refusal("RAND()", _BY_ITSELF, _RANDOM),
    "UUID": _Refusal("UUID()", _BY_ITSELF, _RANDOM),
    "STRUUID": _Refusal("STRUUID()", _BY_ITSELF, _RANDOM),
    "BNODE": _Refusal(
        "BNODE()",
        "each evaluation makes other blank nodes",
        "use a blank node in a CONSTRUCT template",
    ),
    "PresetExtend": _Refusal(
        "an assigned variable that initBindings fixes",
        "it cannot have two values",
        "leave it out of initBindings",
    ),
    "DistinctOrder": _Refusal(
        "ORDER BY",
        "with DISTINCT it sorts by a variable that is not projected, which has no single value per row",
        "project that variable, or group by the others and order by its MIN",
    ),
}


@contextmanager
def depth_limited() -> Iterator[None]:
    """Refuse a query that needs more nested calls than Python allows."""
    try:
        yield
    except RecursionError:
        raise UnsupportedQueryError(
            "the query is nested too deeply: the planner calls itself for each OPTIONAL and bracket, and "
            "Python allows "
            f"{sys.getrecursionlimit()} nested calls. Instead: split it, or raise the limit with "
            "sys.setrecursionlimit() first.",
            construct="nesting",
        ) from None  # its traceback would have a thousand lines


def refused(
    construct: str | CallFault, assigned: str = "", *, at: Tree | None = None, tree: Tree | None, text: str
) -> UnsupportedQueryError:
    """Make the error for a construct of a query, by the name of its node and the variable that it assigns, or
    for a fault in an expression.

    The place is that of the node `at`, or of the first node of that name; without a tree the error has none.
    """
    if isinstance(construct, CallFault):
        node = None if tree is None else construct.node
        return _error(construct.construct, f"{construct.reason}.", node, text)
    refusal = _REFUSALS.get(construct)
    if refusal is None:
        refusal = _Refusal(construct, "rdflive does not know it", "run graph.query() after each change")
    found = [] if tree is None else [at] if at is not None else _found(tree, construct, assigned)
    # of two assignments the second is wrong
    said = f"cannot be maintained: {refusal.reason}. Instead: {refusal.advice}."
    return _error(refusal.name, said, found[-1 if assigned else 0] if found else None, text)


def _found(tree: Tree, construct: str, assigned: str) -> list[Tree]:
    return [node for node in walk(tree) if _is_meant(node, construct, assigned)]


def _is_meant(node: Tree, construct: str, assigned: str) -> bool:
    if assigned:
        return node.name in ("Bind", "Projection", "GroupAs") and str(node.evar or node.var) == assigned
    if construct == "DistinctOrder":
        return node.name == "OrderCondition"
    return node.name in (construct, f"Builtin_{construct}")


def _error(construct: str, said: str, node: Tree | None, text: str) -> UnsupportedQueryError:
    place = None if node is None else place_of(text, node.begin)
    where = f" (line {place.line}, column {place.column})" if place else ""
    return UnsupportedQueryError(
        f"{construct}{where} {said}",
        construct=construct,
        line=place.line if place else 0,
        column=place.column if place else 0,
    )
