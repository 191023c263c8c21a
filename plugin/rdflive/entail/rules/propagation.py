"""Maintains the annotations of facts while explicit triples are added, changed and removed.

Added facts are annotated in descending order. A derivation is never better than its premises, so each fact
gets its final annotation at once, as distances do in Dijkstra's algorithm. The effect of a delete depends on
the algebra, see `Algebra.step`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Final

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundRule, Values
from rdflive.entail.rules.joins import Facts, PatternJoin
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.labels import Labels
from rdflive.entail.rules.units import Search, Trigger, Unit, UnitShape

__all__ = ["Propagation"]

log = logging.getLogger("rdflive")

_REPORT_EVERY: Final = 1_000_000
_ANY_TRIPLE: Final = ((0, 0, 0),)
"""The argument of joins that start from no triple."""
_LOWEST: Final = -(1 << 62)
"""Below all annotations, so that the first derivation found is good enough."""


class Propagation:
    """Maintains for every fact its best annotation, as explicit triple or by the working units.

    In an algebra with levels a fact keeps its first annotation: a better one would change nothing.
    """

    def __init__(self, dictionary: Dictionary, algebra: Algebra) -> None:
        self.labels = Labels(dictionary, ordered=algebra.expires)
        self.explicit = Labels(None, ordered=algebra.expires)
        self.facts = Facts(self.labels, self.explicit)
        self.opened: list[tuple[Unit, Values]] = []
        """Matches of guides that are not yet processed."""
        self._algebra = algebra
        self._forward: KeyIndex[Trigger] = KeyIndex()
        """The triggers of working units, by the pattern of a premise."""
        self._searches: dict[tuple[UnitShape, int, Key], Search] = {}
        self._backward: KeyIndex[Search] = KeyIndex()
        """The searches for premises, by conclusion."""
        self._based = 0
        """Number of working triggers that read explicit triples only, see `RuleDemand._base`."""
        self._open: dict[int, list[Trigger]] = {}
        """Cached results of `_open_triggers`, until units start or stop."""
        self._waiting: dict[int, set[IdTriple]] = {}
        """Triples that may be raised, by their new label."""
        self._order: list[int] = []
        """A heap of these labels, negated, because `heapq` returns the smallest first."""
        self._report_at = _REPORT_EVERY

    def admit(self, triples: Iterable[tuple[IdTriple, int]]) -> None:
        """Add explicit triples that no working unit reads yet."""
        table = self.labels.table
        for label, admitted in _grouped(triples).items():
            self.explicit.put_all(admitted, label)
            better = [triple for triple in admitted if self._betters(label, table.get(triple))]
            self.labels.put_all(better, label)

    def attach(self, unit: Unit) -> None:
        """Start a unit on the present triples; `settle` must follow."""
        unit.active = True
        self._based += unit.shape.base
        for trigger in unit.forward:
            self._forward.add(trigger.key, trigger)
        for number, key in enumerate(unit.heads):
            search = self._searches.get((unit.shape, number, key))
            if search is None:
                search = self._searches[unit.shape, number, key] = Search(unit.shape, number)
                self._backward.add(key, search)
            search.units[unit.row] = unit
        self._open.clear()
        self._derive(unit, unit.shape.whole, _ANY_TRIPLE, self._algebra.top)

    def detach(self, unit: Unit) -> None:
        """Stop a unit; its conclusions stay until `retain`."""
        unit.active = False
        self._based -= unit.shape.base
        for trigger in unit.forward:
            self._forward.remove(trigger.key, trigger)
        for number, key in enumerate(unit.heads):
            search = self._searches[unit.shape, number, key]
            del search.units[unit.row]
            if not search.units:
                del self._searches[unit.shape, number, key]
                self._backward.remove(key, search)
        self._open.clear()

    def change(self, changes: Mapping[IdTriple, int | None]) -> Iterable[IdTriple]:
        """Set the labels of explicit triples, or remove them (None); `settle` must follow.

        Returns the triples that lost their label; some may get one again.
        """
        explicit = self.explicit.table
        lowered: dict[IdTriple, int | None] = {}
        raised: dict[IdTriple, int] = {}
        for triple, label in changes.items():
            old = explicit.get(triple)
            if label is not None and (old is None or old < label):
                raised[triple] = label
            elif old is not None and label != old:
                lowered[triple] = label
        gone: Iterable[IdTriple] = self._lower(lowered) if lowered else ()
        if len(raised) == 1:
            ((triple, label),) = raised.items()
            self.explicit.put(triple, label)
            self._carry(triple, label)
        elif raised:
            for label, triples in _grouped(raised.items()).items():
                self.explicit.put_all(triples, label)
                for triple in triples:
                    self._carry(triple, label)
        return gone

    def settle(self) -> None:
        """Raise all labels that can be raised."""
        table, waiting, order, steps = self.labels.table, self._waiting, self._order, self._algebra.step
        while order:
            label = -order[0]
            raised = waiting[label]
            # The label stays in the heap, so that conclusions with the same label join this round.
            waiting[label] = set()
            if steps:
                triples = [triple for triple in raised if triple not in table]
            else:
                triples = [triple for triple in raised if (old := table.get(triple)) is None or old < label]
            if len(triples) == 1:
                self.labels.put(triples[0], label)
            else:
                self.labels.put_all(triples, label)
            for trigger, some in self._routed(triples):
                found = self._eligible(some, label) if trigger.base else some
                if found:
                    self._derive(trigger.unit, trigger.join, found, label)
            if not waiting[label]:
                del waiting[label]
                heappop(order)
            if len(table) >= self._report_at:
                self._report_at = len(table) + _REPORT_EVERY
                log.info("rules: %d triples hold and more are being derived", len(table))

    def drop(self, below: int) -> list[IdTriple]:
        """Remove all triples with a lower label, and return them. No other label depends on these."""
        self.explicit.drop(below)
        return self.labels.drop(below)

    def retain(self, concerns: Callable[[IdTriple], bool]) -> None:
        """Remove the irrelevant triples, unless a working unit concludes them anyway.

        No unit reads such triples, so removing them has no consequences.
        """
        table = self.labels.table
        for triple in [triple for triple in table if not concerns(triple)]:
            if triple in self.explicit.table:
                self.explicit.remove(triple)
            best = self._best(triple, table[triple])
            if best is None:
                self.labels.remove(triple)
            else:
                self.labels.put(triple, best)

    def derivations(
        self, triple: IdTriple, *, counted: bool = False
    ) -> Iterator[tuple[BoundRule, Values, int]]:
        """List the derivations of a fact by working units: the rule, its values, and the label of the
        derivation.

        With `counted`, derivations that `RuleDemand._base` leaves out are included.
        """
        for search in self._backward.matching(*triple):
            yield from search.derivations(triple, counted=counted)

    def clear(self) -> None:
        """Remove all triples and units."""
        self._forward = KeyIndex()
        self._backward = KeyIndex()
        self._searches.clear()
        self._open.clear()
        self._based = 0
        self.labels.clear()
        self.explicit.clear()
        self._waiting.clear()
        self._order.clear()
        self.opened.clear()

    def _betters(self, label: int, old: int | None) -> bool:
        return old is None or (old < label and not self._algebra.step)

    def _routed(self, triples: Collection[IdTriple]) -> Iterable[tuple[Trigger, Collection[IdTriple]]]:
        """List the triggers of triples, each with all of its triples."""
        if len(triples) == 1:  # the common case, and faster
            (triple,) = triples
            return [(trigger, triples) for trigger in self._forward.matching(*triple)]
        routed: list[tuple[Trigger, Collection[IdTriple]]] = []
        by_predicate: dict[int, list[IdTriple]] = {}
        for triple in triples:
            by_predicate.setdefault(triple[1], []).append(triple)
        for predicate, some in by_predicate.items():
            found = self._open.get(predicate)
            if found is None:
                found = self._open_triggers(predicate)
            routed += ((trigger, some) for trigger in found)
            if not found:
                for triple in some:
                    routed += ((trigger, (triple,)) for trigger in self._forward.matching(*triple))
        return routed

    def _eligible(self, triples: Collection[IdTriple], label: int) -> Collection[IdTriple]:
        """List the triples whose label is their own as explicit triples, see `RuleDemand._base`.

        Any other triple with this label is skipped, because its label comes from a longer path. With x→w→y
        and y→z, every conclusion from x→y also follows from the explicit step x→w, with the same label.
        """
        explicit = self.explicit.table
        return [triple for triple in triples if explicit.get(triple) == label]

    def _open_triggers(self, predicate: int) -> list[Trigger]:
        """List the triggers of all triples with a predicate; none if they depend on subject or object."""
        found: list[Trigger] = []
        for trigger in self._forward.unifiable(Key(UNBOUND, predicate, UNBOUND)):
            if trigger.key.subject or trigger.key.object:
                found = []
                break
            found.append(trigger)
        self._open[predicate] = found
        return found

    def _derive(self, unit: Unit, join: PatternJoin, triples: Collection[IdTriple], label: int) -> None:
        """Apply a join to triples with a label, and collect its conclusions."""
        if join.heads:
            join.derive(unit.fixed, triples, label, self._waiting, self._order)
        else:
            rows: list[Values] = []
            join.open(unit.fixed, triples, label, rows)
            self.opened += ((unit, row) for row in rows)

    def _carry(self, triple: IdTriple, label: int) -> None:
        """Record that a triple may be raised to a label."""
        bucket = self._waiting.get(label)
        if bucket is None:
            self._waiting[label] = {triple}
            heappush(self._order, -label)
        else:
            bucket.add(triple)

    def _lower(self, lowered: dict[IdTriple, int | None]) -> Iterable[IdTriple]:
        """Lower or remove labels of explicit triples, and record the remaining labels of the facts that
        depended on them.

        A fact is in doubt if a derivation that gave it its label has lost a premise, and it does not have
        that label as an explicit triple. Facts in doubt are processed in descending order.
        """
        table, explicit, steps = self.labels.table, self.explicit.table, self._algebra.step
        doubts: list[tuple[IdTriple, int]] = []
        if self._based:
            # before they are removed: their consequences as explicit triples are still present
            for label, triples in _grouped((triple, explicit[triple]) for triple in lowered).items():
                self._doubt(triples, label, doubts, base=True)
        for triple, lower in lowered.items():
            if steps or table[triple] == explicit[triple]:
                doubts.append((triple, table[triple]))
            if lower is None:
                self.explicit.remove(triple)
            else:
                self.explicit.put(triple, lower)
        doubtful: dict[int, set[IdTriple]] = {}
        gone: dict[IdTriple, int] = {}
        again: dict[IdTriple, int] = {}
        """Facts that may have a derivation left, each with a label that is good enough for the search."""
        while doubts or doubtful:
            going: Collection[IdTriple]
            if len(doubts) == 1 and not doubtful:  # the common case, and faster
                ((triple, label),) = doubts
                going = (triple,)
            else:
                for triple, label in doubts:
                    if label in doubtful:
                        doubtful[label].add(triple)
                    else:
                        doubtful[label] = {triple}
                # Levels are few. Other labels may be processed in any order.
                label = max(doubtful) if steps else next(iter(doubtful))
                going = doubtful.pop(label)
            doubts.clear()
            if steps:
                going = [triple for triple in going if not self._stays(triple, label, again)]
            else:
                # facts with the same label may put a fact in doubt twice
                going = [triple for triple in going if triple in table]
                again.update(dict.fromkeys(going, label))
            if going:
                self._doubt(going, label, doubts, base=False)
                # All at once: while some still have this label, they could support each other in a circle.
                self.labels.remove_all(going)
                for triple in going:
                    gone[triple] = label
        for triple, enough in again.items():
            best = self._best(triple, enough)
            if best is not None:
                self._carry(triple, best)
        return gone

    def _stays(self, triple: IdTriple, level: int, again: dict[IdTriple, int]) -> bool:
        """Return True if a fact has a founded derivation left; a fact with another derivation may come back.

        All better facts are already decided, and no others can be premises of a founded derivation.
        """
        best = self._best(triple, level)
        if best is None:
            return False
        if best < level:
            again[triple] = _LOWEST
        return best >= level

    def _doubt(
        self, triples: Collection[IdTriple], label: int, doubts: list[tuple[IdTriple, int]], *, base: bool
    ) -> None:
        """Collect the facts that have their label from triples with this one, or with `base` from explicit
        ones.
        """
        for trigger, found in self._routed(triples):
            if trigger.base is base:
                trigger.join.doubt(trigger.unit.fixed, found, label, doubts)

    def _best(self, triple: IdTriple, enough: int) -> int | None:
        """Return the best label that a triple has now, or the first one found that is enough."""
        best = self.explicit.table.get(triple)
        triples = (triple,)
        for search in self._backward.matching(*triple):
            if best is not None and best >= enough:
                break
            found = search.best(triples, enough)
            if found is not None and (best is None or best < found):
                best = found
        return best


def _grouped(labelled: Iterable[tuple[IdTriple, int]]) -> dict[int, list[IdTriple]]:
    """Group triples by label."""
    groups: dict[int, list[IdTriple]] = {}
    for triple, label in labelled:
        groups.setdefault(label, []).append(triple)
    return groups
