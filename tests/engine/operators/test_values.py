"""Values: its rows come once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Values
from support.operators import CountingDictionary, ids_of, rows, weigh


@pytest.mark.parametrize(
    ("given_rows", "delta"),
    [([(1, 2), (0, 2), (1, 2)], {(1, 2): 2, (0, 2): 1}), ([()], {(): 1}), ([], {})],
)
def test_values_of_examples(given_rows: list[Row], delta: Weights) -> None:
    """The table's rows come with the first update."""
    assert Values(given_rows, CountingDictionary()).update() == delta


@given(st.lists(rows(2)))
def test_values_come_once_and_are_held_until_clear(given_rows: list[Row]) -> None:
    """The first update gives the rows with their counts, later ones nothing; clear, repeated, frees them."""
    dictionary = CountingDictionary()
    values = Values(given_rows, dictionary)
    counts = weigh((row, 1) for row in given_rows)
    assert values.update() == counts
    assert values.update() == {}
    assert dictionary.in_use() == ids_of(counts)
    for _ in range(2):
        values.clear()
        assert dictionary.in_use() == set()
        assert not any(values.containers())


def test_values_refuse_an_input() -> None:
    """A delta given to what has no input is an error, not ignored."""
    with pytest.raises(ValueError, match="Values has no inputs, 1 deltas were given"):
        Values([], CountingDictionary()).update({})
