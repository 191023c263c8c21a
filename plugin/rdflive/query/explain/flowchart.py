"""A plan as a tree, and as a Mermaid flowchart: operators above, each basic graph pattern below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rdflive.query.bgp import Variable, VarOrTerm
from rdflive.query.explain.leaf import ALGORITHMS
from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.words import describe
from rdflive.query.plan import Plan, Step
from rdflive.query.segment import BasicPlan, Segment

__all__ = ["OutlineBranch", "flowchart", "outline"]


@dataclass(frozen=True, slots=True)
class OutlineBranch:
    """A step in the drawing, numbered from the answer downwards."""

    number: int
    step: Step
    branches: tuple[OutlineBranch, ...]
    first_pattern: int
    """The number of a leaf's first pattern: numbers continue through the whole plan."""
    again: bool = False
    """True if the step is drawn elsewhere: nothing below is repeated."""

    def walk(self) -> Iterator[OutlineBranch]:
        """List the drawn steps, in the order of their numbers."""
        if not self.again:
            yield self
        for branch in self.branches:
            yield from branch.walk()


def outline(plan: Plan) -> OutlineBranch:
    """Arrange the steps of a plan from the answer down to the leaves."""
    drawn: dict[int, OutlineBranch] = {}
    numbers: dict[int, int] = {}
    patterns = 1

    def branch(index: int) -> OutlineBranch:
        nonlocal patterns
        step = plan.steps[index]
        if index in drawn:
            known = drawn[index]
            return OutlineBranch(known.number, step, (), known.first_pattern, again=True)
        # before its inputs, so that numbers count downwards
        number = numbers[index] = len(numbers) + 1
        first = patterns
        if step.basic is not None:
            patterns += sum(len(segment.patterns) for segment in step.basic.segments)
        drawn[index] = OutlineBranch(number, step, tuple(map(branch, step.inputs)), first)
        return drawn[index]

    return branch(len(plan.steps) - 1)


# Mermaid writes entities with # in place of &
_ENTITIES: Final = str.maketrans(
    {"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;"}
)


def flowchart(plan: Plan) -> str:
    """Draw a plan: rows flow upwards, from the patterns to the answer."""
    names = VariableNames(plan)
    last = plan.steps[-1].basic
    if last is not None:
        return "\n".join(["flowchart LR", *_segments(last, names, "S", "  ")])
    return "\n".join(["flowchart BT", *_operators(outline(plan), plan, names)])


def _operators(root: OutlineBranch, plan: Plan, names: VariableNames) -> Iterator[str]:
    for branch in root.walk():
        words = describe(branch.step, plan, names)
        basic = branch.step.basic
        if basic is not None:
            yield f'  subgraph O{branch.number}["{branch.number} {_escape(words.title)}"]'
            yield "    direction LR"
            yield from _segments(basic, names, f"O{branch.number}S", "    ")
            yield "  end"
        else:
            yield (
                f'  O{branch.number}["{branch.number} {_escape(words.title)}'
                f'<br>keeps {_escape(words.keeps)}"]'
            )
    for branch in root.walk():
        for below in branch.branches:
            yield f"  O{below.number} --> O{branch.number}"


def _segments(plan: BasicPlan, names: VariableNames, prefix: str, indent: str) -> Iterator[str]:
    """Draw segments as boxes whose nodes are terms and whose edges are patterns."""
    for number, segment in enumerate(plan.segments, 1):
        box = f"{prefix}{number}"
        yield f'{indent}subgraph {box}["{ALGORITHMS[segment.algorithm]}"]'
        nodes: dict[VarOrTerm, str] = {}
        for pattern in segment.patterns:
            ends = []
            for term in (pattern.subject, pattern.object):
                if term not in nodes:
                    nodes[term] = f"{box.lower()}n{len(nodes)}"
                    yield f"{indent}  {nodes[term]}{_shape(term, segment, names)}"
                ends.append(nodes[term])
            yield f'{indent}  {ends[0]} -- "{_escape(names.term(pattern.predicate))}" --> {ends[1]}'
        yield f"{indent}end"


def _shape(term: VarOrTerm, segment: Segment, names: VariableNames) -> str:
    label = _escape(names.term(term))
    if term in segment.centres:
        return f'((("{label}")))'
    return f'(("{label}"))' if isinstance(term, Variable) else f'["{label}"]'


def _escape(text: str) -> str:
    return text.translate(_ENTITIES)
