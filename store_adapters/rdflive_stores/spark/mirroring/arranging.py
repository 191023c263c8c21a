"""The events of a micro-batch in an order in which they can be applied.

Events of one stream follow each other by position. If a row has events of several streams, or of none, each
event must have its place in the database's log. A TRUNCATE concerns all rows of its table. An event that
moves values from one key to another concerns both rows.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from rdflive.feeds.tables.event_order import EventOrder, compare
from rdflive.feeds.tables.row_events import RowEvent
from rdflive_stores.spark.mirroring.decoding import POSITION
from rdflive_stores.spark.mirroring.row_orders import AMBIGUOUS

__all__ = ["Arranged", "Placed", "arrange"]

Placed: TypeAlias = tuple[Mapping[str, Any], RowEvent]
"""A decoded row (`table_events.EVENTS`), and its event."""

_STREAMS: Final = (
    "events of one row came by several streams in one micro-batch, in unknown order; give the events their "
    "'source' as Debezium's connectors write it, or write all events of a row, and those of a table that is "
    "truncated, to one partition"
)
_INCOMPARABLE: Final = (
    "the order of this event and another one of its row is unknown: their places are in different logs, "
    "and their times are missing or equal, or those of a snapshot"
)


class Arranged(NamedTuple):
    """Events in order, and events without a place in it."""

    events: list[Placed]
    faults: list[tuple[Placed, str]]
    """Each with the reason."""

    @property
    def lacks_orders(self) -> bool:
        """True if rows have events of several streams without an order of their own."""
        return any(reason == _STREAMS for _, reason in self.faults)


class _NoOrderError(Exception):
    """Two events of a unit cannot be compared."""


def arrange(events: Iterable[Placed], *, is_net: bool, is_one: bool) -> Arranged:
    """Arrange events that are sorted by position; leave out repetitions of one place.

    With `is_net`, also leave out events that a later complete event of their row replaces: incomplete ones
    among them may need a value that netting has dropped. With `is_one` all streams are one.
    """
    arranged = Arranged([], [])
    tables: defaultdict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for placed in events:
        tables[placed[1].table].append(placed)
    for table in tables.values():
        for unit in [table] if is_one or _is_one_stream(table) else _units(table):
            try:
                runs = [[each] for each in unit] if is_one or _is_one_stream(unit) else _runs(unit)
            except _NoOrderError as error:
                arranged.faults.extend((each, str(error)) for each in unit)
            else:
                _settle(runs, arranged, is_net=is_net)
    return arranged


def _is_one_stream(events: Sequence[Placed]) -> bool:
    first = events[0][0]["stream"]
    return bool(first) and all(row["stream"] == first for row, _ in events)


def _units(table: Sequence[Placed]) -> Iterable[list[Placed]]:
    """Split the events of a table into groups that concern different rows."""
    if any(event.key is None for _, event in table):
        return [list(table)]
    group: dict[str | None, str | None] = {}

    def find(key: str | None) -> str | None:
        while (above := group.get(key, key)) != key:
            key = above
        return key

    for _, event in table:
        if event.old is not None:
            group[find(event.old)] = find(event.key)
    units: defaultdict[str | None, list[Placed]] = defaultdict(list)
    for placed in table:
        units[find(placed[1].key)].append(placed)
    return units.values()


def _runs(unit: Sequence[Placed]) -> list[list[Placed]]:
    """Sort events by their own order, then those of one stream by position; group the events of one place.

    Raises `_NoOrderError`.
    """
    if len(unit) == 1:
        return [list(unit)]
    ordered = []
    for placed in unit:
        text = placed[0]["order"]
        if text is None:
            raise _NoOrderError(_STREAMS)
        ordered.append((EventOrder.from_json(json.loads(text)), placed))
    by_place = cmp_to_key(_compare)
    ordered.sort(key=by_place)
    return [[placed for _, placed in run] for _, run in groupby(ordered, key=by_place)]


def _compare(one: tuple[EventOrder, Placed], other: tuple[EventOrder, Placed]) -> int:
    (order, (row, _)), (others, (theirs, _)) = one, other
    sign = compare(order, others)
    if not sign and row["stream"] and row["stream"] == theirs["stream"]:
        mine, its = ([each[name] for name in POSITION] for each in (row, theirs))
        return (mine > its) - (mine < its)
    if sign is None:
        raise _NoOrderError(_INCOMPARABLE)
    return sign


def _settle(runs: list[list[Placed]], arranged: Arranged, *, is_net: bool) -> None:
    """Add runs to `arranged`, without repetitions; different events of one place and row become faults."""
    replaced: set[str | None] = set()
    settled: list[Placed] = []
    for run in reversed(runs):
        left = [placed for placed in run if not is_net or placed[1].key not in replaced]
        if len(left) > 1:
            left = list({row["event"]: (row, event) for row, event in left}.values())
            clashing = _clashing(map(itemgetter(1), left))
            arranged.faults.extend((each, AMBIGUOUS) for each in left if _concerns(each[1]) & clashing)
            left = [each for each in left if not _concerns(each[1]) & clashing]
        settled += reversed(left)
        replaced.update(event.key for _, event in left if not event.is_partial)
    arranged.events.extend(reversed(settled))


def _clashing(events: Iterable[RowEvent]) -> set[str | None]:
    """Return the rows that several events concern."""
    counts = Counter(key for event in events for key in _concerns(event))
    # a TRUNCATE concerns all the others
    return set(counts) if None in counts and len(counts) > 1 else {k for k, n in counts.items() if n > 1}


def _concerns(event: RowEvent) -> set[str | None]:
    return {event.key} if event.old is None else {event.key, event.old}
