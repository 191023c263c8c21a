"""Annotations of facts, and their combination.

A fact has one annotation, a number; higher is better. An explicit triple is given one. A derivation has the
lowest annotation of its premises, less `step`. A derived fact has the highest annotation of its derivations,
or in `LEVELS` that of the derivation that was found first. There are three algebras:

- `LABELS`, of windows: the annotation is the position at which a fact expires. A derivation lasts as long as
  the first of its premises.
- `LEVELS`, of graphs: the annotation is the negated number of steps from explicit triples. A derivation is
  below its premises. A derivation is *founded* if it is not below its fact. So no fact can be a premise of
  its own founded derivation, and one remaining founded derivation is enough for a fact to stay.
- `SETS`: all annotations are equal and carry no information.

Example: :near is symmetric, and (a, near, b) is explicit, so (b, near, a) follows from it, which in turn
derives (a, near, b). Levels are 0 and -1, and the second derivation has the level -2. It is below its own
conclusion, so (a, near, b) is removed when it is no longer explicit. With labels, all three have the label of
the explicit triple, and the labels do not show that one derivation rests on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ALWAYS", "LABELS", "LEVELS", "SETS", "Algebra"]

ALWAYS: Final = 1 << 200
"""The label of triples that never expire, above all others."""


@dataclass(frozen=True, slots=True)
class Algebra:
    """A way to combine annotations.

    Its laws, with `a` and `b` as annotations: a derivation is never better than a premise, so facts that are
    derived in descending order are derived once; a better premise never makes a derivation worse; combining
    derivations does not depend on their order or number, and distributes over combining premises.
    """

    explicit: int
    """The annotation of explicit triples that never expire."""
    step: int
    """The difference between the lowest premise of a derivation and the derivation.

    With 1 a delete visits facts in descending order: a fact with a founded derivation left stays. With 0 that
    would prove nothing, because facts with equal annotations may derive each other. So all facts that may
    rest on a removed fact are removed and derived again.
    """
    expires: bool
    """True if facts expire by their annotations, so that they are kept in order."""

    @property
    def top(self) -> int:
        """The annotation before `step` of a derivation without premises, whose conclusion equals an explicit
        triple.
        """
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
