"""Walks: each solution once, and no more rows made than a star needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow.simulation import Change, Quad, Simulation, in_order
from rdflive_stores.spark.dataflow import walking
from support.effort import rounds

HUB = rounds(200_000)


def quads(text: str) -> list[Quad]:
    """Read triples of local names: `a p b, b q c`."""
    names = (triple.split() for triple in text.split(","))
    return [(f"<urn:{s}>", f"<urn:{p}>", f"<urn:{o}>", "") for s, p, o in names]


def inserts(text: str) -> list[Change]:
    return in_order(("A", quad) for quad in quads(text))


def rows(*texts: str) -> dict[tuple[str, ...], int]:
    return {tuple(f"<urn:{name}>" for name in text.split()): 1 for text in texts}


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
