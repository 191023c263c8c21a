"""Evaluation by rdflib: functions that need no correction, and registered functions that take rdflib's
expressions.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import MethodType, SimpleNamespace
from typing import Any, Protocol, TypeAlias

from rdflib.plugins.sparql.sparql import Prologue
from rdflib.term import BNode, Node, Variable

from rdflive.query.budget import Meter
from rdflive.query.expressions.errors import no_value
from rdflive.syntax.rdflib_algebra import evaluator_of, to_rdflib
from rdflive.syntax.tree import Tree
from rdflive.values import Value, in_fixed_context

__all__ = ["Row", "RowTerms", "TermOf", "evaluate_with_rdflib", "rdflib_function"]

Row: TypeAlias = tuple[int, ...]
TermOf: TypeAlias = Callable[[Row], Node | None]


class RowTerms(Protocol):
    """The terms behind the ids of rows."""

    meter: Meter | None
    """Counts the costs of evaluation; None if nothing is counted."""

    def value(self, id: int, /) -> Node | None:  # noqa: A002 - it is one
        """Return the term of an id; None for 0, which is no term."""

    def content(self, id: int, /) -> Value | None:  # noqa: A002 - it is one
        """Return the value of an id's term if that is a literal with a datatype, else None.

        It may be available sooner than the term.
        """

    def constant(self, term: Node, /) -> Node:
        """Return the value of a constant in an expression."""

    def intern(self, term: Node, /) -> int:
        """Return the id of a term."""


def rdflib_function(node: Tree) -> Callable[..., Node | None]:
    """Return rdflib's implementation of a built-in function as a function of at most one term."""
    evaluate: Any = evaluator_of(node.name)
    if evaluate is None or len(node.fields) > 1:
        raise TypeError(f"{node.name} is not a function that rdflib evaluates")
    now = datetime.datetime.now(datetime.UTC)

    @in_fixed_context
    def function(argument: Node | None = None) -> Node | None:
        context = SimpleNamespace(now=now, bnodes=defaultdict(BNode))
        result = evaluate(SimpleNamespace(arg=argument), context)
        return result if isinstance(result, Node) else None

    return function


class _Solution:
    """The part of a solution that rdflib's evaluator uses."""

    __slots__ = ("bnodes", "columns", "now", "prologue", "row", "terms")

    def __init__(
        self,
        columns: Mapping[str, int],
        terms: RowTerms,
        row: Row,
        prologue: Prologue,
        now: datetime.datetime,
    ) -> None:
        self.columns = columns
        self.terms = terms
        self.row = row
        self.prologue = prologue
        self.now = now
        self.bnodes: dict[Node, BNode] = defaultdict(BNode)

    def get(self, key: Any, default: Any = None) -> Any:
        if not isinstance(key, Variable | BNode):
            return key
        place = self.columns.get(str(key))
        found = None if place is None else self.terms.value(self.row[place])
        return default if found is None else found

    def __getitem__(self, key: Any) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found


def evaluate_with_rdflib(
    columns: Mapping[str, int], terms: RowTerms, node: Tree, function: Callable[..., Any] | None = None
) -> TermOf:
    """Evaluate a node and all its parts as rdflib does; None is an error or an unbound variable.

    `function` is called for a registered function, instead of the one that is registered now.
    """
    own = to_rdflib(node)  # rdflib keeps the solution in the node while it evaluates
    if function is not None:
        own._evalfn = MethodType(function, own)
    prologue, now = Prologue(), datetime.datetime.now(datetime.UTC)

    @in_fixed_context
    def evaluate(row: Row) -> Node | None:
        try:
            result = own.eval(_Solution(columns, terms, row, prologue, now))
        except Exception as error:  # noqa: BLE001 - an exception in a function is an error of SPARQL
            return no_value(error, None)
        return result if isinstance(result, Node) else None

    return evaluate
