"""Maintains the labels of derived triples: raised from the highest label down, lowered along derivations."""

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
    """Keeps the label of every triple at the highest that it has, as explicit triple or by the working units.

    A derivation has the lowest label of its premises, and a triple the highest of its derivations. So when
    labels are raised in descending order, each triple gets its final label at once, as distances do in
    Dijkstra's algorithm.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self.labels = Labels(dictionary)
        self.explicit = Labels(dictionary)
        self.opened: list[tuple[Unit, Values]] = []
        """Matches of guides that were not looked at yet."""
        self._forward: KeyIndex[Trigger] = KeyIndex()
        """The triggers of working units, by the pattern of a premise."""
        self._backward: KeyIndex[Trigger] = KeyIndex()
        """The triggers of working units, by their conclusions."""
        self._open: dict[int, list[Trigger]] = {}
        """A cache of what `_open_triggers` found, until units start or stop."""
        self._waiting: dict[int, set[IdTriple]] = {}
        """Triples that may be raised, by the label that they would get."""
        self._order: list[int] = []
        """A heap of these labels, negated, since `heapq` gives the smallest first."""

    def admit(self, triples: Iterable[tuple[IdTriple, int]]) -> None:
        """Take explicit triples that no working unit reads yet."""
        table = self.labels.table
        for label, admitted in _grouped(triples).items():
            self.explicit.put_all(admitted, label)
            better = [triple for triple in admitted if (old := table.get(triple)) is None or old < label]
            self.labels.put_all(better, label)

    def attach(self, unit: Unit) -> None:
        """Start a unit with the triples that are there; `settle` must follow."""
        unit.active = True
        for trigger in unit.forward:
            self._forward.add(trigger.key, trigger)
        for trigger in unit.backward:
            self._backward.add(trigger.key, trigger)
        self._open.clear()
        # above all labels, so that a match gets the lowest label of its triples
        self._carry_on(unit.whole, unit.fixed, ALWAYS)

    def detach(self, unit: Unit) -> None:
        """Stop a unit; what it derived stays until `retain`."""
        unit.active = False
        for trigger in unit.forward:
            self._forward.remove(trigger.key, trigger)
        for trigger in unit.backward:
            self._backward.remove(trigger.key, trigger)
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
            # Left in place, so that conclusions with the same label join this round.
            waiting[label] = set()
            triples = [triple for triple in raised if (old := table.get(triple)) is None or old < label]
            self.labels.put_all(triples, label)
            for trigger, some in self._routed(triples):
                self._derive(trigger, self._eligible(trigger, some, label), label)
            if not waiting[label]:
                del waiting[label]
                heappop(order)

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
        """List the triggers of triples, with the triples together that have the same trigger."""
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

    def _eligible(self, trigger: Trigger, triples: Sequence[IdTriple], label: int) -> Sequence[IdTriple]:
        """List those of the triples, all with this label, that a trigger may start from.

        A trigger that reads explicit triples (see `Demand._base`) skips a triple whose label is not its own
        as an explicit triple. Such a label comes from a longer path: with x→w→y and y→z, everything that x→y
        would conclude also follows from the explicit step x→w, with the same label.
        """
        if trigger.base:
            explicit = self.explicit.table
            triples = [triple for triple in triples if explicit.get(triple) == label]
        same = trigger.plan.same
        return [triple for triple in triples if not is_unequal(triple, same)] if same else triples

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

    def _derive(self, trigger: Trigger, triples: Sequence[IdTriple], label: int) -> None:
        """Pass the label of triples on to what a trigger concludes from them."""
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
                # The test comes last, because it reads terms.
                if (old is None or old < least) and (check is None or check(match)):
                    self._carry(head, least)

    def _carry_on(self, trigger: Trigger, row: Row, label: int) -> None:
        """Pass a label on along all matches that begin with a row."""
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
        """Note that a triple may be raised to a label."""
        bucket = self._waiting.get(label)
        if bucket is None:
            self._waiting[label] = {triple}
            heappush(self._order, -label)
        else:
            bucket.add(triple)

    def _lower(self, lowered: dict[IdTriple, int | None]) -> dict[IdTriple, int]:
        """Lower or remove labels of explicit triples, and note the labels that are left for what depended on
        them.
        """
        doubtful = self._doubtful(lowered)
        for triple, label in lowered.items():
            if label is None:
                self.explicit.remove(triple)
            else:
                self.explicit.put(triple, label)
        # All at once: while some still had their old label, they could hold up each other in a circle.
        self.labels.remove_all(doubtful)
        for triple, old in doubtful.items():
            best = self._best(triple, old)
            if best is not None:
                self._carry(triple, best)
        return doubtful

    def _doubtful(self, lowered: dict[IdTriple, int | None]) -> dict[IdTriple, int]:
        """Find the triples whose label may come from one that explicit triples lose.

        A conclusion is in doubt only if its label equals the one that a doubtful premise gave it, and if it
        does not have that label as an explicit triple.
        """
        table, explicit = self.labels.table, self.explicit.table
        doubtful = {triple: old for triple in lowered if (old := table[triple]) == explicit[triple]}
        todo = list(doubtful)
        while todo:
            triple = todo.pop()
            label = doubtful[triple]
            for trigger, some in self._routed((triple,)):
                for one in self._eligible(trigger, some, label):
                    for head, least in trigger.plan.conclusions(trigger.unit.fixed + one, label):
                        if table.get(head) == least and head not in doubtful:
                            # An explicit triple with this label does not need the doubtful derivation.
                            kept = lowered[head] if head in lowered else explicit.get(head)
                            if kept != least:
                                doubtful[head] = least
                                todo.append(head)
        return doubtful

    def _best(self, triple: IdTriple, most: int) -> int | None:
        """Give the highest label that a triple has from what is there, searching until one equals `most`."""
        best = self.explicit.table.get(triple)
        for trigger in self._backward.matching(*triple):
            if trigger.plan.same and is_unequal(triple, trigger.plan.same):
                continue
            for _, least in trigger.plan.rows(trigger.unit.fixed + triple, most):
                if best is None or best < least:
                    best = least
                    # No label can be higher than the one before, so the search may stop.
                    if best == most:
                        return best
        return best


def _grouped(labelled: Iterable[tuple[IdTriple, int]]) -> dict[int, list[IdTriple]]:
    """Group triples by label."""
    groups: dict[int, list[IdTriple]] = {}
    for triple, label in labelled:
        groups.setdefault(label, []).append(triple)
    return groups
