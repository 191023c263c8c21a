"""What a graph keeps of a streaming query, and what follows from it for a micro-batch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive import RdfliveError, ResyncNeeded
from rdflive_stores.spark.mirroring.cursor import Cursor, Given, step

FILES = [{"logOffset": 0}, {"logOffset": 1}, {"logOffset": 2}]


def log(end: int, name: str = "log.rdfp") -> dict[str, Any]:
    return logs(**{name: end})


def logs(version: int = 0, folder: str = "/logs", **ends: int) -> dict[str, Any]:
    """Give the offset of files of which other versions have other bytes."""
    return {
        name: {"end": end, "check": 10 * end + version, "path": f"{folder}/{name}"}
        for name, end in ends.items()
    }


def unchanged(path: str, end: int, check: int) -> bool:
    """Say that a file still is of the first version."""
    return check == 10 * end


def kafka(*ends: int) -> dict[str, Any]:
    return {"topic": {str(partition): end for partition, end in enumerate(ends)}}


def at(query: str, batch: int, start: Any, end: Any) -> Given:
    return Given(query, batch, None if start is None else [start], [end])


def took(query: str, batch: int, end: Any, **more: Any) -> Cursor:
    return Cursor(query, batch, [end], **more)


def places(stored: Cursor | None, given: Given) -> Any:
    """Say which streams are known, and which of them are doubtful; None where all was applied."""
    found = step(stored, given, "name", is_positioned=True, is_numbered=False, still_has=unchanged)
    return None if found is None else (dict(found.applied), dict(found.doubtful), dict(found.cursor.ahead))


@pytest.mark.parametrize(
    ("stored", "given", "expected"),
    [
        (None, at("a", 0, None, log(10)), ({}, {}, {})),
        (took("a", 0, log(10)), at("a", 1, log(10), log(20)), ({}, {}, {})),
        (took("a", 0, log(10)), at("a", 0, None, log(10)), None),
        (took("a", 7, log(70)), at("a", 3, log(20), log(30)), None),
        # a lost checkpoint: another query, which starts at the beginning
        (took("a", 7, log(70)), at("b", 0, None, log(30)), None),
        (took("a", 7, log(70)), at("b", 0, None, log(70)), None),
        (took("a", 7, log(70)), at("b", 1, log(30), log(90)), ({"log.rdfp": 70}, {}, {})),
        (took("a", 7, log(70)), at("b", 0, None, log(90)), ({"log.rdfp": 70}, {"log.rdfp": 70}, {})),
        # the same number and other places: a checkpoint that was put back
        (took("a", 7, log(70)), at("a", 7, log(60), log(80)), ({"log.rdfp": 70}, {}, {})),
        # several streams, of which one is behind and one ahead
        (took("a", 3, kafka(5, 9)), at("b", 1, kafka(2, 9), kafka(4, 12)),
         ({"topic/0": 5}, {}, {"topic/0": 5})),
        (
            took("b", 1, kafka(4, 12), ahead={"topic/0": 5}),
            at("b", 2, kafka(4, 12), kafka(7, 12)),
            ({"topic/0": 5}, {}, {}),
        ),
        (took("a", 1, kafka(5)), at("a", 2, kafka(5), kafka(5, 3)), ({}, {}, {})),
        (took("a", 1, kafka(5)), at("a", 2, kafka(5), kafka(5)), None),
    ],
)  # fmt: skip
def test_rows_with_places_are_applied_from_where_the_graph_stands(
    stored: Any, given: Given, expected: Any
) -> None:
    """Whatever the checkpoint: what is below the kept offset of its stream was applied."""
    assert places(stored, given) == expected


@pytest.mark.parametrize(
    ("stored", "given", "reason"),
    [
        (None, at("a", 4, log(40), log(50)), "begins at 40 of 'log.rdfp', but the graph has it up to 0"),
        (took("a", 3, log(30)), at("b", 9, log(40), log(50)), "begins at 40 .* up to 30"),
        (took("a", 3, kafka(5, 5)), at("b", 1, kafka(5, 6), kafka(7, 7)), "begins at 6 of 'topic/1'"),
        (
            took("a", 3, log(30)),
            at("b", 0, None, kafka(3)),
            "the graph has followed 'log.rdfp', but .*'topic/0'",
        ),
    ],
)
def test_a_stream_that_begins_behind_the_graph_needs_a_resync(stored: Any, given: Given, reason: str) -> None:
    """Rows in between are missing; the message says what to do."""
    with pytest.raises(
        ResyncNeeded, match=f"'name' cannot continue: .*{reason}.*resync: with a new checkpoint"
    ):
        places(stored, given)


TWO = logs(a=70, b=50)


@pytest.mark.parametrize(
    ("stored", "given", "reason"),
    [
        # replaced, as the bytes say up to where the graph went, or the offsets already
        (took("a", 7, logs(a=70)), at("b", 0, None, logs(1, a=90)), "/logs/a has changed before byte 70"),
        (took("a", 7, logs(1, a=70)), at("b", 0, None, logs(a=90)), "/logs/a has changed before byte 70"),
        (took("a", 7, logs(a=70)), at("b", 0, None, logs(1, a=70)), "/logs/a has changed"),
        (took("a", 7, logs(1, a=70)), at("b", 0, None, logs(a=40)), "/logs/a has changed"),
        (took("a", 7, logs(a=70)), at("b", 3, logs(1, a=70), logs(1, a=90)), "/logs/a has changed"),
        (took("a", 7, logs(1, a=70)), at("b", 3, logs(a=30), logs(a=90)), "/logs/a has changed"),
        # the file that was read last is gone, with what it had by then
        (took("a", 7, TWO), at("b", 0, None, logs(a=70, c=20)), "the file 'b' is gone, and may have had"),
        (took("a", 7, TWO), at("b", 1, logs(a=70), logs(a=70, c=20)), "the file 'b' is gone"),
        # a file that comes, or grows, in front of what was read
        (took("a", 7, logs(b=50)), at("b", 0, None, logs(a=70)), "followed 'b', but the query reads 'a'"),
        (took("a", 7, logs(b=50)), at("b", 0, None, logs(a=70, b=50)), "/logs/a has rows that .*'b'"),
        (took("a", 7, TWO), at("b", 0, None, logs(a=80)), "/logs/a has rows that were not applied, but 'b'"),
    ],
)  # fmt: skip
def test_a_log_that_is_another_needs_a_resync(stored: Any, given: Given, reason: str) -> None:
    """With a new checkpoint only the graph can tell, by what it kept of each file."""

    def has(path: str, end: int, check: int) -> bool:
        return path == "/logs/a" and unchanged(path, end, check) and given.end[0]["a"]["check"] % 10 == 0

    with pytest.raises(ResyncNeeded, match=f"'name' cannot continue: .*{reason}"):
        step(stored, given, "name", is_positioned=True, is_numbered=False, still_has=has)


@pytest.mark.parametrize(
    ("stored", "given", "expected"),
    [
        (TWO, at("b", 0, None, logs(a=30)), None),
        (TWO, at("b", 0, None, logs(b=50)), None),
        (TWO, at("b", 0, None, logs(b=60)), logs(a=70, b=60)),
        (TWO, at("b", 0, None, logs(a=70, b=50, c=9)), logs(a=70, b=50, c=9)),
        (logs(a=70), at("b", 0, None, logs(folder="/moved", a=90)), logs(folder="/moved", a=90)),
    ],
)
def test_a_log_that_is_the_same_goes_on(stored: Any, given: Given, expected: Any) -> None:
    """Also in another folder, or without files that were read to their end; nothing is forgotten of those."""
    found = step(
        took("a", 7, stored), given, "name", is_positioned=True, is_numbered=False, still_has=unchanged
    )
    assert (found and found.cursor.offsets) == (expected and [expected])


def test_logs_beside_each_other_have_no_order() -> None:
    """Each source is a log: what is behind in one says nothing of the other, whichever comes first."""
    stored = Cursor("a", 5, [logs(a=70), logs(b=50)])
    for ends in ([logs(a=90), logs(b=30)], [logs(b=30), logs(a=90)]):
        given = Given("b", 0, None, ends)
        found = step(stored, given, "name", is_positioned=True, is_numbered=False, still_has=unchanged)
        assert found is not None
        assert sorted(map(str, found.cursor.offsets)) == sorted(map(str, [logs(a=90), logs(b=50)]))
        assert dict(found.applied) == {"a": 70, "b": 50}
    with pytest.raises(ResyncNeeded, match="the file 'b' is gone"):
        places(stored, Given("b", 0, None, [logs(a=70), logs(c=30)]))
    apart = Given("b", 0, None, [logs(a=90), logs(b=50)])
    assert places(took("a", 7, TWO), apart) == ({"a": 70, "b": 50}, {"a": 70}, {})


def test_files_that_follow_their_checkpoint_are_not_opened() -> None:
    """Neither for the next micro-batch nor for the same again: they may be gone by then."""

    def ask(path: str, end: int, check: int) -> bool:
        raise AssertionError(path)

    stored = took("a", 7, TWO)
    for batch in (at("a", 7, logs(a=60), TWO), at("a", 8, TWO, logs(a=70, b=60, c=9))):
        step(stored, batch, "name", is_positioned=True, is_numbered=False, still_has=ask)


@pytest.mark.parametrize("is_positioned", [True, False])
def test_a_checkpoint_without_a_graph_hints_at_its_name(is_positioned: bool) -> None:
    """It may have been moved, and the name with it."""
    given = at("a", 4, log(40), log(50))
    with pytest.raises(ResyncNeeded, match="if the checkpoint was moved, pass the name= that it had"):
        step(None, given, "name", is_positioned=is_positioned, is_numbered=False, still_has=unchanged)


def numbers(stored: Cursor | None, given: Given, is_numbered: bool = False) -> bool | None:
    """Say whether records repeat; None where all was applied."""
    found = step(stored, given, "name", is_positioned=False, is_numbered=is_numbered, still_has=unchanged)
    return None if found is None else found.cursor.repeats


def test_rows_without_places_follow_on_their_own_query_only() -> None:
    """The same micro-batch again was applied, the next one is not; offsets and number must both fit."""
    stored = took("a", 1, FILES[1])
    assert numbers(None, at("a", 0, None, FILES[0])) is False
    assert numbers(stored, at("a", 1, FILES[0], FILES[1])) is None
    assert numbers(stored, at("a", 2, FILES[1], FILES[2])) is False


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        (None, at("a", 1, FILES[0], FILES[1])),
        (took("a", 1, FILES[1]), at("a", 1, FILES[0], FILES[2])),
        (took("a", 1, FILES[1]), at("a", 0, None, FILES[0])),
        (took("a", 1, FILES[1]), at("a", 3, FILES[1], FILES[2])),
        # what a file source counts means nothing in another checkpoint
        (took("a", 0, FILES[0]), at("b", 0, None, FILES[0])),
        (took("a", 0, FILES[0]), at("b", 1, FILES[0], FILES[1])),
        (took("a", 0, 5), at("b", 0, None, 5)),
    ],
)
def test_rows_without_places_need_a_resync_otherwise(stored: Any, given: Given) -> None:
    """Neither the number of a micro-batch nor a count of a source is trusted behind a lost checkpoint."""
    with pytest.raises(ResyncNeeded, match="resync"):
        numbers(stored, given)


@pytest.mark.parametrize("offset", [kafka, lambda n: {"reservoirId": "t", "reservoirVersion": n}])
def test_offsets_that_are_places_mean_the_same_in_any_checkpoint(offset: Any) -> None:
    """So they are compared where the rows have lost them."""
    stored = took("a", 3, offset(5))
    assert numbers(stored, at("b", 0, None, offset(5))) is None
    assert numbers(stored, at("b", 1, offset(5), offset(6))) is False
    with pytest.raises(ResyncNeeded):
        numbers(stored, at("b", 1, offset(4), offset(6)))


def test_records_with_numbers_go_on_in_a_new_checkpoint() -> None:
    """From its beginning, until there are new ones; a graph that lost its own state cannot."""
    stored = took("a", 3, FILES[1])
    assert numbers(stored, at("b", 0, None, FILES[0]), is_numbered=True) is True
    again = took("b", 0, FILES[0], repeats=True)
    assert numbers(again, at("b", 1, FILES[0], FILES[1]), is_numbered=True) is True
    for wrong, batch in ((stored, at("b", 1, FILES[0], FILES[1])), (None, at("b", 1, FILES[0], FILES[1]))):
        with pytest.raises(ResyncNeeded):
            numbers(wrong, batch, is_numbered=True)


OFFSETS = st.one_of(
    st.none(), st.integers(), st.builds(log, st.integers(0, 9)), st.builds(kafka, st.integers(0, 9))
)


@given(st.text(), st.integers(0), st.lists(OFFSETS), st.dictionaries(st.text(), st.integers()), st.booleans())
def test_a_cursor_is_read_as_it_was_written(
    query: str, batch: int, offsets: list[Any], ahead: dict[str, int], repeats: bool
) -> None:
    """Text and back loses nothing."""
    cursor = Cursor(query, batch, offsets, ahead, repeats)
    assert Cursor.from_text(cursor.to_text(), "name") == cursor


WRITTEN = (
    '{"form": 2, "query": "a", "batch": 3, "offsets": [{"log.rdfp": {"end": 120, "check": 7, '
    '"path": "/log.rdfp"}}], "ahead": {"log.rdfp": 130}, "repeats": true}'
)


def test_a_cursor_of_another_form_is_refused() -> None:
    """The text of a cursor is fixed; one of another form is refused with a remedy."""
    cursor = Cursor.from_text(WRITTEN, "name")
    assert cursor == Cursor(
        "a", 3, [{"log.rdfp": {"end": 120, "check": 7, "path": "/log.rdfp"}}], {"log.rdfp": 130}, True
    )
    assert cursor.to_text() == WRITTEN
    with pytest.raises(RdfliveError, match=r"a cursor of form 3, .*use the version that made it, or mirror"):
        Cursor.from_text(WRITTEN.replace('"form": 2', '"form": 3'), "name")


@pytest.mark.parametrize("text", ["120:3:0badcafe", "{}", "[]", "7", '{"query": "a"}'])
def test_the_cursor_of_another_mirror_is_refused(text: str) -> None:
    """The message says which name is taken."""
    with pytest.raises(
        RdfliveError, match="under 'name' the cursor of a feed that is not mirrored through Spark"
    ):
        Cursor.from_text(text, "name")


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6), st.lists(st.integers(1, 9), min_size=1, max_size=9)
)
def test_each_row_is_applied_once_through_any_checkpoints(first: list[int], second: list[int]) -> None:
    """A second query of a new checkpoint reads rows again, cut otherwise, and goes on."""
    taken: list[int] = []
    stored: Cursor | None = None
    for query, sizes in (("a", first), ("b", second)):
        end = 0
        for batch, size in enumerate(sizes):
            start, end = end, end + size
            found = step(
                stored, at(query, batch, log(start) if batch else None, log(end)), "n",
                is_positioned=True, is_numbered=False, still_has=unchanged,
            )  # fmt: skip
            if found is not None:
                taken += [row for row in range(start, end) if row >= found.applied.get("log.rdfp", 0)]
                stored = found.cursor
    assert taken == list(range(max(sum(first), sum(second))))
