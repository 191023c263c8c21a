"""Change records of Neptune Streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

from rdflive import Change, Quad
from rdflive.feeds.neptune import NEPTUNE
from support.decoders import check_restarts, read, read_on
from support.effort import examples
from support.feeds import CHANGES, write_quad

DEFAULT = "http://aws.amazon.com/neptune/vocab/v01/DefaultNamedGraph"
S, P, E = (URIRef(f"http://e/{name}") for name in "spo")
STATEMENT = "<http://e/s> <http://e/p> <http://e/o> ."


def record(
    commit: int, operation: int, *, last: bool = False, stmt: str = STATEMENT, op: str = "ADD"
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "commitTimestamp": 1714564800000,
        "eventId": {"commitNum": commit, "opNum": operation},
        "data": {"stmt": stmt},
        "op": op,
    }
    return {**shown, "isLastOp": True} if last else shown


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def commits(text: str) -> list[object]:
    """Give the number of changes of each commit, or why it is refused."""
    return [
        entry.error.reason if entry.error else (entry.kept["commit"], len(entry.batch.changes))
        for entry in read(NEPTUNE, text)
    ]


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (STATEMENT, Quad(S, P, E)),
        (f"{STATEMENT[:-2]} <{DEFAULT}> .\n", Quad(S, P, E)),
        (f"{STATEMENT[:-2]} <http://e/g> .", Quad(S, P, E, URIRef("http://e/g"))),
        ('_:b1 <http://e/p> "\\u00e9\\n"@en .', Quad(BNode("b1"), P, Literal("é\n", lang="en"))),
    ],
)
@pytest.mark.parametrize(("op", "sign"), [("ADD", 1), ("REMOVE", -1)])
def test_record_is_a_change(stmt: str, expected: Quad, op: str, sign: int) -> None:
    """The database's default graph is the default graph, and labels of blank nodes stay."""
    (entry,) = read(NEPTUNE, lines(record(7, 1, last=True, stmt=stmt, op=op)))
    assert entry.batch.changes == (Change(sign, expected),)
    assert entry.kept["commit"] == "7"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([record(1, 1, last=True), record(3, 1, last=True)], [("1", 1), ("3", 1)]),
        ([record(1, 1), record(1, 2), record(1, 3, last=True)], [("1", 3)]),
        ([{"records": []}], []),
        # the SDKs give the numbers of an event as text
        ([{**record(0, 0, last=True), "eventId": {"commitNum": "12", "opNum": "1"}}], [("12", 1)]),
        (
            [
                {"records": [record(1, 1, last=True), record(2, 1)], "format": "NQUADS"},
                {"records": [record(2, 2)]},
                {"records": [record(2, 3, last=True), record(3, 1, last=True), record(4, 1)]},
                record(4, 2, last=True),
            ],
            [("1", 1), ("2", 3), ("3", 1), ("4", 2)],
        ),
    ],
)
def test_commit_is_an_entry(values: list[object], expected: list[object]) -> None:
    """However its records are spread over lines and responses, and however many a response has."""
    assert commits(lines(*values)) == expected
    check_restarts(NEPTUNE, lines(*values))


def test_commit_that_was_applied_is_passed_over() -> None:
    """Repeated commits, whole or in part, do nothing, in this reading and in the next one."""
    first = [record(1, 1, last=True), record(2, 1), record(2, 2, last=True)]
    text = lines(*first, *first, record(2, 2, last=True), record(3, 1, last=True))
    assert commits(text) == [("1", 1), ("2", 2), ("3", 1)]
    assert [entry.kept["commit"] for entry in read(NEPTUNE, text, {"commit": "2"})] == ["3"]
    assert read(NEPTUNE, text, {"commit": "3"}) == []


@pytest.mark.parametrize(
    ("values", "line", "reason"),
    [
        ([record(2, 1)], 2, "no record with isLastOp ends commit 2, so it is not applied"),
        ([record(2, 1), record(3, 1, last=True)], 2, "no record with isLastOp ends commit 2"),
        ([record(2, 2, last=True)], 2, "commit 2 has opNum 2 where 1 is expected"),
        ([record(2, 1), record(2, 3, last=True)], 3, "commit 2 has opNum 3 where 2 is expected"),
        ([{}], 2, "the record lacks 'eventId', which must be an object"),
        ([{**record(2, 1), "eventId": {"opNum": 1}}], 2, "'eventId' lacks 'commitNum', which must be"),
        ([record(-2, 1)], 2, "'commitNum' of 'eventId' must not be negative, got -2"),
        ([{**record(2, 1), "isLastOp": "true"}], 2, "'isLastOp' of the record must be true or false, not a"),
        ([record(2, 1, last=True, op="SET")], 2, "'op' of the record must be 'ADD' or 'REMOVE', not 'SET'"),
        ([record(2, 1, last=True, stmt="<a> .")], 2, "the subject is a relative IRI"),
        ([{**record(2, 1, last=True), "data": {}}], 2, "'data' lacks 'stmt', which must be a string"),
        ([{**record(2, 1, last=True), "data": {"type": "vl"}}], 2, "the record is of Gremlin or openC"),
        ([{"records": 5}], 2, "'records' of the response must be an array, not an integer"),
        ([{"records": [], "format": "PG_JSON"}], 2, "the format of the response must be 'NQUADS', not 'PG"),
    ],
)
def test_bad_commit_names_its_line_and_reason(values: list[object], line: int, reason: str) -> None:
    """Nothing of it is applied; what comes before and behind it is."""
    good = record(1, 1, last=True)
    for text in (lines(good, *values), lines(good, *values, record(9, 1, last=True))):
        first, bad, *rest = read(NEPTUNE, text)
        assert first.kept["commit"] == "1"
        assert bad.error is not None
        assert bad.error.reason.startswith(reason)
        assert (bad.error.line, bad.batch.changes) == (line, ())
        assert len(text.splitlines()) == 1 + len(values) or rest[-1].kept["commit"] == "9"


def test_cursor_never_points_into_a_line() -> None:
    """Behind a commit inside of a response it points to the response, with the check of what is before."""
    text = lines(record(1, 1, last=True), {"records": [record(2, 1, last=True), record(3, 1, last=True)]})
    first, second, third = (entry.cursor for entry in read(NEPTUNE, text))
    assert first == second != third
    assert [entry.kept["commit"] for entry in read_on(NEPTUNE, text, second, {"commit": "2"})] == ["3"]


def test_cursor_in_another_file_is_of_that_file() -> None:
    """A log that repeats nothing is read from its own beginning, whatever was kept of the last one."""
    text = lines({"records": [record(5, 1, last=True), record(6, 1, last=True)]})
    assert read(NEPTUNE, text, {"commit": "4"})[0].cursor == "2:0:0:00000000"


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[list[Change]]]:
    """Draw commits, and a log of them in which records and responses alternate at random."""
    batches = draw(st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=5))
    records: list[dict[str, Any]] = []
    for commit, changes in enumerate(batches):
        for number, (sign, quad) in enumerate(changes, start=1):
            op = "ADD" if sign > 0 else "REMOVE"
            last = number == len(changes)
            records.append(record(commit * 3, number, last=last, stmt=write_quad(quad), op=op))
    values: list[object] = []
    while records:
        taken = draw(st.integers(0, 4))
        values.append({"records": records[:taken], "totalRecords": taken} if taken else records[0])
        records = records[max(1, taken) :]
    return lines(*values), batches


@settings(max_examples=examples(100))
@given(histories())
def test_random_log_gives_its_commits(history: tuple[str, list[list[Change]]]) -> None:
    """However it is cut into responses, and wherever the reading starts anew."""
    text, batches = history
    assert [list(entry.batch.changes) for entry in read(NEPTUNE, text)] == batches
    check_restarts(NEPTUNE, text)
