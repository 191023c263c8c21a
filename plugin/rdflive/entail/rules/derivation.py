"""Finds one derivation of a triple from explicit triples, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.propagation import Propagation

__all__ = ["IdStep", "explain"]


@dataclass(frozen=True, slots=True)
class IdStep:
    """A fact of a derivation; its premises are in earlier steps."""

    triple: IdTriple
    rule: str | None
    """The name of the rule that concludes it; None if the fact is explicit."""
    premises: tuple[IdTriple, ...] = ()


def explain(triple: IdTriple, propagation: Propagation) -> list[IdStep]:
    """Derive a fact from explicit ones, each fact once and after its premises.

    Only founded derivations are used, whose premises are on better levels, so the search ends even if facts
    also derive each other in a circle.
    """
    steps: dict[IdTriple, IdStep] = {}
    found: dict[IdTriple, IdStep] = {}
    todo = [triple]
    while todo:
        fact = todo[-1]
        step = found.get(fact)
        if step is None:
            step = found[fact] = _step(fact, propagation)
        waiting = [premise for premise in step.premises if premise not in steps]
        if waiting:
            todo += waiting
        else:
            # a premise of two steps may be in `todo` twice
            steps.setdefault(fact, step)
            todo.pop()
    return list(steps.values())


def _step(triple: IdTriple, propagation: Propagation) -> IdStep:
    if triple in propagation.explicit.table:
        return IdStep(triple, None)
    level = propagation.labels.table[triple]
    for rule, values, reached in propagation.derivations(triple):
        if reached >= level:
            premises = ((values[s], values[p], values[o]) for s, p, o in (*rule.guides, *rule.reads))
            return IdStep(triple, rule.rule.name, tuple(dict.fromkeys(premises)))
    raise AssertionError(f"no derivation of {triple}")  # each fact has a founded one
