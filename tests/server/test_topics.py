"""The names of topics: each question has its own."""

from __future__ import annotations

import pytest

from rdflive.server.live_query import LiveQuery
from rdflive.server.topics import name_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LiveQuery("ASK {} #", node="b"), LiveQuery("ASK {} #\0b")),
        (LiveQuery("x", key=("a", "b")), LiveQuery("x", key=("a\0b",))),
        (LiveQuery("x", "rdfs"), LiveQuery("x", key=("rdfs",))),
    ],
)
def test_different_questions_have_different_names(one: LiveQuery, other: LiveQuery) -> None:
    """Else a client would follow what another has asked for."""
    assert name_of(one) != name_of(other)
    assert name_of(one) == name_of(one)
