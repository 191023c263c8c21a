"""Expressions of a query: their meaning, and the callables that evaluate them on rows of ids.

An error is no value: id 0, None or false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rdflib.term import Node, URIRef, Variable

from rdflive.query.expressions.errors import no_value
from rdflive.query.expressions.evaluation import TURNED, ExpressionCompiler, guarded
from rdflive.query.expressions.faults import CallFault, fault_of, note_of
from rdflive.query.expressions.nodes import elements, operands
from rdflive.query.expressions.rdflib_evaluation import Row, RowTerms
from rdflive.query.expressions.registry import version_of
from rdflive.query.expressions.text import to_text
from rdflive.syntax.tree import EXISTS, Tree, replace

__all__ = [
    "TURNED", "Expression", "RowTerms", "conjuncts", "exists_parts", "first_fault", "numbered", "replace",
    "valueless", "volatile",
]  # fmt: skip

_VOLATILE = frozenset(f"Builtin_{name}" for name in ("RAND", "UUID", "STRUUID", "BNODE", "NOW"))
_PLAIN = frozenset({
    "Builtin_BOUND", "Builtin_DATATYPE", "Builtin_LANG", "Builtin_LANGDIR", "Builtin_OBJECT",
    "Builtin_PREDICATE", "Builtin_SUBJECT", "Builtin_hasLANG", "Builtin_hasLANGDIR", "Builtin_isBLANK",
    "Builtin_isIRI", "Builtin_isLITERAL", "Builtin_isNUMERIC", "Builtin_isTRIPLE", "Builtin_isURI",
    "Builtin_sameTerm",
    "ConditionalAndExpression", "ConditionalOrExpression", "RelationalExpression", "TrueFilter", "UnaryNot",
})  # fmt: skip
"""Operations that compare terms and make none."""
_ORDERS = frozenset({"<", "<=", ">", ">="})
_FEW = 100
"""Most parts of an expression that counts as evaluated in no time."""


class Expression:
    """An expression of SPARQL over variables; equal expressions have equal text.

    `base` is the IRI of the query's BASE, against which `IRI()` resolves relative references.

    >>> from rdflive.syntax.reader import read_query
    >>> query = read_query("ASK { ?s ?p ?age FILTER(?age >= 18) }").query
    >>> adult = Expression(query.where.part[1].expr); adult, adult.variables
    (<Expression: ?age >= 18>, ('age',))
    """

    __slots__ = ("_base", "_node", "text", "variables")

    def __init__(self, node: Any, *, base: str | None = None) -> None:
        self._node = node
        self._base = base
        self.text: str = to_text(self._node, base)
        """Canonical SPARQL-like text with full IRIs; the identity of the expression."""
        names = (str(part) for part in _parts(self._node) if isinstance(part, Variable))
        self.variables: tuple[str, ...] = tuple(dict.fromkeys(names))
        """The free variables in order of first use; those inside EXISTS belong to its pattern."""

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<Expression: {self.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._node, self._base)

    @property
    def comparison(self) -> tuple[Any, str, Any] | None:
        """The sides and the operator of `<`, `<=`, `>` or `>=` between variables and constants."""
        found = self.relation
        return None if found is None or found[1] == "=" else found

    @property
    def relation(self) -> tuple[Any, str, Any] | None:
        """The sides and the operator as in `comparison`, also for `=`."""
        node = self._node
        if not isinstance(node, Tree) or node.name != "RelationalExpression":
            return None
        sides = node.expr, str(node.op), node.other
        plain = all(isinstance(side, Node) for side in sides[::2])
        return sides if plain and sides[1] in (*_ORDERS, "=") else None

    @property
    def ordering(self) -> tuple[Expression, str, Expression] | None:
        """The sides and the operator of `<`, `<=`, `>` or `>=`, whatever the sides are."""
        node = self._node
        if not isinstance(node, Tree) or node.name != "RelationalExpression" or str(node.op) not in _ORDERS:
            return None
        return Expression(node.expr, base=self._base), str(node.op), Expression(node.other, base=self._base)

    @property
    def is_plain(self) -> bool:
        """True if evaluation takes little time and memory, whatever the terms are."""
        parts = list(_parts(self._node))
        return len(parts) <= _FEW and all(not isinstance(part, Tree) or part.name in _PLAIN for part in parts)

    def term(self, columns: Mapping[str, int], terms: RowTerms) -> Callable[[Row], Node | None]:
        """Compile to the rdflib term of a row; None if SPARQL raises an error.

        A variable without a column is unbound.
        """
        return self._evaluated(ExpressionCompiler(columns, terms, self._base).term(self._node), terms)

    def value(self, columns: Mapping[str, int], terms: RowTerms) -> Callable[[Row], int]:
        """Compile to the id of the value of a row; 0 if SPARQL raises an error."""
        node = self._node
        if isinstance(node, Variable):
            place = columns.get(str(node))
            # the id itself, because expressions cannot hold the value of every term
            return (lambda _: 0) if place is None else (lambda row: row[place])
        evaluate, intern = ExpressionCompiler(columns, terms, self._base).term(node), terms.intern

        def value(row: Row) -> int:
            term = evaluate(row)
            return 0 if term is None else intern(term)

        return self._evaluated(value, terms, 0)

    def condition(self, columns: Mapping[str, int], terms: RowTerms) -> Callable[[Row], bool]:
        """Compile to the effective boolean value of a row; false if SPARQL raises an error."""
        truth = ExpressionCompiler(columns, terms, self._base).truth(self._node)
        if terms.meter is not None:
            return self._evaluated(lambda row: truth(row) is True, terms, False)

        # as `guarded` does, without another call for each row
        def holds(row: Row) -> bool:
            try:
                return truth(row) is True
            except Exception as error:  # noqa: BLE001 - the error of an expression must not break a write
                return no_value(error, False)

        return holds

    def _evaluated(
        self, function: Callable[[Row], Any], terms: RowTerms, otherwise: Any = None
    ) -> Callable[[Row], Any]:
        """Guard the compiled expression; within a budget, check the clock before each row."""
        attempt, meter = guarded(function, otherwise), terms.meter
        # rows are counted when they are made, and a plain expression needs no check of the clock
        if meter is None or self.is_plain:
            return attempt

        def looked_at(row: Row) -> Any:
            meter.look()
            return attempt(row)

        return looked_at


def _made(node: Any, base: str | None) -> Expression:
    return Expression(node, base=base)


def conjuncts(node: Any) -> list[Any]:
    """Split an expression at its outermost `&&`; it holds exactly if all parts hold."""
    if not isinstance(node, Tree) or node.name != "ConditionalAndExpression":
        return [node]
    return [conjunct for part in operands(node) for conjunct in conjuncts(part)]


def exists_parts(node: Any) -> list[Tree]:
    """List the EXISTS and NOT EXISTS inside an expression, without those inside another's pattern."""
    return [part for part in _parts(node) if isinstance(part, Tree) and part.name in EXISTS]


def volatile(node: Any) -> Tree | None:
    """Return the first function inside whose value changes by itself, such as NOW(); None without any."""
    return next((part for part in _parts(node) if isinstance(part, Tree) and part.name in _VOLATILE), None)


def first_fault(node: Any) -> CallFault | None:
    """Return the first call inside that is an error whatever the graph; None without any."""
    faults = (fault_of(part) for part in _parts(node) if isinstance(part, Tree))
    return next(filter(None, faults), None)


def valueless(node: Any) -> list[str]:
    """List the reasons why calls inside have no value in any row."""
    notes = (note_of(part) for part in _parts(node) if isinstance(part, Tree))
    return list(filter(None, notes))


def numbered(node: Any, versions: dict[URIRef, int]) -> Any:
    """Add to each call of a registered function the version under its IRI; add these to `versions`."""

    def change(part: Any) -> Any:
        if not isinstance(part, Tree) or part.name != "Function" or part.version is not None:
            return None
        version = version_of(part.iri)
        if version is None:
            return None
        versions[part.iri] = version
        return numbered(part.changed(version=version), versions)

    return replace(node, change)


def _parts(node: Any) -> Iterator[Any]:
    """Iterate over an expression and all its parts, outer ones first, without the patterns of EXISTS."""
    yield node
    if isinstance(node, Tree):
        children = [] if node.name in EXISTS else list(node.fields.values())
    else:
        children = elements(node) or []
    for child in children:
        yield from _parts(child)
