"""Comparisons with NOW() in expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rdflib.term import Literal

from rdflive.query.expressions.errors import no_value
from rdflive.query.expressions.expression import Expression, volatile
from rdflive.query.expressions.nodes import elements
from rdflive.query.expressions.phases import (
    TURNED,
    UNTIL,
    Move,
    Phases,
    Shift,
    Timestamp,
    phases_of,
    to_move,
)
from rdflive.query.expressions.rdflib_evaluation import Row, Terms
from rdflive.syntax.tree import EXISTS, Tree

__all__ = ["ClockComparison", "can_compare", "can_move", "clock_parts", "read_comparison"]


class ClockComparison:
    """A comparison of a value that a row has with NOW(), which may be moved by what the row has or what is
    constant: `?t > NOW() - "P1D"^^xsd:dayTimeDuration`, `"P1D"^^xsd:dayTimeDuration < NOW() - ?t`, or with
    `?t - NOW()` on the right.
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
        """True where evaluation takes little time and memory, whatever the terms are."""
        return self._value.is_plain and all(move.is_plain for _, move in self._moves)

    def phases(self, columns: Mapping[str, int], terms: Terms) -> Callable[[Row], Phases]:
        """Compile to the phases of a row."""
        value_of = self._value.term(columns, terms)
        moves_of = [_move_of(sign, move, columns, terms) for sign, move in self._moves]

        def phases(row: Row) -> Phases:
            value = value_of(row)
            if value is None:
                return None, ()
            try:
                return phases_of(self._operator, value, [move_of(row) for move_of in moves_of])
            except Exception as error:  # noqa: BLE001 - whatever a value stumbles over is an error of SPARQL
                return no_value(error, None), ()

        return phases


def _move_of(sign: str, move: Expression, columns: Mapping[str, int], terms: Terms) -> Callable[[Row], Move]:
    term_of = move.term(columns, terms)
    if not move.variables:
        constant = to_move(sign, term_of(()))
        return lambda _: constant
    return lambda row: to_move(sign, term_of(row))


def _bracketed(expression: Expression) -> str:
    text = expression.text
    return f"({text})" if " " in text and not text.startswith('"') else text


def clock_parts(node: Any) -> list[Tree]:
    """Give the comparisons inside an expression of which one side is NOW(), moved or not."""
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
    """Give what is compared with NOW() in a part that `clock_parts` gave, how with NOW() on the right, and
    what is added to NOW() and subtracted.
    """
    found = _sides(node)
    assert found is not None  # noqa: S101 - it was given
    return found


def can_move(literal: Literal, sign: str) -> bool:
    """Tell whether a literal can be added to NOW() or subtracted: a duration, or subtracted a time."""
    return to_move(sign, literal) is not None


def can_compare(literal: Literal, moves: Sequence[tuple[str, Any]]) -> bool:
    """Tell whether a literal may have an order with NOW() so moved: a time, or a duration where a time is
    subtracted, as the value of a variable may be.
    """
    given = [(sign, to_move(sign, move) if isinstance(move, Literal) else None) for sign, move in moves]
    if any(sign == UNTIL or isinstance(move, Timestamp) for sign, move in given):
        return isinstance(to_move("-", literal), Shift)
    is_open = ("-", None) in given
    return isinstance(to_move("-", literal), (Shift, Timestamp) if is_open else Timestamp)


def _sides(node: Tree) -> tuple[Any, str, list[tuple[str, Any]]] | None:
    """Give what is compared with NOW(), how with NOW() on the right, and what moves NOW()."""
    op = str(node.op)
    if node.name != "RelationalExpression" or op not in TURNED:
        return None
    for value, now, sign in ((node.expr, node.other, op), (node.other, node.expr, TURNED[op])):
        moves = _moved(now)
        if moves is not None and volatile(value) is None:
            return value, sign, moves
    return None


def _moved(node: Any) -> list[tuple[str, Any]] | None:
    """Give what is added to NOW() and subtracted, in order, or with the sign `UNTIL` what NOW() is subtracted
    from; None for anything else.
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
