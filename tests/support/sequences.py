"""Equality of sequences of solutions, up to the freedom that ORDER BY leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rdflib.plugins.sparql import prepareQuery
from rdflib.term import Variable

from support.solutions import Row, isomorphic


def same_sequence(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Return True if two sequences are equal up to a renaming of blank nodes."""
    return isomorphic(_numbered(left), _numbered(right))


def as_ordered(query: str, found: Sequence[Row], expected: Sequence[Row], *, sliced: bool) -> bool:
    """Return True if the query admits the sequence `found`, given that it admits `expected`.

    Only rows with equal keys of ORDER BY may be permuted, or replaced with LIMIT or OFFSET. Keys other
    than projected variables are unknown from the rows and leave no freedom.
    """
    if same_sequence(found, expected):
        return True
    keys = order_variables(query)
    if keys is None:
        return False
    if not sliced and not isomorphic(Counter(found), Counter(expected)):
        return False
    return same_sequence([_only(keys, one) for one in found], [_only(keys, one) for one in expected])


@lru_cache(maxsize=64)
def is_ordered(query: str) -> bool:
    """Return True if a query orders its solutions; the order of a subquery does not count."""
    return bool(_order(prepareQuery(query).algebra))


def order_variables(query: str) -> frozenset[str] | None:
    """Return the variables by which a query orders, or None if a key is hidden or an expression."""
    algebra = prepareQuery(query).algebra
    keys, shown = _order(algebra), {str(variable) for variable in algebra.PV}
    names = {str(key) for key in keys if isinstance(key, Variable)}
    return frozenset(names) if len(names) == len(keys) and names <= shown else None


def _order(algebra: Any) -> list[Any]:
    """List the expressions of the outermost ORDER BY."""
    node = algebra.p
    while node.name in ("Slice", "Distinct", "Reduced", "Project"):
        node = node.p
    return [condition.expr for condition in node.expr] if node.name == "OrderBy" else []


def _numbered(sequence: Sequence[Row]) -> Counter[Row]:
    return Counter(one | {("#", number)} for number, one in enumerate(sequence))


def _only(names: frozenset[str], solution: Row) -> Row:
    return frozenset((name, term) for name, term in solution if name in names)
