"""Index: probes against a search through all rows."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Index
from support.operators import CountingDictionary, History, Shape, add, histories, ids_of, rows, shapes


def found(index: Index, shape: Shape, probing: Row, *, overlapping: bool = False) -> Counter[Row]:
    """Probe with a left row."""
    keys, maybe = [a for a, _ in shape.keys], [a for a, _ in shape.maybe]
    entries = [*index.prober(keys, maybe, overlapping=overlapping)(probing)]
    result = Counter({row: weight for piece in entries for row, weight in piece})
    assert sum(map(len, entries)) == len(result)
    return result


def make(dictionary: CountingDictionary, shape: Shape) -> Index:
    """Index the right side."""
    return Index(dictionary, [b for _, b in shape.keys], [b for _, b in shape.maybe])


@given(shapes(), st.data())
def test_probe_finds_what_a_search_finds(shape: Shape, data: st.DataObject) -> None:
    """A probe finds each compatible row once with its weight, at any time, and none when all are gone."""
    dictionary = CountingDictionary()
    index = make(dictionary, shape)
    kept: Weights = {}
    history: History = data.draw(histories(rows(shape.right)))
    for (delta,) in history:
        for row, change in delta.items():
            assert index.update(row, change) == kept.get(row, 0) + change
            add(kept, {row: change})
        probing = data.draw(rows(shape.left))
        expected = {row: weight for row, weight in kept.items() if shape.fits(probing, row)}
        assert found(index, shape, probing) == expected
        shared = {
            row: weight
            for row, weight in expected.items()
            if any(probing[a] and row[b] for a, b in shape.maybe)
        }
        assert found(index, shape, probing, overlapping=True) == shared
        assert dictionary.in_use() == ids_of(kept)
    for row, weight in kept.items():
        index.update(row, -weight)
    assert not any(index.containers())
    assert dictionary.in_use() == set()


@given(shapes(), st.data())
def test_clear_empties_and_leaves_the_index_usable(shape: Shape, data: st.DataObject) -> None:
    """After clear nothing is found or held, and probes made before work on what comes after."""
    dictionary = CountingDictionary()
    index = make(dictionary, shape)
    probe = index.prober([a for a, _ in shape.keys], [a for a, _ in shape.maybe])
    row, probing = data.draw(rows(shape.right)), data.draw(rows(shape.left))
    index.update(row, 2)
    probe(probing)
    index.clear()
    assert not any(index.containers())
    assert dictionary.in_use() == set()
    assert not probe(probing)
    index.update(row, 1)
    assert bool(probe(probing)) == shape.fits(probing, row)


def test_lone_row_is_kept_bare() -> None:
    """A key with one row needs no dictionary of its own, before and after it had more."""
    index = Index(CountingDictionary(), [0])
    index.update((1, 1), 1)
    assert len(index.containers()) == 1
    index.update((1, 2), 1)
    assert len(index.containers()) == 2
    index.update((1, 1), -1)
    assert len(index.containers()) == 1


def test_probe_costs_no_search_through_other_masks() -> None:
    """A probe of an unbound column looks once per mask that occurs, not once per row."""
    index = Index(CountingDictionary(), [], [0])
    for i in range(1, 8):
        index.update((i,), 1)
    index.update((0,), 1)
    probe = index.prober([], [0])
    assert [len(piece) for piece in probe((3,))] == [1, 1]
    assert [len(piece) for piece in probe((0,))] == [7, 1]


def test_the_table_of_a_partial_probe_follows_its_part() -> None:
    """The first probe that binds only some columns makes it; what comes and goes later is found in it."""
    index = Index(CountingDictionary(), [], [0, 1])
    index.update((1, 2), 1)
    probe = index.prober([], [0, 1])
    for _ in range(2):
        assert [dict(piece) for piece in probe((1, 0))] == [{(1, 2): 1}]
        assert len(index.containers()) == 3
    index.update((1, 3), 1)
    index.update((1, 2), 1)
    assert [dict(piece) for piece in probe((1, 0))] == [{(1, 2): 2, (1, 3): 1}]
    index.update((1, 2), -2)
    assert [dict(piece) for piece in probe((1, 0))] == [{(1, 3): 1}]
    index.update((1, 3), -1)
    assert not probe((1, 0))
