"""Terms to small integers and back; a term lives exactly as long as something cached refers to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeAlias

from rdflive.query.budget import Meter

__all__ = ["UNBOUND", "Dictionary"]

Id: TypeAlias = int

UNBOUND: Final = 0
"""The id that stands for no term; its entry is None, and references to it cost nothing."""

_FOR_GOOD: Final = 1 << 40


class Dictionary:
    """A reference-counted two-way map between terms and ids (>= 1, reused after release).

    `intern` gives an id without a reference, good until the next `sweep`; `hold` and `drop` count.

    >>> terms = Dictionary()
    >>> terms.hold([terms.intern("a")]); terms.intern("b"); terms.sweep(); len(terms)
    2
    1
    """

    __slots__ = ("_free", "_loose", "_references", "ids", "meter", "terms")

    def __init__(self) -> None:
        self.ids: dict[Hashable, Id] = {}
        self.terms: list[Hashable] = [None]
        self._references: list[int] = [1]
        self._free: list[Id] = []
        self._loose: list[Id] = []
        self.meter: Meter | None = None
        """Counts what those cost who keep rows of these ids; None where nobody does."""

    def __len__(self) -> int:
        return len(self.ids)

    def intern(self, term: Hashable) -> Id:
        """Give the id of a term, new or known."""
        known = self.ids.get(term)
        if known is not None:
            return known
        if self._free:
            new = self._free.pop()
            self.terms[new] = term
        else:
            new = len(self.terms)
            self._references.append(0)  # one too many, behind the last, where this is interrupted
            self.terms.append(term)
        self.ids[term] = new
        self._loose.append(new)
        return new

    def hold(self, ids: Iterable[Id]) -> None:
        """Add one reference to each id."""
        references = self._references
        for i in ids:
            references[i] += 1

    def drop(self, ids: Iterable[Id]) -> None:
        """Take one reference from each id."""
        references = self._references
        for i in ids:
            references[i] -= 1
            if not references[i]:
                self._loose.append(i)

    def keep_all(self) -> None:
        """Keep the terms that are there for good: after an interruption their counts may be wrong."""
        self._references += [0] * (len(self.terms) - len(self._references))
        for i in range(len(self._references)):
            self._references[i] += _FOR_GOOD

    def sweep(self) -> None:
        """Release what has no reference; until then the terms of a delete can still be read."""
        for i in self._loose:
            term = self.terms[i]
            if not self._references[i] and self.ids.get(term) == i:
                del self.ids[term]
                self.terms[i] = None
                self._free.append(i)
        self._loose.clear()

    def metered(self, meter: Meter) -> Dictionary:
        """Give the same dictionary for the use of one subscription, whose rows are counted."""
        return _Metered(self, meter)


class _Metered(Dictionary):
    """Counts every row that is held. It has the lists of the dictionary that it stands for."""

    __slots__ = ()
    meter: Meter

    def __init__(self, shared: Dictionary, meter: Meter) -> None:
        for name in Dictionary.__slots__:
            setattr(self, name, getattr(shared, name))
        self.meter = meter

    def hold(self, ids: Iterable[Id]) -> None:
        """Add one reference to each id of a row."""
        super().hold(ids)
        self.meter.keep(1)

    def drop(self, ids: Iterable[Id]) -> None:
        """Take one reference from each id of a row."""
        super().drop(ids)
        self.meter.keep(-1)
