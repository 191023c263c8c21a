"""What events do to rows, as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.feeds import RowError, read_mapping
from rdflive.feeds.tables.cells import Cell
from rdflive.feeds.tables.held_rows import HeldRows, RowEdit, RowName
from rdflive.feeds.tables.row_events import RowEvent

MAPPING = read_mapping({"t": {"subject": "http://e/{id}", "predicates": {"name": "http://e/name"}}})
CELLS = st.one_of(
    st.builds(Cell, st.text()), st.builds(Cell, st.text(), st.sampled_from(["integer", "date"]))
)
EVENTS = st.builds(
    RowEvent,
    st.lists(st.text(), min_size=1, max_size=3).map(tuple),
    st.one_of(st.none(), st.text()),
    st.one_of(st.none(), st.dictionaries(st.text(), st.one_of(st.none(), CELLS))),
    st.one_of(st.none(), st.text()),
)


def put(key: str, name: str | None, old: str | None = None) -> RowEvent:
    return RowEvent(("t",), key, {"id": Cell(key), "name": None if name is None else Cell(name)}, old)


def names(edit: RowEdit) -> dict[str, str]:
    """Give the names that the rows 1 to 3 have."""
    found = {key: edit.get(RowName(("t",), key)) for key in "123"}
    return {key: held.row["name"].text for key, held in found.items() if held is not None}


@given(EVENTS)
def test_an_event_is_read_as_it_was_written(event: RowEvent) -> None:
    """On one line, whatever is in it."""
    assert RowEvent.from_text(event.to_text()) == event
    assert "\n" not in event.to_text()


def test_an_event_puts_moves_removes_and_clears() -> None:
    """A value that it leaves out is that of the row in whose place it is put."""
    edit = RowEdit(HeldRows(MAPPING, "test"))
    put("1", "Anne").apply(edit)
    put("2", "Bob").apply(edit)
    put("1", None).apply(edit)
    put("3", None, old="2").apply(edit)
    assert names(edit) == {"1": "Anne", "3": "Bob"}
    RowEvent(("t",), "1").apply(edit)
    assert names(edit) == {"3": "Bob"}
    RowEvent(("t",)).apply(edit)
    assert names(edit) == {}


def test_an_event_that_is_refused_has_done_nothing() -> None:
    """Neither the row that it moves nor another one is touched."""
    edit = RowEdit(HeldRows(MAPPING, "test"))
    put("1", "Anne").apply(edit)
    with pytest.raises(RowError, match="'name' was left out as unchanged"):
        put("2", None).apply(edit)
    with pytest.raises(RowError, match="'name' was left out as unchanged"):
        put("2", None, old="3").apply(edit)
    assert names(edit) == {"1": "Anne"}


def test_a_move_falls_into_parts_unless_it_leaves_values_out() -> None:
    """Its parts do the same, each to one row."""
    move = put("2", "Bob", old="1")
    assert move.parts() == (RowEvent(("t",), "1"), put("2", "Bob"))
    whole, parted = RowEdit(HeldRows(MAPPING, "test")), RowEdit(HeldRows(MAPPING, "test"))
    for edit, events in ((whole, [move]), (parted, move.parts())):
        put("1", "Anne").apply(edit)
        for event in events:
            event.apply(edit)
    assert names(whole) == names(parted) == {"2": "Bob"}
    assert put("2", None, old="1").parts() == (put("2", None, old="1"),)
