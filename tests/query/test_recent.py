"""Results that are returned again belong to the same argument."""

from __future__ import annotations

import pytest
from rdflib.term import Literal, URIRef

from rdflive.query.recent import recent


def test_the_same_object_is_computed_once() -> None:
    """An equal object is computed itself: equality of terms costs more than most functions."""
    calls: list[object] = []

    def noted(term: object) -> str:
        calls.append(term)
        return f"result {len(calls)}"

    cached, one, other = recent(noted), Literal("a b"), Literal("a b")
    assert [cached(one), cached(one), cached(other), cached(one)] == [
        "result 1", "result 1", "result 2", "result 1",
    ]  # fmt: skip
    assert len(calls) == 2


def test_objects_whose_ids_are_used_again_are_told_apart() -> None:
    """Python gives the id of a collected object to a later one, so the cache keeps its arguments."""
    cached = recent(lambda term: str(term).upper())
    for number in range(10_000):
        assert cached(URIRef(f"urn:{number}")) == f"URN:{number}"


def test_an_exception_is_raised_each_time() -> None:
    """Errors are not cached."""
    cached, term = recent(lambda term: 1 // len(term)), Literal("")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cached(term)
