"""Random histories of the inputs of an operator, and the check that every operator must pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Operator

Pairs = tuple[tuple[int, int], ...]
History = list[tuple[Weights, ...]]
"""One net delta per input for each update; no accumulated weight falls below zero."""

IDS = st.integers(0, 3)


class CountingDictionary(Dictionary):
    """A dictionary of the ids from 1 to `size` that counts references and keeps unreferenced ids."""

    def __init__(self, size: int = 8) -> None:
        super().__init__()
        for number in range(size):
            super().hold([self.intern(f"term {number}")])
        self.held: Counter[int] = Counter()

    def hold(self, ids: Iterable[int]) -> None:
        """Count the references too."""
        ids = tuple(ids)
        super().hold(ids)
        self.held.update(ids)

    def drop(self, ids: Iterable[int]) -> None:
        """Check that the references exist."""
        ids = tuple(ids)
        super().drop(ids)
        self.held.subtract(ids)
        assert min(self.held.values(), default=0) >= 0

    def in_use(self) -> set[int]:
        """Return the referenced ids, without UNBOUND."""
        return {i for i, count in self.held.items() if count and i}


def rows(arity: int) -> st.SearchStrategy[Row]:
    """Draw rows of a few ids, UNBOUND among them."""
    return st.tuples(*[IDS] * arity)


@st.composite
def histories(draw: st.DrawFn, *inputs: st.SearchStrategy[Row], updates: int = 6) -> History:
    """Draw deltas of both signs to all inputs at once: several rows, multiplicities above one, and empty."""
    totals: list[Weights] = [{} for _ in inputs]
    history = []
    for _ in range(draw(st.integers(0, updates))):
        deltas = []
        for total, strategy in zip(totals, inputs, strict=True):
            wanted = draw(st.dictionaries(strategy, st.integers(-3, 3), max_size=5))
            if total and draw(st.booleans()):
                wanted[draw(st.sampled_from(sorted(total)))] = -3
            floor = {row: max(change, -total.get(row, 0)) for row, change in wanted.items()}
            delta = {row: change for row, change in floor.items() if change}
            add(total, delta)
            deltas.append(delta)
        history.append(tuple(deltas))
    return history


def add(total: Weights, delta: Weights) -> None:
    """Add a delta to a multiset."""
    for row, change in delta.items():
        assert change
        total[row] = total.get(row, 0) + change
        assert total[row] >= 0
        if not total[row]:
            del total[row]


def check(
    operator: Operator,
    history: History,
    recompute: Callable[..., Weights],
    dictionary: CountingDictionary | None = None,
    keeps: Callable[..., set[int]] = lambda *inputs: set(),
) -> None:
    """Follow an operator through a history, down to empty, up again, and clear it.

    After every update the sum of its deltas must equal `recompute` of the accumulated inputs, and exactly
    the ids that `keeps` returns must be referenced.
    """
    if not history:
        return
    inputs: list[Weights] = [{} for _ in history[0]]
    output: Weights = {}

    def step(*deltas: Weights) -> None:
        copies = [dict(delta) for delta in deltas]
        change = operator.update(*deltas)
        assert copies == [*deltas]
        for total, delta in zip(inputs, deltas, strict=True):
            add(total, delta)
        add(output, change)
        assert output == recompute(*inputs)
        if dictionary is not None:
            assert dictionary.in_use() == keeps(*inputs)

    for deltas in history:
        step(*deltas)
    whole = [dict(total) for total in inputs]
    for i, total in enumerate(whole):  # empty the inputs one by one
        step(*[{row: -w for row, w in total.items()} if i == j else {} for j in range(len(whole))])
    assert output == {}
    assert not any(operator.containers())
    step(*whole)
    operator.clear()
    assert not any(operator.containers())
    if dictionary is not None:
        assert dictionary.in_use() == set()


def ids_of(*inputs: Weights) -> set[int]:
    """Return the ids of all rows."""
    return {i for total in inputs for row in total for i in row if i}


@dataclass(frozen=True)
class Shape:
    """The columns by which two inputs are compared and merged."""

    left: int
    right: int
    keys: Pairs
    maybe: Pairs
    columns: Pairs

    def fits(self, left: Row, right: Row) -> bool:
        """Return True for compatible rows."""
        exact = all(left[a] == right[b] for a, b in self.keys)
        return exact and all(left[a] == right[b] or 0 in (left[a], right[b]) for a, b in self.maybe)

    def merge(self, left: Row, right: Row) -> Row:
        """Merge two compatible rows."""
        return tuple((a >= 0 and left[a]) or (b >= 0 and right[b]) or 0 for a, b in self.columns)

    def pad(self, left: Row) -> Row:
        """Extend a left row without a partner to the columns of the output."""
        return self.merge(left, (0,) * self.right)

    def compared(self, right: Row) -> Row:
        """Return the compared columns of a right row."""
        return tuple(right[b] for _, b in (*self.keys, *self.maybe))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Draw two inputs of up to four columns, any compared columns, and any output."""
    left, right = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    lefts, rights = draw(st.permutations(range(left))), draw(st.permutations(range(right)))
    shared = list(zip(lefts, rights, strict=False))[: draw(st.integers(0, 3))]
    cut = draw(st.integers(0, len(shared)))
    alone = [*((place, -1) for place in range(left)), *((-1, place) for place in range(right)), (-1, -1)]
    columns = draw(st.lists(st.sampled_from([*shared, *alone]), max_size=5))
    return Shape(left, right, tuple(shared[:cut]), tuple(shared[cut:]), tuple(columns))


def weigh(weighted: Iterable[tuple[Row, int]]) -> Weights:
    """Add up the weights of equal rows."""
    total: Weights = {}
    for row, weight in weighted:
        total[row] = total.get(row, 0) + weight
    return {row: weight for row, weight in total.items() if weight}


def net(operator: Operator, *steps: Sequence[Weights]) -> list[Weights]:
    """Run an operator through the steps of an example and list its deltas."""
    return [operator.update(*deltas) for deltas in steps]
