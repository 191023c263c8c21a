"""The plan as a tree for drawing: a step that feeds several others is drawn under the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rdflive.query.plan import Plan, Step

__all__ = ["OutlineBranch", "outline"]


@dataclass(frozen=True, slots=True)
class OutlineBranch:
    """A step in the drawing, numbered from the answer downwards."""

    number: int
    step: Step
    branches: tuple[OutlineBranch, ...]
    first_pattern: int
    """The number of a leaf's first pattern: they count through the whole plan."""
    again: bool = False
    """True where the step is drawn elsewhere: nothing below is repeated."""

    def walk(self) -> Iterator[OutlineBranch]:
        """List the steps that are drawn, in the order of their numbers."""
        if not self.again:
            yield self
        for branch in self.branches:
            yield from branch.walk()


def outline(plan: Plan) -> OutlineBranch:
    """Arrange the steps of a plan from the one that gives the answer down to the leaves."""
    drawn: dict[int, OutlineBranch] = {}
    numbers: dict[int, int] = {}
    patterns = 1

    def branch(index: int) -> OutlineBranch:
        nonlocal patterns
        step = plan.steps[index]
        if index in drawn:
            known = drawn[index]
            return OutlineBranch(known.number, step, (), known.first_pattern, again=True)
        # before its inputs get theirs, so that numbers count downwards
        number = numbers[index] = len(numbers) + 1
        first = patterns
        if step.basic is not None:
            patterns += sum(len(segment.patterns) for segment in step.basic.segments)
        drawn[index] = OutlineBranch(number, step, tuple(map(branch, step.inputs)), first)
        return drawn[index]

    return branch(len(plan.steps) - 1)
