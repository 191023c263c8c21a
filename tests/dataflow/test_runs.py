"""Sorted runs: look-ups, sums, and what is compared by text."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive_stores.spark.dataflow.runs import Layout, Run, expand, sort_rows, sum_rows
from support.effort import examples

LAYOUT = Layout(2, 1)
SMALL = st.integers(-2, 2)
ROWS = st.lists(st.tuples(st.integers(0, 2), SMALL, SMALL, SMALL), max_size=25)
"""Index, key, rest and weight."""
CUTS = st.lists(st.integers(0, 99), max_size=4)


def table(rows: list[tuple[int, int, int, int]]) -> pa.Table:
    """Make rows whose texts say their key and rest; the last text is missing."""
    index, key, rest, weight = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
    texts = [f"{k} {r}" for k, r in zip(key, rest, strict=True)]
    columns = [index, key, rest, weight, texts, [None] * len(rows), key]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LAYOUT.schema, strict=True)]
    return pa.table(arrays, schema=LAYOUT.schema)


def run_of(rows: list[tuple[int, int, int, int]], cuts: list[int]) -> Run:
    """Make a run of rows, in segments that begin at some places."""
    whole = sort_rows(table(rows))
    begins = sorted({cut % len(rows) for cut in cuts} | {0})
    pairs = zip(begins, [*begins[1:], len(rows)], strict=True)
    return Run(*(whole.slice(begin, end - begin).combine_chunks() for begin, end in pairs))


@settings(max_examples=examples(100))
@given(ROWS.filter(len), CUTS, st.lists(st.tuples(SMALL, SMALL), max_size=6))
def test_find_gives_the_rows_of_a_key(rows: Any, cuts: Any, others: Any) -> None:
    """A look-up by key, or by key and rest, gives as many rows as a scan, each with what was asked for.

    However the run is cut, also in the middle of a key.
    """
    run = run_of(rows, cuts)
    wanted = [*others, *((key, rest) for _, key, rest, _ in rows)]
    keys = np.array([key for key, _ in wanted], np.int64)
    rests = np.array([rest for _, rest in wanted], np.int64)
    for index in range(-1, 4):
        listed = [(key, rest) for i, key, rest, _ in rows if i == index]
        begin, end = run.find(index, keys)
        assert list(end - begin) == [sum(key == k for k, _ in listed) for key, _ in wanted]
        begin, end = run.find(index, keys, rests)
        assert list(end - begin) == [listed.count(pair) for pair in wanted]
        mine, theirs = expand(begin, end)
        texts = [str(text) for text in run.texts("v0", theirs)]
        assert texts == [f"{keys[m]} {rests[m]}" for m in mine]


@settings(max_examples=examples(60))
@given(ROWS.filter(len), CUTS, st.data())
def test_a_run_is_one_table_however_it_is_cut(rows: Any, cuts: Any, data: Any) -> None:
    """Positions, slices and columns are those of the sorted rows as one table."""
    run, whole = run_of(rows, cuts), sort_rows(table(rows))
    assert (len(run), run.table.to_pylist()) == (len(rows), whole.to_pylist())
    positions = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)), np.int64)
    assert run.rows(positions).to_pylist() == whole.take(pa.array(positions)).to_pylist()
    for name in ("index", "rest", "weight"):
        assert list(run.numbers(name, positions)) == whole[name].take(pa.array(positions)).to_pylist()
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    assert run.slice(begin, end).to_pylist() == whole.slice(begin, end - begin).to_pylist()
    places = sorted((index, key, rest) for index, key, rest, _ in rows)
    for position, place in enumerate(places):
        assert run.place(position) == place
        assert run.up_to(run.place(position)) == sum(other <= place for other in places)


@settings(max_examples=examples(60))
@given(st.lists(ROWS, min_size=1, max_size=4))
def test_sum_rows_adds_weights(parts: Any) -> None:
    """A sum of tables has each row once, with the sum of its weights, none with 0, and sorted."""
    summed = sum_rows([table(rows) for rows in parts], LAYOUT)
    expected: Counter[Any] = Counter()
    for index, key, rest, weight in (row for rows in parts for row in rows):
        expected[index, key, rest] += weight
    found = zip(*(summed[name].to_pylist() for name in ("index", "key", "rest", "weight")), strict=True)
    listed = [(row[:3], row[3]) for row in found]
    assert [row for row, _ in listed] == sorted(row for row, weight in expected.items() if weight)
    assert all(expected[row] == weight for row, weight in listed)
    assert summed.schema == LAYOUT.schema


def test_sum_rows_tells_versions_apart() -> None:
    """Of bytes that are held, a version that was taken away goes, whichever row comes first."""
    shape = Layout(1, held=True)

    def state(version: int, weight: int, held: bytes | None) -> pa.Table:
        columns = {
            "index": [0],
            "key": [0],
            "rest": [version],
            "weight": [weight],
            "v0": ["a"],
            "held": [held],
        }
        return pa.table(columns).cast(shape.schema)

    old, gone, new = state(3, 1, b"old"), state(3, -1, None), state(5, 1, b"new")
    for tables in permutations([old, gone, new]):
        assert sum_rows(tables, shape).to_pylist() == new.to_pylist()
    assert sum_rows([gone, old], shape).num_rows == 0
    assert sum_rows([gone], shape).to_pylist() == gone.to_pylist()
