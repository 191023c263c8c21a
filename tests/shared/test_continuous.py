"""The queries that users of real endpoints wrote, with a window added, stay what they are."""

from __future__ import annotations

import json

import pytest

from rdflive.errors import QuerySyntaxError
from rdflive.syntax.tokens import looks_continuous, tokenize
from rdflive.time.languages import parse_continuous
from support.effort import sampled
from support.shared import SHARED, shared

pytestmark = pytest.mark.shared

CLAUSE = "FROM STREAM <u:s> [RANGE 1s]\n"
HEAD = "REGISTER RSTREAM <u:q> AS "


def load() -> dict[str, str]:
    path = SHARED / "data" / "queries" / "sib_examples.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {entry["id"]: entry["query"] for entry in map(json.loads, lines)}


QUERIES = load()
TRIED = sampled("continuous", sorted(QUERIES), 3)


def pattern_of(text: str) -> int | None:
    """Give where the pattern of a query begins, with its WHERE or its brace."""
    depth, form = 0, ""
    for token in tokenize(text):
        word = token.text.upper()
        if word in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE") and not depth:
            form = word
        if form and not depth and (word == "WHERE" or (word == "{" and form != "CONSTRUCT")):
            return token.offset
        depth += (word == "{") - (word == "}")
    return None


def test_real_queries_are_there() -> None:
    """All 1,224 queries are tried below."""
    shared("data", "queries", "sib_examples.jsonl")
    assert len(QUERIES) == 1224


def test_real_queries_do_not_look_continuous() -> None:
    """No word of a real query is taken for one of a continuous query; each is told that it has no window."""
    assert [name for name in TRIED if looks_continuous(QUERIES[name])] == []
    for name in TRIED:
        with pytest.raises(QuerySyntaxError, match="it has no window"):
            parse_continuous(QUERIES[name])


def test_real_queries_with_a_window_stay_what_they_are() -> None:
    """With REGISTER and a window in front of WHERE, every real query is left character by character."""
    changed = []
    for name in TRIED:
        text = QUERIES[name]
        place = pattern_of(text)
        if place is None:
            continue
        left = parse_continuous(HEAD + text[:place] + CLAUSE + text[place:]).text
        if left != " " * len(HEAD) + text[:place] + " " * (len(CLAUSE) - 1) + "\n" + text[place:]:
            changed.append(name)
    assert changed == []
