"""EXISTS and OPTIONAL with an inequality: recomputation from the accumulated inputs, and what is visited."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import ExistsOperator, LeftJoinOperator, MatchedOperator, Order
from rdflive.engine.ranges import Place
from support.operators import CountingDictionary, Shape, check, histories, ids_of, rows, shapes, weigh

FALSE, TRUE = 5, 6
OPERATORS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def place_at(column: int, most: int) -> Callable[[Row], Place | None]:
    """The place of a column in an order of ids: those from `most` on have one key, and the unbound 0 none."""
    return lambda row: ("", min(row[column], most)) if row[column] else None


@dataclass(frozen=True)
class Compared:
    """Two inputs with an inequality between a column of the left and one of the right."""

    shape: Shape
    left: int
    sign: str
    right: int
    extra: bool
    """Whether the condition asks for more than the inequality."""
    most: int
    """The least id of those that have one key."""

    def order(self, right: int) -> Order:
        """The inequality by places, with the right value in some column."""
        return Order(place_at(self.left, self.most), self.sign, place_at(right, self.most))

    def fits(self, left: Row, right: Row) -> bool:
        """True for compatible rows that meet the condition."""
        one, other = left[self.left], right[self.right]
        return self.shape.fits(left, right) and self.holds((one, other, left[0], right[0]))

    def holds(self, row: Row) -> bool:
        """The condition, of both values and the first columns."""
        one, other, first, second = row
        met = bool(one and other and OPERATORS[self.sign](one, other))
        return met and not (self.extra and first == second)

    def matched(self, dictionary: CountingDictionary, *, ordered: bool) -> MatchedOperator:
        """The operator; right rows are reduced to what is compared and their first column."""
        shape = self.shape
        compared = tuple(dict.fromkeys([*(b for _, b in (*shape.keys, *shape.maybe)), self.right, 0]))
        pairs = [tuple((a, compared.index(b)) for a, b in part) for part in (shape.keys, shape.maybe)]
        read = ((self.left, -1), (-1, compared.index(self.right)), (0, -1), (-1, compared.index(0)))
        order = self.order(compared.index(self.right)) if ordered and not shape.maybe else None
        return MatchedOperator(
            dictionary,
            pairs[0],
            pairs[1],
            compared,
            read,
            self.holds,
            order,
            is_all=order is not None and not self.extra,
        )


@st.composite
def comparisons(draw: st.DrawFn, *, exactly: bool = False) -> Compared:
    """Any two inputs with columns, and an inequality between two of them."""
    found = draw(shapes().filter(lambda shape: shape.left and shape.right and not (exactly and shape.maybe)))
    left, right = draw(st.integers(0, found.left - 1)), draw(st.integers(0, found.right - 1))
    sign, extra, most = draw(st.sampled_from([*OPERATORS])), draw(st.booleans()), draw(st.integers(1, 3))
    return Compared(found, left, sign, right, extra, most)


@pytest.mark.parametrize("ordered", [True, False])
@given(comparisons(), st.booleans(), st.booleans(), st.data())
def test_exists_with_a_condition_equals_recomputation(
    ordered: bool, compared: Compared, negated: bool, marked: bool, data: st.DataObject
) -> None:
    """The deltas add up to the left rows by whether a right row meets the condition; all is let go."""

    def recompute(left: Weights, right: Weights) -> Weights:
        kept = []
        for row, weight in left.items():
            holds = any(compared.fits(row, other) for other in right) != negated
            kept += [((*row, TRUE if holds else FALSE), weight)] if marked else [(row, weight)] * holds
        return weigh(kept)

    def keeps(left: Weights, right: Weights) -> set[int]:
        held = ids_of(
            left, {(*compared.shape.compared(row), row[compared.right], row[0]): 1 for row in right}
        )
        return held | {FALSE, TRUE} if marked else held

    dictionary = CountingDictionary()
    partners = compared.matched(dictionary, ordered=ordered)
    exists = ExistsOperator(dictionary, partners, negated, (FALSE, TRUE) if marked else None)
    history = data.draw(histories(rows(compared.shape.left), rows(compared.shape.right)))
    check(exists, history, recompute, dictionary, keeps)


@given(comparisons(exactly=True), st.data())
def test_left_join_in_order_equals_recomputation(compared: Compared, data: st.DataObject) -> None:
    """The deltas add up to the matches and the padded rows without any; both sides are held, and let go."""
    shape = compared.shape
    columns = ((compared.left, -1), (-1, compared.right), (0, -1), (-1, 0))

    def merge(left: Row, right: Row) -> Row:
        return left[compared.left], right[compared.right], left[0], right[0]

    def recompute(left: Weights, right: Weights) -> Weights:
        weighted = []
        for row, weight in left.items():
            matches = [(merge(row, o), n * weight) for o, n in right.items() if compared.fits(row, o)]
            weighted += matches or [((row[compared.left], 0, row[0], 0), weight)]
        return weigh(weighted)

    dictionary = CountingDictionary()
    join = LeftJoinOperator(
        dictionary, shape.keys, (), columns, compared.holds, compared.order(compared.right)
    )
    check(join, data.draw(histories(rows(shape.left), rows(shape.right))), recompute, dictionary, ids_of)


def test_a_right_row_visits_the_left_rows_between_the_old_extreme_and_the_new() -> None:
    """Of 1,000 left rows that are compared, those that do not turn cost nothing."""
    tested: list[Any] = []

    def holds(row: Row) -> bool:
        tested.append(row)
        return row[0] < row[1]

    order = Order(lambda row: ("number", row[0]), "<", lambda row: ("number", row[0]))
    size = 1000
    dictionary = CountingDictionary(2 * size)
    exists = ExistsOperator(
        dictionary,
        MatchedOperator(dictionary, (), (), (0,), ((0, -1), (-1, 0)), holds, order, is_all=True),
    )
    exists.update({(number,): 1 for number in range(size)}, {(500,): 1, (490,): 1, (10,): 1})
    few = 20
    for delta, turned in (
        ({(510,): 1}, range(500, 510)),
        ({(505,): 1}, ()),
        ({(10,): -1}, ()),
        ({(510,): -1}, range(505, 510)),
        ({(505,): -1, (506,): 1}, (505,)),
    ):
        tested.clear()
        assert sorted(row[0] for row in exists.update({}, delta)) == [*turned]
        assert len(tested) <= few


def test_with_other_conditions_a_right_row_that_goes_visits_the_left_rows_that_it_matched() -> None:
    """Each left row knows one match, the nearest when it was found, and searches only if that goes."""
    tested: list[Any] = []

    def holds(row: Row) -> bool:
        tested.append(row)
        return row[0] < row[1] and row[1] % 7 != 0

    order = Order(lambda row: ("number", row[0]), "<", lambda row: ("number", row[0]))
    size = 500
    dictionary = CountingDictionary(2 * size)
    exists = ExistsOperator(
        dictionary, MatchedOperator(dictionary, (), (), (0,), ((0, -1), (-1, 0)), holds, order), negated=True
    )
    numbers: Weights = {(number,): 1 for number in range(size)}
    assert exists.update({}, numbers) == {}
    kept = sum(map(len, exists.containers()))
    assert exists.update(numbers, {}) == {(499,): 1}
    exists.update(dict.fromkeys(numbers, -1), {})
    assert sum(map(len, exists.containers())) == kept
    exists.update(numbers, {})
    few = 20
    for number in (499, 250, 3):
        tested.clear()
        expected = {(498,): 1} if number == 499 else {}
        assert exists.update({}, {(number,): -1}) == expected
        assert len(tested) <= few
