"""What facts are annotated with, and how annotations are combined.

A fact has one annotation, a number; higher is better. An explicit triple is given one. A derivation has the
lowest annotation of its premises, less `step`, and a derived fact the highest of its derivations, or in
`LEVELS` that of the derivation that was found first. Three algebras are used:

- `LABELS`, of windows: the annotation says when a fact goes, and a derivation lasts as long as the first of
  its premises.
- `LEVELS`, of graphs: the annotation is the number of steps from explicit triples, negative. A derivation is
  below its premises, so no fact can be a premise of its own *founded* derivation, one that is not below the
  fact: a founded derivation that is left is reason enough for a fact to stay.
- `SETS`: all annotations are equal and say nothing.

Example: :near is symmetric, and (a, near, b) is explicit, so (b, near, a) follows from it, which in turn
derives (a, near, b). Levels are 0 and -1, and the second derivation has the level -2. It is below its own
conclusion, so (a, near, b) goes when it is explicit no more. With labels, all three have the label of the
explicit triple, and nothing in the labels tells that one derivation rests on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ALWAYS", "LABELS", "LEVELS", "SETS", "Algebra"]

ALWAYS: Final = 1 << 200
"""The label of what never expires, above all others."""


@dataclass(frozen=True, slots=True)
class Algebra:
    """How annotations are combined.

    Its laws, with `a` and `b` as annotations: a derivation is never better than a premise, so facts that are
    derived in descending order are derived once; a better premise never makes a derivation worse; combining
    derivations does not depend on their order or number, and distributes over combining premises.
    """

    explicit: int
    """The annotation of explicit triples that never expire."""
    step: int
    """How much lower a derivation is than the lowest of its premises.

    With 1 a delete looks at facts in descending order: one that has a founded derivation left stays. With 0
    that would prove nothing, as facts with equal annotations may derive each other, so all that may rest on
    what goes is removed and derived again.
    """
    expires: bool
    """Whether facts go by their annotations, so that they are kept in order."""

    @property
    def top(self) -> int:
        """What a derivation without premises begins with: its conclusion is like an explicit triple."""
        return self.explicit + self.step

    def derivation(self, *premises: int) -> int:
        """Combine the annotations of premises.

        >>> LABELS.derivation(7, 3, 5), LEVELS.derivation(0, -2), LEVELS.derivation()
        (3, -3, 0)
        """
        return min(premises, default=self.top) - self.step


LABELS: Final = Algebra(ALWAYS, 0, expires=True)
LEVELS: Final = Algebra(0, 1, expires=False)
SETS: Final = Algebra(ALWAYS, 0, expires=False)
