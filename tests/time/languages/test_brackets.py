"""What windows the brackets of a clause say, and where an error in them is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.time.languages.brackets import read_duration, read_window
from rdflive.time.languages.cursor import Cursor
from rdflive.time.windows import Count, Sliding, Tumbling, Window

WINDOWS: list[tuple[str, Window]] = [
    ("[RANGE PT10S STEP PT1S]", Sliding(10, 1)),
    ("[RANGE PT10S]", Sliding(10)),
    ("[range pt10s step pt0.5s]", Sliding(10, 0.5)),
    ("[RANGE PT1H30M STEP P1D]", Sliding(5400, 86400)),
    ("[RANGE PT10S, SLIDE PT5S]", Sliding(10, 5)),
    ("[RANGE PT10S SLIDE PT5S]", Sliding(10, 5)),
    ("[RANGE PT10S TUMBLING]", Tumbling(10, closed="right")),
    ("[RANGE 10sec STEP 1sec]", Sliding(10, 1)),
    ("[RANGE 30m STEP 5m]", Sliding(1800, 300)),
    ("[RANGE 30 MIN STEP 5 MIN]", Sliding(1800, 300)),
    ("[RANGE 1h TUMBLING]", Tumbling(3600, closed="right")),
    ("[RANGE 1.5h STEP 250ms]", Sliding(5400, 0.25)),
    ("[ RANGE\n 2d # two days\n STEP 1h ]", Sliding(172800, 3600)),
    ("[FROM NOW-PT35M TO NOW STEP PT5M]", Sliding(2100, 300)),
    ("[FROM NOW - 10s TO NOW]", Sliding(10)),
    ("[RANGE TRIPLES 10]", Count(10, of="triples")),
    ("[TRIPLES 10]", Count(10, of="triples")),
    ("[RANGE TRIPLES 10 TUMBLING]", Count(10, 10, of="triples")),
    ("[ELEMENTS 10 STEP 5]", Count(10, 5)),
    ("[ITEM 10 SLIDE 2]", Count(10, 2)),
    ("[ITEMS 3, TUMBLING]", Count(3, 3)),
]

WRONG = [
    ("RANGE 10s]", 1, 1, "a window, as in"),
    ("", 1, 1, "the end of the text"),
    ("[]", 1, 2, "RANGE, TRIPLES or ELEMENTS"),
    ("[PT10S]", 1, 2, "RANGE, TRIPLES or ELEMENTS"),
    ("[RANGE]", 1, 7, "a duration, as in 10s or PT10S, found ']'"),
    ("[RANGE ?d]", 1, 8, "a duration"),
    ("[RANGE 10]", 1, 8, "10 has no unit"),
    ("[RANGE\n 10 STEP 2]", 2, 2, "10 has no unit"),
    ("[RANGE 10s STEP 2]", 1, 17, "2 has no unit"),
    ("[RANGE 10 parsecs]", 1, 8, "'10 parsecs' is no duration"),
    ("[RANGE soon]", 1, 8, "'soon' is no duration"),
    ("[RANGE P1Y]", 1, 8, "years or months"),
    ("[RANGE PT0S]", 1, 8, "longer than none"),
    ("[RANGE P99999999999999D]", 1, 8, "is no duration"),
    ("[RANGE 10s STEP]", 1, 16, "a duration"),
    ("[RANGE 10s,]", 1, 12, "STEP, SLIDE or TUMBLING"),
    ("[RANGE 10s STEP 1s TICK]", 1, 20, "expected ], found 'TICK'"),
    ("[RANGE 10s STEP 1s", 1, 19, "expected ], found the end of the text"),
    ("[TRIPLES]", 1, 9, "a whole number"),
    ("[TRIPLES 0]", 1, 10, "from 1 on"),
    ("[TRIPLES 1.5]", 1, 10, "a whole number"),
    ("[ELEMENTS 10 STEP PT1S]", 1, 19, "a whole number, found 'PT1S'"),
    (f"[ELEMENTS {'9' * 5000}]", 1, 11, "a whole number"),
    ("[FROM PT10S]", 1, 7, "expected NOW -"),
    ("[FROM NOW-PT10S TO THEN]", 1, 17, "expected TO NOW"),
]


@pytest.mark.parametrize(("text", "window"), WINDOWS)
def test_brackets_say_a_window(text: str, window: Window) -> None:
    """Every way to write a window that engines read gives the window it means."""
    cursor = Cursor(text)
    assert read_window(cursor) == window
    assert cursor.token.kind == "end"


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG)
def test_brackets_point_at_what_is_wrong(text: str, line: int, column: int, message: str) -> None:
    """What is no window is named with its place and what would be right."""
    with pytest.raises(QuerySyntaxError, match=f"at line {line}, column {column}: ") as caught:
        read_window(Cursor(text))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_brackets_refuse_windows_of_the_past() -> None:
    """A window that ends before the present is refused at its end."""
    with pytest.raises(UnsupportedQueryError, match=r"Instead: take \[FROM NOW-PT2H TO NOW\]") as caught:
        read_window(Cursor("[FROM NOW-PT2H\n TO NOW-PT1H]"))
    assert (caught.value.construct, caught.value.line, caught.value.column) == (
        "a window that ends in the past",
        2,
        8,
    )


@pytest.mark.parametrize(
    ("text", "every", "window"),
    [
        ("[RANGE 10s]", "2s", Sliding(10, 2)),
        ("[RANGE 10s STEP 1m]", "60s", Sliding(10, 60)),
        ("[RANGE 1h TUMBLING]", "PT60M", Tumbling(3600, closed="right")),
    ],
)
def test_every_is_the_step_of_a_window_without_one(text: str, every: str, window: Window) -> None:
    """COMPUTE EVERY gives a window its step, or says the same as the one it has."""
    assert read_window(Cursor(text), every) == window


@pytest.mark.parametrize(
    ("text", "column"),
    [("[RANGE 10s STEP 1s]", 12), ("[RANGE 1h TUMBLING]", 11), ("[TRIPLES 5 STEP 5]", 10)],
)
def test_every_may_not_differ_from_the_step(text: str, column: int) -> None:
    """Two lengths for one thing are refused, and so is a length of time for a window without time."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        read_window(Cursor(text), "2s")
    assert (caught.value.construct, caught.value.column) == ("COMPUTE EVERY", column)


@given(
    st.integers(1, 10**6),
    st.sampled_from(["ms", "s", "sec", "m", "min", "h", "d"]),
    st.sampled_from(["", " ", "\n"]),
    st.sampled_from(["]", " ]", ",", " STEP 1s"]),
)
def test_duration_is_a_number_and_its_unit(number: int, unit: str, space: str, after: str) -> None:
    """A duration is the same however its number and unit are spaced, and ends before what follows."""
    cursor = Cursor(f"{number}{space}{unit}{after}")
    assert read_duration(cursor).replace(" ", "") == f"{number}{unit}"
    assert cursor.token.text in "],STEP"


def test_tumbling_windows_hold_what_sliding_ones_of_equal_step_hold() -> None:
    """[RANGE 1m TUMBLING] and [RANGE 1m STEP 1m] report the same instants and hold the same."""
    tumbling, sliding = (read_window(Cursor(text)) for text in ("[RANGE 1m TUMBLING]", "[RANGE 1m STEP 1m]"))
    assert (tumbling.cadence, tumbling.scope) == (sliding.cadence, sliding.scope)
    reports = [report * 60 * 10**9 for report in range(4)]
    assert all(tumbling.scope.begin(after) == before + 1 for before, after in pairwise(reports))
