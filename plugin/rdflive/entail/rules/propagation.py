"""Keeps the annotations of facts right while explicit triples come, change and go.

Facts that come are annotated in descending order. A derivation is never better than its premises, so each
fact gets its final annotation at once, as distances do in Dijkstra's algorithm. What a delete does depends on
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
"""For joins that begin with no triple."""
_LOWEST: Final = -(1 << 62)
"""Below all annotations: whatever derivation is found first is good enough."""


class Propagation:
    """Keeps the annotation of every fact at the best that it has, as explicit triple or by the working units.

    In an algebra with levels a fact keeps the one that it was found with: a better one would change nothing.
    """

    def __init__(self, dictionary: Dictionary, algebra: Algebra) -> None:
        self.labels = Labels(dictionary, ordered=algebra.expires)
        self.explicit = Labels(None, ordered=algebra.expires)
        self.facts = Facts(self.labels, self.explicit)
        self.opened: list[tuple[Unit, Values]] = []
        """Matches of guides that were not looked at yet."""
        self._algebra = algebra
        self._forward: KeyIndex[Trigger] = KeyIndex()
        """The triggers of working units, by the pattern of a premise."""
        self._searches: dict[tuple[UnitShape, int, Key], Search] = {}
        self._backward: KeyIndex[Search] = KeyIndex()
        """The searches for premises, by conclusion."""
        self._based = 0
        """How many triggers of explicit triples work, see `Demand._base`."""
        self._open: dict[int, list[Trigger]] = {}
        """A cache of what `_open_triggers` found, until units start or stop."""
        self._waiting: dict[int, set[IdTriple]] = {}
        """Triples that may be raised, by the label that they would get."""
        self._order: list[int] = []
        """A heap of these labels, negated, since `heapq` gives the smallest first."""
        self._report_at = _REPORT_EVERY

    def admit(self, triples: Iterable[tuple[IdTriple, int]]) -> None:
        """Take explicit triples that no working unit reads yet."""
        table = self.labels.table
        for label, admitted in _grouped(triples).items():
            self.explicit.put_all(admitted, label)
            better = [triple for triple in admitted if self._betters(label, table.get(triple))]
            self.labels.put_all(better, label)

    def attach(self, unit: Unit) -> None:
        """Start a unit with the triples that are there; `settle` must follow."""
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
        """Stop a unit; what it derived stays until `retain`."""
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
        """Give explicit triples new labels, or None; `settle` must follow.

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
            # Left in place, so that conclusions with the same label join this round.
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
        """Remove everything with a lower label, and list it. No other label depends on these."""
        self.explicit.drop(below)
        return self.labels.drop(below)

    def retain(self, concerns: Callable[[IdTriple], bool]) -> None:
        """Remove the triples that are of no concern, unless a working unit concludes them anyway.

        No unit reads such triples, so nothing follows from removing them.
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
        """List the derivations of a fact by working units: the rule, its values, and the label they give.

        With `counted` those are among them that `Demand._base` leaves out.
        """
        for search in self._backward.matching(*triple):
            yield from search.derivations(triple, counted=counted)

    def clear(self) -> None:
        """Forget all triples and units."""
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
        """List the triggers of triples, with the triples together that have the same trigger."""
        if len(triples) == 1:  # the common case, and quicker
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
        """List those of the triples with this label that have it as explicit triples, see `Demand._base`.

        A triple whose label is not its own as an explicit triple is skipped. Such a label
        comes from a longer path: with x→w→y and y→z, everything that x→y would conclude also follows from the
        explicit step x→w, with the same label.
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
        """Pass the label of triples on to what a join concludes from them."""
        if join.heads:
            join.derive(unit.fixed, triples, label, self._waiting, self._order)
        else:
            rows: list[Values] = []
            join.open(unit.fixed, triples, label, rows)
            self.opened += ((unit, row) for row in rows)

    def _carry(self, triple: IdTriple, label: int) -> None:
        """Note that a triple may be raised to a label."""
        bucket = self._waiting.get(label)
        if bucket is None:
            self._waiting[label] = {triple}
            heappush(self._order, -label)
        else:
            bucket.add(triple)

    def _lower(self, lowered: dict[IdTriple, int | None]) -> Iterable[IdTriple]:
        """Lower or remove labels of explicit triples, and note the labels that are left for what depended on
        them.

        A fact is in doubt if a derivation that gave it its label has lost a premise, and it does not have
        that label as an explicit triple. Facts in doubt are looked at in descending order.
        """
        table, explicit, steps = self.labels.table, self.explicit.table, self._algebra.step
        doubts: list[tuple[IdTriple, int]] = []
        if self._based:
            # As explicit triples they have a label of their own; all that follows from that is here still.
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
        """What may have a derivation left, with the label that a search for one need not pass."""
        while doubts or doubtful:
            going: Collection[IdTriple]
            if len(doubts) == 1 and not doubtful:  # the common case, and quicker
                ((triple, label),) = doubts
                going = (triple,)
            else:
                for triple, label in doubts:
                    if label in doubtful:
                        doubtful[label].add(triple)
                    else:
                        doubtful[label] = {triple}
                # Levels are few. Other labels may be taken in any order.
                label = max(doubtful) if steps else next(iter(doubtful))
                going = doubtful.pop(label)
            doubts.clear()
            if steps:
                going = [triple for triple in going if not self._stays(triple, label, again)]
            else:
                # one may be doubted again by others with this label
                going = [triple for triple in going if triple in table]
                again.update(dict.fromkeys(going, label))
            if going:
                self._doubt(going, label, doubts, base=False)
                # All at once: while some still had this label, they could hold up each other in a circle.
                self.labels.remove_all(going)
                for triple in going:
                    gone[triple] = label
        for triple, enough in again.items():
            best = self._best(triple, enough)
            if best is not None:
                self._carry(triple, best)
        return gone

    def _stays(self, triple: IdTriple, level: int, again: dict[IdTriple, int]) -> bool:
        """Tell whether a fact has a founded derivation left; one with another perhaps comes back.

        All better facts are decided already, and no others can be premises of a founded derivation.
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
        """Doubt what has its label from triples with this one, or with `base` from explicit ones."""
        for trigger, found in self._routed(triples):
            if trigger.base is base:
                trigger.join.doubt(trigger.unit.fixed, found, label, doubts)

    def _best(self, triple: IdTriple, enough: int) -> int | None:
        """Give the best label that a triple has from what is there, or the first found that is enough."""
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
