"""The stage behind entailment: the explicit triples that entail a triple are counted.

A triple is there while its count is above 0, so a change of the counts is a change of the entailed graph only
where they leave 0 or come back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive_stores.spark.dataflow.matching import LAYOUT, present, quad_rows, send_matches
from rdflive_stores.spark.dataflow.packing import unpack
from rdflive_stores.spark.dataflow.plan import MatchPlan
from rdflive_stores.spark.dataflow.runs import Numbers
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment

__all__ = ["COUNTED", "count"]

COUNTED: Final = "entailed"
"""The folder of the entailed triples with their counts."""
_IDENTITY: Final = ("s", "p", "o", "g")
_HASHES: Final = ("hs", "hp", "ho", "hg", "hash")


def count(
    plan: MatchPlan, now: TaskMoment, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn what changes entail into matches of the patterns, as `matching.match` does with the changes."""
    for bucket, kinds in unpack(batches):
        (rows,) = kinds.values()
        quads, gained = _net(rows)
        if not quads.num_rows:
            continue
        state = Bucket.of(now, COUNTED, bucket, LAYOUT)
        before, _ = present(state.before(), 0, quads)
        state.add(quad_rows(quads, gained, LAYOUT))
        signs = (before + gained > 0).astype(np.int64) - (before > 0)
        turned = np.nonzero(signs)[0]
        yield from send_matches(plan, quads.take(pa.array(turned)).combine_chunks(), signs[turned], buckets)


def _net(rows: pa.Table) -> tuple[pa.Table, Numbers]:
    """Add up the weights of equal rows; gives each row once, and its sum, which is not 0."""
    grouped = rows.group_by(_IDENTITY, use_threads=False)
    # equal rows have equal hashes
    summed = grouped.aggregate([("weight", "sum"), *((name, "max") for name in _HASHES)])
    summed = summed.filter(pc.not_equal(summed["weight_sum"], 0)).combine_chunks()
    quads = summed.select([*_IDENTITY, *(f"{name}_max" for name in _HASHES)])
    return quads.rename_columns([*_IDENTITY, *_HASHES]), summed["weight_sum"].to_numpy()
