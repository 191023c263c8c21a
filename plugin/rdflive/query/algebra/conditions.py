"""What filters evaluate: conditions over columns, and those that the planner makes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rdflive.query.bgp import to_text

__all__ = ["AllOf", "Condition", "OneOf", "SameTerm", "conjunction"]

Row: TypeAlias = tuple[int, ...]


class Condition(Protocol):
    """What a filter or an assignment evaluates: see `rdflive.query.expressions.Expression`."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables it reads."""

    @property
    def text(self) -> str:
        """Its canonical text: equal conditions have equal texts."""

    @property
    def is_plain(self) -> bool:
        """True where a test of one row takes little time and memory, whatever its terms are."""

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Make the test of a row whose variables stand at these places."""


@dataclass(frozen=True, slots=True)
class SameTerm:
    """The condition that two columns hold the same term."""

    one: str
    other: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The two columns."""
        return self.one, self.other

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        return f"sameTerm(?{self.one}, ?{self.other})"

    @property
    def is_plain(self) -> bool:
        """It is."""
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
        """What any part reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.variables))

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        return " && ".join(part.text for part in self.parts)

    @property
    def is_plain(self) -> bool:
        """True where all parts are."""
        return all(part.is_plain for part in self.parts)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Ask the parts in order."""
        tests = [part.condition(columns, terms) for part in self.parts]
        return lambda row: all(test(row) for test in tests)


def conjunction(conditions: Sequence[Condition]) -> Condition | None:
    """Give the condition that holds where all of some hold; None of none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return AllOf(tuple(conditions))


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a column holds one of some constants, or none of them."""

    name: str
    terms: frozenset[Any]
    negated: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        # sorted, because a set has no order of its own, and equal conditions must have equal texts
        return f"?{self.name} {'NOT ' * self.negated}IN ({', '.join(sorted(map(to_text, self.terms)))})"

    @property
    def is_plain(self) -> bool:
        """It is: there is one look-up."""
        return True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Look the term up."""
        place, value, wanted, negated = columns[self.name], terms.value, self.terms, self.negated
        return lambda row: (value(row[place]) in wanted) is not negated
