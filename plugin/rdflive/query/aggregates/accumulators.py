"""The set functions of SPARQL 1.1, 18.5.1, as accumulators that values enter and leave."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Literal, Protocol

import rdflib
from rdflib.term import Node
from sortedcontainers import SortedList

from rdflive.query.aggregates.exact_sum import ExactSum
from rdflive.query.budget import Meter
from rdflive.query.ordering import term_key
from rdflive.values import number, number_literal
from rdflive.values.numbers import DECIMALS

__all__ = ["Accumulator", "SetFunction", "integer", "make_accumulator"]

SetFunction = Literal["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"]


class Accumulator(Protocol):
    """One set function over the multiset of values that were added and not removed."""

    def add(self, value: Node | None, weight: int) -> None:
        """Add a value (weight > 0) or remove it (< 0); None is an expression error."""

    def result(self) -> Node | None:
        """Return the present value of the function; None is an error."""

    def containers(self) -> list[Any]:
        """List the containers of the values, for measuring."""


def make_accumulator(
    name: SetFunction, *, distinct: bool, separator: str = " ", meter: Meter | None = None
) -> Callable[[], Accumulator]:
    """Return a factory of accumulators for a set function.

    COUNT skips errors and SAMPLE takes the least term that is no error; an error among the values is an error
    of the other functions. MIN, MAX and SAMPLE compare by `term_key`, GROUP_CONCAT joins in that order.

    COUNT skips errors and SAMPLE takes the least term that is none; an error among the values is an
    error of the other functions. MIN, MAX and SAMPLE go by `term_key`, GROUP_CONCAT joins in that order.

    >>> total = make_accumulator("SUM", distinct=False)()
    >>> for value in (1e16, 1, -1e16, 0.1):
    ...     total.add(rdflib.Literal(value), 1)
    >>> str(total.result())
    '1.1'
    """
    functions: dict[str, Callable[[], Accumulator]] = {
        "COUNT": _Count,
        "SUM": _Sum,
        "AVG": _Average,
        "MIN": partial(_Extremum, 0),
        "MAX": partial(_Extremum, -1),
        "SAMPLE": _Sample,
        "GROUP_CONCAT": partial(_GroupConcat, separator, meter),
    }
    if name not in functions:
        raise ValueError(f"set function {name!r} is unknown: use one of {', '.join(functions)}")
    make = functions[name]
    if distinct and name not in ("MIN", "MAX", "SAMPLE"):  # for which repetition changes nothing
        made = make
        make = lambda: _Distinct(made())  # noqa: E731 - as the others are
    # these three keep numbers only
    if meter is not None and (distinct or name not in ("COUNT", "SUM", "AVG")):
        return lambda: _Metered(make(), meter)
    return make


@lru_cache(maxsize=4096)
def integer(count: int) -> Node:
    """Return a count as a literal. Many groups have the same few counts, and literals are slow to make."""
    return rdflib.Literal(count)


class _Metered:
    """Counts the values that another accumulator keeps, equal ones too."""

    __slots__ = ("_inner", "_meter", "result")

    def __init__(self, inner: Accumulator, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter
        self.result = inner.result

    def add(self, value: Node | None, weight: int) -> None:
        self._meter.keep(weight, len(value) * weight if isinstance(value, str) else 0)
        self._inner.add(value, weight)

    def containers(self) -> list[Any]:
        return self._inner.containers()


class _Count:
    """COUNT: the number of values that are no errors."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add(self, value: Node | None, weight: int) -> None:
        if value is not None:
            self._count += weight

    def result(self) -> Node | None:
        return integer(self._count)

    def containers(self) -> list[Any]:
        return []


class _Distinct:
    """DISTINCT: passes on the first copy of each term that enters and the last that leaves."""

    __slots__ = ("_counts", "_inner")

    def __init__(self, inner: Accumulator) -> None:
        self._inner = inner
        self._counts: dict[Node | None, int] = {}

    def add(self, value: Node | None, weight: int) -> None:
        before = self._counts.get(value, 0)
        after = before + weight
        if after:
            self._counts[value] = after
        else:
            self._counts.pop(value, None)
        if (before > 0) != (after > 0):
            self._inner.add(value, 1 if after > 0 else -1)

    def result(self) -> Node | None:
        return self._inner.result()

    def containers(self) -> list[Any]:
        return [self._counts, *self._inner.containers()]


class _Numbers:
    """The state of SUM and AVG: the exact sum, and the number of values that are no numbers."""

    __slots__ = ("_errors", "_sum")

    def __init__(self) -> None:
        self._sum = ExactSum()
        self._errors = 0

    def add(self, value: Node | None, weight: int) -> None:
        if isinstance(value, rdflib.Literal):
            found = number(value)
            if found is not None:
                self._sum.add(found, weight)
                return
        self._errors += weight

    def containers(self) -> list[Any]:
        return []

    def _binary(self, share: int = 1) -> Node:
        """Return the sum divided by `share` as a double or float, whichever is the wider type present."""
        return number_literal(self._sum.binary(share))


class _Sum(_Numbers):
    """SUM: exact until one rounding of a float or double result; 0 for no values."""

    __slots__ = ()

    def result(self) -> Node | None:
        total = self._sum
        if self._errors:
            return None
        if total.doubles or total.floats:
            return self._binary()
        if total.decimals:
            return number_literal(total.decimal())
        try:
            return rdflib.Literal(total.integer())
        except ValueError:
            return None  # Python prints no integer of over 4300 digits: an overflow


class _Average(_Numbers):
    """AVG: the exact sum divided by the count with one rounding, to 28 digits for decimals; 0 for no
    values.
    """

    __slots__ = ()

    def result(self) -> Node | None:
        total = self._sum
        if self._errors:
            return None
        if not total.count:
            return rdflib.Literal(0)
        if total.doubles or total.floats:
            return self._binary(total.count)
        return number_literal(DECIMALS.divide(total.decimal(), Decimal(total.count)))


class _SortedTerms:
    """A multiset of terms in the order of `term_key`, with the number of errors."""

    __slots__ = ("counts", "errors", "order")

    def __init__(self) -> None:
        self.errors = 0
        self.counts: dict[Node, int] = {}
        self.order: SortedList[tuple[Any, Node]] = SortedList()

    def add(self, value: Node | None, weight: int) -> None:
        if value is None:
            self.errors += weight
            return
        before = self.counts.get(value, 0)
        after = before + weight
        if after:
            # equal terms have one entry, whatever their number
            self.counts[value] = after
            if not before:
                self.order.add((term_key(value), value))
        elif before:
            del self.counts[value]
            self.order.remove((term_key(value), value))


class _Ordered:
    """The state of MIN, MAX, SAMPLE and GROUP_CONCAT: the terms in order."""

    __slots__ = ("_terms",)

    def __init__(self) -> None:
        self._terms = _SortedTerms()

    def containers(self) -> list[Any]:
        return [self._terms.counts, self._terms.order]


class _Extremum(_Ordered):
    """MIN and MAX: the first or last term by `term_key`; an error for no values."""

    __slots__ = ("_place", "add")

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = place
        self.add = self._terms.add

    def result(self) -> Node | None:
        terms = self._terms
        if terms.errors or not terms.order:
            return None
        return terms.order[self._place][1]


class _Sample(_Ordered):
    """SAMPLE: the least term, so that the result is a function of the group."""

    __slots__ = ("add",)

    def __init__(self) -> None:
        super().__init__()
        self.add = self._terms.add

    def result(self) -> Node | None:
        return self._terms.order[0][1] if self._terms.order else None


class _GroupConcat(_Ordered):
    """GROUP_CONCAT: the strings of the terms, in their order; terms without a string are errors."""

    __slots__ = ("_changed", "_joined", "_meter", "_separator")

    def __init__(self, separator: str, meter: Meter | None) -> None:
        super().__init__()
        self._separator = separator
        self._meter = meter
        self._changed = True
        self._joined: Node | None = None

    def add(self, value: Node | None, weight: int) -> None:
        # joined on reading: a commit may add many values to a group
        self._changed = True
        self._terms.add(value, weight)

    def result(self) -> Node | None:
        if self._changed:
            self._changed = False
            self._joined = self._join()
        return self._joined

    def _join(self) -> Node | None:
        terms = self._terms
        # blank nodes are first in the order, triples last
        ends = (terms.order[0][1], terms.order[-1][1]) if terms.order else ()
        if terms.errors or not all(isinstance(end, rdflib.Literal | rdflib.URIRef) for end in ends):
            return None
        counts = terms.counts
        if self._meter is not None:
            # before the string is made, because nothing else bounds its length
            between = len(self._separator)
            self._meter.make(sum((len(str(term)) + between) * count for term, count in counts.items()))
        strings = (str(term) for _, term in terms.order for _ in range(counts[term]))
        return rdflib.Literal(self._separator.join(strings))
