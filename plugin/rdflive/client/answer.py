"""A client's copy of the answer of a query, updated by each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice, repeat
from typing import Any, Final, TypeVar

from rdflive.client.failures import MalformedEvent
from rdflive.feeds.json_lines import member, read_solution
from rdflive.feeds.terms import RowError
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, Terms

__all__ = ["Answer"]

T = TypeVar("T")

_FORMS: Final = frozenset({"SELECT", "ASK", "CONSTRUCT"})


class Answer:
    """Keeps an answer, and turns each message into a delta.

    A later full answer is compared with the kept one, so no solution is reported twice. `sequence` is the
    server's number of the commit. A restarted server may count from 1; numbers here still only grow.
    Methods raise `MalformedEvent` without having changed anything.

    >>> answer = Answer({"sequence": 3, "form": "ASK", "head": {"vars": []}, "boolean": True})
    >>> answer.update({"sequence": 5, "first_sequence": 4, "boolean": False}).answer
    False
    """

    def __init__(self, members: Mapping[str, Any], prefixes: Callable[[], Mapping[str, str]] = dict) -> None:
        """Start from an initial message; `prefixes` shorten the displayed terms."""
        self.header = replace(_header(members), prefixes=prefixes)
        self._weights: dict[Terms, int] = {}
        self._served = _member(members, "sequence", int)
        # added to the numbers of a restarted server, so that ours never fall
        self._ahead = 0
        self.sequence = self._served
        self._weights = self._read_full(members)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query; empty for other forms."""
        return self.header.variables

    def whole(self) -> Delta:
        """Return the full answer as an initial delta."""
        return Delta(self.header, dict(self._weights), sequence=self.sequence, initial=True)

    def listed(self) -> list[tuple[Terms, int]]:
        """Return the solutions with their weights."""
        return list(self._weights.items())

    def shown(self, listed: Iterable[tuple[Terms, int]]) -> Answers[Solution]:
        """Return solutions as `Answers`, each repeated by its weight."""
        return Answers(self.header, chain.from_iterable(repeat(terms, n) for terms, n in listed))

    def glimpse(self) -> Glimpse:
        """Return the first solutions."""
        return Glimpse(self.header, list(islice(self._weights.items(), Glimpse.most)))

    def replace(self, members: Mapping[str, Any]) -> Delta | None:
        """Apply an initial message; return the difference, None without one."""
        if _header(members) != self.header:
            raise MalformedEvent("the answer has other variables than before")
        served, weights = _member(members, "sequence", int), self._read_full(members)
        net = {terms: n for terms, n in weights.items() if terms not in self._weights}
        for terms, before in self._weights.items():
            if change := weights.get(terms, 0) - before:
                net[terms] = change
        self._weights, self._served = weights, served
        # the server does not say which commits since the last delta made the change: it may be any
        return self._delta(net, served, self.sequence + 1)

    def update(self, members: Mapping[str, Any]) -> Delta | None:
        """Apply an update; return its delta, None without changes and for a repeated update."""
        served = _member(members, "sequence", int)
        if served <= self._served:
            return None
        first = _member(members, "first_sequence", int) if "first_sequence" in members else served
        net = self._read_change(members)
        # checked completely before any change, so that a bad message is not applied in part
        after = {terms: self._weights.get(terms, 0) + change for terms, change in net.items()}
        if any(weight < 0 for weight in after.values()):
            raise MalformedEvent("a solution is removed that the answer does not have")
        self._served = served
        for terms, weight in after.items():
            if weight:
                self._weights[terms] = weight
            else:
                del self._weights[terms]
        return self._delta(net, served, first)

    def _delta(self, net: dict[Terms, int], served: int, first: int) -> Delta | None:
        if not net:
            return None
        before = self.sequence
        # a restarted server: after 12 it sends 3, which becomes 13 here
        if served + self._ahead <= before:
            self._ahead = before + 1 - served
        self.sequence = served + self._ahead
        # the first number of a restarted server could lie before the last delta, or after this one
        first = min(max(first + self._ahead, before + 1), self.sequence)
        return Delta(self.header, net, sequence=self.sequence, first_sequence=first)

    def _read_full(self, members: Mapping[str, Any]) -> dict[Terms, int]:
        if self.header.form == "ASK":
            return {(): 1} if _member(members, "boolean", bool) else {}
        return self._read_rows(members, "added")

    def _read_change(self, members: Mapping[str, Any]) -> dict[Terms, int]:
        """Return the net change; terms with two spellings may cancel out here."""
        if self.header.form == "ASK":
            # a message of an ASK query has the new boolean, not the change
            change = len(self._read_full(members)) - len(self._weights)
            return {(): change} if change else {}
        net = self._read_rows(members, "added")
        for terms, count in self._read_rows(members, "removed").items():
            net[terms] = net.get(terms, 0) - count
        return {terms: weight for terms, weight in net.items() if weight}

    def _read_rows(self, members: Mapping[str, Any], name: str) -> dict[Terms, int]:
        names, rows = self.header.names, []
        known = frozenset(names)
        try:
            for binding in member(members, name, list, "the event"):
                solution = read_solution(binding)
                rows.append(tuple(map(solution.get, names)))
                if not solution.keys() <= known:
                    raise RowError(f"a solution binds {', '.join(solution)}; the variables are {names}")
        except RowError as error:
            raise MalformedEvent(str(error)) from error
        return Counter(rows)


def _header(members: Mapping[str, Any]) -> Header:
    form, head = _member(members, "form", str), _member(members, "head", dict)
    names = head.get("vars")
    if form not in _FORMS or not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise MalformedEvent(f"a query of the form {form!r} with the variables {names!r}")
    if form == "CONSTRUCT" and len(names) != 3:
        raise MalformedEvent(f"a triple of {names!r}")
    return Header(form, tuple(names))  # type: ignore[arg-type]  # one of the three


def _member(members: Mapping[str, Any], name: str, kind: type[T]) -> T:
    try:
        return member(members, name, kind, "the event")
    except RowError as error:
        raise MalformedEvent(str(error)) from error
