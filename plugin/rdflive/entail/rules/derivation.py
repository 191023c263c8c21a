"""Finds one derivation of a triple from explicit triples, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rdflive.engine.dictionary import UNBOUND
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.bound import Places
from rdflive.entail.rules.instance import Instance
from rdflive.entail.rules.keys import Key
from rdflive.entail.rules.propagation import Propagation

__all__ = ["IdStep", "explain"]


@dataclass(frozen=True, slots=True)
class IdStep:
    """A fact of a derivation; its premises are in earlier steps."""

    triple: IdTriple
    rule: str | None
    """The name of the rule that concludes it; None if the fact is explicit."""
    premises: tuple[IdTriple, ...] = ()


def explain(
    triple: IdTriple, propagation: Propagation, giving: Callable[[IdTriple], Iterable[Instance]]
) -> list[IdStep]:
    """Derive a fact from explicit ones, each fact once and after its premises.

    `giving` lists the instances that may conclude a fact. Only premises of a lower level are used, so the
    search ends even if facts also derive each other in a circle.
    """
    steps: dict[IdTriple, IdStep] = {}
    found: dict[IdTriple, IdStep] = {}
    todo = [triple]
    while todo:
        fact = todo[-1]
        step = found.get(fact)
        if step is None:
            step = found[fact] = _step(fact, propagation, giving(fact))
        waiting = [premise for premise in step.premises if premise not in steps]
        if waiting:
            todo += waiting
        else:
            # a premise of two steps may be in `todo` twice
            steps.setdefault(fact, step)
            todo.pop()
    return list(steps.values())


def _step(triple: IdTriple, propagation: Propagation, instances: Iterable[Instance]) -> IdStep:
    fact = propagation.facts.table[triple]
    if fact.explicit:
        return IdStep(triple, None)
    for instance in instances:
        # what the guides matched are premises too
        if instance.level < fact.level:
            for head, _ in instance.rule.heads:
                for values in _matches(instance, head, triple, fact.level, propagation):
                    rule = instance.rule
                    patterns = (*rule.guides, *rule.reads)
                    premises = tuple((values[s], values[p], values[o]) for s, p, o in patterns)
                    return IdStep(triple, rule.rule.name, tuple(dict.fromkeys(premises)))
    raise AssertionError(f"no derivation of {triple}")  # each fact has a founded one


def _matches(
    instance: Instance, head: Places, triple: IdTriple, level: int, propagation: Propagation
) -> Iterator[list[int]]:
    """List the values with which an instance concludes a triple from premises below a level."""
    rule = instance.rule
    values = [*instance.fixed, *[UNBOUND] * (len(rule.constants) + len(rule.variables) - len(instance.fixed))]
    if _bind(values, head, triple):
        yield from _join(values, list(rule.reads), instance, level, propagation)


def _join(
    values: list[int], left: list[Places], instance: Instance, level: int, propagation: Propagation
) -> Iterator[list[int]]:
    if not left:
        if all(test(tuple(values)) for test in instance.rule.tests):
            yield values
        return
    # The pattern with the most known positions has the fewest matches.
    pattern = max(left, key=lambda places: sum(values[place] != UNBOUND for place in places))
    rest = [other for other in left if other is not pattern]
    key = Key(*(values[place] for place in pattern))
    for triple in propagation.matching(key):
        bound = list(values)
        if propagation.facts.table[triple].level < level and _bind(bound, pattern, triple):
            yield from _join(bound, rest, instance, level, propagation)


def _bind(values: list[int], pattern: Places, triple: IdTriple) -> bool:
    for place, value in zip(pattern, triple, strict=True):
        if values[place] == UNBOUND:
            values[place] = value
        elif values[place] != value:
            return False
    return True
