"""The cases of SPECTRA: a filtered view, a shared predicate, and what Theorem 5.1 loses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rdflib import URIRef

from rdflive.api.matching import Matcher
from rdflive.time.windows import Tumbling
from support.shared import vector

pytestmark = pytest.mark.shared

EX = "urn:example:"


def text(patterns: list[list[str]], conditions: str = "") -> str:
    def term(name: str) -> str:
        return name if name.startswith("?") else f"<{EX}{name}>"

    return f"SELECT * {{ {' . '.join(' '.join(map(term, p)) for p in patterns)} {conditions} }}"


def triples(rows: list[list[str]]) -> list[tuple[URIRef, ...]]:
    return [tuple(URIRef(EX + name) for name in row) for row in rows]


def rows(found: Any, names: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(solution[name[1:]].removeprefix(EX) for name in names) for solution in found.solutions
    )


def test_a_filter_is_pushed_into_the_view() -> None:
    """Example 1: the view of the pattern has one row with the filter, and two without."""
    example = vector("SP-ex1")
    ((name, value),) = example["filter"].items()
    for condition, expected in (
        ("", example["expected_unfiltered"]),
        (f"FILTER({name} = <{EX}{value}>)", example["expected"]),
        (f"FILTER(sameTerm({name}, <{EX}{value}>))", example["expected"]),
    ):
        # with a background, even an empty one, small events go through views too
        matcher = Matcher(text([example["pattern"]], condition), background=[])
        found = matcher.match(triples(example["triples"]))
        assert rows(found, ["?h", "?o1"]) == Counter(map(tuple, expected))
        assert matcher.stats.rows == len(expected)


def test_a_triple_enters_every_view_that_it_matches() -> None:
    """Definition 3.4 calls views disjoint; patterns with one predicate share its triples."""
    example = vector("SP-shared-predicate")
    matcher = Matcher(text(example["query"]), background=[])
    found = matcher.match(triples(example["triples"]))
    assert rows(found, example["vars"]) == Counter(map(tuple, example["expected"]))
    assert matcher.stats.rows == 4


@pytest.mark.parametrize("is_lazy", [True, False], ids=["lazy", "eager"])
def test_matched_triples_stay_in_the_views(is_lazy: bool) -> None:
    """The second update of the counterexample to Theorem 5.1 gives all three new solutions."""
    example = vector("SP-thm51")
    matcher = Matcher(text(example["query"]), window=Tumbling("1h"), lazy=is_lazy)
    for at, (batch, expected) in enumerate(
        zip(example["batches"], example["expected_batch_deltas"], strict=True)
    ):
        found = matcher.match((triples([change["t"] for change in batch]), at))
        assert rows(found, example["vars"]) == Counter(tuple(row) for _, row in expected)
