"""Many changes of a commit at once: pattern by pattern, instead of triple by triple.

Deletes are first. Each pattern in turn walks from its deleted triples and then discards them, so earlier
patterns have discarded theirs already and later ones have not. Then each pattern in turn stores its inserted
triples and walks from them. So each solution is found once, whatever triples of it change. Example: one
commit inserts `:ann :knows :bob` and `:bob :likes :tea`, for `?a :knows ?b . ?b :likes ?c`. The walk from the
first triple finds none in the second pattern yet. The walk from the second triple finds the first.

A pattern that occurs at several places of a query stores its triples for all of them. There the walk from a
later place skips solutions that have one of these triples at an earlier place, because the walk from that
place finds them.

The loops over triples are written into the generated functions, and ids are looked up, counted and delivered
column by column. The look-ups of joins are in dictionaries, which change with each commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import Kernel
from rdflive.engine.pattern import PatternState

__all__ = ["MANY", "count", "route", "take"]

Row: TypeAlias = tuple[int, ...]
Routed: TypeAlias = dict[PatternState, list[Row]]

MANY: Final = 16
"""Least number of changes that are applied together; with fewer, the preparation costs more than it saves."""


def route(kernel: Kernel, triples: Iterable[Row]) -> Routed:
    """List the triples that each pattern matches."""
    router = kernel.router
    found: Routed = defaultdict(list)
    if not router.is_plain:
        for ids in triples:
            for pattern in router.route(*ids):
                found[pattern].append(ids)
        return found
    groups: dict[int, list[Row]] = defaultdict(list)
    for ids in triples:
        groups[ids[1]].append(ids)
    for p, group in groups.items():
        for pattern, matched in router.of_predicate(p, group):
            found[pattern] += matched
    return found


def take(kernel: Kernel, dictionary: Dictionary, gone: Routed, came: Routed) -> None:
    """Apply deletes and inserts. No pattern with an inserted triple may feed another.

    If a filter raises, each pattern has stored all of its triples or none of them.
    """
    for pattern, triples in gone.items():
        kernel.walk_all(pattern, triples, -1)
        if pattern.keeps:
            pattern.delete_all(triples)
            count(pattern, triples, dictionary.drop)
        pattern.hits += len(triples)
    for pattern, triples in came.items():
        if pattern.keeps:
            pattern.insert_all(triples)
            count(pattern, triples, dictionary.hold)
        pattern.hits += len(triples)
        kernel.walk_all(pattern, triples, 1)


def count(pattern: PatternState, triples: Sequence[Row], take: Callable[[Iterable[int]], None]) -> None:
    """Hold or drop, by `take`, the ids that a pattern keeps of some triples."""
    for place in pattern.places:
        take(map(itemgetter(place), triples))
