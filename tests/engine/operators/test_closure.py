"""Property paths against a new search of the edges after every update."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import reach
from rdflive.engine.operators.closure import ClosureOperator
from support.effort import drawn_from, examples, rounds

NODES = 8


def names() -> Dictionary:
    """A dictionary with the ids that the tests use, none of them held."""
    dictionary = Dictionary()
    for name in range(100):
        dictionary.intern(name)
    return dictionary


def is_free(dictionary: Dictionary) -> bool:
    """Whether nothing is held any more."""
    dictionary.sweep()
    return not len(dictionary)


def recomputed(edges: set[Row], seeds: set[Row] | None, context: int, reflexive: bool) -> set[Row]:
    """The pairs found by a search from each start."""
    successors: dict[Row, set[Row]] = {}
    for row in edges:
        successors.setdefault(row[:-1], set()).add((*row[:context], row[-1]))
    pairs: set[Row] = set()
    for start in successors if seeds is None else seeds:
        found = {start} if reflexive else set(successors.get(start, ()))
        todo = list(found)
        while todo:
            near = successors.get(todo.pop(), set()) - found
            found |= near
            todo.extend(near)
        pairs |= {(*start, end[-1]) for end in found}
    return pairs


def toggle(present: set[Row], rows: Iterable[Row]) -> Weights:
    """Turn each row on or off in a set; the delta that this makes."""
    delta = {row: -1 if row in present else 1 for row in rows}
    present.symmetric_difference_update(delta)
    return delta


def check(updates: list[tuple[list[Row], list[Row]]], context: int, reflexive: bool, seeded: bool) -> None:
    """Apply toggles of edges and seeds, then undo what is left, comparing after every update."""
    dictionary = names()
    closure = ClosureOperator(dictionary, context=context, reflexive=reflexive, seeded=seeded)
    edges: set[Row] = set()
    seeds: set[Row] = set()
    answer: Weights = {}
    left = (
        sorted({row for rows, _ in updates for row in rows}),
        sorted({row for _, rows in updates for row in rows}),
    )
    for number, (some_edges, some_seeds) in enumerate([*updates, left, left]):
        if number > len(updates):
            some_edges, some_seeds = sorted(edges), sorted(seeds)
        deltas = [toggle(edges, some_edges)]
        if seeded:
            deltas.append(toggle(seeds, some_seeds))
        for row, change in closure.update(*deltas).items():
            assert change in (1, -1)
            answer[row] = answer.get(row, 0) + change
        answer = {row: weight for row, weight in answer.items() if weight}
        assert answer == dict.fromkeys(recomputed(edges, seeds if seeded else None, context, reflexive), 1)
        assert closure.rows() == answer
    assert not any(closure.containers())
    assert is_free(dictionary)


def updates(context: int, most: int = 30) -> st.SearchStrategy[list[tuple[list[Row], list[Row]]]]:
    node = st.integers(1, NODES)
    graph = [st.integers(90, 91)] * context
    edges = st.lists(st.tuples(*graph, node, node), max_size=3)
    seeds = st.lists(st.tuples(*graph, node), max_size=2)
    return st.lists(st.tuples(edges, seeds), max_size=most)


EXAMPLES: dict[str, tuple[Weights, Weights, Weights]] = {
    "an edge": ({(1, 2): 1}, {(2, 3): 1}, {(1, 3): 1, (2, 3): 1}),
    "a bridge": ({(1, 2): 1, (3, 4): 1}, {(2, 3): 1}, {(1, 3): 1, (1, 4): 1, (2, 3): 1, (2, 4): 1}),
    "another way": ({(1, 2): 1, (2, 4): 1, (1, 3): 1, (3, 4): 1}, {(2, 4): -1}, {(2, 4): -1}),
    "a detour": ({(1, 2): 1, (2, 3): 1}, {(1, 3): 1}, {}),
    "a loop on a cycle": ({(1, 2): 1, (2, 1): 1}, {(2, 2): 1}, {}),
    "a closing edge": ({(1, 2): 1}, {(2, 1): 1}, {(1, 1): 1, (2, 1): 1, (2, 2): 1}),
    "a cycle that nothing enters": (
        {(1, 2): 1, (2, 3): 1, (3, 2): 1},
        {(1, 2): -1},
        {(1, 2): -1, (1, 3): -1},
    ),
    "a turn": ({(1, 2): 1}, {(1, 2): -1, (2, 1): 1}, {(1, 2): -1, (2, 1): 1}),
}


@pytest.mark.parametrize(("edges", "change", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_closure_examples(edges: Weights, change: Weights, expected: Weights, always: None) -> None:
    """An update returns exactly the pairs that come and go, and its opposite the opposite."""
    closure = ClosureOperator(names(), reflexive=False, seeded=False)
    closure.update(edges)
    for sign in (1, -1):
        delta = closure.update({row: sign * n for row, n in change.items()})
        assert delta == {row: sign * n for row, n in expected.items()}


@pytest.fixture(params=[0, 4], ids=["follow", "rebuild"])
def always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small graphs follow every change, or recompute on most."""
    monkeypatch.setattr(reach, "_REBUILD", request.param)


@settings(max_examples=examples(100))
@pytest.mark.parametrize("rebuild", [0, 4], ids=["follow", "rebuild"])
@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize(("reflexive", "seeded"), [(False, False), (False, True), (True, True)])
@given(st.data())
def test_closure_equals_recomputation(
    rebuild: int, context: int, reflexive: bool, seeded: bool, data: st.DataObject
) -> None:
    """The maintained pairs are those of a search from each start, whatever is toggled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "_REBUILD", rebuild)
        check(data.draw(updates(context)), context, reflexive, seeded)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("size", [45, 60])
def test_closure_of_a_larger_graph_equals_recomputation(batch: int, seeded: bool, size: int) -> None:
    """Cycles of many nodes grow and split, one edge or several at a time."""
    random = drawn_from(batch, seeded, size)
    nodes = range(1, 41)
    closure = ClosureOperator(names(), reflexive=False, seeded=seeded)
    seeds: set[Row] = {(node,) for node in random.sample(nodes, 5)}
    edges: set[Row] = {(random.choice(nodes), random.choice(nodes)) for _ in range(size)}
    answer = closure.update(dict.fromkeys(edges, 1), *[dict.fromkeys(seeds, 1)] * seeded)
    for _ in range(rounds(300)):
        gone = random.sample(sorted(edges), min(len(edges), batch)) if len(edges) > size - 5 else []
        new = [(random.choice(nodes), random.choice(nodes)) for _ in range(batch)]
        delta = closure.update(toggle(edges, {*gone, *new}), *[{}] * seeded)
        answer = {row: answer.get(row, 0) + delta.get(row, 0) for row in answer | delta}
        answer = {row: weight for row, weight in answer.items() if weight}
        assert answer == dict.fromkeys(recomputed(edges, seeds if seeded else None, 0, False), 1)


def test_closure_clear_drops_every_reference() -> None:
    """A cleared closure holds no terms and starts again from nothing."""
    dictionary = names()
    closure = ClosureOperator(dictionary, context=1, reflexive=True, seeded=True)
    edges: Weights = {(90, 1, 2): 1, (91, 2, 2): 1}
    first = closure.update(edges, {(90, 1): 1})
    closure.clear()
    assert not any(closure.containers())
    assert closure.update(edges, {(90, 1): 1}) == first == {(90, 1, 1): 1, (90, 1, 2): 1}
    closure.clear()
    assert is_free(dictionary)
