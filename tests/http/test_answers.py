"""What the headers of an answer say, and what its status means."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.http.answers import RetryPace, media_type, refusal, retry_after, shown


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        ("", 0),
        ("soon", 0),
        ("-1", 0),
        ("1.5", 0),
        ("²", 0),
        ("9" * 400, threading.TIMEOUT_MAX),
        ("Mon, 1 Jan 99999999999999999999 00:00:00 GMT", 0),
        ("Mon, 99999999999999999999 Jan 2020 00:00:00 GMT", 0),
        ("Mon, 1 Jan 2020 00:00:00 +99999999999999999999", 0),
        ("Fri, 01 Jan 0001 00:00:00 +2359", 0),
    ],
)
def test_retry_after_is_seconds(header: str, seconds: float) -> None:
    """Whole seconds count, as far as a thread can wait; anything else is as if the header were not there."""
    assert retry_after({"Retry-After": header}) == seconds


@given(
    st.one_of(
        st.text(max_size=30),
        st.from_regex(r"(Mon, )?[0-9]{1,20} (Jan|Feb|x) [0-9]{1,20} [0-9:]{1,20} [-+]?[0-9]{1,20}"),
    )
)
def test_retry_after_may_be_anything(header: str) -> None:
    """Whatever a server says, it is a time that a thread can wait."""
    assert 0 <= retry_after({"Retry-After": header}) <= threading.TIMEOUT_MAX


def test_headers_of_an_answer_are_read() -> None:
    """A date is the time until then, and none that has passed.

    A media type is in lower case, without its parameters; a body of no type is plain text.
    """
    now = datetime.now(UTC)
    assert retry_after({"Retry-After": format_datetime(now - timedelta(hours=1), usegmt=True)}) == 0
    assert 3500 < retry_after({"Retry-After": format_datetime(now + timedelta(hours=1), usegmt=True)}) <= 3600
    assert media_type({"Content-Type": "A/B ; c=d"}) == "a/b"
    assert media_type({}) == "text/plain"


@pytest.mark.parametrize(
    ("status", "passes"), [(302, False), (400, False), (408, True), (425, True), (429, True), (500, True)]
)
def test_refusal_says_whether_it_may_pass(status: int, passes: bool) -> None:
    """Errors of the server itself, and few of the client's, may be gone the next time."""
    assert refusal(status, {}, "no").passes is passes


@given(st.one_of(st.text(max_size=2000), st.binary(max_size=2000)))
def test_shown_is_short_and_printable(text: str | bytes) -> None:
    """No text of a server breaks a line or moves a cursor."""
    assert shown(text).isprintable()
    assert len(shown(text)) <= 300


def test_waits_double_up_to_the_longest() -> None:
    """Up to half of each is left out at random, and never less is waited than the server asks for."""
    pace = RetryPace(first=0.2, longest=1.0)
    for tries, wait in enumerate((0.2, 0.4, 0.8, 1.0, 1.0), 1):
        assert all(wait / 2 <= pace.pause(tries) <= wait for _ in range(20))
    assert pace.pause(1, asked=7.0) == 7.0
