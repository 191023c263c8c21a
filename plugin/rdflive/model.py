"""Values that flow: changes and batches in, solutions and deltas out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["Batch", "Change", "Delta", "Header", "Origin", "Quad", "Solution", "Terms"]


class Quad(NamedTuple):
    """A triple and the name of its graph, in the terms of the store it belongs to."""

    subject: Any
    predicate: Any
    object: Any
    graph: Any = None


class Change(NamedTuple):
    """One insert (`sign` +1) or delete (-1) of a quad."""

    sign: Literal[1, -1]
    quad: Quad


@dataclass(frozen=True, slots=True)
class Batch:
    """The changes of one commit, in order.

    A captured batch is net: each quad at most once, inserted only if it was absent and deleted only if
    it was present. A batch decoded from a feed is as the feed says.
    """

    changes: tuple[Change, ...]
    sequence: int = 0

    @property
    def added(self) -> tuple[Quad, ...]:
        """The inserted quads."""
        return tuple(change.quad for change in self.changes if change.sign > 0)

    @property
    def removed(self) -> tuple[Quad, ...]:
        """The deleted quads."""
        return tuple(change.quad for change in self.changes if change.sign < 0)


Terms: TypeAlias = tuple[Any, ...]


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
    convert: Callable[[Any], Any] | None = None
    """Turns a term of the store into one of the user's library; None where they are the same."""

    def solution(self, terms: Terms, origin: Origin | None = None) -> Any:
        """Show one row: a `Solution`, or the triple that a CONSTRUCT query made."""
        if self.form != "CONSTRUCT":
            return Solution(self, terms, origin)
        return terms if self.convert is None else tuple(map(self.convert, terms))


class Solution(Mapping[str, Any]):
    """One solution: an immutable mapping from variable names to terms, also readable as attributes.

    An unbound variable is not in the mapping. With `provenance=True` it knows its `origin`.

    >>> solution = Solution(Header("SELECT", ("train", "delay")), ("IC5", 7))
    >>> solution.train, solution["delay"], dict(solution)
    ('IC5', 7, {'train': 'IC5', 'delay': 7})
    """

    __slots__ = ("_header", "_origin", "_terms")

    def __init__(self, header: Header, terms: Terms, origin: Origin | None = None) -> None:
        object.__setattr__(self, "_header", header)
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "_origin", origin)

    @property
    def origin(self) -> Origin | None:
        """Where the solution came from when it appeared; None unless `provenance=True` asked for it.

        A variable of this name is read as `solution["origin"]`.
        """
        found: Origin | None = self._origin
        return found

    def __getitem__(self, name: str) -> Any:
        header = self._header
        if name not in header.names:
            raise KeyError(name)
        term = self._terms[header.names.index(name)]
        if term is None:
            raise KeyError(name)
        return term if header.convert is None else header.convert(term)

    def __getattr__(self, name: str) -> Any:
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
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return "Solution(" + ", ".join(f"{name}={term!r}" for name, term in self.items()) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        header = Header(self._header.form, self._header.names)
        return Solution, (header, tuple(self.get(name) for name in self._header.names), self._origin)


class Delta:
    """The solutions that appeared and disappeared between two commits, as weighted multisets.

    `sequence` is the number of the commit it leads to, `first_sequence` that of the first commit it
    covers (they differ when a slow consumer's deltas were merged). `initial` is True for the first
    delivery, which holds the current answers. A delta is true when something changed; `-delta` undoes
    it; `a + b` adds weights, and what sums to zero vanishes.

    >>> header = Header("SELECT", ("x",))
    >>> came = Delta(header, {("a",): 2}, sequence=1)
    >>> len(came.added), bool(came + -came)
    (2, False)
    """

    __slots__ = ("_header", "_origins", "_weights", "first_sequence", "initial", "sequence")

    _header: Header
    _origins: Mapping[Terms, Origin]
    _weights: Mapping[Terms, int]
    first_sequence: int
    initial: bool
    sequence: int

    def __init__(
        self,
        header: Header,
        weights: Mapping[Terms, int],
        *,
        sequence: int,
        first_sequence: int | None = None,
        initial: bool = False,
        origins: Mapping[Terms, Origin] | None = None,
    ) -> None:
        fill = object.__setattr__
        fill(self, "_header", header)
        fill(self, "_origins", _NO_ORIGINS if origins is None else origins)
        fill(self, "_weights", weights)
        fill(self, "sequence", sequence)
        fill(self, "first_sequence", sequence if first_sequence is None else first_sequence)
        fill(self, "initial", initial)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query in its order, also those that no solution binds; else none."""
        return self._header.names if self._header.form == "SELECT" else ()

    @property
    def added(self) -> tuple[Any, ...]:
        """The solutions that appeared, each as often as it did; of CONSTRUCT the triples."""
        return self._repeat(1)

    @property
    def removed(self) -> tuple[Any, ...]:
        """The solutions that disappeared, each as often as it did; of CONSTRUCT the triples."""
        return self._repeat(-1)

    @property
    def answer(self) -> bool | None:
        """What an ASK query answers from now on; None for other queries."""
        return any(w > 0 for w in self._weights.values()) if self._header.form == "ASK" else None

    def weights(self) -> dict[Any, int]:
        """Give each solution its net weight: positive where it appeared, negative where it went."""
        return {self._solution(terms): w for terms, w in self._weights.items()}

    def _solution(self, terms: Terms) -> Any:
        return self._header.solution(terms, self._origins.get(terms))

    def _repeat(self, sign: int) -> tuple[Any, ...]:
        return tuple(
            chain.from_iterable(
                repeat(self._solution(terms), weight * sign)
                for terms, weight in self._weights.items()
                if weight * sign > 0
            )
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a delta is immutable: cannot set {name!r}")

    def __bool__(self) -> bool:
        return bool(self._weights)

    def __neg__(self) -> Delta:
        return self._with({terms: -weight for terms, weight in self._weights.items()})

    def __add__(self, other: Delta) -> Delta:
        if self._header.names != other._header.names or self._header.form != other._header.form:
            raise ValueError(
                f"cannot add deltas of different queries: one binds {self._header.names}, "
                f"the other {other._header.names}"
            )
        weights = dict(self._weights)
        for terms, weight in other._weights.items():
            weights[terms] = weights.get(terms, 0) + weight
            if not weights[terms]:
                del weights[terms]
        return Delta(
            self._header,
            weights,
            sequence=max(self.sequence, other.sequence),
            first_sequence=min(self.first_sequence, other.first_sequence),
            initial=self.initial or other.initial,
            origins={**self._origins, **other._origins},
        )

    def _with(self, weights: Mapping[Terms, int]) -> Delta:
        return Delta(
            self._header,
            weights,
            sequence=self.sequence,
            first_sequence=self.first_sequence,
            initial=self.initial,
            origins=self._origins,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delta):
            return NotImplemented
        return (self.sequence, self.first_sequence, self.initial, self.weights()) == (
            (other.sequence, other.first_sequence, other.initial, other.weights())
        )

    def __hash__(self) -> int:
        return hash((self.sequence, self.first_sequence, self.initial, frozenset(self.weights().items())))

    def __repr__(self) -> str:
        kind = "initial, " if self.initial else ""
        return f"Delta({kind}sequence={self.sequence}, added={self.added!r}, removed={self.removed!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        header = Header(self._header.form, self._header.names)
        convert = self._header.convert or (lambda term: term)
        weights = {
            tuple(None if term is None else convert(term) for term in terms): weight
            for terms, weight in self._weights.items()
        }
        origins = {
            tuple(None if term is None else convert(term) for term in terms): origin
            for terms, origin in self._origins.items()
        }
        return _rebuild, (header, weights, self.sequence, self.first_sequence, self.initial, origins)


def _rebuild(
    header: Header,
    weights: Mapping[Terms, int],
    sequence: int,
    first_sequence: int,
    initial: bool,
    origins: Mapping[Terms, Origin],
) -> Delta:
    return Delta(
        header, weights, sequence=sequence, first_sequence=first_sequence, initial=initial, origins=origins
    )


_NO_ORIGINS: Final[Mapping[Terms, Origin]] = {}
