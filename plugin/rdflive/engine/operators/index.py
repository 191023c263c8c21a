"""An index of one side of a join by its values of the variables shared with the other side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import key_at, mask_at
from rdflive.query.budget import Meter

__all__ = ["Entries", "Index", "Probe"]

Entries: TypeAlias = Collection[tuple[Row, int]]
"""Rows with their weights, as a sized collection."""

Probe: TypeAlias = Callable[[Row], Sequence[Entries]]
"""Finds the rows that fit a row of the other side, each once, as a sequence of pieces."""


class RowsByKey:
    """Rows by a key.

    A single row under a key is kept without a dictionary, because joins along functional properties have no
    others.
    """

    __slots__ = ("_key", "buckets")

    def __init__(self, key: Callable[[Row], Any]) -> None:
        self._key = key
        self.buckets: dict[Any, tuple[tuple[Row, int]] | Weights] = {}

    def update(self, row: Row, change: int) -> int:
        """Change the weight of a row and return the new one."""
        key = self._key(row)
        bucket = self.buckets.get(key)
        if bucket is None:
            self.buckets[key] = ((row, change),)
            return change
        if isinstance(bucket, dict):
            return self._update_many(key, bucket, row, change)
        ((lone, weight),) = bucket
        if lone != row:
            self.buckets[key] = {lone: weight, row: change}
            return change
        weight += change
        if weight:
            self.buckets[key] = ((lone, weight),)
        else:
            del self.buckets[key]
        return weight

    def _update_many(self, key: Any, bucket: Weights, row: Row, change: int) -> int:
        weight = bucket.get(row, 0) + change
        if weight:
            bucket[row] = weight
        else:
            del bucket[row]
            if len(bucket) == 1:
                self.buckets[key] = (next(iter(bucket.items())),)
        return weight

    def find(self, key: Any) -> Sequence[Entries]:
        """Return the rows under a key as no piece or one."""
        bucket = self.buckets.get(key)
        if bucket is None:
            return ()
        return (bucket.items(),) if isinstance(bucket, dict) else (bucket,)

    def __iter__(self) -> Iterator[tuple[Row, int]]:
        for bucket in self.buckets.values():
            yield from bucket.items() if isinstance(bucket, dict) else bucket

    def containers(self) -> list[Any]:
        """List the containers of the state."""
        return [self.buckets, *(bucket for bucket in self.buckets.values() if isinstance(bucket, dict))]


class Index:
    """Rows indexed for a join: `keys` must be equal, `maybe` columns only if both rows bind them.

    SPARQL's compatible solutions may leave a shared variable unbound, as after OPTIONAL, and such a row fits
    any value. Rows are therefore grouped by the mask of their bound `maybe` columns. A probe visits each
    group once, in a table keyed by the columns that both the probing row and the group bind; such a table is
    made on first use. So a probe costs one look-up per mask that occurs, and O(1) per row found.

    Example: `maybe` = (?m). The rows (T101, 4) and (T102, unbound) are in the groups 1 and 0. A probe by ?m =
    4 looks up the key (4) in group 1 and the key () in group 0, and finds both.

    Each distinct row holds its ids in the dictionary.
    """

    __slots__ = ("_dictionary", "_keys", "_mask", "_maybe", "_parts", "_plain")

    def __init__(self, dictionary: Dictionary, keys: Sequence[int], maybe: Sequence[int] = ()) -> None:
        self._dictionary = dictionary
        self._keys = tuple(keys)
        self._maybe = tuple(maybe)
        self._mask = mask_at(maybe)
        self._plain = None if maybe else RowsByKey(key_at(keys))
        self._parts: dict[int, dict[int, RowsByKey]] = {}
        """Mask of a group → mask that is compared → table. The table at the group's own mask always
        exists.
        """

    def update(self, row: Row, change: int) -> int:
        """Change the weight of a row and return the new one."""
        weight = self._plain.update(row, change) if self._plain else self._update_part(row, change)
        # the row is new
        if weight == change:
            self._dictionary.hold(row)
        elif not weight:
            self._dictionary.drop(row)
        return weight

    def _update_part(self, row: Row, change: int) -> int:
        mask = self._mask(row)
        tables = self._parts.get(mask)
        if tables is None:
            tables = self._parts[mask] = {mask: RowsByKey(self._key(self._keys, self._maybe, mask))}
        weight = 0
        for table in tables.values():
            weight = table.update(row, change)
        # a probe visits each group, so empty ones must go
        if not tables[mask].buckets:
            del self._parts[mask]
        return weight

    def prober(self, keys: Sequence[int], maybe: Sequence[int] = (), *, overlapping: bool = False) -> Probe:
        """Make the function that finds the rows that fit a row of the other side.

        `keys` and `maybe` are the positions of the same columns in the probing row. With `overlapping` a row
        fits only if some `maybe` column is bound on both sides, as MINUS requires.
        """
        probe = self._prober(keys, maybe, overlapping)
        return probe if self._dictionary.meter is None else _metered(probe, self._dictionary.meter)

    def _prober(self, keys: Sequence[int], maybe: Sequence[int], overlapping: bool) -> Probe:
        if not self._plain:
            return self._part_prober(tuple(keys), tuple(maybe), overlapping)
        # without `maybe` columns none can be bound on both sides
        if overlapping:
            return _none
        find, key = self._plain.find, key_at(keys)
        return lambda row: find(key(row))

    def _part_prober(self, keys: tuple[int, ...], maybe: tuple[int, ...], overlapping: bool) -> Probe:
        masked = mask_at(maybe)
        key_of: dict[int, Callable[[Row], Any]] = {}

        def probe(row: Row) -> Sequence[Entries]:
            bound = masked(row)
            found: list[Entries] = []
            for mask, tables in self._parts.items():
                overlap = mask & bound
                if overlapping and not overlap:
                    continue
                if overlap not in key_of:
                    key_of[overlap] = self._key(keys, maybe, overlap)
                table = tables.get(overlap) or self._table(mask, overlap)
                found.extend(table.find(key_of[overlap](row)))
            return found

        return probe

    def _table(self, mask: int, overlap: int) -> RowsByKey:
        """Make the table of a group for probes that bind only some of its columns."""
        tables = self._parts[mask]
        table = RowsByKey(self._key(self._keys, self._maybe, overlap))
        for row, weight in tables[mask]:
            table.update(row, weight)
        tables[overlap] = table
        return table

    @staticmethod
    def _key(keys: tuple[int, ...], maybe: tuple[int, ...], mask: int) -> Callable[[Row], Any]:
        return key_at([*keys, *(place for i, place in enumerate(maybe) if mask >> i & 1)])

    def clear(self) -> None:
        """Discard every row."""
        for table in self._own_tables():
            for row, _ in table:
                self._dictionary.drop(row)
            table.buckets.clear()  # `prober` bound this table, so it is emptied and not replaced
        self._parts.clear()

    def containers(self) -> list[Any]:
        """List the containers of the state."""
        if self._plain:
            return self._plain.containers()
        tables = [table for part in self._parts.values() for table in part.values()]
        return [self._parts, *(found for table in tables for found in table.containers())]

    def _own_tables(self) -> list[RowsByKey]:
        return [self._plain] if self._plain else [tables[mask] for mask, tables in self._parts.items()]


def _metered(probe: Probe, meter: Meter) -> Probe:
    """Count the rows that a probe finds before the caller reads them."""

    def metered(row: Row) -> Sequence[Entries]:
        found = probe(row)
        meter.spend(1 + sum(map(len, found)))
        return found

    return metered


def _none(_: Row) -> Sequence[Entries]:
    return ()
