"""The rows of an answer or a delta, converted on first access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, SupportsIndex, TypeVar, overload

from rdflive.model.frames import Framed
from rdflive.model.solution import Header, Origin, Terms
from rdflive.model.tables import SHOWN
from rdflive.model.terms import python_value

__all__ = ["Rows"]

Row = TypeVar("Row")
_NOTHING: Final[Mapping[Any, Any]] = {}


# not a `Sequence` of collections.abc, which polars would read by row instead of by column
class Rows(Framed, Generic[Row]):
    """An immutable sequence of rows, which equals a tuple or a list of the same rows.

    Rows are converted on first access and kept. Its length, its truth value, and slices, which are `Rows`,
    convert no term. It is a table for polars, DuckDB, pyarrow and `DataFrame.from_arrow` of pandas 3, which
    read `__arrow_c_stream__`; `to_pandas` works with any pandas.

    >>> rows = Rows(Header("SELECT", ("train",)), [("IC5",), ("IC7",)])
    >>> len(rows), rows[0].train, rows == (("IC5",), ("IC7",))
    (2, 'IC5', True)
    """

    __slots__ = ("_ends", "_header", "_made", "_origins", "_some", "_terms")

    def __init__(
        self,
        header: Header,
        terms: Iterable[Terms] = (),
        origins: Mapping[Terms, Origin] = _NOTHING,
        ends: Mapping[Terms, Any] = _NOTHING,
    ) -> None:
        self._header = header
        self._terms: Sequence[Terms] = terms if type(terms) is list else list(terms)
        self._origins = origins
        self._ends = ends
        self._made: list[Any] | None = None
        """All rows, once they have been accessed."""
        self._some: dict[int, Any] | None = None
        """The rows accessed by index so far."""

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[Row]:
        made = self._made
        return iter(self._all() if made is None else made)

    def __reversed__(self) -> Iterator[Row]:
        return self._all()[::-1].__iter__()

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Row: ...
    @overload
    def __getitem__(self, place: slice, /) -> Rows[Row]: ...

    def __getitem__(self, place: Any, /) -> Any:
        if isinstance(place, slice):
            part: Rows[Row] = Rows(self._header, self._terms[place], origins=self._origins, ends=self._ends)
            part._made = None if self._made is None else self._made[place]
            return part
        if self._made is not None:
            return self._made[place]
        terms = self._terms[place]
        number = range(len(self._terms))[place]  # from the front
        some = self._some
        if some is None:
            some = self._some = {}
        if number not in some:
            some[number] = self._make(terms)
        return some[number]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries with Python values as of `Solution.python`, for example for JSON.

        An unbound variable is None. Triples have the keys "subject", "predicate" and "object".

        >>> Rows(Header("SELECT", ("train", "delay")), [("IC5", None)]).to_dicts()
        [{'train': 'IC5', 'delay': None}]
        """
        names = self._header.columns
        return [dict(zip(names, map(python_value, row), strict=True)) for row in self._all()]

    def __contains__(self, row: object) -> bool:
        return row in self._all()

    def count(self, row: object) -> int:
        """Return the number of occurrences of a row."""
        return self._all().count(row)

    def index(self, row: object) -> int:
        """Return the first index of a row; raises ValueError if it is absent."""
        return self._all().index(row)

    def __add__(self, other: object) -> tuple[Any, ...]:
        return (*self, *other) if isinstance(other, Rows | tuple | list) else NotImplemented

    def __radd__(self, other: object) -> tuple[Any, ...]:
        return (*other, *self) if isinstance(other, tuple | list) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows | tuple | list):
            return NotImplemented
        return len(self) == len(other) and self._all() == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._all()))

    def __repr__(self) -> str:
        if len(self) <= SHOWN:
            return repr(tuple(self._all()))
        return f"{repr(tuple(self[:SHOWN]))[:-1]}, … and {len(self) - SHOWN:,} more)"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # the callables of the header cannot be pickled
        return _restored, (type(self), self._header.plain, self._all())

    def _framed(self) -> tuple[Header, Sequence[Terms]]:
        return self._header, self._terms

    def _all(self) -> list[Any]:
        if self._made is None:
            if self._some or self._origins or self._ends:
                self._made = [self[number] for number in range(len(self._terms))]
            else:
                self._made = self._header.solutions(self._terms)
        return self._made

    def _make(self, terms: Terms) -> Any:
        if self._origins or self._ends:
            return self._header.solution(terms, self._origins.get(terms), self._ends.get(terms))
        return self._header.solution(terms)


def _restored(kind: type[Rows[Any]], header: Header, rows: list[Any]) -> Rows[Any]:
    made = kind(header, map(tuple, rows))
    made._made = rows
    return made
