"""Decides which rules work: those whose conclusions a query or another working rule reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Final

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.absorption import closed_relations, spared
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundRule, Values, bind
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.program import Program, Rule
from rdflive.entail.rules.propagation import Propagation
from rdflive.entail.rules.units import Unit, UnitShape, is_transitive

__all__ = ["Explicit", "RuleDemand"]

Explicit = Callable[[Key], Iterable[tuple[IdTriple, int]]]
"""Lists the explicit triples that match a key, with their labels."""

_NONE: Final[frozenset[BoundRule]] = frozenset()
_FEW: Final = 8
"""Greatest number of constants that a rule is specialized for; beyond it, the general rule works."""


class RuleDemand:
    """The requested patterns, and the units that work for them.

    The guides of a rule (see `guides`) work when its conclusions are requested. Each match of them makes a
    unit, which works when its own conclusions are requested, and otherwise sleeps.
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
        self._shapes: dict[BoundRule, UnitShape] = {}
        self._spared: dict[BoundRule, tuple[frozenset[BoundRule], ...]] = {}
        """Per pattern of a rule, the rules whose conclusions it need not read (see `absorption.py`)."""
        self._cases: dict[BoundRule, dict[tuple[int, int], BoundRule]] = {}
        """The rules specialized to a constant, by the position and value of the subject or object of their
        conclusion.
        """
        self._constants: dict[tuple[int, int], bool] = {}
        """Cached results of `_takes_constants`."""
        self._asked: dict[Key, frozenset[BoundRule]] = {}
        """The requested patterns, each with the rules whose conclusions are not needed."""
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
        """Number of active units that lost their guides since the last collection."""

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
        """Request a pattern, except the conclusions of the rules in `without`; `settle` must follow."""
        known = self._asked.get(key)
        if known is None:
            # Triples that match another requested pattern already have a label, which may be changing now.
            self._propagation.admit(found for found in self._explicit(key) if not self.concerns(found[0]))
            self._asked[key] = without
            self._relevant.add(key, key)
            self._dictionary.hold(key[:3])
        elif known <= without:
            return
        else:
            without = self._asked[key] = known & without
        for unit in self._sleeping.unifiable(key):
            if unit.shape.rule.root not in without:
                self._wake(unit)
        for rule in self._rules.unifiable(key):
            if rule.origin is None and rule not in without and rule not in self.at_work:
                one = self._given(rule, key)
                if one not in self.at_work:
                    self.at_work[one] = None
                    self._starting.append(one)

    def _given(self, rule: BoundRule, key: Key) -> BoundRule:
        """Return the rule specialized to the constants of a pattern, if the patterns that it then requests
        are few; else the rule.

        Example: `?x p ?y . ?y p ?z => ?x p ?z` and a pattern for the nodes reachable from one node. With that
        node for ?x the rule requests the same pattern, and single steps from ?y.
        """
        places = (place for place in (0, 2) if key[place] and self._takes_constants(key.predicate, place))
        place = next(places, None)
        if place is None:
            return rule
        (head,) = rule.heads
        variable = head.places[place]
        if variable < len(rule.constants):
            return rule
        given = self._cases.setdefault(rule, {})
        one = given.get((place, key[place]))
        if one is None:
            if len(given) >= _FEW:
                return rule
            one = given[place, key[place]] = rule.given({variable: key[place]})
            self._dictionary.hold(one.constants)
            for head_key in one.head_keys(one.constants):
                self._rules.add(head_key, one)
            # its own pattern already covers the conclusions of the general rule
            steps = {rule} if is_transitive(rule) else set()
            self._spared[one] = tuple(spares | steps for spares in self._spared[rule])
        return one

    def _takes_constants(self, predicate: int, place: int) -> bool:
        """Return True if rules can be specialized to the constants of patterns with a predicate, at a
        position.

        That pays if some of them are recursive and then request no more than the same pattern, or conclusions
        of other rules.
        """
        found = self._constants.get((predicate, place))
        if found is None:
            rules = [
                rule
                for rule in self._rules.unifiable(Key(UNBOUND, predicate, UNBOUND))
                if rule.origin is None
            ]
            reading = [
                (rule, pattern)
                for rule in rules
                for pattern in (*rule.guides, *rule.reads)
                if pattern[1] < len(rule.constants) and rule.constants[pattern[1]] == predicate
            ]
            found = self._constants[predicate, place] = (
                bool(reading)
                and all(len(r.heads) == 1 and r.heads[0].places[1] < len(r.constants) for r in rules)
                and all(
                    pattern[place] == rule.heads[0].places[place] or is_transitive(rule)
                    for rule, pattern in reading
                )
            )
        return found

    def _ask_for(self, unit: Unit) -> None:
        # not strict: a guide has keys for its first patterns only
        for key, without in zip(unit.keys, self._spared[unit.shape.rule], strict=False):
            self.ask(key, without)

    def settle(self) -> None:
        """Derive all consequences, and start the rules and units that this needs."""
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
        """Remove the units whose guides matched removed triples."""
        if not self._founded:
            return
        table = self._propagation.labels.table
        for triple in gone:
            # meanwhile it may have a label again, by another derivation
            if triple in self._founded and triple not in table:
                for unit in tuple(self._founded[triple]):
                    self._gone += unit.active
                    self._discard(unit)

    def concerns(self, triple: IdTriple) -> bool:
        """Return True if a triple matches a requested pattern."""
        return self._relevant.has_matching(*triple)

    @property
    def active(self) -> int:
        """Number of working units, without guides."""
        return sum(unit.active for unit in self._made.values())

    def is_wasteful(self) -> bool:
        """Return True if enough units are gone for a collection to pay."""
        return self._gone > max(64, len(self._made) // 2)

    def collect(self, wanted: Iterable[Key]) -> None:
        """Stop and remove all rules, units and patterns that no wanted pattern depends on."""
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
            if rule.origin is not None:
                self._forget(rule)
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
            for one in self._cases.get(rule, {}).values():
                self._dictionary.drop(one.constants)

    def _forget(self, rule: BoundRule) -> None:
        """Remove a rule that was specialized to a constant."""
        cases = self._cases[rule.root]
        del cases[next(constant for constant, one in cases.items() if one is rule)]
        for key in rule.head_keys(rule.constants):
            self._rules.remove(key, rule)
        self._shapes.pop(rule, None)
        del self._spared[rule]
        self._dictionary.drop(rule.constants)

    def _start(self, rule: BoundRule) -> None:
        if not rule.guides:
            self._open(rule, ())
            return
        shape = UnitShape(rule, len(rule.constants), self._propagation.facts, self._algebra, guide=True)
        guide = self.at_work[rule] = Unit(shape, rule.constants)
        self._ask_for(guide)
        self._propagation.attach(guide)

    def _open(self, rule: BoundRule, row: Values) -> None:
        # the same match is found again whenever a label of its triples rises
        if (rule, row) in self._made:
            return
        unit = self._made[rule, row] = Unit(self._shape(rule), rule.constants + row)
        for triple in unit.premises():
            self._founded.setdefault(triple, {})[unit] = None
        for head in unit.heads:
            self._sleeping.add(head, unit)
        if any(
            rule.root not in self._asked[key] for head in unit.heads for key in self._relevant.unifiable(head)
        ):
            self._wake(unit)

    def _shape(self, rule: BoundRule) -> UnitShape:
        shape = self._shapes.get(rule)
        if shape is None:
            known = len(rule.constants) + rule.guided
            shape = UnitShape(rule, known, self._propagation.facts, self._algebra, base=self._base(rule))
            self._shapes[rule] = shape
        return shape

    def _base(self, rule: BoundRule) -> bool:
        """Return True if the first pattern of a rule needs to match explicit triples only.

        This holds for a rule that makes a property transitive, if no other rule concludes triples of the
        property. Every path is then an explicit first step and the rest of the path, so `?x p ?y . ?y p ?z`
        may read `?x p ?y` from explicit triples. This saves deriving a path of n steps in n - 1 ways.
        """
        (key, *_) = rule.head_keys(rule.constants)
        alone = all(other.root is rule for other in self._rules.unifiable(key))
        return alone and is_transitive(rule) and not (rule.tests or rule.guide_tests)

    def _wake(self, unit: Unit) -> None:
        for head in unit.heads:
            self._sleeping.remove(head, unit)
        self._waking.append(unit)

    def _activate(self, unit: Unit) -> None:
        # before `attach`, which searches the labelled triples for first matches
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

        A working rule or unit whose conclusions match a needed pattern continues to work, even if its
        conclusions are no longer needed: they cannot be separated from the conclusions of others.
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
