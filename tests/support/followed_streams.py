"""Subscriptions to windows whose deltas are kept, added up, and told as texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdflib.term import Node

from support.streams import Answer

__all__ = ["Followed", "Shown", "row"]


@dataclass(frozen=True)
class Shown:
    """A delta as it was told."""

    time: Any
    net: Answer
    expired: Answer
    initial: bool
    ends: dict[frozenset[tuple[str, str]], Any]


class Followed:
    """A subscription whose deltas are kept and added up."""

    def __init__(self, subscribe: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self.deltas: list[Shown] = []
        self.weights: Answer = Counter()
        self.subscription = subscribe(*arguments, self._take, on_error=_fail, **options)

    def _take(self, delta: Any) -> None:
        net: Answer = Counter()
        for solution, weight in delta.weights().items():
            net[row(solution)] += weight
        expired, retracted = Counter(map(row, delta.expired)), Counter(map(row, delta.retracted))
        assert expired + retracted == Counter(map(row, delta.removed))
        ends = {row(solution): solution.expires for solution in (*delta.added, *delta.expired)}
        self.deltas.append(Shown(delta.time, net, expired, delta.initial, ends))
        self.weights.update(net)
        self.weights = Counter({found: n for found, n in self.weights.items() if n})

    def taken(self) -> list[Shown]:
        """Give what came since the last call."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        deltas, self.deltas = self.deltas, []
        return deltas

    def answers(self) -> Answer:
        """Give the answers that the subscription tells."""
        return Counter(map(row, self.subscription.answers()))


def row(solution: Any) -> frozenset[tuple[str, str]]:
    """Give a solution with its terms as texts, whatever their library."""
    return frozenset((name, _text(term)) for name, term in solution.asdict().items())


def _text(term: Any) -> str:
    return str(term) if isinstance(term, Node) else str(term.value)


def _fail(subscription: Any, error: Exception) -> None:
    raise error
