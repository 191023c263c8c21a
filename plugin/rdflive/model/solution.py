"""One solution of a query, and what all solutions of a subscription share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rdflive.model.terms import Term

__all__ = ["Header", "Origin", "Solution", "Terms"]

Terms: TypeAlias = tuple[Term, ...]
"""A solution: terms in the order of the projection, None where unbound."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a solution came from when it appeared."""

    inferred: bool
    """False when the graph itself gives it, without any entailment."""
    rules: tuple[str, ...] = ()
    """The rules that gave it, by name; none when it was not inferred."""


@dataclass(frozen=True, slots=True)
class Header:
    """What all solutions of one subscription share: the form, the variables, and how terms are shown."""

    form: Literal["SELECT", "ASK", "CONSTRUCT"]
    names: tuple[str, ...]
    convert: Callable[[Term], Any] | None = None
    """Turns a term of the store into one of the user's library; None where they are the same."""
    places: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """Where the term of each variable is in a row."""

    def __post_init__(self) -> None:
        # a frozen dataclass lets its own methods assign no field in any other way
        object.__setattr__(self, "places", {name: place for place, name in enumerate(self.names)})

    def solution(self, terms: Terms, origin: Origin | None = None, expires: Any = None) -> Any:
        """Show one row: a `Solution`, or the triple that a CONSTRUCT query made."""
        if self.form != "CONSTRUCT":
            return Solution(self, terms, origin, expires)
        # a plain triple, as `graph.add` takes it: its places have no names that could be read
        return terms if self.convert is None else tuple(map(self.convert, terms))


class Solution(Mapping[str, Any]):
    """One solution: an immutable mapping from variable names to terms, also readable as attributes.

    An unbound variable is not in the mapping. With `provenance=True` it knows its `origin`.

    >>> solution = Solution(Header("SELECT", ("train", "delay")), ("IC5", 7))
    >>> solution.train, solution["delay"], dict(solution)
    ('IC5', 7, {'train': 'IC5', 'delay': 7})
    """

    __slots__ = ("_expires", "_header", "_origin", "_terms")

    def __init__(
        self, header: Header, terms: Terms, origin: Origin | None = None, expires: Any = None
    ) -> None:
        object.__setattr__(self, "_header", header)
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "_origin", origin)
        object.__setattr__(self, "_expires", expires)

    @property
    def origin(self) -> Origin | None:
        """Where the solution came from when it appeared; None unless `provenance=True` asked for it.

        A variable of this name is read as `solution["origin"]`.
        """
        found: Origin | None = self._origin
        return found

    @property
    def expires(self) -> Any:
        """When windows will have dropped it, as far as was known when it appeared; None for never.

        It is the instant of the first report without the solution, if nothing but time changes, as its stream
        writes instants; of a solution that has expired, the instant when it did. Known with `expires=True`; a
        variable of this name is read as `solution["expires"]`.
        """
        return self._expires

    def __getitem__(self, name: str) -> Any:
        header = self._header
        term = self._terms[header.places[name]]
        if term is None:
            raise KeyError(name)
        return term if header.convert is None else header.convert(term)

    def __getattr__(self, name: str) -> Any:
        # Python looks such names up itself, as `copy` does `__deepcopy__`: no variable may answer
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            bound = ", ".join(self) or "none"
            raise AttributeError(f"the solution binds no variable {name!r}; bound: {bound}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a solution is immutable: cannot set {name!r}")

    def __iter__(self) -> Iterator[str]:
        return (n for n, term in zip(self._header.names, self._terms, strict=True) if term is not None)

    def __len__(self) -> int:
        return sum(term is not None for term in self._terms)

    def __hash__(self) -> int:
        # mappings are compared without regard to the order of their keys
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return "Solution(" + ", ".join(f"{name}={term!r}" for name, term in self.items()) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        # in the user's terms, as deltas are pickled
        header = Header(self._header.form, self._header.names)
        terms = tuple(self.get(name) for name in self._header.names)
        return Solution, (header, terms, self._origin, self._expires)
