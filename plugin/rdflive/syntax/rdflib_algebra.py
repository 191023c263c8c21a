"""SPARQL's algebra as rdflib's evaluator takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.plugins.sparql.sparql import Prologue, Update
from rdflib.term import Literal, Variable

from rdflive.syntax.algebra import group_of
from rdflive.syntax.tree import EXISTS, Tree

__all__ = ["evaluator_of", "to_rdflib", "to_rdflib_update"]

_EVALUATED: Final = {
    "Builtin_NOTEXISTS": "Builtin_EXISTS",
    "Builtin_isURI": "Builtin_isIRI",
    "Builtin_URI": "Builtin_IRI",
}
"""Functions that rdflib evaluates under another name."""


def to_rdflib(node: Any) -> Any:
    """Make a part of the algebra, or an expression, as rdflib's evaluator takes it; it is changed by that.

    >>> to_rdflib(Tree("BGP", {"triples": ()})).name
    'BGP'
    """
    if isinstance(node, list | tuple):
        return [to_rdflib(part) for part in node]
    if not isinstance(node, Tree):
        return node
    if node.name == "TrueFilter":
        return Literal(True)
    if node.name in ("Join", "Union"):
        return _paired(node.name, [to_rdflib(part) for part in node.part])
    if node.name == "BGP":
        made = CompValue("BGP", triples=[tuple(triple) for triple in node.triples])
    elif node.name == "values":
        made = CompValue("values", res=[_row(node.var, row) for row in node.row])
    else:
        evaluate = evaluator_of(node.name)
        made = CompValue(node.name) if evaluate is None else Expr(node.name, evaluate)
        for field, value in node.fields.items():
            made[field] = to_rdflib(value)
    made["_vars"] = _bound(made)
    if node.name in EXISTS:
        # as an attribute, for what is an item of an expression is taken for an expression
        made.graph = made["graph"]
        made.graph.no_isolated_scope = True  # its filters see what is bound outside
    return made


def _paired(name: str, parts: list[Any]) -> CompValue:
    """Nest what rdflib takes in pairs, halves in halves: it calls itself for each level."""
    if len(parts) == 1:
        only: CompValue = parts[0]
        return only
    # a join passes the solutions of the left side on, so it stays in order
    middle = len(parts) // 2 if name == "Union" else len(parts) - 1
    one, other = _paired(name, parts[:middle]), _paired(name, parts[middle:])
    made = CompValue(name, p1=one, p2=other)
    made["_vars"] = one["_vars"] | other["_vars"]
    if name == "Join":
        made["lazy"] = False
    return made


def _row(names: Any, row: Any) -> dict[Any, Any]:
    return {name: "UNDEF" if term is None else term for name, term in zip(names, row, strict=True)}


def to_rdflib_update(tree: Tree) -> Update:
    """Make an update request as rdflib evaluates it."""
    prologue = Prologue()
    prologue.base = tree.base
    return Update(prologue, [_operation(operation, prologue) for operation in tree.request or ()])


def _operation(operation: Tree, prologue: Prologue) -> CompValue:
    made = CompValue(operation.name, prologue=prologue)
    for field, value in operation.fields.items():
        if field == "quads":
            made.update(_quads(value))
        elif field in ("insert", "delete"):
            made[field] = CompValue("Quads", **_quads(value))
        else:
            made[field] = to_rdflib(group_of(value) if field == "where" else value)
    return made


def _quads(quads: Tree) -> dict[str, Any]:
    triples: list[Any] = []
    others: dict[Any, list[Any]] = {}
    for part in quads.part or ():
        if part.name == "TriplesBlock":
            triples += part.triples
        elif part.part is not None:
            others.setdefault(part.term, []).extend(part.part.triples)
    return {"triples": triples, "quads": others}


def evaluator_of(name: str) -> Callable[..., Any] | None:
    """Give rdflib's function that evaluates an expression; None for what is no expression."""
    found: Callable[..., Any] | None = getattr(operators, _EVALUATED.get(name, name), None)
    return found if name.startswith(_EXPRESSIONS) or name.endswith("Expression") else None


_EXPRESSIONS: Final = ("Builtin_", "Unary", "Function")


def _bound(made: CompValue) -> set[Variable]:
    """Give the variables that rdflib takes a part for binding, which it asks of patterns."""
    if made.name == "RelationalExpression":
        return set()
    parts = (value for field, value in made.items() if not (made.name == "Extend" and field == "expr"))
    return set().union(*map(_variables, parts))


def _variables(part: Any) -> set[Variable]:
    if isinstance(part, CompValue):
        found: set[Variable] = part["_vars"]
        return found
    if isinstance(part, list | tuple):
        return set().union(*map(_variables, part))
    if isinstance(part, dict):
        return _variables([*part, *part.values()])
    return {part} if isinstance(part, Variable) else set()
