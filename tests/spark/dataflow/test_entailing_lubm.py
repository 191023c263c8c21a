"""LUBM(1,0) on the stages of Spark: departments come and go, and answers are those of a closure made anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

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
from spark.dataflow.simulation import Row, in_order
from spark.dataflow.test_finishing import Pipeline
from spark.dataflow.test_together import shown
from support.effort import DEEP
from support.solutions import folded_row, row

pytestmark = pytest.mark.shared

ANSWERED = (*FRAGMENT, 9)
"""The queries of which `expected` tells the answers by RDFS alone."""


def test_departments_come_and_go(tmp_path: Path) -> None:
    """All queries together, with the ontology in the stream; what is left in the end is nothing."""
    texts = {str(number): queries()[number] for number in ANSWERED}
    pipeline: Any = Pipeline(texts, str(tmp_path), 4, entailment="rdfs")  # type: ignore[arg-type]
    total: Counter[Row] = Counter()
    present: set[int] = set()

    def step(op: str, triples: Any) -> None:
        operations = ((op, (*map(write_term, triple), "")) for triple in triples)
        total.update(pipeline.step(in_order(operations)))  # type: ignore[arg-type]
        found = shown(pipeline, Counter({row: n for row, n in total.items() if n}))
        for number, answers in expected(frozenset(present), owl=False).items():
            names = pipeline.joint.queries[ANSWERED.index(number)].names
            assert read(found[str(number)], names) == answers, (number, sorted(present))

    # half of it behind the first department, so that a change of the schema reads what is there
    triples = sorted(ontology())
    step("A", triples[::2])
    first, *others = DEPARTMENTS
    operations = [("A", (*map(write_term, triple), "")) for triple in department(first)]
    total.update(pipeline.step(in_order(operations)))  # type: ignore[arg-type]
    present.add(first)
    step("A", triples[1::2])
    for number in others:
        present.add(number)
        step("A", department(number))
    for number in set(FRAGMENT) & set(WITH_ANSWERS if DEEP else OF_DEPARTMENT_0):
        found = shown(pipeline, Counter({row: n for row, n in total.items() if n}))[str(number)]
        assert Counter({tuple(map(plain, row)): n for row, n in found.items()}) == official(number)
    for number in LEAVING:
        present.remove(number)
        left = frozenset().union(*map(department, present))
        step("D", department(number) - left)
    assert not any(total.values())


def read(found: Counter[Row], names: tuple[str, ...]) -> Counter[Any]:
    """Make rows of texts comparable with those of a store."""
    terms = (([RowReader(text or "").term("term") for text in each], n) for each, n in found.items())
    return Counter({folded_row(row(zip(names, each, strict=True))): n for each, n in terms})


def plain(text: str | None) -> str:
    """Write a term as the files of official answers do."""
    return str(RowReader(text or "").term("term"))
