"""ORDER BY on the client, as far as the projected variables determine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rdflive.engine.build import make_sorter
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.errors import RdfliveError
from rdflive.model import Terms
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan

__all__ = ["Ordering", "ordering_of"]

Ordering: TypeAlias = Callable[[list[tuple[Terms, int]]], list[tuple[Terms, int]]]
"""Sorts solutions with their weights."""


def ordering_of(query: str) -> Ordering:
    """Return the function that sorts solutions by the query's ORDER BY.

    It keeps their order if the client cannot compute ORDER BY: with a variable that is not projected, or a
    prefix or function that only the server knows.

    >>> sort = ordering_of("SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY DESC(?s)")
    >>> [terms for terms, _ in sort([(("a", "c"), 1), (("b", "d"), 1)])]
    [('b', 'd'), ('a', 'c')]
    """
    try:
        plan = make_plan(parse_query(query, clock=True))
    except RdfliveError:
        return list
    places = _places(plan)
    if not plan.query.order or places is None:
        return list

    def sort(listed: list[tuple[Terms, int]]) -> list[tuple[Terms, int]]:
        dictionary = Dictionary()
        key = make_sorter(plan, TermTable(dictionary, _same, None))
        assert key is not None  # noqa: S101 - the plan has an order
        return sorted(listed, key=lambda row: key(tuple(_number(dictionary, row[0][p]) for p in places)))

    return sort


def _places(plan: Plan) -> list[int] | None:
    """Return the place in a solution of each column of the last step; None if one is not projected."""
    shown = {column: place for place, column in enumerate(plan.places) if column is not None}
    columns = range(len(plan.steps[-1].columns))
    return [shown[column] for column in columns] if all(c in shown for c in columns) else None


def _number(dictionary: Dictionary, term: Any) -> int:
    # 0 is UNBOUND in the engine
    return 0 if term is None else dictionary.intern(term)


def _same(term: Any) -> Any:
    return term
