"""LUBM(1,0) on the stages of Spark: departments come and go, and answers are those of a closure made anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dataflow.simulation import Simulation, in_order
from rdflive.feeds.terms import RowReader
from rdflive.feeds.writing import write_term
from shared.test_entail_lubm import (
    DEPARTMENTS,
    FRAGMENT,
    LEAVING,
    OF_DEPARTMENT_0,
    WITH_ANSWERS,
    department,
    expected,
    official,
    ontology,
    queries,
)
from support.effort import HUNT
from support.one_process import Row, added
from support.solutions import folded_row, row
from support.spark_streams import by_query

pytestmark = pytest.mark.shared

ANSWERED = (*FRAGMENT, 9)
"""The queries of which `expected` tells the answers by RDFS alone."""


def test_departments_come_and_go(tmp_path: Path) -> None:
    """All queries together, with the ontology in the stream; what is left in the end is nothing."""
    texts = {str(number): queries()[number] for number in ANSWERED}
    simulation = Simulation(texts, str(tmp_path), 4, entailment="rdfs")
    total: Counter[Row] = Counter()
    present: set[int] = set()

    def step(op: str, triples: Any) -> None:
        total.update(simulation.run(in_order((op, (*map(write_term, triple), "")) for triple in triples)))

    def check() -> None:
        found = by_query(simulation.joint, added(total))
        for number, answers in expected(frozenset(present), owl=False).items():
            names = simulation.joint.queries[ANSWERED.index(number)].names
            assert read(found[str(number)], names) == answers, (number, sorted(present))

    # half of it behind the first department, so that a change of the schema reads what is there
    schema = sorted(ontology())
    step("A", schema[::2])
    for number in DEPARTMENTS:
        present.add(number)
        step("A", department(number))
        if len(present) == 1:
            step("A", schema[1::2])
        check()
    for number in set(FRAGMENT) & set(WITH_ANSWERS if HUNT else OF_DEPARTMENT_0):
        found = by_query(simulation.joint, added(total))[str(number)]
        assert Counter({tuple(map(plain, texts)): n for texts, n in found.items()}) == official(number)
    for number in LEAVING:
        present.remove(number)
        step("D", department(number).difference(*map(department, present)))
        check()
    assert not added(total)


def read(found: Counter[Row], names: tuple[str, ...]) -> Counter[Any]:
    """Make rows of texts comparable with those of a store."""
    terms = (([RowReader(text or "").term("term") for text in each], n) for each, n in found.items())
    return Counter({folded_row(row(zip(names, each, strict=True))): n for each, n in terms})


def plain(text: str | None) -> str:
    """Write a term as the files of official answers do."""
    return str(RowReader(text or "").term("term"))
