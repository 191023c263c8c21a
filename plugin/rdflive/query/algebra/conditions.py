"""Conditions of filters over columns, with those that the planner makes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rdflive.query.bgp import to_text

__all__ = ["AllOf", "Condition", "OneOf", "SameTerm", "conjunction"]

Row: TypeAlias = tuple[int, ...]


class Condition(Protocol):
    """A condition of a filter or an expression of an assignment: see
    `rdflive.query.expressions.Expression`.
    """

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables it reads."""

    @property
    def text(self) -> str:
        """Its canonical text: equal conditions have equal texts."""

    @property
    def is_plain(self) -> bool:
        """True if a test of one row takes little time and memory, whatever its terms are."""

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Make the test of a row with the variables at these places."""


@dataclass(frozen=True, slots=True)
class SameTerm:
    """The condition that two columns have the same term."""

    one: str
    other: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The two columns."""
        return self.one, self.other

    @property
    def text(self) -> str:
        """The SPARQL text."""
        return f"sameTerm(?{self.one}, ?{self.other})"

    @property
    def is_plain(self) -> bool:
        """Always true."""
        return True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:  # noqa: ARG002
        """Compare ids: equal terms have equal ids."""
        one, other = columns[self.one], columns[self.other]
        return lambda row: row[one] == row[other]


@dataclass(frozen=True, slots=True)
class AllOf:
    """The conjunction of several conditions."""

    parts: tuple[Condition, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that some part reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.variables))

    @property
    def text(self) -> str:
        """The SPARQL text."""
        return " && ".join(part.text for part in self.parts)

    @property
    def is_plain(self) -> bool:
        """True if all parts are plain."""
        return all(part.is_plain for part in self.parts)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Test the parts in order."""
        tests = [part.condition(columns, terms) for part in self.parts]
        return lambda row: all(test(row) for test in tests)


def conjunction(conditions: Sequence[Condition]) -> Condition | None:
    """Return the conjunction of some conditions; None without conditions."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return AllOf(tuple(conditions))


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a column has one of some constants, or none of them."""

    name: str
    terms: frozenset[Any]
    negated: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def text(self) -> str:
        """The SPARQL text."""
        # sorted, because a set has no order, and equal conditions must have equal texts
        return f"?{self.name} {'NOT ' * self.negated}IN ({', '.join(sorted(map(to_text, self.terms)))})"

    @property
    def is_plain(self) -> bool:
        """Always true: it is one look-up."""
        return True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Look up the term."""
        place, value, wanted, negated = columns[self.name], terms.value, self.terms, self.negated
        return lambda row: (value(row[place]) in wanted) is not negated
