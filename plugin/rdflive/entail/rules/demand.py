"""Decides which rules work: those whose conclusions a query, or another working rule, asks for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Final

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.absorption import closed_relations, spared
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundRule, Values, bind
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.program import Program, Rule
from rdflive.entail.rules.propagation import Propagation
from rdflive.entail.rules.units import Shape, Unit, is_transitive

__all__ = ["Demand", "Explicit"]

Explicit = Callable[[Key], Iterable[tuple[IdTriple, int]]]
"""Lists the explicit triples that match a key, with their labels."""

_NONE: Final[frozenset[BoundRule]] = frozenset()


class Demand:
    """The patterns that are asked for, and the units that work for them.

    The guides of a rule (see `staging.py`) work when its conclusions are asked for. Each match of them
    makes a unit, which works when its own conclusions are asked for, and otherwise sleeps.
    """

    def __init__(
        self, dictionary: Dictionary, explicit: Explicit, propagation: Propagation, algebra: Algebra
    ) -> None:
        self._dictionary = dictionary
        self._explicit = explicit
        self._propagation = propagation
        self._algebra = algebra
        self._bound: list[BoundRule] = []
        self._rules: KeyIndex[BoundRule] = KeyIndex()
        self._shapes: dict[BoundRule, Shape] = {}
        self._spared: dict[BoundRule, tuple[frozenset[BoundRule], ...]] = {}
        """Per pattern of a rule, the rules whose conclusions it need not read (see `absorption.py`)."""
        self._asked: dict[Key, frozenset[BoundRule]] = {}
        """The patterns that are asked for, each with the rules whose conclusions nobody needs."""
        self._relevant: KeyIndex[Key] = KeyIndex()
        self.at_work: dict[BoundRule, Unit | None] = {}
        """The unit of the guides of each working rule; None for a rule without guides."""
        self._made: dict[tuple[BoundRule, Values], Unit] = {}
        """The units that matches of guides made, by rule and match."""
        self._founded: dict[IdTriple, dict[Unit, None]] = {}
        """The same units, by the triples that the guides matched."""
        self._sleeping: KeyIndex[Unit] = KeyIndex()
        self._starting: deque[BoundRule] = deque()
        self._waking: deque[Unit] = deque()
        self._gone = 0
        """How many active units lost their guides since the last collection."""

    def bind(self, program: Program, graph: ExplicitGraph) -> None:
        """Replace the terms of the rules by ids."""
        closed = closed_relations(program)
        bound: dict[Rule, BoundRule] = {}
        for rule in program.rules:
            bound[rule] = bind(rule, graph, closed)
            self._bound.append(bound[rule])
            for key in bound[rule].head_keys(bound[rule].constants):
                self._rules.add(key, bound[rule])
        found = spared(program)
        for rule, one in bound.items():
            self._spared[one] = tuple(
                frozenset(bound[other] for other in found.get((rule, pattern), ()))
                for pattern in (*one.guiding, *one.reading)
            )

    def ask(self, key: Key, without: frozenset[BoundRule] = _NONE) -> None:
        """Start working for a pattern, but for the conclusions of some rules; `settle` must follow."""
        known = self._asked.get(key)
        if known is None:
            # A triple that matches another pattern is labelled already; its label may be changing right now.
            self._propagation.admit(found for found in self._explicit(key) if not self.concerns(found[0]))
            self._asked[key] = without
            self._relevant.add(key, key)
            self._dictionary.hold(key[:3])
        elif known <= without:
            return
        else:
            without = self._asked[key] = known & without
        for unit in self._sleeping.unifiable(key):
            if unit.shape.rule not in without:
                self._wake(unit)
        for rule in self._rules.unifiable(key):
            if rule not in without and rule not in self.at_work:
                self.at_work[rule] = None
                self._starting.append(rule)

    def _ask_for(self, unit: Unit) -> None:
        # a guide reads the first of the patterns only
        for key, without in zip(unit.keys, self._spared[unit.shape.rule], strict=False):
            self.ask(key, without)

    def settle(self) -> None:
        """Derive everything that follows, starting the rules and units that this needs."""
        propagation = self._propagation
        while True:
            propagation.settle()
            if propagation.opened:
                guide, row = propagation.opened.pop()
                self._open(guide.shape.rule, row)
            elif self._starting:
                self._start(self._starting.popleft())
            elif self._waking:
                self._activate(self._waking.popleft())
            else:
                return

    def close(self, gone: Iterable[IdTriple]) -> None:
        """Remove the units whose guides matched triples that are gone."""
        if not self._founded:
            return
        table = self._propagation.labels.table
        for triple in gone:
            # by now it may have a label again, by another derivation
            if triple in self._founded and triple not in table:
                for unit in tuple(self._founded[triple]):
                    self._gone += unit.active
                    self._discard(unit)

    def concerns(self, triple: IdTriple) -> bool:
        """Tell whether a triple matches a pattern that is asked for."""
        return self._relevant.has_matching(*triple)

    @property
    def active(self) -> int:
        """How many units work, guides not counted."""
        return sum(unit.active for unit in self._made.values())

    def is_wasteful(self) -> bool:
        """Tell whether enough units are gone for a collection to pay."""
        return self._gone > max(64, len(self._made) // 2)

    def collect(self, wanted: Iterable[Key]) -> None:
        """Stop and forget everything that no wanted pattern depends on."""
        self._gone = 0
        asked, rules, units = self._needed(wanted)
        for unit in [unit for unit in self._made.values() if unit.active and unit not in units]:
            self._propagation.detach(unit)
            for head in unit.heads:
                self._sleeping.add(head, unit)
        for rule in [rule for rule in self.at_work if rule not in rules]:
            guide = self.at_work.pop(rule)
            if guide is not None:
                self._propagation.detach(guide)
            for unit in [unit for (made, _), unit in self._made.items() if made is rule]:
                self._discard(unit)
        for key in [key for key in self._asked if key not in asked]:
            del self._asked[key]
            self._relevant.remove(key, key)
            self._dictionary.drop(key[:3])
        self._propagation.retain(self.concerns)

    def release(self) -> None:
        """Release the terms of the rules."""
        for key in self._asked:
            self._dictionary.drop(key[:3])
        for rule in self._bound:
            self._dictionary.drop(rule.constants)

    def _start(self, rule: BoundRule) -> None:
        if not rule.guides:
            self._open(rule, ())
            return
        shape = Shape(rule, len(rule.constants), self._propagation.facts, self._algebra, guide=True)
        guide = self.at_work[rule] = Unit(shape, rule.constants)
        self._ask_for(guide)
        self._propagation.attach(guide)

    def _open(self, rule: BoundRule, row: Values) -> None:
        # a match is found again whenever a label of its triples rises
        if (rule, row) in self._made:
            return
        unit = self._made[rule, row] = Unit(self._shape(rule), rule.constants + row)
        for triple in unit.premises():
            self._founded.setdefault(triple, {})[unit] = None
        for head in unit.heads:
            self._sleeping.add(head, unit)
        if any(rule not in self._asked[key] for head in unit.heads for key in self._relevant.unifiable(head)):
            self._wake(unit)

    def _shape(self, rule: BoundRule) -> Shape:
        shape = self._shapes.get(rule)
        if shape is None:
            known = len(rule.constants) + rule.guided
            shape = Shape(rule, known, self._propagation.facts, self._algebra, base=self._base(rule))
            self._shapes[rule] = shape
        return shape

    def _base(self, rule: BoundRule) -> bool:
        """Tell whether the first pattern of a rule needs to match explicit triples only.

        That is so for a rule that makes a property transitive, if no other rule concludes triples of the
        property. Every path then is an explicit first step and the rest of the path, so `?x p ?y . ?y p ?z`
        may read `?x p ?y` from explicit triples. This saves deriving a path of n steps in n - 1 ways.
        """
        (key, *_) = rule.head_keys(rule.constants)
        return is_transitive(rule) and all(other is rule for other in self._rules.unifiable(key))

    def _wake(self, unit: Unit) -> None:
        for head in unit.heads:
            self._sleeping.remove(head, unit)
        self._waking.append(unit)

    def _activate(self, unit: Unit) -> None:
        # before `attach`, which finds its first matches among what is labelled
        self._ask_for(unit)
        self._propagation.attach(unit)

    def _discard(self, unit: Unit) -> None:
        if unit.active:
            self._propagation.detach(unit)
        for head in unit.heads:
            self._sleeping.remove(head, unit)
        for triple in unit.premises():
            units = self._founded[triple]
            del units[unit]
            if not units:
                del self._founded[triple]
        del self._made[unit.shape.rule, unit.row]

    def _needed(
        self, wanted: Iterable[Key]
    ) -> tuple[Collection[Key], Collection[BoundRule], Collection[Unit]]:
        """Find the patterns, rules and units that the wanted patterns depend on.

        What works and gives triples that match a needed pattern goes on, also where nobody needs its
        conclusions any more: they would have to be told from those of others.
        """
        asked = dict.fromkeys(wanted)
        rules: dict[BoundRule, None] = {}
        units: dict[Unit, None] = {}
        unmarked: KeyIndex[Unit] = KeyIndex()
        for unit in self._made.values():
            for head in unit.heads if unit.active else ():
                unmarked.add(head, unit)
        todo = deque(asked)
        while todo:
            key = todo.popleft()
            more: list[Unit] = []
            for rule in self._rules.unifiable(key):
                if rule not in rules and rule in self.at_work:
                    rules[rule] = None
                    guide = self.at_work[rule]
                    if guide is not None:
                        more.append(guide)
            for unit in tuple(unmarked.unifiable(key)):
                if unit not in units:
                    units[unit] = None
                    more.append(unit)
                    for head in unit.heads:
                        unmarked.remove(head, unit)
            for new in (new for unit in more for new in unit.keys if new not in asked):
                asked[new] = None
                todo.append(new)
        return asked, rules, units
