"""Packets: what is sent arrives, where it belongs, by whichever task it was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive_stores.spark.dataflow.packing import (
    bucket_of,
    mark,
    mix,
    pack,
    unmark,
    unpack,
)
from rdflive_stores.spark.dataflow.state import Mark
from support.effort import examples

KEYS = st.integers(-(1 << 63), (1 << 63) - 1)
SENT = st.lists(st.tuples(KEYS, st.sampled_from([-1, 0, 7]), st.text(max_size=3)), max_size=30)


@settings(max_examples=examples(60))
@given(SENT, st.integers(1, 5), st.randoms())
def test_rows_arrive_once(sent: Any, buckets: int, order: Any) -> None:
    """Rows arrive with their kind in the bucket of their key, in one order in whatever order packets do."""
    packets: list[pa.RecordBatch] = []
    for key, kind, text in sent:
        keys = np.array([key], np.int64)
        packets += pack(pa.table({"key": keys, "text": [text]}), kind, bucket_of(keys, buckets))
    first = list(unpack(packets))
    order.shuffle(packets)
    assert list(unpack(packets)) == first, "a task sends the same again"
    arrived = [
        (*row.values(), bucket, kind)
        for bucket, kinds in unpack(packets)
        for kind, rows in kinds.items()
        for row in rows.to_pylist()
    ]
    assert sorted(arrived) == sorted((key, text, key % buckets, kind) for key, kind, text in sent)


def test_marks_tell_of_buckets_and_go_no_further() -> None:
    """What is unmarked has the packets alone; buckets and micro-batches of the marks are known."""
    packets = list(pack(pa.table({"n": [4, 5]}), 0, np.array([1, 1])))
    marks: dict[int, Mark] = {}
    sent = {3: Mark(17, {"live": 9, "arranged": 17}, ["live"], 2), 0: Mark(18)}
    passed = list(unmark([mark(3, sent[3]), *packets, mark(0, sent[0])], marks))
    assert marks == sent
    assert {bucket: kinds[0]["n"].to_pylist() for bucket, kinds in unpack(passed)} == {1: [4, 5]}


def test_mix_is_the_same_everywhere() -> None:
    """Another machine looks for rows where this one sends them."""
    mixed = mix([np.array([1, -1]), np.array([7, 7])], 2)
    assert mixed.tolist() == [927500723928788985, 5720696147979284516]
