"""Random shapes over random data, both changing, against a validator written from the Recommendation.

In half of the worlds some shapes are used, or some focus nodes are validated, or both.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from rdflib import Graph
from rdflib.term import Node

import rdflive
from shacl.worlds import BYTES, LITERALS, NODES, Shapes, Sum, order, result, triple
from support.effort import drawn_from, rounds
from support.shacl import Validator


def play(chance: Random, store: str) -> int:
    """Change data and shapes, and compare after each commit; gives how many deltas were told."""
    literals = [*LITERALS, *BYTES] if store == "Memory" else LITERALS
    shapes, data, copy = Shapes(chance, literals).graph, Graph(store), Graph()

    def change(*, added: int, removed: int = 0) -> None:
        with rdflive.batch(data):
            for _ in range(removed):
                if copy:
                    gone = chance.choice(sorted(copy, key=order))
                    data.remove(gone)
                    copy.remove(gone)
            for _ in range(added):
                new = triple(chance, literals)
                data.add(new)
                copy.add(new)

    change(added=chance.randint(0, 25))
    told = Sum()
    selected = selection(chance, Validator(copy, shapes).rooted(), [*NODES, *literals])
    if not all(validates(copy, shapes, node) for node in Validator(copy, shapes, **selected).rooted()):
        # what the validator passes over is refused at the beginning
        with pytest.raises(rdflive.ShapesError):
            rdflive.validate(data, shapes, told, **selected)
        return 0
    validation = rdflive.validate(data, shapes, told, **selected)

    def compare() -> None:
        wanted = Validator(copy, shapes, **selected).results()
        assert Counter(map(result, validation.answers())) == wanted
        assert told.total == wanted
        if not validation.errors:
            assert validation.conforms is (not wanted)

    compare()
    out = []
    for _ in range(chance.randint(5, 25)):
        if chance.random() < 0.25:
            with rdflive.batch(shapes):
                for _ in range(chance.randint(1, 2)):
                    if out and chance.random() < 0.6:
                        shapes.add(out.pop(chance.randrange(len(out))))
                    elif shapes:
                        out.append(chance.choice(sorted(shapes, key=order)))
                        shapes.remove(out[-1])
        else:
            change(added=chance.randint(0, 2), removed=chance.randint(0, 2))
        compare()
    change(added=0, removed=len(copy))
    compare()
    validation.close()
    return told.count


def selection(chance: Random, shapes: list[Node], nodes: list[Node]) -> dict[str, Any]:
    """Draw what is validated: in half of the worlds all."""
    selected: dict[str, Any] = {}
    if chance.random() < 0.3:
        selected["focus_nodes"] = chance.sample(nodes, chance.randint(1, 4))
    if chance.random() < 0.3 and shapes:
        ordered = sorted(shapes, key=lambda node: node.n3())
        selected["use_shapes"] = chance.sample(ordered, chance.randint(1, min(2, len(ordered))))
    return selected


def validates(data: Graph, shapes: Graph, node: object) -> bool:
    """Tell whether the validator takes a shape."""
    try:
        Validator(data, shapes).check(node)  # type: ignore[arg-type]  # a node
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("store", ["Memory", "Oxigraph"])
@pytest.mark.parametrize("part", range(4))
def test_results_are_those_of_validation_anew(part: int, store: str) -> None:
    """After each commit, of data or of shapes; and the deltas add up to them."""
    chance = drawn_from("shacl", part, store)
    assert sum(play(chance, store) for _ in range(rounds(200, share=40))) > 0
