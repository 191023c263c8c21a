"""The W3C query tests on Spark itself; those over the same data are one subscription."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow.query_plan import plan_queries
from rdflive_stores.spark.subscription import subscribe
from support.one_process import Row, added
from support.shared import shared
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, by_query
from support.w3c import Case, load_cases
from support.w3c_exceptions import TOLD_APART_ON_SPARK
from support.w3c_streams import answers, check, draw_steps, written

pytestmark = [
    pytest.mark.shared,
    pytest.mark.hunted("the gate has them by the same stages without Spark, in dataflow/test_w3c.py"),
]
PARTS = 12
TOGETHER = 3
"""So many subscriptions run at once, which is faster: a small micro-batch leaves cores idle."""
PARTITIONS = 2
PATH_STEPS = 6
"""No path in the data is longer."""
MOST = 8
"""So many queries at most are one subscription."""


@pytest.mark.parametrize("part", range(PARTS))
def test_w3c_queries_are_maintained_on_spark(part: int, spark: SparkSession, tmp_path: Path) -> None:
    """After each micro-batch the deltas of each query add up to its full answer."""
    shared("data", "w3c", "index.json")
    groups = list(grouped())[part::PARTS]
    assert groups
    for begin in range(0, len(groups), TOGETHER):
        some = enumerate(groups[begin : begin + TOGETHER], begin)
        followed = [Followed(spark, cases, tmp_path / str(number)) for number, cases in some]
        for one in followed:
            one.query.awaitTermination()
            one.check()


def grouped() -> Iterator[list[Case]]:
    """Put tests over the same data together, but for columns that differ in capitals only."""
    open_: dict[str, tuple[list[Case], dict[str, str]]] = {}
    for case in load_cases():
        if not case.is_maintained or case.id in TOLD_APART_ON_SPARK:
            continue
        columns = plan_queries({"": case.query}, path_steps=PATH_STEPS).columns
        data = str((case.entry["data"], case.entry["graph_data"], case.dataset_clause))
        cases, names = open_.get(data, ([], {}))
        if len(cases) == MOST or any(names.get(name.lower(), name) != name for name in columns):
            yield cases
            cases, names = [], {}
        cases.append(case)
        names.update((name.lower(), name) for name in columns)
        open_[data] = cases, names
    for cases, _ in open_.values():
        yield cases


class Followed:
    """A subscription to the queries of some tests, which runs over all of their data."""

    def __init__(self, spark: SparkSession, cases: list[Case], folder: Path) -> None:
        self._cases = cases
        self._steps = draw_steps(Case(cases[0].entry))
        files = ChangeFiles(folder / "changes")
        for step in self._steps:
            files.add([Operation(op, s, p, o, graph or None) for op, s, p, o, graph in written(step)])
        texts = {case.id: case.query for case in cases}
        self._plan = plan_queries(texts, path_steps=PATH_STEPS)
        subscription = subscribe(
            files.stream(spark),
            texts,
            checkpoint=folder / "checkpoint",
            partitions=PARTITIONS,
            path_steps=PATH_STEPS,
        )
        self._found = Nets()
        self.query = subscription.start(self._found, trigger=AT_ONCE)

    def check(self) -> None:
        """Compare what has come, after each micro-batch, with the answers."""
        nets = [by_query(self._plan, net) for net in self._found.list]
        assert len(nets) == len(self._steps)
        for query, case in zip(self._plan.queries, self._cases, strict=True):
            total: Counter[Row] = Counter()
            for net, expected in zip(nets, answers(case, self._steps), strict=True):
                total = added(total, net[case.id])
                check(expected, query.names, total)
