"""Proofs of entailed triples: applications of rules that lead from explicit triples to the conclusion."""

from __future__ import annotations

from dataclasses import dataclass

from rdflive.model import Triple

__all__ = ["Proof", "ProofStep"]


@dataclass(frozen=True, slots=True)
class ProofStep:
    """One application of a rule."""

    rule: str
    """The name of the rule: `rdfs9`, `prp-trp`, ..."""
    premises: tuple[Triple, ...]
    conclusion: Triple

    def __str__(self) -> str:
        body = ", ".join(map(_text, self.premises))
        return f"{self.rule}: {body} => {_text(self.conclusion)}"


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof of a triple. The last step concludes it; a proof of an explicit triple has no steps."""

    triple: Triple
    steps: tuple[ProofStep, ...] = ()

    @property
    def explicit(self) -> tuple[Triple, ...]:
        """The triples of the graph that the proof starts from, schema triples among them."""
        concluded = {step.conclusion for step in self.steps}
        premises = (premise for step in self.steps for premise in step.premises)
        found = dict.fromkeys(premise for premise in premises if premise not in concluded)
        return tuple(found) if self.steps else (self.triple,)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules used, in order."""
        return tuple(dict.fromkeys(step.rule for step in self.steps))

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps)) or f"explicit: {_text(self.triple)}"


def _text(triple: Triple) -> str:
    terms = (getattr(term, "n3", None) for term in triple)
    return " ".join(n3() if n3 else str(term) for n3, term in zip(terms, triple, strict=True))
