"""Compiles expressions to closures over rows of ids, with the error logic of SPARQL 1.1, Section 17.2.

The values inside are rdflib terms. None is an error: SPARQL does not distinguish errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from rdflib.term import Literal, Node, URIRef, Variable

from rdflive.errors import UnsupportedQueryError
from rdflive.model.term_text import is_writable
from rdflive.query.expressions.errors import no_value
from rdflive.query.expressions.failures import reporting
from rdflive.query.expressions.functions import FUNCTIONS, PREDICATES
from rdflive.query.expressions.metered import metered
from rdflive.query.expressions.nodes import arguments, elements, operands
from rdflive.query.expressions.rdflib_evaluation import (
    Row,
    RowTerms,
    TermOf,
    evaluate_with_rdflib,
    rdflib_function,
)
from rdflive.query.expressions.registry import registered, unknown
from rdflive.syntax.iris import resolve
from rdflive.syntax.tree import Tree
from rdflive.values import (
    Value,
    compare,
    compare_values,
    effective_boolean,
    equal,
    in_fixed_context,
    text,
    typed_value,
)
from rdflive.values.arithmetic import calculate
from rdflive.values.casts import CASTS

__all__ = ["TURNED", "ExpressionCompiler", "guarded"]

TruthOf: TypeAlias = Callable[[Row], bool | None]

TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
"""The operator of a comparison with swapped sides."""
TRUE: Final = Literal(True)
FALSE: Final = Literal(False)


class ExpressionCompiler:
    """Compiles one expression; `columns` has the place of each variable in a row."""

    def __init__(self, columns: Mapping[str, int], terms: RowTerms, base: str | None = None) -> None:
        self.columns = columns
        self.terms = terms
        self.base = base

    def term(self, node: Any) -> TermOf:
        """Compile to the value of an expression; None if it is an error or unbound."""
        if isinstance(node, Variable):
            return self._variable(node)
        if not isinstance(node, Tree):
            constant = self.terms.constant(node)
            return lambda _: constant
        name = node.name
        if name in _TRUTHS or name in PREDICATES:
            return _boolean_term(self.truth(node))
        own = _TERMS.get(name)
        if own is not None:
            return own(self, node)
        return self.call(node, FUNCTIONS.get(name) or rdflib_function(node))

    def truth(self, node: Any) -> TruthOf:
        """Compile to the effective boolean value of an expression; None if it is an error."""
        name = node.name if isinstance(node, Tree) else ""
        own = _TRUTHS.get(name)
        if own is not None:
            return own(self, node)
        predicate = PREDICATES.get(name)
        if predicate is not None:
            return self.call(node, predicate)
        term = self.term(node)

        def truth(row: Row) -> bool | None:
            value = term(row)
            return None if value is None else effective_boolean(value)

        return truth

    def _variable(self, name: str) -> TermOf:
        # a variable that the pattern cannot bind, as in FILTER(?nowhere > 1), is unbound and no mistake
        place = self.columns.get(str(name))
        if place is None:
            return lambda _: None
        value = self.terms.value

        def variable(row: Row) -> Node | None:
            try:
                return value(row[place])
            except Exception as error:  # noqa: BLE001 - a term of the store that rdflib cannot hold
                return no_value(error, None)

        return variable

    def column(self, node: Any) -> int | None:
        """Return the place of a variable; None for other expressions, and for a variable without a column."""
        return self.columns.get(str(node)) if isinstance(node, Variable) else None

    def constant(self, node: Any) -> Value | None:
        """Return the value of a constant that is a literal with a datatype; None for other expressions."""
        is_constant = not isinstance(node, Tree | Variable)
        return typed_value(self.terms.constant(node)) if is_constant else None

    def call(self, node: Tree, function: Callable[..., Any]) -> Callable[[Row], Any]:
        """Compile a function that is an error if one of its arguments is."""
        if self.terms.meter is not None:
            function = metered(self.terms.meter, node, function)
        return _strict(function, [self.term(part) for part in arguments(node)])


def _strict(function: Callable[..., Any], parts: list[TermOf]) -> Callable[[Row], Any]:
    def call(row: Row) -> Any:
        try:
            values = []
            for part in parts:
                value = part(row)
                if value is None:
                    return None
                values.append(value)
            return function(*values)
        except Exception as error:  # noqa: BLE001 - an exception in a function is an error of SPARQL
            return no_value(error, None)

    return call


def guarded(function: Callable[[Row], Any], otherwise: Any = None) -> Callable[[Row], Any]:
    """Catch the exceptions of an expression, except those that `no_value` raises. Any part may raise
    RecursionError.
    """

    def attempt(row: Row) -> Any:
        try:
            return function(row)
        except Exception as error:  # noqa: BLE001 - the error of an expression must not break a write
            return no_value(error, otherwise)

    return attempt


def _boolean_term(truth: TruthOf) -> TermOf:
    def term(row: Row) -> Node | None:
        value = truth(row)
        return None if value is None else TRUE if value else FALSE

    return term


# truths


def _not(compiler: ExpressionCompiler, node: Tree) -> TruthOf:
    truth = compiler.truth(node.expr)

    def negation(row: Row) -> bool | None:
        value = truth(row)
        return None if value is None else not value

    return negation


def _chain(decisive: bool) -> Callable[[ExpressionCompiler, Tree], TruthOf]:
    """Make `&&` (False decides) or `||` (True decides); without a decision an error stays an error."""

    def build(compiler: ExpressionCompiler, node: Tree) -> TruthOf:
        truths = [compiler.truth(part) for part in operands(node)]

        def chain(row: Row) -> bool | None:
            result: bool | None = not decisive
            for truth in truths:
                value = truth(row)
                # an error does not end it: in `1/0 || true` a later part decides
                if value is decisive:
                    return decisive
                if value is None:
                    result = None
            return result

        return chain

    return build


def _bound(compiler: ExpressionCompiler, node: Tree) -> TruthOf:
    argument = node.arg
    # initBindings have replaced the variable by a constant
    if not isinstance(argument, Variable):
        return lambda _: True
    place = compiler.columns.get(str(argument))
    if place is None:
        return lambda _: False
    # by the id: a term that rdflib cannot hold is bound too
    return lambda row: row[place] != 0


def _relation(compiler: ExpressionCompiler, node: Tree) -> TruthOf:
    operator = str(node.op)
    if operator in ("IN", "NOT IN"):
        return _membership(compiler, node, operator == "IN")
    left, right = compiler.term(node.expr), compiler.term(node.other)
    by_terms: TruthOf = _strict(partial(compare, operator), [left, right])
    one, other = compiler.column(node.expr), compiler.column(node.other)
    if one is None:  # so that a constant is on the right
        one, other, node, operator = other, one, node.changed(other=node.expr), TURNED[operator]
    constant = compiler.constant(node.other) if other is None else None
    if one is None or (other is None and constant is None):
        return by_terms
    place, content = one, compiler.terms.content

    # most comparisons are of literals with a datatype, whose values may be known without their terms
    def relation(row: Row) -> bool | None:
        try:
            mine = content(row[place])
            if mine is not None:
                theirs = constant if other is None else content(row[other])
                if theirs is not None:
                    return compare_values(operator, mine, theirs)
        except Exception as error:  # noqa: BLE001 - as in `_strict`
            return no_value(error, None)
        return by_terms(row)

    return relation


def _membership(compiler: ExpressionCompiler, node: Tree, positive: bool) -> TruthOf:
    """Compile IN: `=` with each member in turn, with errors as in `||` (Section 17.4.1.9)."""
    term = compiler.term(node.expr)
    members = [compiler.term(part) for part in elements(node.other) or []]

    def membership(row: Row) -> bool | None:
        value = term(row)
        result: bool | None = not positive
        for member in members:
            other = member(row)
            same = None if value is None or other is None else _equal(value, other)
            if same:
                return positive
            if same is None:
                result = None
        return result

    return membership


def _equal(one: Node, other: Node) -> bool | None:
    try:
        return equal(one, other)
    except Exception as error:  # noqa: BLE001 - as in `_strict`
        return no_value(error, None)


_TRUTHS: Final[dict[str, Callable[[ExpressionCompiler, Tree], TruthOf]]] = {
    "UnaryNot": _not,
    "ConditionalAndExpression": _chain(False),
    "ConditionalOrExpression": _chain(True),
    "RelationalExpression": _relation,
    "Builtin_BOUND": _bound,
    "TrueFilter": lambda *_: lambda _: True,  # the condition of an OPTIONAL without a filter
}

# terms


def _if(compiler: ExpressionCompiler, node: Tree) -> TermOf:
    test, first, second = compiler.truth(node.arg1), compiler.term(node.arg2), compiler.term(node.arg3)

    def choice(row: Row) -> Node | None:
        value = test(row)
        return None if value is None else first(row) if value else second(row)

    return choice


def _coalesce(compiler: ExpressionCompiler, node: Tree) -> TermOf:
    parts = [compiler.term(part) for part in arguments(node)]

    def coalesce(row: Row) -> Node | None:
        for part in parts:
            value = part(row)
            if value is not None:
                return value
        return None

    return coalesce


def _exists(_: ExpressionCompiler, node: Tree) -> TermOf:
    raise TypeError(f"{node.name} must be replaced by a variable before an expression is compiled")


def _calculation(compiler: ExpressionCompiler, node: Tree) -> TermOf:
    """Compile a chain of operations, from left to right."""
    first, *others = (compiler.term(part) for part in operands(node))
    steps = list(zip(map(str, node.op), others, strict=True))
    meter = compiler.terms.meter
    apply = calculate if meter is None else metered(meter, node, calculate)

    def calculation(row: Row) -> Node | None:
        try:
            result = first(row)
            for operator, part in steps:
                if result is None or (value := part(row)) is None:
                    return None
                result = apply(operator, result, value)
            return result
        except Exception as error:  # noqa: BLE001 - as in `_strict`
            return no_value(error, None)

    return calculation


def _iri(compiler: ExpressionCompiler, node: Tree) -> TermOf:
    def iri(term: Node) -> Node | None:
        if isinstance(term, URIRef):
            return term
        form = text(term)
        if form is None:
            return None
        made = form if compiler.base is None else resolve(compiler.base, form)
        return URIRef(made) if is_writable(made) else None

    return compiler.call(node, iri)


def _function(compiler: ExpressionCompiler, node: Tree) -> TermOf:
    """Compile a cast, or a registered function."""
    found = registered(node.iri, node.version)
    if found is None and node.iri in CASTS:
        return compiler.call(node, CASTS[node.iri])
    if found is None:  # the planner refuses it, but a worker of Spark may lack Oxigraph
        raise UnsupportedQueryError(f"<{node.iri}> {unknown(node.iri)}", construct=f"<{node.iri}>")
    # it takes rdflib's expression and solution, and evaluates its arguments itself
    if found.is_raw:
        return evaluate_with_rdflib(compiler.columns, compiler.terms, node, reporting(node, found))
    return compiler.call(node, in_fixed_context(reporting(node, found)))


_TERMS: Final[dict[str, Callable[[ExpressionCompiler, Tree], TermOf]]] = {
    "MultiplicativeExpression": _calculation,
    "AdditiveExpression": _calculation,
    "Builtin_IF": _if,
    "Builtin_COALESCE": _coalesce,
    "Builtin_IRI": _iri,
    "Builtin_URI": _iri,
    "Builtin_EXISTS": _exists,
    "Builtin_NOTEXISTS": _exists,
    "Function": _function,
}
