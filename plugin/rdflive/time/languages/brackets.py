"""What stands between the brackets of a window clause, as in [RANGE 10s STEP 1s]."""

from __future__ import annotations

from typing import Final, Literal

from rdflive.time.instants import to_duration
from rdflive.time.languages.cursor import Cursor
from rdflive.time.windows import Count, Sliding, Tumbling, Window

__all__ = ["read_duration", "read_window"]

_STEPS: Final = ("STEP", "SLIDE")
_ELEMENTS: Final = ("ELEMENTS", "ITEMS", "ITEM")
_DIGITS: Final = 18
_MEASURES: Final = "RANGE, TRIPLES or ELEMENTS, as in [RANGE 10s STEP 1s]"


def read_window(cursor: Cursor, every: str | None = None) -> Window:
    """Read a window with its brackets; `every` is how often its query is computed.

    Windows are open on the left and closed on the right, as in Dell'Aglio et al., "RSP-QL Semantics" (2014).

    >>> read_window(Cursor("[RANGE PT10S STEP PT1S]"))
    Sliding(range=10, step=1)
    >>> read_window(Cursor("[RANGE 1m TUMBLING]")), read_window(Cursor("[TRIPLES 10 STEP 5]"))
    (Tumbling(range=60, closed='right'), Count(size=10, step=5, of='triples'))
    """
    if not cursor.take("["):
        raise cursor.expected("a window, as in [RANGE 10s STEP 1s]")
    # before RANGE alone, behind which a duration is read
    if cursor.take("RANGE", "TRIPLES") or cursor.take("TRIPLES"):
        window: Window = _counted(cursor, "triples", every)
    elif any(cursor.take(word) for word in _ELEMENTS):
        window = _counted(cursor, "elements", every)
    elif cursor.take("RANGE"):
        window = _timed(cursor, read_duration(cursor), every)
    elif cursor.take("FROM"):
        window = _timed(cursor, _until_now(cursor), every)
    else:
        raise cursor.expected(_MEASURES)
    cursor.demand("]")
    return window


def read_duration(cursor: Cursor) -> str:
    """Read a duration, such as 10s, 30 MIN or PT10S, as a text for `to_duration`.

    >>> read_duration(Cursor("30 MIN]")), read_duration(Cursor("PT1.5S]"))
    ('30 MIN', 'PT1.5S')
    """
    first = cursor.token
    if first.kind not in ("number", "word"):
        raise cursor.expected("a duration, as in 10s or PT10S")
    # the tokenizer takes 10s for a number and a word
    text = _together(cursor)
    # a number alone: its unit may stand behind a space, as in 30 MIN
    if first.kind == "number" and text == first.text:
        unit = cursor.token
        if unit.kind != "word" or unit.text.upper() in (*_STEPS, "TUMBLING"):
            raise cursor.wrong(
                first,
                f"{text} has no unit, and engines differ in theirs: write {text}s, {text}ms or PT{text}S",
            )
        text = f"{text} {cursor.advance().text}"
    try:
        to_duration(text)
    except ValueError as error:
        raise cursor.wrong(first, str(error)) from error
    return text


def _timed(cursor: Cursor, span: str, every: str | None) -> Window:
    place = cursor.token
    word = _pace(cursor)
    step = read_duration(cursor) if word == "STEP" else span if word else every
    if every is not None and step is not None and to_duration(step) != to_duration(every):
        raise cursor.refused(
            place,
            "COMPUTE EVERY",
            f"the query is computed every {every}, its window reported every {step}",
            f"write the same length in both; STEP {every} gives an answer every {every}",
        )
    return Tumbling(span, closed="right") if word == "TUMBLING" else Sliding(span, step)


def _until_now(cursor: Cursor) -> str:
    """Read FROM NOW-PT10S TO NOW, and give how far it reaches back."""
    cursor.demand("NOW", "-")
    span = read_duration(cursor)
    cursor.demand("TO", "NOW")
    if cursor.meets("-"):
        raise cursor.refused(
            cursor.token,
            "a window that ends in the past",
            "windows end at the present",
            f"take [FROM NOW-{span} TO NOW] and compare times in a FILTER",
        )
    return span


def _counted(cursor: Cursor, of: Literal["elements", "triples"], every: str | None) -> Count:
    place = cursor.token
    if every is not None:
        raise cursor.refused(
            place,
            "COMPUTE EVERY",
            f"a window of {of} is reported as they arrive, not as time passes",
            "leave COMPUTE EVERY out, and give the window a STEP",
        )
    size = _number(cursor)
    word = _pace(cursor)
    step = _number(cursor) if word == "STEP" else size if word else 1
    try:
        return Count(size, step, of=of)
    except ValueError as error:
        raise cursor.wrong(place, str(error)) from error


def _pace(cursor: Cursor) -> Literal["", "STEP", "TUMBLING"]:
    """Take the word that says how a window moves, if there is one."""
    comma = cursor.take(",")
    if cursor.take("TUMBLING"):
        return "TUMBLING"
    if any(cursor.take(word) for word in _STEPS):
        return "STEP"
    if comma:
        raise cursor.expected("STEP, SLIDE or TUMBLING")
    return ""


def _number(cursor: Cursor) -> int:
    text = cursor.token.text
    if cursor.token.kind != "number" or not text.isdecimal() or len(text) > _DIGITS:
        raise cursor.expected("a whole number")
    return int(cursor.advance().text)


def _together(cursor: Cursor) -> str:
    """Take the numbers and words up to the next space or mark, as one text."""
    text = ""
    end = cursor.token.offset
    while cursor.token.kind in ("number", "word") and cursor.token.offset == end:
        text += cursor.token.text
        end += len(cursor.advance().text)
    return text
