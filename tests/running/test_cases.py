"""The comparison with the cases of an earlier commit finds what is gone."""

from __future__ import annotations

import pytest

from running.cases import CHANGED, KILLS, MOVED, lost

ONE = sorted(CHANGED)[0]


@pytest.mark.parametrize(
    ("earlier", "now", "gone"),
    [
        (["a::test_x[1000]"], ["a::test_x[2]"], ["a::test_x[1000]"]),
        (["a::test_x"], ["b::test_x"], ["a::test_x"]),
        (["a::test_x"], ["a::test_x[1]"], ["a::test_x"]),
        ([f"{ONE}[1]"], [f"{ONE}[2]"], []),
        ([f"{ONE}[1]", f"{ONE}[2]"], [f"{ONE}[3]"], [f"{ONE}[1]", f"{ONE}[2]"]),
        ([next(iter(MOVED)) + "test_x"], [next(iter(MOVED.values())) + "test_x"], []),
        ([list(MOVED)[-1]], [f"{KILLS}[subscription]"], []),
        ([list(MOVED)[-1]], [f"{KILLS}[mirror]"], [list(MOVED)[-1]]),
    ],
)
def test_what_is_gone_is_named(earlier: list[str], now: list[str], gone: list[str]) -> None:
    """Names are compared whole, but for what the tables name."""
    assert lost(earlier, now) == gone
