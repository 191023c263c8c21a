"""Terms as small integers, and back; a term is kept as long as some state refers to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from rdflive.model import Term
from rdflive.query.budget import Meter

__all__ = ["UNBOUND", "Dictionary"]

Id: TypeAlias = int

UNBOUND: Final = 0
"""The id that stands for no term; its entry is None, and references to it cost nothing."""

# more references than `drop` can ever remove, see `keep_all`
_FOR_GOOD: Final = 1 << 40


class Dictionary:
    """A reference-counted two-way map between terms and ids (>= 1; released ids are used again).

    `intern` returns an id without a reference. The id stays valid until the next `sweep`, which releases
    every term without references. `hold` and `drop` add and remove references.

    >>> terms = Dictionary()
    >>> terms.hold([terms.intern("a")]); terms.intern("b"); terms.sweep(); len(terms)
    2
    1
    """

    __slots__ = ("_free", "_loose", "_references", "ids", "meter", "terms")

    def __init__(self) -> None:
        self.ids: dict[Term, Id] = {}
        self.terms: list[Term] = [None]
        # UNBOUND is held and dropped with its rows, and this one reference is never dropped
        self._references: list[int] = [1]
        self._free: list[Id] = []
        self._loose: list[Id] = []
        self.meter: Meter | None = None
        """Counts the rows that a plan with a budget keeps; None on the shared dictionary."""

    def __len__(self) -> int:
        return len(self.ids)

    def intern(self, term: Term) -> Id:
        """Return the id of a term; assign one if the term is new."""
        known = self.ids.get(term)
        if known is not None:
            return known
        if self._free:
            new = self._free.pop()
            self.terms[new] = term
        else:
            new = len(self.terms)
            self._references.append(
                0
            )  # before `terms`: an interruption between may leave one count too many, never one too few
            self.terms.append(term)
        self.ids[term] = new
        self._loose.append(new)
        return new

    def intern_all(self, terms: Sequence[Term]) -> list[Id]:
        """Return the ids of many terms, as `intern` does for one."""
        ids, held, references, loose = self.ids, self.terms, self._references, self._loose
        found: list[Any] = list(map(ids.get, terms))
        for at in [at for at, known in enumerate(found) if known is None]:
            term = terms[at]
            # a term may occur several times
            new = ids.get(term)
            if new is None and self._free:
                new = self.intern(term)
            elif new is None:  # `intern` inlined
                new = len(held)
                references.append(0)
                held.append(term)
                ids[term] = new
                loose.append(new)
            found[at] = new
        return found

    def hold(self, ids: Iterable[Id]) -> None:
        """Add one reference to each id."""
        references = self._references
        for i in ids:
            references[i] += 1

    def drop(self, ids: Iterable[Id]) -> None:
        """Remove one reference from each id."""
        references = self._references
        for i in ids:
            references[i] -= 1
            # not released at once: deleted solutions are still to be read
            if not references[i]:
                self._loose.append(i)

    def keep_all(self) -> None:
        """Never release the terms that are present now.

        An interruption may have come between a change and its `hold`, so the counts are unreliable. A term
        that stays too long costs memory; one that is released too early makes ids stand for other terms.
        """
        self._references += [0] * (len(self.terms) - len(self._references))
        for i in range(len(self._references)):
            self._references[i] += _FOR_GOOD

    def sweep(self) -> None:
        """Release the terms without references.

        It runs after deltas are delivered, because deleted solutions are read from the dictionary after their
        last reference is dropped.
        """
        loose = self._loose
        if not loose:
            return
        ids, terms, references = self.ids, self.terms, self._references
        for i in loose:
            # an id may be in the list twice, or held again since
            if not references[i] and ids.get(term := terms[i]) == i:
                del ids[term]
                terms[i] = None
                self._free.append(i)
        loose.clear()

    def metered(self, meter: Meter) -> Dictionary:
        """Return the same dictionary for the use of one plan, whose rows are counted."""
        return _MeteredTerms(self, meter)


class _MeteredTerms(Dictionary):
    """The dictionary of one plan with a budget: it shares every list with the original and counts each row
    that is held.
    """

    __slots__ = ()
    meter: Meter

    def __init__(self, shared: Dictionary, meter: Meter) -> None:
        for name in Dictionary.__slots__:
            setattr(self, name, getattr(shared, name))
        self.meter = meter

    def hold(self, ids: Iterable[Id]) -> None:
        """Add one reference to each id of a row."""
        references, meter = self._references, self.meter
        for i in ids:
            references[i] += 1
        # `keep(1)` inlined: every row that an operator keeps passes here
        meter.kept_rows += 1
        if meter.kept_rows > meter.most_rows:
            meter.keep(0)

    def drop(self, ids: Iterable[Id]) -> None:
        """Remove one reference from each id of a row."""
        super().drop(ids)
        self.meter.kept_rows -= 1
