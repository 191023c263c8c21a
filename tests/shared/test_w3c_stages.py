"""The W3C query tests by Spark's stages: their data in micro-batches, in and out again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dataflow.simulation import Simulation, in_order
from support.effort import drawn_from
from support.one_process import Row, added
from support.shared import shared
from support.w3c import Case, load_cases
from support.w3c_exceptions import TOLD_APART_ON_SPARK
from support.w3c_streams import answers, check, draw_steps, written

pytestmark = pytest.mark.shared

MAINTAINED = [case for case in load_cases() if case.is_maintained]
PATH_STEPS = 6
"""No path in the data is longer."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", MAINTAINED, ids=repr)
def test_w3c_query_is_maintained_by_stages(case: Case, tmp_path: Path) -> None:
    """After each micro-batch the deltas add up to the full answer, whatever is killed; nothing stays."""
    if case.id not in TOLD_APART_ON_SPARK:
        play(case, tmp_path)
        return
    with pytest.raises(AssertionError, match="the deltas add up to"):
        play(case, tmp_path)


def play(case: Case, folder: Path) -> None:
    """Run the micro-batches of a test, and compare each."""
    draw = drawn_from(case.id, "stages")
    options: dict[str, Any] = {"buckets": draw.randint(1, 4), "path_steps": PATH_STEPS}
    simulation = Simulation(case.query, str(folder / "state"), cuts=draw, **options)
    steps, total = draw_steps(Case(case.entry)), Counter[Row]()
    for step, expected in zip(steps, answers(case, steps), strict=True):
        changes = in_order((op, quad) for op, *quad in written(step))  # type: ignore[misc]  # four texts
        if draw.random() < 0.3:
            simulation.attempt(changes, draw.randint(1, simulation.length))
        total = added(total, simulation.run(changes))
        check(expected, simulation.joint.columns, total)
    empty = Simulation(case.query, str(folder / "empty"), **options)
    assert total == empty.run([])
    assert simulation.held() == empty.held()


def test_no_exception_is_left_over() -> None:
    """Each test that is named as an exception is there."""
    shared("data", "w3c", "index.json")
    assert TOLD_APART_ON_SPARK.keys() <= {case.id for case in MAINTAINED}
