"""Many changes of a commit at once: pattern by pattern, instead of triple by triple.

First go the deletes. Each pattern in turn walks from its triples that go, and then lets go of them; so those
before it have let go of theirs already, and those behind it not yet. Then come the inserts: each pattern in
turn takes its triples, and walks from them. So a solution is found once, whatever triples of it change. Say
one commit inserts `:ann :knows :bob` and `:bob :likes :tea`, for `?a :knows ?b . ?b :likes ?c`. The walk from
the first finds no triple in the second pattern yet, and the walk from the second finds the first triple.

A pattern that stands at several places of a query has taken its triples for all of them. There the walk from
a later place leaves out what has one of these triples at an earlier place, whose walk gives it.

The loops over triples are written into the generated functions, and ids are looked up, counted and told
column by column. What is joined with is in dictionaries, which change with each commit.
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
"""So many changes are taken together; to prepare for fewer takes longer than to take one after the other."""


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
    """Take what went and what came; no pattern that a triple came to may feed another.

    Where a filter raises, each pattern has taken all of its triples or none of them.
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
    """Have a dictionary hold or drop the terms that a pattern keeps of some triples."""
    for place in pattern.places:
        take(map(itemgetter(place), triples))
