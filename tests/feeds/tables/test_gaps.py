"""What a feed of rows and its mapping do not have in common is logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rdflive.feeds import Entry, FeedFormat, Line, read_entries
from rdflive.feeds.tables.debezium import debezium
from rdflive.feeds.tables.delta_lake import delta_lake

PEOPLE = {
    "subject": "http://e/{id}",
    "predicates": {
        "name": "http://e/name",
        "town": {"predicate": "http://e/in", "object": "http://e/{town}/{zip}"},
    },
}
TRUCKS = {**PEOPLE, "key": ["plate"]}
ANNE = {"id": 1, "name": "Anne", "town": "Graz", "zip": None}
DEBEZIUM = debezium({"people": PEOPLE, "shop.trucks": TRUCKS})
DELTA_LAKE = delta_lake({"*": PEOPLE})


def event(op: str, after: Any, table: str = "people") -> dict[str, Any]:
    return {"op": op, "before": ANNE, "after": after, "source": {"schema": "shop", "table": table}}


def row(version: int, values: dict[str, Any], change: str = "insert") -> dict[str, Any]:
    return {**values, "_change_type": change, "_commit_version": version}


def read(form: FeedFormat, *records: Any, kept: dict[str, str] | None = None) -> Iterator[Entry]:
    lines = [Line(json.dumps(record), number) for number, record in enumerate(records, start=1)]
    return read_entries(form, lines, "feed", kept=kept)


def warnings(
    caplog: pytest.LogCaptureFixture, form: FeedFormat, *records: Any, kept: dict[str, str] | None = None
) -> list[str]:
    """Read records, none of them bad, and take the warnings out of the log."""
    caplog.clear()
    assert [entry.error for entry in read(form, *records, kept=kept) if entry.error] == []
    assert {(record.name, record.levelname) for record in caplog.records} <= {("rdflive", "WARNING")}
    return [record.getMessage() for record in caplog.records]


def without(*columns: str, **others: Any) -> dict[str, Any]:
    return {name: value for name, value in {**ANNE, **others}.items() if name not in columns}


def test_a_table_without_a_mapping_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """Each has one warning, whatever its events do, and the mapped tables are listed."""
    events = [event(op, ANNE, table) for op in "crudt" for table in ("People", "people", "cats")]
    assert warnings(caplog, DEBEZIUM, *events) == [
        f"debezium: the events of table 'shop.{table}' are ignored; the mapping has: 'people', 'shop.trucks'"
        for table in ("People", "cats")
    ]


def test_a_missing_column_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is one that a row does not have at all, not one that is NULL, nor one that only a delete lacks."""
    events = [
        event("d", None),
        event("t", None),
        event("c", ANNE),
        event("u", without("zip", "town")),
        event("c", without("zip", "name", id=2)),
        event("c", without("id", plate="G 1"), "trucks"),
    ]
    assert warnings(caplog, DEBEZIUM, *events) == [
        f"debezium: the rows of table {table!r} lack the mapped column {column!r}, which counts as NULL; "
        f"they have: {columns}"
        for table, column, columns in [
            ("shop.people", "town", "'id', 'name'"),
            ("shop.people", "zip", "'id', 'name'"),
            ("shop.people", "name", "'id', 'town'"),
            ("shop.trucks", "id", "'name', 'town', 'zip', 'plate'"),
        ]
    ]


def test_a_table_of_a_record_that_was_applied_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is read of it."""
    record = {"topic": "t", "partition": 0, "offset": 5, "value": event("c", ANNE, "cats")}
    assert warnings(caplog, DEBEZIUM, record, kept={"offset t 0": "5"}) == []


def test_a_name_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    """Names come from the feed, and may hold and be anything, however long."""
    (text,) = warnings(caplog, DEBEZIUM, event("c", ANNE, "x\ny"))
    assert "'shop.x\\ny'" in text
    (text,) = warnings(caplog, DEBEZIUM, event("c", without("zip", **{"a" * 9000: 1})))
    assert len(text) < 400


def test_columns_of_delta_lake_are_judged_by_all_rows(caplog: pytest.LogCaptureFixture) -> None:
    """Spark leaves NULLs out: a column that any row up to the version's end has is there."""
    rows = [row(1, without("name")), row(1, without("zip")), row(2, without("town", "zip", id=2))]
    assert warnings(caplog, DELTA_LAKE, *rows) == []
    rows = [row(1, without("zip")), row(2, without("zip", id=2)), row(3, ANNE), row(4, without("zip", id=3))]
    assert warnings(caplog, DELTA_LAKE, *rows) == [
        "delta-lake: the rows of table '*' lack the mapped column 'zip', which counts as NULL; "
        "they have: 'id', 'name', 'town', '_change_type', '_commit_version'"
    ]


def test_columns_of_delta_lake_are_known_after_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    """The rows that are kept tell which columns the table has; one that was NULL in all is lacking."""
    (entry,) = read(DELTA_LAKE, row(1, ANNE))
    kept = {key: text for key, text in entry.kept.items() if text is not None}
    more = row(2, without("name", "town", "zip", id=2))
    assert [text.split(",")[0] for text in warnings(caplog, DELTA_LAKE, more, kept=kept)] == [
        "delta-lake: the rows of table '*' lack the mapped column 'zip'"
    ]
