"""Every decoder on any bytes: damaged feeds of its own, and what is no feed at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from support.formats import FORMATS, golden_inputs
from support.fuzz import check_any_bytes


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_golden_feeds_are_decoded_whole(name: str) -> None:
    """There is a golden feed of every format, with entries, and a reading can go on behind any of them."""
    inputs = golden_inputs(name)
    assert inputs
    assert all(check_any_bytes(FORMATS[name], content) > 1 for content in inputs)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_damaged_feed_gives_entries_or_a_feed_error(name: str, data: st.DataObject) -> None:
    """Pieces cut out, doubled or replaced anywhere never crash a decoder nor change what comes behind."""
    content = data.draw(st.sampled_from(golden_inputs(name)))
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        end = min(end, start + 200)
        piece = data.draw(
            st.one_of(
                st.binary(max_size=4), st.sampled_from([content[start:end] * 2, b"\n", b"null", b"{", b'"'])
            )
        )
        content = content[:start] + piece + content[end:]
    check_any_bytes(FORMATS[name], content)


@given(st.binary(max_size=80))
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_any_bytes_give_entries_or_a_feed_error(name: str, content: bytes) -> None:
    """What is no feed at all is refused in the same way."""
    check_any_bytes(FORMATS[name], content)
