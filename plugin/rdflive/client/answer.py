"""The answer of a query as a client knows it, brought up to date message by message."""

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
    """Keeps an answer, and makes of each message the delta that it comes to.

    A whole answer that comes again is compared with the one that is kept, so nobody is told a solution
    twice. `sequence` is the server's number of the commit; after a restart of the server, which may count
    from the beginning, numbers go on from where they were. Methods raise `MalformedEvent` and have then
    changed nothing.

    >>> answer = Answer({"sequence": 3, "form": "ASK", "head": {"vars": []}, "boolean": True})
    >>> answer.update({"sequence": 5, "first_sequence": 4, "boolean": False}).answer
    False
    """

    def __init__(self, members: Mapping[str, Any], prefixes: Callable[[], Mapping[str, str]] = dict) -> None:
        """Begin with an initial message; `prefixes` are those to show terms with."""
        self.header = replace(_header(members), prefixes=prefixes)
        self._weights: dict[Terms, int] = {}
        self._served = _member(members, "sequence", int)
        # what is added to the server's numbers since it began to count anew, so that ours never fall
        self._ahead = 0
        self.sequence = self._served
        self._weights = self._read_whole(members)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query; else none."""
        return self.header.variables

    def whole(self) -> Delta:
        """Give all of it, as an initial delta."""
        return Delta(self.header, dict(self._weights), sequence=self.sequence, initial=True)

    def listed(self) -> list[tuple[Terms, int]]:
        """List its solutions with their weights."""
        return list(self._weights.items())

    def shown(self, listed: Iterable[tuple[Terms, int]]) -> Answers[Solution]:
        """Show solutions, each as often as its weight says."""
        return Answers(self.header, chain.from_iterable(repeat(terms, n) for terms, n in listed))

    def glimpse(self) -> Glimpse:
        """Take its first solutions."""
        return Glimpse(self.header, list(islice(self._weights.items(), Glimpse.most)))

    def replace(self, members: Mapping[str, Any]) -> Delta | None:
        """Take an initial message; give what is different, None for nothing."""
        if _header(members) != self.header:
            raise MalformedEvent("the answer has other variables than before")
        served, weights = _member(members, "sequence", int), self._read_whole(members)
        net = {terms: n for terms, n in weights.items() if terms not in self._weights}
        for terms, before in self._weights.items():
            if change := weights.get(terms, 0) - before:
                net[terms] = change
        self._weights, self._served = weights, served
        # which of the commits since the last delta changed it the server does not say: it may be any
        return self._delta(net, served, self.sequence + 1)

    def update(self, members: Mapping[str, Any]) -> Delta | None:
        """Take an update; give what it comes to, None for nothing and for what was taken before."""
        served = _member(members, "sequence", int)
        if served <= self._served:
            return None
        first = _member(members, "first_sequence", int) if "first_sequence" in members else served
        net = self._read_change(members)
        # checked as a whole before anything is changed, so that a bad message is not half taken
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
        # a server that was started anew: known up to 12 here, it sends 3, which is 13 from now on
        if served + self._ahead <= before:
            self._ahead = before + 1 - served
        self.sequence = served + self._ahead
        # the number of another server could lie before the last delta, or behind this one
        first = min(max(first + self._ahead, before + 1), self.sequence)
        return Delta(self.header, net, sequence=self.sequence, first_sequence=first)

    def _read_whole(self, members: Mapping[str, Any]) -> dict[Terms, int]:
        if self.header.form == "ASK":
            return {(): 1} if _member(members, "boolean", bool) else {}
        return self._read_rows(members, "added")

    def _read_change(self, members: Mapping[str, Any]) -> dict[Terms, int]:
        """Read the net change; terms that are spelt in two ways may still cancel out here."""
        if self.header.form == "ASK":
            # a message of an ASK query has the new truth, not what changed
            change = len(self._read_whole(members)) - len(self._weights)
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
