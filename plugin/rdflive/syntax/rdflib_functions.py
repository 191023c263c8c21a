"""Replacements of rdflib's functions and operators, for queries and updates that rdflib evaluates.

rdflib compares and calculates with Python's types, has fewer casts, and matches regular expressions as
Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import Expr
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import Literal, Node, URIRef

from rdflive.model.term_text import is_writable
from rdflive.regex import matches, replaced
from rdflive.syntax.iris import resolve
from rdflive.values import arithmetic, compare, equal, text
from rdflive.values.casts import CASTS
from rdflive.values.parts import MOMENT_FUNCTIONS

__all__ = ["EVALUATORS"]


def _found(result: Node | bool | None) -> Node:
    """Return the result of a function; None raises an error."""
    if result is None:
        raise SPARQLError("no value")
    return Literal(result) if isinstance(result, bool) else result


def _of_term(function: Callable[[Any], Node | None], field: str, expr: Expr, _: Any) -> Node:
    return _found(function(_term(expr[field])))


def _term(found: Any) -> Any:
    """Return the value of an expression, or raise its error."""
    if isinstance(found, SPARQLError):
        raise found
    return found


def _calculation(expr: Expr, _: Any) -> Node:
    """Evaluate a chain of operators from left to right."""
    result = _term(expr.expr)
    for operator, other in zip(expr.op, expr.other or (), strict=True):
        result = _found(arithmetic.calculate(str(operator), result, _term(other)))
    return result  # type: ignore[no-any-return]


def _relation(expr: Expr, _: Any) -> Node:
    operator, one = str(expr.op), _term(expr.expr)
    if operator not in ("IN", "NOT IN"):
        return _found(compare(operator, one, _term(expr.other)))
    others = expr.other if isinstance(expr.other, list) else ()
    found = {None if isinstance(other, SPARQLError) else equal(one, other) for other in others}
    return _found((operator == "IN") if True in found else None if None in found else operator == "NOT IN")


def _function(expr: Expr, solution: Any) -> Node:
    """Evaluate a cast, or a function registered with rdflib, which also registers its own casts."""
    registered = operators._CUSTOM_FUNCTIONS.get(expr.iri)
    cast = CASTS.get(expr.iri)
    if cast is not None and (registered is None or registered[0] is operators.default_cast):
        return _found(cast(*map(_term, expr.expr)))
    return operators.Function(expr, solution)


def _iri(expr: Expr, solution: Any) -> URIRef:
    """Convert a string to an IRI; unlike in rdflib, a relative IRI without a base is an error."""
    term = expr.arg
    if isinstance(term, URIRef):
        return term
    form = text(term)
    if form is not None:
        iri = resolve(solution.prologue.base or "", form)
        if is_writable(iri):
            return URIRef(iri)
    raise SPARQLError(f"{term!r} is no IRI")


def _regex(expr: Expr, _: Any) -> Literal:
    return Literal(matches(operators.string(expr.text), *_texts(expr.pattern, expr.flags)))


def _replace(expr: Expr, _: Any) -> Literal:
    string = operators.string(expr.arg)
    pattern, new, flags = _texts(expr.pattern, expr.replacement, expr.flags)
    return Literal(replaced(string, pattern, new, flags), string.language, string.datatype)


def _texts(*terms: Any) -> list[str]:
    return [str(operators.string(Literal("") if term is None else term)) for term in terms]


EVALUATORS: Final[dict[str, Callable[[Expr, Any], Any]]] = {
    "Builtin_IRI": _iri,
    "Builtin_URI": _iri,
    "Builtin_REGEX": _regex,
    "Builtin_REPLACE": _replace,
    "RelationalExpression": _relation,
    "AdditiveExpression": _calculation,
    "MultiplicativeExpression": _calculation,
    "UnaryMinus": partial(_of_term, arithmetic.minus, "expr"),
    "UnaryPlus": partial(_of_term, arithmetic.plus, "expr"),
    "Function": _function,
    **{
        name: partial(_of_term, function, "arg")
        for name, function in (MOMENT_FUNCTIONS | arithmetic.NUMBER_FUNCTIONS).items()
    },
}
"""Evaluators by node name; rdflib calls them with the expression and the solution."""
