"""Sort-merge joins for complex filters (SPECTRA, Section 4): rows sorted by a value, found by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from rdflive.query.expressions.errors import no_value
from rdflive.values import UNORDERED, compare, near, order_key

__all__ = ["Entry", "LookUp", "Ranked", "probe", "probe_kept"]

Entry: TypeAlias = tuple[Any, Any]
"""The compared rdflib term, and the values that the join adds to a row."""
LookUp: TypeAlias = Callable[[dict[Any, Any], Any, Any], Iterable[Any]]
"""Returns the added values of the entries under a key that the filter accepts for a term."""

_FEW: Final = 8
"""Up to this number, entries are compared one by one."""
_UNRANKED: Final = (UNORDERED, "term")


class Ranked:
    """Entries sorted by the ranks of their terms, to find the entries on one side of a term.

    >>> from rdflib import Literal
    >>> entries = [(Literal(n), n) for n in (5, 1, 3)]
    >>> list(Ranked(entries).beyond("<", Literal(2)))
    [3, 5]
    """

    __slots__ = ("_spaces", "_unranked")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._spaces: dict[str, tuple[list[Any], list[Entry]]] = {}
        self._unranked: list[Entry] = []
        ranks: dict[str, list[tuple[Any, Entry]]] = {}
        for entry in entries:
            space, key = order_key(entry[0])
            if space in _UNRANKED:
                self._unranked.append(entry)
            else:
                ranks.setdefault(space, []).append((key, entry))
        for space, found in ranks.items():
            found.sort(key=_first)
            self._spaces[space] = [key for key, _ in found], [entry for _, entry in found]

    def beyond(self, operator: str, term: Any) -> Iterable[Any]:
        """List the added values of the entries for which `term operator entry` holds."""
        space, key = order_key(term)
        if space in _UNRANKED:
            return _compared(self._unranked, operator, term)
        found: list[Any] = []
        # "a" < 1 is an error, so terms of other spaces never match
        for other, low, high in near(space, key):
            if other in self._spaces:
                keys, entries = self._spaces[other]
                left, right = bisect_left(keys, low), bisect_right(keys, high)
                # Floats round, so entries with near keys are compared exactly.
                found += _compared(entries[left:right], operator, term)
                sure = entries[right:] if operator[0] == "<" else entries[:left]
                found += (rest for _, rest in sure)
        return found


def probe(operator: str) -> LookUp:
    """Return the look-up of a join: the entries under a key for which `term operator entry` holds.

    A long list of entries is sorted on its first look-up.
    """

    def look_up(index: dict[Any, Any], key: Any, term: Any) -> Iterable[Any]:
        entries = index.get(key, ())
        if type(entries) is list:
            if len(entries) <= _FEW:
                return _compared(entries, operator, term)
            entries = index[key] = Ranked(entries)
        return entries.beyond(operator, term) if entries else ()

    return look_up


def probe_kept(operator: str, memory: dict[Any, tuple[Entry, Ranked]]) -> LookUp:
    """Return a look-up like `probe`, for lists that grow and shrink at their end.

    The sorted entries are stored with the last entry of their list. As long as the last entry is the same,
    the list is the same.
    """

    def look_up(index: dict[Any, Any], key: Any, term: Any) -> Iterable[Any]:
        entries = index.get(key, ())
        if len(entries) <= _FEW:
            return _compared(entries, operator, term)
        # equal lengths are not enough: one row may have been removed and another added
        known = memory.get(key)
        if known is None or known[0] is not entries[-1]:
            known = memory[key] = entries[-1], Ranked(entries)
        return known[1].beyond(operator, term)

    return look_up


def _compared(entries: Sequence[Entry], operator: str, term: Any) -> list[Any]:
    return [rest for other, rest in entries if _holds(operator, term, other)]


def _holds(operator: str, one: Any, other: Any) -> bool:
    try:
        return compare(operator, one, other) is True
    except Exception as error:  # noqa: BLE001 - an expression with an error does not match
        return no_value(error, otherwise=False)


def _first(pair: tuple[Any, Entry]) -> Any:
    return pair[0]
