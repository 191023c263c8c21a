"""Decides which rules work: those whose conclusions a query, or another working rule, asks for."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.bound import BoundRule, Values, bind
from rdflive.entail.rules.instance import Instance, Reader
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.program import Program
from rdflive.entail.rules.propagation import Propagation

__all__ = ["Demand"]


class Demand:
    """The patterns that are asked for, and the rules and instances that work for them.

    All explicit triples that match a pattern asked for are facts, and so are all conclusions. An instance
    that concludes nothing asked for sleeps: it reads nothing. This is magic sets without rewriting the rules.
    """

    def __init__(self, program: Program, graph: ExplicitGraph, propagation: Propagation) -> None:
        self._graph = graph
        self._propagation = propagation
        self._program = program
        self._rules: KeyIndex[BoundRule] = KeyIndex()
        self._bound: list[BoundRule] = []
        self._asked: dict[Key, None] = {}
        self._relevant: KeyIndex[Key] = KeyIndex()
        self._starting: deque[BoundRule] = deque()
        self.at_work: dict[BoundRule, Reader] = {}
        """Rules at work, each with the reader of its guides."""
        self._sleeping: KeyIndex[Instance] = KeyIndex()
        self._waking: deque[Instance] = deque()
        self.active: dict[Instance, None] = {}
        self._giving: KeyIndex[Instance] = KeyIndex()
        """The active instances by the keys of their conclusions."""
        self._gone = 0
        """How many active instances lost their guides since the last collection."""

    def bind(self) -> None:
        """Replace the terms of all rules by ids."""
        for rule in self._program.rules:
            bound = bind(rule, self._graph)
            self._bound.append(bound)
            for key in bound.head_keys(bound.constants):
                self._rules.add(key, bound)

    def ask(self, key: Key) -> None:
        """Start working for a pattern; `settle` must follow."""
        if key in self._asked:
            return
        self._note(key)
        self._propagation.admit(self._propagation.explicit(key))
        for instance in self._sleeping.unifiable(key):
            self._wake(instance)
        for rule in self._rules.unifiable(key):
            if rule not in self.at_work:
                self.at_work[rule] = Reader(rule, rule.constants, rule.guides)
                self._starting.append(rule)

    def settle(self) -> None:
        """Derive everything that follows, starting the rules and instances that this needs."""
        propagation = self._propagation
        while True:
            # Facts first. A rule or an instance that starts later reads those that hold by then.
            propagation.insert()
            if propagation.opened:
                self._open(*propagation.opened.pop())
            elif self._starting:
                self._start(self._starting.popleft())
            elif self._waking:
                self._activate(self._waking.popleft())
            else:
                return

    def shrink(self) -> None:
        """Remove all facts that are not founded any more, and the instances that they guided."""
        propagation = self._propagation
        propagation.delete()
        while propagation.closed:
            # an instance takes its derivations along, so more facts may go
            self._close(*propagation.closed.pop())
            propagation.delete()
        # Only now, when nothing else goes, is it clear which facts still have derivations.
        propagation.revive()

    def concerns(self, triple: IdTriple) -> bool:
        """Tell whether a triple matches a pattern that is asked for."""
        return bool(self._relevant.matching(*triple))

    def giving(self, triple: IdTriple) -> list[Instance]:
        """List the active instances that may conclude a triple; one may come twice."""
        return self._giving.matching(*triple)

    def is_wasteful(self) -> bool:
        """Tell whether enough instances are gone for a collection to pay."""
        # A collection walks through everything, so it is put off until it can free a large part.
        return self._gone > max(64, len(self.active) // 2)

    def collect(self, wanted: Iterable[Key]) -> None:
        """Stop everything that no wanted pattern depends on; `settle` must follow.

        Instances ask for patterns, and nobody counts who asked: rules may ask for each other in a circle. So
        what is needed is found from the wanted patterns, as a garbage collector does.
        """
        self._gone = 0
        asked, rules, instances = self._needed(wanted)
        propagation = self._propagation
        # before patterns are forgotten, because `detach` finds its matches among the facts
        for instance in [i for i in self.active if i not in instances]:
            propagation.detach(instance)
            self._sleep(instance)
        for rule in [rule for rule in self.at_work if rule not in rules]:
            guide = self.at_work.pop(rule)
            if rule.guides:
                propagation.forget(guide)
            for instance in guide.instances.values():
                self._drop(instance)
        for key in [key for key in self._asked if key not in asked]:
            self._forget(key)
        self.shrink()

    def release(self) -> None:
        """Release the terms of the rules."""
        for key in self._asked:
            self._graph.dictionary.drop(key[:3])
        for rule in self._bound:
            self._graph.dictionary.drop(rule.constants)

    def _note(self, key: Key) -> None:
        self._asked[key] = None
        self._relevant.add(key, key)
        self._graph.dictionary.hold(key[:3])

    def _forget(self, key: Key) -> None:
        """Stop asking for a pattern; explicit triples that match another one stay."""
        del self._asked[key]
        self._relevant.remove(key, key)
        self._graph.dictionary.drop(key[:3])
        for triple in self._propagation.explicit(key):
            if not self.concerns(triple):
                self._propagation.retract(triple)

    def _start(self, rule: BoundRule) -> None:
        guide = self.at_work[rule]
        if rule.guides:
            for key in guide.keys:
                self.ask(key)
            self._propagation.attach(guide)
        else:
            self._propagation.opened.append((guide, ()))

    def _open(self, guide: Reader, row: Values) -> None:
        rule = guide.rule
        values = rule.constants + row
        if all(test(values) for test in rule.guide_tests):
            # The guides' levels count for every derivation of the instance, so their maximum is kept.
            table = self._propagation.facts.table
            premises = (table[values[s], values[p], values[o]].level for s, p, o in rule.guides)
            instance = guide.instances[row] = Instance(rule, row, max(premises, default=-1))
            self._sleep(instance)
            # Instances that conclude nothing asked for are kept asleep, to be found when somebody asks.
            if any(True for head in instance.heads for _ in self._relevant.unifiable(head)):
                self._wake(instance)

    def _close(self, guide: Reader, row: Values) -> None:
        instance = guide.instances.pop(row, None)
        # none was made where the conditions of the guides failed
        if instance is not None:
            if instance.active:
                self._gone += 1
                self._propagation.detach(instance)
            self._drop(instance)

    def _wake(self, instance: Instance) -> None:
        for head in instance.heads:
            self._sleeping.remove(head, instance)
        self._waking.append(instance)

    def _activate(self, instance: Instance) -> None:
        # what it reads must be facts before `attach` lists its first matches
        for key in instance.keys:
            self.ask(key)
        self.active[instance] = None
        for head in instance.heads:
            self._giving.add(head, instance)
        instance.active = True
        self._propagation.attach(instance)

    def _sleep(self, instance: Instance) -> None:
        self._drop(instance)
        instance.active = False
        for head in instance.heads:
            self._sleeping.add(head, instance)

    def _drop(self, instance: Instance) -> None:
        self.active.pop(instance, None)
        for head in instance.heads:
            self._sleeping.remove(head, instance)
            self._giving.remove(head, instance)

    def _needed(
        self, wanted: Iterable[Key]
    ) -> tuple[Collection[Key], Collection[BoundRule], Collection[Instance]]:
        """Find the patterns, rules and instances that the wanted patterns depend on."""
        asked: dict[Key, None] = dict.fromkeys(wanted)
        rules: dict[BoundRule, None] = {}
        instances: dict[Instance, None] = {}
        unmarked: KeyIndex[Instance] = KeyIndex()
        for instance in self.active:
            for head in instance.heads:
                unmarked.add(head, instance)
        todo = deque(asked)
        while todo:
            key = todo.popleft()
            more: list[Key] = []
            for rule in self._rules.unifiable(key):
                if rule not in rules:
                    rules[rule] = None
                    more += self.at_work[rule].keys
            for instance in tuple(unmarked.unifiable(key)):
                if instance not in instances:
                    instances[instance] = None
                    more += instance.keys
                    for head in instance.heads:
                        unmarked.remove(head, instance)
            for new in more:
                if new not in asked:
                    asked[new] = None
                    todo.append(new)
        return asked, rules, instances
