"""Paths of `*` and `+` as joins: so many steps at most, each from what the steps before it have reached.

Example: with two steps at most, `:a :next+ ?x` is what `:a :next ?x` gives, and what `?y :next ?x` gives for
each ?y of these. Then a third step must reach nothing else: a longer path is an error, and not left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rdflive.errors import BudgetError
from rdflive.query import algebra
from rdflive.query.algebra import Closure, Distinct, Join, Node, Project, Union, Values
from rdflive.query.bgp import to_text
from rdflive.query.expressions import Expression

__all__ = ["unroll"]


def unroll(root: Node, steps: int) -> Node:
    """Give the query without closures whose answers are those of `root` as long as no path is longer.

    Its evaluation raises `BudgetError` where a path has more steps.
    """
    made: dict[Node, Node] = {}
    for node in algebra.topological(root):
        new = algebra.with_inputs(node, made)
        made[node] = _unrolled(new, steps) if isinstance(new, Closure) else new
    return made[root]


def _unrolled(closure: Closure, steps: int) -> Node:
    seeds, start, source, target = closure.seeds, closure.start, closure.source, closure.target
    # rows from one constant need not carry it
    constant = seeds.rows[0][0] if isinstance(seeds, Values) and len(seeds.rows) == 1 else None
    kept = (*closure.context, start) if constant is None else ()

    def further(reached: Node) -> Node:
        here = Project(reached, kept, ((source, target),))
        return Project(Join(here, closure.edges), (*kept, target))

    if seeds is None:  # `+` between all nodes that an edge leaves
        first: Node = Project(closure.edges, (*closure.context, target), ((start, source),))
    else:
        first = Project(seeds, kept, ((target, start),))
        first = first if closure.reflexive else Distinct(further(first))
    reached = first
    for _ in range(steps if closure.reflexive else steps - 1):
        reached = Distinct(Union((first, further(reached))))
    longer = algebra.Exists(further(reached), reached, negated=True)
    # a condition can read `target`, which the planner has made, but no blank node of a query
    found = Union((reached, algebra.Filter(longer, _Limit(steps, target.name))))
    shown = Project(found, kept, ((closure.end, target),))
    return shown if constant is None else algebra.Extend(shown, start, Expression(constant))


@dataclass(frozen=True, slots=True)
class _Limit:
    """The condition that there is no row: its test raises `BudgetError`."""

    steps: int
    end: str
    """The column of the node that a path has led to."""

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.end,)

    @property
    def text(self) -> str:
        return f"no path is longer than {self.steps} steps"

    @property
    def is_plain(self) -> bool:
        return True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        def test(row: tuple[int, ...]) -> bool:
            reached = to_text(terms.value(row[columns[self.end]]))
            raise BudgetError(
                f"a path of more steps than path_steps={self.steps} reaches {reached}: rebuild the state "
                "for more of them"
            )

        return test
