"""Comparisons with NOW() in expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import BNode, Literal, URIRef

from rdflive.query.expressions.errors import no_value
from rdflive.query.expressions.expression import TURNED, Expression, volatile
from rdflive.query.expressions.nodes import elements
from rdflive.query.expressions.phases import (
    UNTIL,
    Move,
    Phases,
    Shift,
    Timestamp,
    phases_of,
    to_move,
)
from rdflive.query.expressions.rdflib_evaluation import Row, RowTerms
from rdflive.query.expressions.registry import registered
from rdflive.syntax.tree import EXISTS, Tree
from rdflive.values.casts import CASTS

__all__ = ["ClockComparison", "clock_parts", "read_comparison", "why_never"]


class ClockComparison:
    """A comparison of a row's value with NOW(), which a constant or a value of the row may move: `?t > NOW()
    - "P1D"^^xsd:dayTimeDuration`, `"P1D"^^xsd:dayTimeDuration < NOW() - ?t`, or with `?t - NOW()` on the
    right.
    """

    __slots__ = ("_moves", "_operator", "_value", "text", "variables")

    def __init__(self, value: Expression, operator: str, moves: tuple[tuple[str, Expression], ...]) -> None:
        self._value = value
        self._operator = operator
        self._moves = moves
        moved = "NOW()"
        for sign, move in moves:
            moved = f"{_bracketed(move)} - {moved}" if sign == UNTIL else f"{moved} {sign} {_bracketed(move)}"
        self.text: str = f"{_bracketed(value)} {operator} {moved}"
        """Canonical text, with NOW() on the right."""
        names = (name for part in (value, *(move for _, move in moves)) for name in part.variables)
        self.variables: tuple[str, ...] = tuple(dict.fromkeys(names))
        """The variables that it reads."""

    @property
    def is_plain(self) -> bool:
        """True if evaluation takes little time and memory, whatever the terms are."""
        return self._value.is_plain and all(move.is_plain for _, move in self._moves)

    def phases(self, columns: Mapping[str, int], terms: RowTerms) -> Callable[[Row], Phases]:
        """Compile to the phases of a row."""
        value_of = self._value.term(columns, terms)
        moves_of = [_move_of(sign, move, columns, terms) for sign, move in self._moves]

        def phases(row: Row) -> Phases:
            value = value_of(row)
            if value is None:
                return None, ()
            try:
                return phases_of(self._operator, value, [move_of(row) for move_of in moves_of])
            except Exception as error:  # noqa: BLE001 - an exception for a value is an error of SPARQL
                return no_value(error, None), ()

        return phases


def _move_of(
    sign: str, move: Expression, columns: Mapping[str, int], terms: RowTerms
) -> Callable[[Row], Move]:
    term_of = move.term(columns, terms)
    if not move.variables:
        constant = to_move(sign, term_of(()))
        return lambda _: constant
    return lambda row: to_move(sign, term_of(row))


def _bracketed(expression: Expression) -> str:
    text = expression.text
    return f"({text})" if " " in text and not text.startswith('"') else text


def clock_parts(node: Any) -> list[Tree]:
    """List the comparisons inside an expression that have NOW(), moved or not, as one side."""
    if isinstance(node, Tree):
        if node.name in EXISTS:
            return []
        if _sides(node) is not None:
            return [node]
        children = list(node.fields.values())
    else:
        children = elements(node) or []
    return [part for child in children for part in clock_parts(child)]


def read_comparison(node: Tree) -> tuple[Any, str, list[tuple[str, Any]]]:
    """Return the value that a part from `clock_parts` compares with NOW(), the operator with NOW() on the
    right, and the terms added to and subtracted from NOW().
    """
    found = _sides(node)
    assert found is not None  # noqa: S101 - `clock_parts` returned it
    return found


def why_never(value: Any, op: str, moves: Sequence[tuple[str, Any]]) -> str:
    """Return why a comparison is an error in every row: "NOW moved" if NOW() is moved by neither a duration
    nor a time to subtract, "NOW compared" if the value has no order with the result, else "".
    """
    kinds = [(sign, _kinds(move)) for sign, move in moves]
    if any(not found & _MOVES[sign] for sign, found in kinds):
        return "NOW moved"
    if op in ("=", "!="):  # values of another kind differ
        return ""
    # subtracting a time leaves a duration
    is_age = any(sign == UNTIL or (sign == "-" and Shift not in found) for sign, found in kinds)
    may_be_age = is_age or any(sign == "-" and Timestamp in found for sign, found in kinds)
    wanted = _DURATION if is_age else _EITHER if may_be_age else _TIME
    return "" if _kinds(value) & wanted else "NOW compared"


_TIME: Final = frozenset({Timestamp})
_DURATION: Final = frozenset({Shift})
_EITHER: Final = _TIME | _DURATION
_MOVES: Final = {"+": _DURATION, "-": _EITHER, UNTIL: _TIME}
_CASTS: Final = {
    iri: _DURATION if iri.lower().endswith("duration") else frozenset[type]() for iri in CASTS
} | dict.fromkeys((XSD.dateTime, XSD.dateTimeStamp), _TIME)
_RESULTS: Final = dict.fromkeys(("UnaryPlus", "UnaryMinus", "Builtin_TIMEZONE"), _DURATION) | dict.fromkeys(
    ("AdditiveExpression", "Builtin_IF", "Builtin_COALESCE", "Builtin_STRDT", "Builtin_SUBJECT",
     "Builtin_PREDICATE", "Builtin_OBJECT", "Function"), _EITHER,
)  # fmt: skip
"""The nodes whose value may be a time or a duration; other nodes have neither."""


def _kinds(node: Any) -> frozenset[type]:
    """Return the kinds that the value of an expression may have: time, duration, or both."""
    if isinstance(node, Literal):
        return _EITHER & {type(to_move("-", node))}
    if not isinstance(node, Tree):
        return frozenset() if isinstance(node, URIRef | BNode) else _EITHER
    if node.name == "Function" and registered(node.iri, node.version) is None:
        return _CASTS.get(node.iri, _EITHER)
    return _RESULTS.get(node.name, frozenset())


def _sides(node: Tree) -> tuple[Any, str, list[tuple[str, Any]]] | None:
    """Return the value compared with NOW(), the operator with NOW() on the right, and the moves of NOW()."""
    op = str(node.op)
    if node.name != "RelationalExpression" or op not in TURNED:
        return None
    for value, now, sign in ((node.expr, node.other, op), (node.other, node.expr, TURNED[op])):
        moves = _moved(now)
        if moves is not None and volatile(value) is None:
            return value, sign, moves
    return None


def _moved(node: Any) -> list[tuple[str, Any]] | None:
    """Return the terms added to and subtracted from NOW(), in order, or with the sign `UNTIL` the term that
    NOW() is subtracted from; None for anything else.
    """
    if not isinstance(node, Tree):
        return None
    if node.name == "Builtin_NOW":
        return []
    if node.name != "AdditiveExpression":
        return None
    first, others = _moved(node.expr), elements(node.other) or []
    signs = tuple(map(str, elements(node.op) or []))
    if first is not None and not any(map(volatile, others)):
        return [*first, *zip(signs, others, strict=True)]
    before = node.changed(op=signs[:-1], other=tuple(others[:-1])) if len(others) > 1 else node.expr
    if signs[-1] == "-" and _moved(others[-1]) == [] and volatile(before) is None:
        return [(UNTIL, before)]
    return None
