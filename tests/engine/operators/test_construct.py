"""Construct: examples, and recomputation from the accumulated solutions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import ConstructOperator
from rdflive.query.bgp import TriplePattern, Variable
from support.operators import CountingDictionary, check, histories, ids_of, net, rows

X, Y, B = Variable("x"), Variable("y"), Variable("b", distinguished=False)


class Templates:
    """Ids as terms: 3 is a literal, constants stand for themselves, blank nodes count from 100."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}

    def intern(self, term: Any) -> int:
        return int(term)

    def is_triple(self, triple: tuple[int, int, int]) -> bool:
        return triple[0] != 3 and triple[1] != 3

    def blank(self, label: str) -> int:
        return self.labels.setdefault(label, 100 + len(self.labels))

    def text(self, number: int) -> str:
        return str(number)


def construct(*template: tuple[Any, Any, Any]) -> tuple[ConstructOperator, CountingDictionary]:
    dictionary = CountingDictionary()
    return ConstructOperator(
        dictionary, (X, Y), [TriplePattern(*t) for t in template], Templates()
    ), dictionary


@pytest.mark.parametrize(
    ("template", "steps", "deltas"),
    [
        ([(X, 7, Y)], [({(1, 2): 2},), ({(1, 2): -1},)], [{(1, 7, 2): 2}, {(1, 7, 2): -1}]),
        ([(X, 7, 8)], [({(1, 1): 1, (1, 2): 1},)], [{(1, 7, 8): 2}]),
        ([(X, 7, Y), (Y, 7, X)], [({(1, 1): 1},)], [{(1, 7, 1): 2}]),
        ([(X, 7, Y)], [({(0, 2): 1, (1, 0): 1, (3, 2): 1},)], [{}]),
        ([(X, Variable("z"), Y)], [({(1, 2): 1},)], [{}]),
        (
            [(X, 7, B), (B, 8, Y)],
            [({(1, 2): 2},), ({(1, 2): -1},), ({(1, 2): 1},)],
            [
                {(1, 7, 100): 1, (100, 8, 2): 1, (1, 7, 101): 1, (101, 8, 2): 1},
                {(1, 7, 101): -1, (101, 8, 2): -1},
                {(1, 7, 101): 1, (101, 8, 2): 1},
            ],
        ),
    ],
)
def test_construct_of_examples(template: Any, steps: Any, deltas: list[Weights]) -> None:
    """The table's solutions give the table's triples."""
    operator, _ = construct(*template)
    assert net(operator, *steps) == deltas


@given(histories(rows(2)))
def test_construct_equals_recomputation(history: Any) -> None:
    """The triples of all solutions add up, blank nodes and all; solutions are held only for those."""
    template = [(X, 7, B), (B, 8, Y), (X, 9, Y)]
    operator, dictionary = construct(*template)
    blank = operator._terms.blank

    def recompute(solutions: Weights) -> Weights:
        triples: Counter[Any] = Counter()
        for (x, y), weight in solutions.items():
            for copy in range(weight):
                node = blank(_label(operator, (x, y), copy))
                made = [(x, 7, node), (node, 8, y), (x, 9, y)]
                triples.update(t for t in made if 0 not in t and t[0] != 3)
        return dict(triples)

    check(operator, history, recompute, dictionary, ids_of)


def _label(operator: ConstructOperator, row: tuple[int, int], copy: int) -> str:
    """Ask the operator for the label of the blank node of one copy of a solution."""
    labels: list[str] = []
    terms = operator._terms

    class Spy(Templates):
        def blank(self, label: str) -> int:
            labels.append(label)
            return 99

    operator._terms = Spy()
    list(operator._triples(row, copy))
    operator._terms = terms
    return labels[0]


def test_blank_nodes_of_different_solutions_differ() -> None:
    """Two solutions never share a blank node, nor do two copies of one."""
    for solutions in ([(1, 2), (2, 1)], [(1, 1), (1, 2)], [(2, 3), (3, 3)]):
        assert len(construct((B, 7, 8))[0].update(dict.fromkeys(solutions, 2))) == 4
