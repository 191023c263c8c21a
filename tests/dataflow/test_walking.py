"""Walks: each solution once, and no more rows made than a star needs."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.simulation import Change, Quad, Simulation, in_order
from rdflive_stores.spark.dataflow import walking
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.walking import ARRANGED
from support.effort import drawn_from, rounds

HUB = rounds(200_000)


def quads(text: str) -> list[Quad]:
    """Read triples of local names: `a p b, b q c`."""
    names = (triple.split() for triple in text.split(","))
    return [(f"<urn:{s}>", f"<urn:{p}>", f"<urn:{o}>", "") for s, p, o in names]


def inserts(text: str) -> list[Change]:
    return in_order(("A", quad) for quad in quads(text))


def rows(*texts: str) -> dict[tuple[str, ...], int]:
    return {tuple(f"<urn:{name}>" for name in text.split()): 1 for text in texts}


CASES = {
    "star": ("?a <urn:p> ?b . ?a <urn:q> ?c", "a p b, a q c, a q d, b p c", ["a b c", "a b d"]),
    "path": ("?a <urn:p> ?b . ?b <urn:q> ?c", "a p b, b q c, c q d, x p b", ["a b c", "x b c"]),
    "triangle": ("?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?a", "a p b, b p c, c p a, c p b",
                 ["a b c", "b c a", "c a b"]),
    "self-join": ("?a <urn:p> ?b . ?b <urn:p> ?c", "a p a, a p b", ["a a a", "a a b"]),
    "product": ("?a <urn:p> ?b . ?c <urn:q> ?d", "a p b, c p d, e q f", ["a b e f", "c d e f"]),
    "ground": ("<urn:x> <urn:p> <urn:y> . ?a <urn:q> ?b", "x p y, a q b, c q d", ["a b", "c d"]),
    "grounds": ("<urn:x> <urn:p> <urn:y> . <urn:y> <urn:p> <urn:x>", "x p y, y p x", [""]),
    "predicate": ("?a ?v ?b . ?b ?v ?c", "a p b, b p c, b q d", ["a p b c"]),
    "square": ("?a <urn:p> ?b . ?b <urn:q> ?c . ?c <urn:r> ?d . ?d <urn:s> ?a",
               "a p b, b q c, c r d, d s a, c r e", ["a b c d"]),
    "test": ("?a <urn:p> ?b . ?b <urn:q> ?c . ?a <urn:r> ?c", "a p b, b q c, b q d, a r c, b r d", ["a b c"]),
}  # fmt: skip


@pytest.mark.sampled(by="partners")
@pytest.mark.parametrize("partners", [0, 256])
@pytest.mark.parametrize("name", CASES)
def test_solutions_come_once_however_changes_come(
    name: str, partners: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one micro-batch, one by one and backwards, changes make the same solutions and take them back."""
    monkeypatch.setattr(walking, "MOST_PARTNERS", partners)
    body, text, expected = CASES[name]
    changes = inserts(text)
    for number, (order, size) in enumerate(product((1, -1), (1, 2, len(changes)))):
        cuts = drawn_from("cuts", name, partners, number)
        simulation = Simulation(f"SELECT * {{ {body} }}", str(tmp_path / str(number)), cuts=cuts)
        for op, sign in (("A", 1), ("D", -1)):
            total: Counter[Any] = Counter()
            ordered = [change._replace(op=op) for change in changes[::order]]
            for begin in range(0, len(ordered), size):
                total.update(simulation.run(ordered[begin : begin + size]))
            assert {row: n for row, n in total.items() if n} == {
                row: sign * n for row, n in rows(*expected).items()
            }
        simulation.compact()
        assert simulation.rows_held(LIVE) == simulation.rows_held(ARRANGED) == 0


@pytest.mark.parametrize("test", ["?b0 != <urn:a>", "?b0 != ?c", "isIRI(?b0) && ?c != <urn:a>"])
def test_a_blank_node_of_the_query_is_no_variable_of_a_filter(test: str, tmp_path: Path) -> None:
    """A filter reads the variable of its name, also where the planner gives a blank node the same."""
    text = f"SELECT * {{ ?b0 <urn:p> _:x . _:x <urn:q> ?c FILTER({test}) }}"
    simulation = Simulation(text, str(tmp_path))
    assert simulation.run(inserts("a p x, x q a")) == {}
    assert simulation.run(inserts("d p x, x q e"))[("<urn:d>", "<urn:e>")] == 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the rows that joins make, before texts are compared."""
    counts: list[int] = []
    expand = walking.expand

    def counting(begin: Any, end: Any) -> Any:
        counts.append(int(np.sum(end - begin)))
        return expand(begin, end)

    monkeypatch.setattr(walking, "expand", counting)
    return counts


@pytest.fixture(scope="module")
def hub() -> list[Change]:
    """Insert the triples that link a hub to its neighbours."""
    return inserts(", ".join(f"hub p n{number}" for number in range(HUB)))


def test_a_hub_without_one_pattern_is_not_expanded(
    hub: list[Change], made: list[int], tmp_path: Path
) -> None:
    """In a star of which one pattern has no match, the neighbours in another are counted, not listed."""
    text = "SELECT * { ?h <urn:p> ?n . ?h <urn:q> ?x . ?h <urn:r> ?y }"
    simulation = Simulation(text, str(tmp_path))
    assert simulation.run(hub) == {}
    assert simulation.run(inserts("hub q x, n1 q x, n2 r x")) == {}
    assert sum(made) == 0
    net = simulation.run(inserts("hub r z"))
    assert (len(net), set(net.values())) == (HUB, {1})
    assert sum(made) <= 2 * HUB + 1


def test_a_path_through_a_hub_costs_what_it_finds(hub: list[Change], made: list[int], tmp_path: Path) -> None:
    """A change at the hub makes a row per neighbour that goes on, one beside it makes its own."""
    simulation = Simulation("SELECT * { ?x <urn:q> ?h . ?h <urn:p> ?n }", str(tmp_path))
    assert simulation.run(hub) == {}
    assert simulation.run(inserts("a q other, other q hub2")) == {}
    assert sum(made) == 0
    assert len(simulation.run(inserts("a q hub"))) == HUB
    assert sum(made) == HUB
    assert simulation.run(inserts("hub p new")) == rows("a hub new")
    assert sum(made) == HUB + 1


def test_a_triangle_at_a_hub_is_closed_from_the_other_side(
    hub: list[Change], made: list[int], tmp_path: Path
) -> None:
    """Rows with too many partners at one centre are bound at the other, and tested at the hub."""
    simulation = Simulation("SELECT * { ?x <urn:q> ?h . ?h <urn:p> ?n . ?n <urn:r> ?x }", str(tmp_path))
    simulation.run([*hub, *inserts("n7 r a, n8 r a, n9 r b")])
    assert simulation.run(inserts("a q hub")) == rows("a hub n7", "a hub n8")
    assert sum(made) <= 9


def test_joins_make_rows_in_pieces(made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows with many partners each are joined a piece at a time, and all of them."""
    monkeypatch.setattr(walking, "_MOST_PAIRS", 100)
    simulation = Simulation("SELECT * { ?a <urn:p> ?b . ?b <urn:q> ?c }", str(tmp_path), 1)
    simulation.run(inserts(", ".join(f"{m % 5} q c{m}" for m in range(150))))
    net = simulation.run(inserts(", ".join(f"a{n} p {n % 5}" for n in range(100))))
    assert (len(net), sum(net.values())) == (100 * 30, 100 * 30)
    assert max(made) <= 100 + 30
