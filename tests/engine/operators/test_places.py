"""Places: what is compiled against what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row
from rdflive.engine.operators.places import key_at, mask_at, merger, row_at
from support.operators import Shape, rows, shapes


@pytest.mark.parametrize("places", [(), (0,), (-1,), (2, 1), (1, 1, -1), (-1, -1)])
def test_row_at_takes_places_and_gives_unbound_for_none(places: tuple[int, ...]) -> None:
    """The row of some places is a tuple of any length, with 0 where the place is -1."""
    assert row_at(places)((7, 8, 9)) == tuple(0 if p < 0 else (7, 8, 9)[p] for p in places)


@given(rows(3), rows(3), st.lists(st.integers(0, 2), max_size=3))
def test_key_at_is_equal_exactly_for_equal_places(one: Row, other: Row, places: list[int]) -> None:
    """Two rows have the same key exactly if they agree on the places."""
    key = key_at(places)
    assert (key(one) == key(other)) == all(one[p] == other[p] for p in places)


@given(rows(3), st.permutations(range(3)))
def test_mask_at_has_a_bit_per_bound_place(row: Row, places: list[int]) -> None:
    """Bit i of the mask says whether the i-th place is bound."""
    assert [bool(mask_at(places)(row) >> i & 1) for i in range(3)] == [bool(row[p]) for p in places]


@given(shapes(), st.data())
def test_merger_takes_the_left_value_if_bound(shape: Shape, data: st.DataObject) -> None:
    """Compatible rows merge to the left's value where it is bound and else to the right's."""
    left, right = data.draw(rows(shape.left)), list(data.draw(rows(shape.right)))
    for a, b in shape.keys:
        right[b] = left[a]
    merged = merger(shape.columns, shape.keys, shape.left)(left, tuple(right))
    assert merged == shape.merge(left, tuple(right))


@pytest.mark.parametrize("place", [0, 1])
def test_merger_takes_the_right_value_of_a_column_that_is_no_key(place: int) -> None:
    """A column of both sides that the join does not compare may be unbound on the left."""
    left = [7, 7]
    left[place] = 0
    assert merger(((place, 0),), (), 2)(tuple(left), (8,)) == (8,)
