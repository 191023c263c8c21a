"""Notifications about the answer of a query, as other engines and `rdflive watch` send them.

`sepa`: notifications of the SPARQL Event Processing Architecture,
http://vaimee.org/TR/sparql11-subscribe.html .
`sparql-incremental`: the lines that `rdflive watch --to ndjson` writes, `{"sequence": 7, "initial": false,
"added": [binding, …], "removed": [binding, …]}`, with bindings as in SPARQL results. The engine of that name
(Incremunica) defines no text format; it yields flagged bindings within a program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from rdflive.errors import FeedError, ResyncNeeded
from rdflive.feeds.formats import meaningful
from rdflive.feeds.json_lines import member, optional, read_object, read_solution
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RdflibTerm, RowError
from rdflive.model import Delta, Header

__all__ = ["read_bindings"]

_ACKNOWLEDGED: Final = frozenset({"subscribed", "unsubscribed"})


class _Notification(NamedTuple):
    sequence: int
    is_initial: bool
    names: tuple[str, ...]
    added: list[dict[str, RdflibTerm]]
    removed: list[dict[str, RdflibTerm]]
    subscription: str = ""


def read_bindings(
    lines: Iterable[Line],
    source: str,
    *,
    format: Literal["sepa", "sparql-incremental"],  # noqa: A002 - as in `mirror`
) -> Iterator[Delta]:
    """Decode notifications of one subscription to a SELECT query, each when its line arrives.

    The columns of a delta are all names seen so far, in order of arrival; compare rows of different deltas
    by `row.asdict()`. A notification whose sequence is not above the last one's is skipped, unless it is
    initial. `sepa` counts one by one, so a gap raises `ResyncNeeded`. `sparql-incremental` numbers commits;
    commits without a change leave gaps. Malformed lines raise `FeedError`.

    >>> text = '{"sequence": 7, "initial": true, "added": [{"x": {"type": "uri", "value": "urn:a"}}]}'
    >>> print(*read_bindings([Line(text, 1)], "feed", format="sparql-incremental"))
    #7  + <urn:a>
    """
    if format not in _READERS:
        raise ValueError(f"unknown format of bindings {format!r}; known: {', '.join(_READERS)}")
    reader = _BindingsReader(source, format)
    for line in meaningful(lines):
        try:
            if line.fault:
                raise RowError(line.fault)
            delta = reader.read(read_object(line))
        except RowError as error:
            raise FeedError(source, line.number, str(error), offset=line.start) from error
        if delta is not None:
            yield delta


class _BindingsReader:
    """Reads the notifications of one subscription."""

    def __init__(self, source: str, form: str) -> None:
        self._source = source
        self._read = _READERS[form]
        self._counts_by_one = form == "sepa"
        self._last: _Notification | None = None
        self._names: dict[str, None] = {}

    def read(self, record: Mapping[str, Any]) -> Delta | None:
        found = self._read(record)
        if found is None or not self._is_next(found):
            return None
        self._last = found
        rows = (*found.added, *found.removed)
        self._names |= dict.fromkeys((*found.names, *(name for row in rows for name in row)))
        names = tuple(self._names)
        weights = Counter(tuple(map(row.get, names)) for row in found.added)
        # None stands for an unbound variable
        weights.subtract(tuple(map(row.get, names)) for row in found.removed)
        net = {terms: weight for terms, weight in weights.items() if weight}
        return Delta(Header("SELECT", names), net, sequence=found.sequence, initial=found.is_initial)

    def _is_next(self, found: _Notification) -> bool:
        last = self._last
        # an equal notification is a repetition, even an initial one
        if last is None or found == last:
            return last is None
        is_same = found.subscription == last.subscription
        # in SEPA, number 0 of the same subscription is old; otherwise an initial line may come at any time
        if found.is_initial and not (self._counts_by_one and is_same):
            return True
        if not is_same:
            raise RowError(
                f"the notification belongs to subscription {found.subscription!r}, earlier ones to "
                f"{last.subscription!r}; write each subscription to its own feed"
            )
        if self._counts_by_one and found.sequence > last.sequence + 1:
            raise ResyncNeeded(
                self._source,
                f"notification {found.sequence} follows {last.sequence}; the ones between are lost",
            )
        return found.sequence > last.sequence


def _read_sepa(record: Mapping[str, Any]) -> _Notification | None:
    if not _ACKNOWLEDGED.isdisjoint(record):
        return None
    if "error" in record:
        raise RowError(f"the broker reports an error: {str(record['error'])[:200]}")
    notification = member(record, "notification", dict)
    sequence = member(notification, "sequence", int, "the notification")
    names, added = _read_results(notification, "addedResults")
    more_names, removed = _read_results(notification, "removedResults")
    subscription = optional(notification, "spuid", str, "the notification") or ""
    return _Notification(sequence, sequence == 0, names + more_names, added, removed, subscription)


def _read_incremental(record: Mapping[str, Any]) -> _Notification:
    if "boolean" in record:
        raise RowError("the line belongs to an ASK query; only SELECT queries have bindings")
    added, removed = ([*(optional(record, name, list) or [])] for name in ("added", "removed"))
    for pair in optional(record, "changed", list) or []:  # written for subscriptions with a key
        if not isinstance(pair, dict):
            raise RowError(f"an entry of 'changed' must be an object with 'old' and 'new', got {pair!r}")
        removed.append(member(pair, "old", dict))
        added.append(member(pair, "new", dict))
    return _Notification(
        member(record, "sequence", int),
        bool(optional(record, "initial", bool)),
        (),
        [read_solution(binding) for binding in added],
        [read_solution(binding) for binding in removed],
    )


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], _Notification | None]]] = {
    "sepa": _read_sepa,
    "sparql-incremental": _read_incremental,
}


def _read_results(
    notification: Mapping[str, Any], name: str
) -> tuple[tuple[str, ...], list[dict[str, RdflibTerm]]]:
    results = optional(notification, name, dict, "the notification")
    if not results:  # SEPA's first notification has an empty object for the removed results
        return (), []
    head = optional(results, "head", dict, repr(name)) or {}
    names = optional(head, "vars", list, "'head'") or []
    if not all(isinstance(found, str) for found in names):
        raise RowError("'vars' of 'head' must hold strings only")
    bindings = member(member(results, "results", dict, repr(name)), "bindings", list, "'results'")
    return tuple(names), [read_solution(binding) for binding in bindings]
