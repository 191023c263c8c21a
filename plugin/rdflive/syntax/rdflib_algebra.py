"""Conversion of SPARQL's algebra for rdflib's evaluator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cache
from typing import Any, Final

from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import CompValue, Expr, value
from rdflib.plugins.sparql.sparql import Prologue, SPARQLError, Update
from rdflib.term import BNode, Literal, URIRef, Variable

from rdflive.errors import RdfliveError, UnsupportedQueryError, is_interruption
from rdflive.model import TripleTerm
from rdflive.syntax.algebra import group_of
from rdflive.syntax.rdflib_functions import EVALUATORS
from rdflive.syntax.tree import EXISTS, Tree, leaves

__all__ = ["evaluator_of", "filled", "to_rdflib", "to_rdflib_update"]

_EVALUATED: Final = {"Builtin_NOTEXISTS": "Builtin_EXISTS", "Builtin_isURI": "Builtin_isIRI"}
"""Functions with another name in rdflib."""
_FIXED: Final = frozenset({URIRef, Literal, Variable})
"""Terms that rdflib's updates use unchanged."""


def to_rdflib(node: Any) -> Any:
    """Convert a part of the algebra, or an expression, for rdflib's evaluator, which modifies the result.

    Raises UnsupportedQueryError for constructs that rdflib's evaluator lacks: the functions of SPARQL 1.2,
    and triple terms with variables in patterns and templates.

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
    _refuse_open(node.triples if node.name == "BGP" else node.template, node)
    if node.name == "BGP":
        made = CompValue("BGP", triples=[tuple(triple) for triple in node.triples])
    elif node.name == "values":
        made = CompValue("values", res=[_row(node.var, row) for row in node.row])
    else:
        evaluate = _evaluator(node.name)
        made = CompValue(node.name) if evaluate is None else Expr(node.name, evaluate)
        for field, part in node.fields.items():
            made[field] = to_rdflib(part)
    if node.name == "OrderCondition":
        made["expr"] = Expr("Key", _key(made["expr"]), _vars=_variables(made["expr"]))
    made["_vars"] = _bound(made)
    if node.name in EXISTS:
        # as an attribute: rdflib takes each item of an expression for an expression
        made.graph = made["graph"]
        made.graph.no_isolated_scope = True  # its filters see the outer bindings
    return made


def _paired(name: str, parts: list[Any]) -> CompValue:
    """Nest parts as rdflib's pairs, unions in halves because rdflib recurses for each level."""
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


def to_rdflib_update(tree: Tree, *, is_filled: bool = False) -> Update:
    """Convert an update request for rdflib, with new blank nodes.

    With `is_filled`, the caller fills in the templates. Otherwise rdflib does; it treats variables within
    triple terms as constants, so templates with such terms are refused. Raises as `to_rdflib` does.
    """
    prologue = copy(_prologue())
    prologue.base = tree.base
    nodes: defaultdict[BNode, BNode] = defaultdict(BNode)
    made = []
    for operation in tree.request or ():
        is_open = operation.name.endswith("Data") or (operation.name == "Modify" and is_filled)
        made.append(_operation(operation, prologue, nodes, is_open=is_open))
    return Update(prologue, made)


@cache
def _prologue() -> Prologue:
    """Return a shared prologue, because each one builds a graph with all prefixes; callers bind none."""
    return Prologue()


def _operation(
    operation: Tree, prologue: Prologue, nodes: Mapping[BNode, BNode], *, is_open: bool
) -> CompValue:
    made = CompValue(operation.name, prologue=prologue)
    for field, part in operation.fields.items():
        if field == "quads":
            made.update(_quads(part, nodes, is_open=is_open))
        elif field in ("insert", "delete"):
            made[field] = CompValue("Quads", **_quads(part, nodes, is_open=is_open))
        else:
            made[field] = to_rdflib(group_of(part) if field == "where" else part)
    return made


def _quads(quads: Tree, nodes: Mapping[BNode, BNode], *, is_open: bool) -> dict[str, Any]:
    def own(term: Any) -> Any:
        return nodes[term] if isinstance(term, BNode) else term

    blocks: defaultdict[Any, list[Any]] = defaultdict(list)
    for part in quads.part or ():
        block, name = (part.part, part.term) if part.name == "GraphQuads" else (part, None)
        if block is not None:
            if not is_open:
                _refuse_open(block.triples, part)
            blocks[name] += [
                triple
                if _FIXED.issuperset(map(type, triple))
                else tuple(filled(term, own) for term in triple)
                for triple in block.triples
            ]
    return {"triples": blocks.pop(None, []), "quads": dict(blocks)}


def filled(term: Any, value_of: Callable[[Any], Any]) -> Any:
    """Return the value of a template term, including nested triple terms; None if any part has no value.

    >>> filled(TripleTerm(Variable("s"), URIRef("urn:p"), Literal(1)), {Variable("s"): BNode()}.get) is None
    True
    """
    if not isinstance(term, TripleTerm):
        return value_of(term)
    parts = [filled(part, value_of) for part in term.parts]
    return None if None in parts else TripleTerm(*parts)


def _refuse_open(triples: Iterable[Any] | None, place: Tree) -> None:
    """Refuse triple terms with variables or blank nodes, which rdflib treats as constants."""
    terms = (term for triple in triples or () for term in triple if isinstance(term, TripleTerm))
    for term in terms:
        if any(isinstance(leaf, Variable | BNode) for leaf in leaves(term)):
            raise UnsupportedQueryError(
                f"rdflib's evaluator cannot fill in or match {term.n3()}: use only IRIs and literals in "
                "triple terms, or use an Oxigraph store",
                construct=place.name,
            )


def evaluator_of(name: str) -> Callable[..., Any] | None:
    """Return the function that evaluates an expression node; None if rdflib has none."""
    if name in EVALUATORS:
        return EVALUATORS[name]
    found: Callable[..., Any] | None = getattr(operators, _EVALUATED.get(name, name), None)
    return found if _is_expression(name) else None


def _is_expression(name: str) -> bool:
    return name.startswith(("Builtin_", "Unary", "Function")) or name.endswith("Expression")


def _evaluator(name: str) -> Callable[..., Any] | None:
    """Return the evaluator of a node, with errors converted; None if it is no expression."""
    evaluate = evaluator_of(name)
    if evaluate is None and _is_expression(name):
        word = name.removeprefix("Builtin_")
        raise UnsupportedQueryError(
            f"rdflib's evaluator lacks the function {word.upper()}: use an Oxigraph store",
            construct=word.upper(),
        )
    # not EXISTS: an error of its pattern is a store failure, and its expressions are wrapped themselves
    return evaluate if evaluate is None or name in EXISTS else _attempted(evaluate)


def _attempted(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Convert every exception of a function to a SPARQL error."""

    def attempt(expr: Expr, solution: Any) -> Any:
        try:
            return evaluate(expr, solution)
        except (SPARQLError, RdfliveError):
            raise
        except Exception as error:
            if is_interruption(error):
                raise
            raise SPARQLError(str(error)) from error

    return attempt


def _key(expression: Any) -> Callable[..., Any]:
    """Return a sort key that orders errors and triple terms, for which rdflib fails, as unbound."""

    def key(_: Expr, solution: Any) -> Any:
        found = value(solution, expression, variables=True)
        return found if isinstance(found, URIRef | BNode | Literal) else Variable("unbound")

    return key


def _bound(made: CompValue) -> set[Variable]:
    """Return the variables in rdflib's attribute `_vars`, which it reads from patterns."""
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
