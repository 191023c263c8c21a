"""Windows of every kind against the book, at every report, on every store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.effort import HUNT, drawn_from, examples, rounds
from support.window_plays import make_operations, play
from support.window_runs import QUERIES, STORES, WINDOWS, World
from support.worlds import KINDS

LATENESS = (0, 1, 3, 9)
"""Less than windows reach back, as much, and more: the last report may be one that holds no late element."""
SECONDS = st.integers(0, 3)
TRIPLES = st.lists(st.tuples(*map(st.sampled_from, ("abcd", "pq", "abcd"))), max_size=3)
KINDS_OF_OPERATIONS = st.sampled_from(
    ["add"] * 6 + ["remove", "remove", "advance", "write", "batch", "open", "close"]
)
OPERATIONS = st.lists(
    st.tuples(
        KINDS_OF_OPERATIONS,
        st.just(0),
        TRIPLES,
        st.sampled_from([0, 0, 1, 1, 2, 3, 9, -1, -3, -7]),
        st.lists(
            st.tuples(st.sampled_from([1, 1, -1]), TRIPLES.filter(bool).map(lambda t: t[0])), max_size=2
        ),
        st.integers(0, 10**6),
    ),
    max_size=25,
)


@pytest.fixture(autouse=True)
def alarmed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on errors in the log, as only the log reports that a view failed and was restarted."""
    with caplog.at_level(logging.ERROR, "rdflive"):
        yield
    assert not caplog.records, caplog.text


@pytest.mark.parametrize("kind", STORES)
def test_windows_follow_the_book(kind: str) -> None:
    """At each report is told what the semantics says, with what expired and when; then all is gone."""
    KINDS[kind]()  # skips where the store is absent
    checks = 0
    for seed in sorted(drawn_from(kind).sample(range(12), rounds(12))):
        random = drawn_from(kind, seed)
        streams = 1 + seed % 2
        world = World(kind, seed % 3, LATENESS[seed % 4], seed % 5 > 0, streams)
        play(world, make_operations(random, 50, streams=streams), merged=seed % 4 == 0)
        assert world.checks or not HUNT
        checks += world.checks
    assert checks


@given(
    st.sampled_from(WINDOWS),
    st.sampled_from(QUERIES),
    SECONDS,
    st.sampled_from(LATENESS),
    st.booleans(),
    OPERATIONS,
)
@settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_every_window_follows_the_book(
    window: Any, query: Any, delay: int, lateness: int, beside: bool, operations: list[Any]
) -> None:
    """One window that is there from the start is followed through whatever happens, beside others."""
    world = World("graph", delay, lateness, beside)
    world.open(query, (0, window), expires=bool(query.patterns))
    play(world, operations)
