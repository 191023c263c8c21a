"""Maintains entailed triples under changes of explicit triples, while the schema stays the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rdflive.entail.entailment import Sign
from rdflive.entail.kinds import Kinds, should_count
from rdflive.entail.net import Net
from rdflive.entail.routes import Contribution, Counted
from rdflive.entail.table import EntailedTable, Key
from rdflive.model import Triple

__all__ = ["follow"]


def follow(
    kinds: Kinds, net: Net, changes: Sequence[tuple[Sign, Triple]], *, everything: bool, now: int | None
) -> Sequence[tuple[Sign, Triple]]:
    """Apply net changes of explicit triples; the graph already has them.

    With `everything`, triples of properties that the schema does not name are wanted too. `now` is the time
    to note for kinds that begin to be counted; with None, no reformulated kind may begin to be counted.

    Returns the changes that were not applied: the first explicit triples of idle kinds.
    """
    intern, is_literal, routes, idle = kinds.intern, kinds.is_literal, kinds.routes, kinds.templates.idle
    suspected: dict[EntailedTable, None] = {}
    left: list[tuple[Sign, Triple]] = []
    for sign, (s, p, o) in changes:
        route = kinds.find(p, o) if p in routes else None
        if route is None:
            if idle and kinds.source_of(p, o) in idle:
                left.append((sign, (s, p, o)))
            elif everything and p not in routes:
                net.move_explicit((intern(s), intern(p), intern(o)), sign)
            continue
        # One addition per route; `Routes.forget` adds the sum to its tables.
        route.hits += 1
        subject, value = intern(s), intern(o)
        if is_literal(s):  # not RDF, but rdflib accepts it; such a triple entails only itself
            own = [step for step in route.steps if step[2].own]
            _step(own, sign, subject, value, net, suspected, is_plain=True)
            continue
        if route.subjects:
            _count(route.subjects, subject, sign, net)
        if route.objects and not is_literal(o):
            _count(route.objects, value, sign, net)
        if route.pairs:
            _count(route.pairs, (subject, value), sign, net)
        if route.rest:
            _step(route.rest, sign, subject, value, net, suspected, is_plain=not is_literal(o))
    if suspected:
        # After all changes: a suspect may lose one support and gain another.
        came = {triple for sign, triple in changes if sign > 0}
        for table in suspected:
            _decide(kinds, table, came, net, now)
    return left


def _count(counted: Iterable[Counted], key: Key, sign: Sign, net: Net) -> None:
    """Add to the supports of a key in several tables. This is the hot path of saturated kinds."""
    for counts, table, weight in counted:
        old = counts.get(key, 0)
        counts[key] = new = old + weight * sign
        # A triple begins or ceases to be entailed exactly when its support leaves or reaches zero.
        if not (old and new):
            table.settle_key(key)
            net.move(table, key, sign)


def _step(
    steps: Iterable[Contribution],
    sign: Sign,
    subject: int,
    value: int,
    net: Net,
    suspected: dict[EntailedTable, None],
    *,
    is_plain: bool,
) -> None:
    """Apply one change to tables that need more than an addition to a count.

    `is_plain` is True if the object is not a literal. Reformulated kinds get a suspect, and `suspected`
    collects their tables.
    """
    for table, pick, atom, weight in steps:
        if atom.guard and not is_plain:
            continue
        key = pick(subject, value)
        if table.counts is not None:
            if table.shift([key], weight * sign):
                net.move(table, key, sign)
        elif table.is_trivial:
            net.move(table, key, sign)
        else:
            table.suspect(key, sign, weight)
            suspected[table] = None


def _decide(kinds: Kinds, table: EntailedTable, came: set[Any], net: Net, now: int | None) -> None:
    """Decide which suspects of a reformulated kind begin or cease to be entailed."""
    suspects, table.suspects = table.suspects, {}
    countable = now is not None and kinds.can_count(table.kind, table.ways)
    # Counting also decides the suspects, because it reads the graph after the changes.
    if now is not None and countable and should_count(table, len(suspects)):
        kinds.count({table: table.ways.atoms}, now)
    for key, (went, gained) in suspects.items():
        if table.counts is not None:
            support = table.counts.get(key, 0)
            # `support` is after the update, and `support - gained` was before it.
            if (support > 0) != (support > gained):
                net.move(table, key, 1 if support else -1)
        # An explicit triple that entailed this one was removed, so it was entailed before. One look-up
        # decides if it still is.
        elif went:
            if not kinds.holds(table, key):
                net.move(table, key, -1)
        # Support was only gained. The triple is new if all triples that entail it are added by this update.
        elif all(triple in came for triple in kinds.entailing(table, key)):
            net.move(table, key, 1)
