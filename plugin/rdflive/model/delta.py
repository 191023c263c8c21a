"""The change of an answer: added and removed solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, repeat
from typing import Any, Final, Literal, NamedTuple

from rdflive.model.rows import Rows
from rdflive.model.solution import Header, Origin, Solution, Terms
from rdflive.model.tables import CELL, SHOWN, TableLine, html_table
from rdflive.model.term_text import TermWriter, to_printable

__all__ = ["Changed", "Delta"]


class Changed(NamedTuple):
    """A removed row and the added row that replaces it, with the same key values."""

    old: Solution
    new: Solution


class Delta:
    """The solutions that appeared and disappeared between two commits, as weighted multisets.

    `sequence` is the number of the last commit it covers, `first_sequence` of the first; they differ if a
    slow consumer's deltas were merged. `initial` is True for the first delivery, which holds the current
    answer. A delta is true if it has changes. `-delta` reverses it. `a + b` adds weights and drops zero
    weights. `str(delta)` is one readable line.

    >>> header = Header("SELECT", ("x",))
    >>> came = Delta(header, {("a",): 2}, sequence=1)
    >>> len(came.added), bool(came + -came)
    (2, False)
    >>> print(came)
    #1  + a  + a
    """

    # Public attributes are properties, so that several consumers can share a delta. Refusing assignments in
    # `__setattr__` would make each internal assignment cost a call.
    __slots__ = (
        "_added", "_asked", "_changed", "_ends", "_expired", "_first_sequence", "_header", "_initial",
        "_is_told", "_origins", "_removed", "_sequence", "_time", "_weights",
    )  # fmt: skip

    def __init__(
        self,
        header: Header,
        weights: Mapping[Terms, int],
        *,
        sequence: int,
        first_sequence: int | None = None,
        initial: bool = False,
        origins: Mapping[Terms, Origin] | None = None,
        expired: Mapping[Terms, int] | None = None,
        ends: Mapping[Terms, Any] | None = None,
        time: Any = None,
        asked: Terms = (),
    ) -> None:
        self._header = header
        self._asked = asked
        """The terms that the subscription sets for the variables in `Header.bound`."""
        self._weights = weights
        self._sequence = sequence
        self._first_sequence = sequence if first_sequence is None else first_sequence
        self._initial = initial
        self._origins = origins or _NOTHING
        self._expired = expired or _NOTHING
        self._ends = ends or _NOTHING
        self._time = time
        self._is_told = False
        """True once the callback was called with it; a repeated delivery must not call it again."""
        self._added: Rows[Solution] | None = None
        """The rows; set on first access."""
        self._removed: Rows[Solution] | None = None
        self._changed: dict[Terms, Terms] | None = None
        """The added row that replaces each removed row; set on first access."""

    @property
    def sequence(self) -> int:
        """The number of the last commit that it covers."""
        return self._sequence

    @property
    def first_sequence(self) -> int:
        """The number of the first commit that it covers."""
        return self._first_sequence

    @property
    def initial(self) -> bool:
        """True if it holds the full answer, which replaces all earlier deltas."""
        return self._initial

    @property
    def time(self) -> Any:
        """The instant of a window's report, in its stream's form, or the value of NOW() as a UTC datetime.

        None without either.
        """
        return self._time

    @property
    def form(self) -> Literal["SELECT", "ASK", "CONSTRUCT"]:
        """The form of the query."""
        return self._header.form

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query in order, including unbound ones; empty for other forms."""
        return self._header.variables

    @property
    def parameters(self) -> dict[str, Any]:
        """The terms that the subscription set for the variables of a prepared query, by name.

        A callback of several subscriptions can distinguish them by these terms.
        """
        header = self._header
        return {**dict(header.fixed), **{name: self._asked[place] for name, place in header.bound}}

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes used to display terms, as currently bound; empty after unpickling."""
        return dict(self._header.prefixes())

    @property
    def added(self) -> Rows[Solution]:
        """The added solutions (triples of CONSTRUCT), repeated by multiplicity.

        With `key=`, without those in `changed`.
        """
        rows = self._added
        if rows is None:
            rows = self._added = self._repeat(1)
        return rows

    @property
    def removed(self) -> Rows[Solution]:
        """The removed solutions (triples of CONSTRUCT), repeated by multiplicity.

        With `key=`, without those in `changed`.
        """
        rows = self._removed
        if rows is None:
            rows = self._removed = self._repeat(-1)
        return rows

    @property
    def changed(self) -> tuple[Changed, ...]:
        """With `key=`: the removed and the added row of each key that has exactly one of each.

        If several rows of a key were removed or added, the pairs are ambiguous, and the rows stay in
        `removed` and `added`. No row is in both places. An unbound variable counts as a value.

        >>> header = Header("SELECT", ("train", "delay"), key=("train",))
        >>> delta = Delta(header, {("IC5", 4): -1, ("IC5", 9): 1, ("IC7", 2): 1}, sequence=1)
        >>> [(old.delay, new.delay) for old, new in delta.changed], len(delta.added), len(delta.removed)
        ([(4, 9)], 1, 0)
        """
        return tuple(Changed(self._solution(old), self._solution(new)) for old, new in self._pairs.items())

    @property
    def key(self) -> tuple[str, ...]:
        """The variables by which `changed` pairs rows; empty without `key=`."""
        return self._header.key

    @property
    def unpaired(self) -> Delta:
        """The delta without a key: all its rows are in `added` and `removed`."""
        return self._with(self._weights, replace(self._header, key=()), self._expired) if self.key else self

    @property
    def expired(self) -> Rows[Solution]:
        """The solutions removed by time, including those in `changed`: their triples left a window, or a
        comparison with NOW() changed.
        """
        return self._shown(self._expired.items())

    @property
    def retracted(self) -> Rows[Solution]:
        """The solutions removed for any other reason, including those in `changed`."""
        lost = ((terms, -w - self._expired.get(terms, 0)) for terms, w in self._weights.items() if w < 0)
        return self._shown(lost)

    @property
    def answer(self) -> bool | None:
        """The new answer of an ASK query; None for other queries."""
        return any(w > 0 for w in self._weights.values()) if self._header.form == "ASK" else None

    @property
    def native(self) -> Delta:
        """The delta in the terms of the store, whose spelling a user's library may not keep."""
        header = self._header
        if header.convert is None:
            return self
        return self._with(self._weights, header.native, self._expired)

    def weights(self) -> dict[Solution, int]:
        """Return the net weight of each solution: positive if added, negative if removed."""
        return _summed((self._solution(terms), weight) for terms, weight in self._weights.items())

    def _solution(self, terms: Terms) -> Solution:
        solution: Solution = self._header.solution(terms, self._origins.get(terms), self._ends.get(terms))
        return solution

    def _repeat(self, sign: int) -> Rows[Solution]:
        weights: Iterable[tuple[Terms, int]] = self._weights.items()
        if self._header.key:
            pairs = self._pairs
            paired = set(pairs) if sign < 0 else set(pairs.values())
            weights = [(terms, weight) for terms, weight in weights if terms not in paired]
        return self._shown(weights, sign)

    def _shown(self, weights: Iterable[tuple[Terms, int]], sign: int = 1) -> Rows[Solution]:
        """List the rows of a sign, repeated by weight."""
        listed: list[Terms] = []
        for terms, weight in weights:
            if weight == sign:  # nearly always
                listed.append(terms)
            elif weight * sign > 0:
                listed += [terms] * (weight * sign)
        return Rows(self._header, listed, self._origins, self._ends)

    @property
    def _pairs(self) -> dict[Terms, Terms]:
        """The added row by the removed row."""
        header = self._header
        if not header.key:
            return {}
        if self._changed is None:
            places = [header.names.index(name) for name in header.key]
            # by key and sign: the only row, or None if there are several
            only: tuple[dict[Terms, Terms | None], dict[Terms, Terms | None]] = ({}, {})
            for terms, weight in self._weights.items():
                key = tuple([terms[place] for place in places])
                rows = only[weight > 0]
                rows[key] = terms if key not in rows and abs(weight) == 1 else None
            came, pairs = only[True], {}
            for key, old in only[False].items():
                new = came.get(key)
                if old is not None and new is not None:
                    pairs[old] = new
            self._changed = pairs
        return self._changed

    def __bool__(self) -> bool:
        return bool(self._weights)

    def __neg__(self) -> Delta:
        # without `expired`: the removed rows are added here, and only removed rows can expire
        return self._with({terms: -weight for terms, weight in self._weights.items()})

    def __add__(self, other: Delta) -> Delta:
        # rows are plain tuples: (a,) of ?x and (a,) of ?y would be the same solution
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
            # a full answer plus later changes is another full answer
            initial=self.initial or other.initial,
            origins={**self._origins, **other._origins},
            expired=_sum_of_losses(self._expired, other._expired, weights),
            ends={**self._ends, **other._ends},
            # the time of the later report, in either order of addition
            time=self.time if other.time is None or self.sequence > other.sequence else other.time,
            asked=self._asked,
        )

    def _with(
        self,
        weights: Mapping[Terms, int],
        header: Header | None = None,
        expired: Mapping[Terms, int] | None = None,
    ) -> Delta:
        return Delta(
            header or self._header,
            weights,
            sequence=self.sequence,
            first_sequence=self.first_sequence,
            initial=self.initial,
            origins=self._origins,
            expired=expired,
            ends=self._ends,
            time=self.time,
            asked=self._asked,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delta):
            return NotImplemented
        # by the converted solutions: an unpickled delta has converted terms and equals the original
        return self._place == other._place and self.weights() == other.weights()

    def __hash__(self) -> int:
        return hash((self._place, frozenset(self.weights().items())))

    @property
    def _place(self) -> tuple[Any, ...]:
        """The parts of its identity other than rows, which do not compare their names."""
        return self.form, self.names, self.key, self.sequence, self.first_sequence, self.initial

    def __repr__(self) -> str:
        if self._header.form == "ASK":
            changed = str(self)
        else:
            paired = len(self._pairs)
            came, went = self._count(1) - paired, self._count(-1) - paired
            changed = f"{self._number}{' initial' * self.initial}: {came:,} added, {went:,} removed"
            changed += f", {paired:,} changed" * bool(paired)
            changed += f", {sum(self._expired.values()):,} of them expired" * bool(self._expired)
        return f"<Delta {changed}>"

    def __str__(self) -> str:
        """Return one line with prefixed names: `#7  + :T101 :Dunes  − :T101 :Mill`.

        Unbound variables are UNDEF. At most 20 added and 20 removed solutions are written.
        """
        head = self._number if self.time is None else f"{self._number} @ {to_printable(str(self.time))}"
        return "  ".join([head, *self._texts(TermWriter(self.prefixes, most=CELL))])

    def _repr_html_(self) -> str:
        lines = [TableLine(terms, sign) for sign, weight in _SIGNS for terms in self._first(weight)]
        if self._header.form == "ASK":
            lines = []
        more = [
            f"{sign} {left:,} more" for sign, weight in _SIGNS if (left := self._count(weight) - SHOWN) > 0
        ]
        write = TermWriter(self.prefixes, most=CELL)
        return html_table(repr(self)[1:-1], self._header.titles, lines, write, "  ".join(more))

    def _texts(self, write: TermWriter) -> list[str]:
        if self._header.form == "ASK":
            return [str(self.answer).lower()]
        if not self._weights:
            return [self._header.counted(0) if self.initial else "no change"]
        texts = []
        for sign, weight in _SIGNS:
            texts += sorted(f"{sign} {write.row(terms)}" for terms in self._first(weight))
            left = self._count(weight) - SHOWN
            texts += [f"{sign} … {left:,} more"] * (left > 0)
        return texts

    def _first(self, sign: int) -> list[Terms]:
        """List the first added or removed solutions, in the spelling of the store."""
        found = (repeat(terms, n * sign) for terms, n in self._weights.items() if n * sign > 0)
        return list(islice(chain.from_iterable(found), SHOWN))

    def _count(self, sign: int) -> int:
        return sum(n * sign for n in self._weights.values() if n * sign > 0)

    @property
    def _number(self) -> str:
        is_one = self.first_sequence == self.sequence
        return f"#{self.sequence}" if is_one else f"#{self.first_sequence}–{self.sequence}"

    def __reduce__(self) -> tuple[Any, ...]:
        # in the user's terms and without `convert`, so that unpickling does not need the store
        convert = self._header.convert or (lambda term: term)

        def shown(by_terms: Mapping[Terms, Any]) -> Iterator[tuple[Terms, Any]]:
            for terms, value in by_terms.items():
                yield tuple(None if term is None else convert(term) for term in terms), value

        named = {
            "sequence": self.sequence,
            "first_sequence": self.first_sequence,
            "initial": self.initial,
            "origins": dict(shown(self._origins)),
            "expired": _summed(shown(self._expired)),
            "ends": dict(shown(self._ends)),
            "time": self.time,
            "asked": self._asked,
        }
        return _rebuild, (self._header.plain, _summed(shown(self._weights)), named)


def _summed(weights: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Sum weights: different store terms may be one term of the user's library, as 0A and 0a of hexBinary."""
    total: dict[Any, int] = {}
    for row, weight in weights:
        total[row] = total.get(row, 0) + weight
    return {row: weight for row, weight in total.items() if weight}


def _rebuild(header: Header, weights: Mapping[Terms, int], named: Mapping[str, Any]) -> Delta:
    return Delta(header, weights, **named)


def _sum_of_losses(
    first: Mapping[Terms, int], second: Mapping[Terms, int], net: Mapping[Terms, int]
) -> dict[Terms, int]:
    """Return the expired part of the net losses in the sum of two deltas, by solution.

    For example, a solution that expires in the first delta and that a write restores in the second has not
    expired in the sum.
    """
    losses = {t: first.get(t, 0) + second.get(t, 0) for t in (*first, *second)}
    return {
        terms: fewest for terms, count in losses.items() if (fewest := min(count, -net.get(terms, 0))) > 0
    }


# shared by all deltas without such entries; never modified
_NOTHING: Final[Mapping[Any, Any]] = {}
_SIGNS: Final = (("+", 1), ("−", -1))
