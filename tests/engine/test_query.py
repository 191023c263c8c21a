"""Deltas of a query whose commit has two steps: what changed, and what expired."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import add_up, common_losses

WEIGHTS = st.dictionaries(st.tuples(st.integers(0, 3)), st.integers(-3, 3).filter(bool))


@given(WEIGHTS, WEIGHTS)
def test_losses_are_those_of_the_second_step_that_the_net_has(first: Any, second: Any) -> None:
    """Of two steps, what the second took away and the first had not added."""
    net = add_up([*first.items(), *second.items()])
    for solution, count in common_losses(net, second).items():
        assert 0 < count <= min(-second[solution], -net[solution])
    lost = {solution for solution, weight in second.items() if weight < 0 and net.get(solution, 0) < 0}
    assert common_losses(net, second).keys() == lost
