"""The results of compiling shapes: nodes of the algebra, filters on value nodes, and constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from rdflib import Literal, URIRef
from rdflib.term import Node

from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.expressions.errors import no_value

__all__ = ["Breaks", "Constant", "Fails", "Found", "FoundRows", "Function", "Pairs", "ResultSource", "Test"]


class FoundRows(NamedTuple):
    """Distinct nodes to validate: focus nodes, or value nodes of an outer shape."""

    node: algebra.Node
    column: Variable


class Pairs(NamedTuple):
    """Distinct pairs of focus nodes and value nodes; for a node shape both are one column."""

    node: algebra.Node
    focus: Variable
    value: Variable


@dataclass(frozen=True, slots=True)
class ResultSource:
    """The common parts of all results of one constraint."""

    component: URIRef
    shape: Node
    severity: Node
    path: Node | None
    messages: tuple[Literal, ...]
    constraint: Node | None = None


class Found(NamedTuple):
    """The results of a constraint: the columns of focus node, value, path and message, if present."""

    node: algebra.Node
    focus: Variable
    source: ResultSource
    value: Variable | None = None
    path: Variable | None = None
    message: Variable | None = None


Test: TypeAlias = Callable[[Any], bool]
"""Returns True if a term meets a constraint."""


@dataclass(frozen=True, slots=True, eq=False)
class Breaks:
    """The condition that a column does not meet a constraint. A term that cannot be compared does not."""

    name: str
    text: str
    make: Callable[[Callable[[Any], Any]], Test]
    """Makes the test. Its argument converts a constant to the spelling of the store."""
    is_plain = True

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        """Test the term of a row."""
        place, value, meets = columns[self.name], terms.value, self.make(terms.constant)

        def breaks(row: tuple[int, ...]) -> bool:
            try:
                return not meets(value(row[place]))
            except Exception as error:  # noqa: BLE001 - a term that the constraint does not apply to
                return no_value(error, True)

        return breaks


@dataclass(frozen=True, slots=True, eq=False)
class Fails:
    """The condition that a comparison of two columns does not hold, or has an error."""

    one: str
    other: str
    text: str
    holds: Callable[[Any, Any], bool | None]
    is_plain = True

    @property
    def variables(self) -> tuple[str, ...]:
        """The two columns."""
        return (self.one, self.other)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        """Compare the terms of a row."""
        one, other, value, holds = columns[self.one], columns[self.other], terms.value, self.holds

        def fails(row: tuple[int, ...]) -> bool:
            try:
                return holds(value(row[one]), value(row[other])) is not True
            except Exception as error:  # noqa: BLE001 - terms that cannot be compared
                return no_value(error, True)

        return fails


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """The expression of a new column: a function of other columns' terms, unbound if it returns None."""

    names: tuple[str, ...]
    text: str
    function: Callable[..., Node | None]
    is_plain = True

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns that the function reads."""
        return self.names

    def value(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], int]:
        """Compile to a function that returns the id of the value."""
        places, value, intern, function = (
            [columns[n] for n in self.names],
            terms.value,
            terms.intern,
            self.function,
        )

        def computed(row: tuple[int, ...]) -> int:
            try:
                term = function(*[value(row[place]) for place in places])
            except Exception as error:  # noqa: BLE001 - as for any expression
                return no_value(error, 0)
            return 0 if term is None else intern(term)

        return computed


def Constant(term: Node) -> Function:  # noqa: N802 - used like a class
    """Make the expression of a constant."""
    return Function((), term.n3(), lambda: term)
