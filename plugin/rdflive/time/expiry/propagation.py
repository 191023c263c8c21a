"""Labels of what rules derive: raised in the order of Dijkstra, lowered through what they carried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.bound import Values
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.time.expiry.joins import Row, is_unequal
from rdflive.time.expiry.units import Trigger, Unit
from rdflive.time.labels import Labels
from rdflive.time.windows import ALWAYS

__all__ = ["Propagation"]


class Propagation:
    """Keeps the label of every triple at the most that it has, explicitly or by the units at work.

    A derivation carries the lowest label of its premises, and a triple has the highest that is carried to
    it. So labels are settled from the highest down, as in Dijkstra's algorithm, and each once.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self.labels = Labels(dictionary)
        self.explicit = Labels(dictionary)
        self.opened: list[tuple[Unit, Values]] = []
        """What guides have matched and nobody has looked at yet."""
        self._forward: KeyIndex[Trigger] = KeyIndex()
        self._backward: KeyIndex[Trigger] = KeyIndex()
        self._open: dict[int, list[Trigger]] = {}
        """What `_open_triggers` found, until other units work."""
        self._waiting: dict[int, set[IdTriple]] = {}
        """Triples that may be raised, by the label that is carried to them."""
        self._order: list[int] = []
        """A heap of these labels, negated."""

    def admit(self, triples: Iterable[tuple[IdTriple, int]]) -> None:
        """Take explicit triples that no unit at work reads."""
        table = self.labels.table
        for label, admitted in _grouped(triples).items():
            self.explicit.put_all(admitted, label)
            better = [triple for triple in admitted if (old := table.get(triple)) is None or old < label]
            self.labels.put_all(better, label)

    def attach(self, unit: Unit) -> None:
        """Let a unit work, beginning with what there is; `settle` must follow."""
        unit.active = True
        for trigger in unit.forward:
            self._forward.add(trigger.key, trigger)
        for trigger in unit.backward:
            self._backward.add(trigger.key, trigger)
        self._open.clear()
        self._carry_on(unit.whole, unit.fixed, ALWAYS)

    def detach(self, unit: Unit) -> None:
        """Let a unit work no more; what it derived stays."""
        unit.active = False
        for trigger in unit.forward:
            self._forward.remove(trigger.key, trigger)
        for trigger in unit.backward:
            self._backward.remove(trigger.key, trigger)
        self._open.clear()

    def change(self, changes: Mapping[IdTriple, int | None]) -> Iterable[IdTriple]:
        """Give explicit triples other labels, None for none; `settle` must follow.

        The triples that have lost their label are listed; they may get one again.
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
        doubtful = self._lower(lowered) if lowered else {}
        for label, triples in _grouped(raised.items()).items():
            self.explicit.put_all(triples, label)
            for triple in triples:
                self._carry(triple, label)
        return doubtful

    def settle(self) -> None:
        """Raise all labels that can be raised."""
        table, waiting, order = self.labels.table, self._waiting, self._order
        while order:
            label = -order[0]
            raised = waiting[label]
            waiting[label] = set()
            triples = [triple for triple in raised if (old := table.get(triple)) is None or old < label]
            self.labels.put_all(triples, label)
            for trigger, some in self._routed(triples):
                self._derive(trigger, self._heeded(trigger, some, label), label)
            if not waiting[label]:
                del waiting[label]
                heappop(order)

    def drop(self, below: int) -> list[IdTriple]:
        """Take out what has a lower label, and list it: all other labels are right without it."""
        self.explicit.drop(below)
        return self.labels.drop(below)

    def retain(self, concerns: Callable[[IdTriple], bool]) -> None:
        """Take out the triples that are of no concern, but for what units at work give on the side.

        No unit reads these, so nothing follows from it.
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

    def clear(self) -> None:
        """Forget all triples and units."""
        self._forward = KeyIndex()
        self._backward = KeyIndex()
        self._open.clear()
        self.labels.clear()
        self.explicit.clear()
        self._waiting.clear()
        self._order.clear()
        self.opened.clear()

    def _routed(self, triples: Iterable[IdTriple]) -> Iterator[tuple[Trigger, Sequence[IdTriple]]]:
        """List what triples trigger, together where they trigger the same."""
        by_predicate: dict[int, list[IdTriple]] = {}
        for triple in triples:
            by_predicate.setdefault(triple[1], []).append(triple)
        for predicate, some in by_predicate.items():
            found = self._open.get(predicate)
            if found is None:
                found = self._open_triggers(predicate)
            for trigger in found:
                yield trigger, some
            if not found:
                for triple in some:
                    for trigger in self._forward.matching(*triple):
                        yield trigger, (triple,)

    def _heeded(self, trigger: Trigger, triples: Sequence[IdTriple], label: int) -> Sequence[IdTriple]:
        """List the triples of this label that a trigger heeds, of those that have its ids.

        What reads explicit triples heeds no more than those that owe their label to being explicit: else
        there is a better way for all that they carry.
        """
        if trigger.base:
            explicit = self.explicit.table
            triples = [triple for triple in triples if explicit.get(triple) == label]
        same = trigger.plan.same
        return [triple for triple in triples if not is_unequal(triple, same)] if same else triples

    def _open_triggers(self, predicate: int) -> list[Trigger]:
        """List what all triples with a predicate trigger; none where it depends on the other terms."""
        found: list[Trigger] = []
        for trigger in self._forward.unifiable(Key(UNBOUND, predicate, UNBOUND)):
            if trigger.key.subject or trigger.key.object:
                found = []
                break
            found.append(trigger)
        self._open[predicate] = found
        return found

    def _derive(self, trigger: Trigger, triples: Sequence[IdTriple], label: int) -> None:
        """Carry on the label of triples that trigger something."""
        fixed, quick, known = trigger.unit.fixed, trigger.plan.quick, self.labels.table.get
        if quick is None:
            for triple in triples:
                self._carry_on(trigger, fixed + triple, label)
            return
        find, table, conclude, check = quick
        for triple in triples:
            row = fixed + triple
            for other in find(row):
                below, match = table[other], row + other
                least = below if below < label else label
                head = conclude(match)
                old = known(head)
                if (old is None or old < least) and (check is None or check(match)):
                    self._carry(head, least)

    def _carry_on(self, trigger: Trigger, row: Row, label: int) -> None:
        """Carry on a label over all matches that begin with a row."""
        unit, plan = trigger.unit, trigger.plan
        if not plan.heads:
            first, last = len(unit.fixed), len(unit.fixed) + unit.shape.rule.guided
            self.opened += ((unit, plan.values(match)[first:last]) for match, _ in plan.rows(row, label))
            return
        known = self.labels.table.get
        for head, least in plan.conclusions(row, label):
            old = known(head)
            if old is None or old < least:
                self._carry(head, least)

    def _carry(self, triple: IdTriple, label: int) -> None:
        bucket = self._waiting.get(label)
        if bucket is None:
            self._waiting[label] = {triple}
            heappush(self._order, -label)
        else:
            bucket.add(triple)

    def _lower(self, lowered: dict[IdTriple, int | None]) -> dict[IdTriple, int]:
        """Take away the labels that explicit triples carried, and carry what is left to them."""
        doubtful = self._doubtful(lowered)
        for triple, label in lowered.items():
            if label is None:
                self.explicit.remove(triple)
            else:
                self.explicit.put(triple, label)
        self.labels.remove_all(doubtful)
        for triple, old in doubtful.items():
            best = self._best(triple, old)
            if best is not None:
                self._carry(triple, best)
        return doubtful

    def _doubtful(self, lowered: dict[IdTriple, int | None]) -> dict[IdTriple, int]:
        """Find the triples that may owe their label to one that explicit triples lose."""
        table, explicit = self.labels.table, self.explicit.table
        doubtful = {triple: old for triple in lowered if (old := table[triple]) == explicit[triple]}
        todo = list(doubtful)
        while todo:
            triple = todo.pop()
            label = doubtful[triple]
            for trigger, some in self._routed((triple,)):
                for one in self._heeded(trigger, some, label):
                    for head, least in trigger.plan.conclusions(trigger.unit.fixed + one, label):
                        if table.get(head) == least and head not in doubtful:
                            kept = lowered[head] if head in lowered else explicit.get(head)
                            if kept != least:
                                doubtful[head] = least
                                todo.append(head)
        return doubtful

    def _best(self, triple: IdTriple, most: int) -> int | None:
        """Give the highest label that a triple has from what there is; no more than `most` can be."""
        best = self.explicit.table.get(triple)
        for trigger in self._backward.matching(*triple):
            if trigger.plan.same and is_unequal(triple, trigger.plan.same):
                continue
            for _, least in trigger.plan.rows(trigger.unit.fixed + triple, most):
                if best is None or best < least:
                    best = least
                    if best == most:
                        return best
        return best


def _grouped(labelled: Iterable[tuple[IdTriple, int]]) -> dict[int, list[IdTriple]]:
    """Give triples by their labels."""
    groups: dict[int, list[IdTriple]] = {}
    for triple, label in labelled:
        groups.setdefault(label, []).append(triple)
    return groups
