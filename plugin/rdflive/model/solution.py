"""One solution of a query, and the header that all solutions of a subscription share."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, SupportsIndex, TypeAlias, overload
from unicodedata import normalize

from rdflive.model.terms import Term, python_value

__all__ = ["Header", "Origin", "Solution", "Terms", "hidden_names"]

Terms: TypeAlias = tuple[Term, ...]
"""A solution: terms in the order of the projection, None if unbound."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The provenance of a solution when it appeared."""

    inferred: bool
    """False if the solution follows from the graph without entailment."""
    rules: tuple[str, ...] = ()
    """The names of the rules that derived it; empty if it was not inferred."""


class Solution(tuple[Any, ...]):
    """One solution: an immutable tuple of terms in the order of SELECT, None for unbound variables.

    Like rdflib's `ResultRow`, it gives access to terms by index, by name and as attributes. It equals a plain
    tuple of the same terms. A variable that SELECT names twice has one position. An ASK query that is true
    has one solution without terms.

    >>> row = Header("SELECT", ("train", "delay")).solution(("IC5", None))
    >>> train, delay = row
    >>> row.train, row["train"], row[0], delay
    ('IC5', 'IC5', 'IC5', None)
    >>> row.asdict(), row
    ({'train': 'IC5'}, Solution(train='IC5', delay=None))
    """

    __slots__ = ()

    labels: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """The index of each variable, by name."""
    _names: ClassVar[tuple[str, ...]] = ()
    _places: ClassVar[dict[Any, int]] = {}
    """The index for each name and for each index, for fast lookup."""

    origin: Origin | None = None
    """The provenance of the solution when it appeared; None without `provenance=True`."""
    expires: Any = None
    """The instant at which windows will have dropped the solution, as known when it appeared; None for never.

    It is the instant of the first report without the solution if only time changes, in the stream's form. For
    an expired solution, it is the instant of expiry. It is set with `expires=True`.
    """

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Any, ...]: ...

    def __getitem__(self, key: Any, /) -> Any:
        """Return the term at an index or of a variable; raises IndexError or KeyError.

        A name is a string or an rdflib `Variable`.
        """
        try:
            place = self._places[key]
        except (KeyError, TypeError):
            place = None
        return _item(self, self._place(key) if place is None else place)

    def _place(self, key: Any) -> Any:
        """Return the index or slice for a key that is not in `_places`."""
        if not isinstance(key, str):
            try:
                _item(self, key)
            except TypeError:  # neither index nor slice
                pass
            else:
                return key
        place = self.labels.get(str(key))  # an rdflib Variable does not hash as its text
        if place is None:
            raise KeyError(self._unknown(str(key)))
        return place

    def get(self, name: str, default: Any = None) -> Any:
        """Return the term of a variable (None if unbound), or `default` for an unknown name."""
        if isinstance(name, str) and str(name) not in self.labels:
            return default
        try:
            return self[name]
        except KeyError:  # neither name nor index
            return default

    def asdict(self) -> dict[str, Any]:
        """Return the terms of the bound variables by name.

        >>> Header("SELECT", ("a", "b")).solution((None, 1)).asdict()
        {'b': 1}
        """
        pairs = [(name, _item(self, place)) for name, place in self.labels.items()]
        return {name: term for name, term in pairs if term is not None}

    def python(self) -> Solution:
        """Return the row with Python values instead of terms.

        IRIs and blank nodes become strings. Literals become rdflib's Python values (int, Decimal, float,
        bool, date, datetime …), or strings if they have no such value.

        >>> import rdflib
        >>> row = Header("SELECT", ("train", "delay")).solution((rdflib.URIRef("urn:t"), rdflib.Literal(7)))
        >>> row.python()
        Solution(train='urn:t', delay=7)
        """
        return _restored(self._names, tuple(map(python_value, self)), self.origin, self.expires)

    def _unknown(self, name: str) -> str:
        if name.startswith(("?", "$")):
            return f"variable names have no {name[0]}: use {name[1:]!r} instead of {name!r}"

        def closeness(other: str) -> float:
            return SequenceMatcher(None, other, name).ratio()

        nearest_first = sorted(self.labels, key=closeness, reverse=True)
        listed = ", ".join(f"?{other}" for other in nearest_first) or "none"
        return f"the query has no variable ?{name}; it has: {listed}"

    def __getattr__(self, name: str) -> Any:
        # copy, pickle and notebooks probe for methods of their own
        shown = name if name.startswith("_") else self._unknown(name)
        raise AttributeError(shown, name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a solution is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a solution is immutable: cannot delete {name!r}")

    def __repr__(self) -> str:
        pairs = zip(self._names, self, strict=True)
        return f"Solution({', '.join(f'{name}={term!r}' for name, term in pairs)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._names, tuple(self), self.origin, self.expires)


_item: Final = tuple.__getitem__
_new: Final = tuple.__new__
_OWN: Final = frozenset(dir(Solution))


def hidden_names(names: tuple[str, ...]) -> list[str]:
    """Return the variables that are not readable as attributes, because rows have another attribute so named.

    >>> hidden_names(("train", "count"))
    ['count']
    """
    return [name for name in names if _is_own(name)]


def _is_own(name: str) -> bool:
    """True if rows have an attribute of this name, or Python reserves it for special methods."""
    return name in _OWN or (name.startswith("__") and name.endswith("__"))


@lru_cache(maxsize=1024)
def _row_type(names: tuple[str, ...]) -> type[Solution]:
    """Return the row type for these variables, with a fast attribute for each."""
    labels = {name: place for place, name in enumerate(names)}
    places: dict[Any, int] = {place: place for place in range(len(names))} | labels
    getters = _getters(len(names))
    # Python normalizes identifiers: row.é is composed even if the query has it decomposed
    spelled = {normalize("NFKC", name): place for name, place in labels.items()} | labels
    members = {name: getters[place] for name, place in spelled.items() if not _is_own(name)}
    own = {"__slots__": (), "labels": MappingProxyType(labels), "_names": names, "_places": places}
    return type("Solution", (Solution,), members | own)


def _getters(count: int) -> list[Any]:
    """Return getters for tuple items; those of a named tuple are five times as fast as properties."""
    fields = [f"at{place}" for place in range(count)]
    make: Any = namedtuple  # mypy supports only literal names
    places = make("Places", fields)
    return [getattr(places, name) for name in fields]


@lru_cache(maxsize=1024)
def _marked_type(row: type[Solution]) -> type[Solution]:
    """Return the row type with an origin or an expiry, which few subscriptions request."""
    return type("Solution", (row,), {})  # without slots, so that it has a __dict__


def _marked(row: type[Solution], terms: Terms, origin: Origin | None, expires: Any) -> Solution:
    made = _new(_marked_type(row), terms)
    vars(made).update(origin=origin, expires=expires)
    return made


def _restored(names: tuple[str, ...], terms: Terms, origin: Origin | None, expires: Any) -> Solution:
    made: Solution = Header("SELECT", names).solution(terms, origin, expires)
    return made


@dataclass(frozen=True, slots=True)
class Header:
    """The form, the variables and the display of terms that all solutions of a subscription share."""

    form: Literal["SELECT", "ASK", "CONSTRUCT"]
    names: tuple[str, ...]
    convert: Callable[[Term], Any] | None = None
    """Converts a term of the store to one of the user's library; None if they are the same."""
    prefixes: Callable[[], Mapping[str, str]] = field(default=dict, repr=False, compare=False)
    """Returns the prefixes for the display of terms; called when text is written."""
    key: tuple[str, ...] = field(default=(), compare=False)
    """The variables by which a delta pairs removed and added rows; empty without pairs."""
    bound: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """The variables that a subscription sets, each with the index of its term in the subscription's terms."""
    fixed: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    """The variables that all subscriptions of the plan set, each with its term."""
    row: type[Solution] = field(init=False, repr=False, compare=False)
    """The type of its solutions."""

    def __post_init__(self) -> None:
        # a frozen dataclass allows no other assignment
        object.__setattr__(self, "row", _row_type(self.names))

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle cannot find the row type
        return _header, (self.form, self.names, self.convert, self.key, self.bound, self.fixed)

    @property
    def native(self) -> Header:
        """The header without conversion, for the terms of the store."""
        return self if self.convert is None else replace(self, convert=None)

    @property
    def plain(self) -> Header:
        """The picklable part of the header, for converted rows."""
        return Header(self.form, self.names, key=self.key, bound=self.bound, fixed=self.fixed)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT query in order; empty for ASK and CONSTRUCT."""
        return self.names if self.form == "SELECT" else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names of a table."""
        return ("subject", "predicate", "object") if self.form == "CONSTRUCT" else self.names

    @property
    def titles(self) -> list[str]:
        """The column titles of a displayed table."""
        return list(self.columns) if self.form == "CONSTRUCT" else [f"?{name}" for name in self.names]

    def counted(self, number: int) -> str:
        """Return the number of solutions or triples as text; for ASK, the answer.

        >>> Header("SELECT", ("x",)).counted(1000)
        '1,000 solutions'
        """
        if self.form == "ASK":
            return "true" if number else "false"
        noun = "triple" if self.form == "CONSTRUCT" else "solution"
        return f"{format(number, ',') if number else 'no'} {noun}{'s' * (number != 1)}"

    def solution(self, terms: Terms, origin: Origin | None = None, expires: Any = None) -> Any:
        """Convert one row to a `Solution`, or to the triple of a CONSTRUCT query."""
        convert = self.convert
        if convert is not None:
            terms = tuple([None if term is None else convert(term) for term in terms])
        if self.form == "CONSTRUCT":
            return terms
        if origin is None and expires is None:  # nearly always
            return _new(self.row, terms)
        return _marked(self.row, terms, origin, expires)

    def solutions(self, rows: Iterable[Terms]) -> list[Any]:
        """Convert rows as `solution` does; consecutive repetitions are converted once."""
        convert = self.convert
        if convert is None:
            # calling the type takes two thirds of the time of `_new` in a comprehension
            return list(rows if self.form == "CONSTRUCT" else map(self.row, rows))
        kind = tuple if self.form == "CONSTRUCT" else self.row
        shown: list[Any] = []
        before = made = None
        for terms in rows:
            if terms is not before:
                before = terms
                made = _new(kind, [None if term is None else convert(term) for term in terms])
            shown.append(made)
        return shown


def _header(form: Any, names: Any, convert: Any, key: tuple[str, ...], bound: Any, fixed: Any) -> Header:
    return Header(form, names, convert, key=key, bound=bound, fixed=fixed)
