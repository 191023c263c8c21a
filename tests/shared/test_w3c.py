"""The W3C query tests: triple by triple in, and out again, on every engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.errors import UnsupportedQueryError
from support.effort import checked
from support.sequences import as_ordered, is_ordered
from support.shared import ROOT, shared
from support.solutions import Row, folded, folded_row, isomorphic
from support.w3c import Case, load_cases
from support.w3c_exceptions import ENGINE_IS_WRONG, NOT_THE_RESULT
from support.w3c_report import BASELINE, PROPERTY, Outcome
from support.w3c_world import ENGINES, Sum, World, fresh, full

pytestmark = pytest.mark.shared

CASES = load_cases()
REFUSED = [case for case in CASES if not case.is_maintained]
MAINTAINED = [case for case in CASES if case.is_maintained]


def test_w3c_tests_are_there() -> None:
    """All 463 tests outside the entailment classes are run below, 335 of them trusted."""
    shared("data", "w3c", "index.json")
    assert len(CASES) == 463
    assert sum(case.trusted for case in CASES) == 335


@pytest.mark.sampled(4, by="case")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", MAINTAINED, ids=repr)
def test_w3c_query_is_maintained(
    case: Case, engine: str, record_property: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step that is compared the deltas add up to the full answer, and at full data to the result."""
    outcome: Outcome = "fail"
    # the tests mean literals as they are written; rdflib may leave them so, Oxigraph never does
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", engine != "memory")
    try:
        result_is_reached = maintain(Case(case.entry), engine)
        left_out = NOT_THE_RESULT.get((case.id, engine))
        assert result_is_reached or left_out, "at full data the deltas do not add up to the W3C result"
        assert not (result_is_reached and left_out), f"strike it off the exceptions: {left_out}"
        outcome = "pass" if result_is_reached else "left out"
    except UnsupportedQueryError:
        outcome = "refused"
        raise
    finally:
        record_property(PROPERTY, (case.cls, engine, outcome))


@pytest.mark.parametrize("case", REFUSED, ids=repr)
def test_w3c_query_is_refused(case: Case, record_property: Callable[..., None]) -> None:
    """What cannot be maintained is refused with its place, and nothing else is."""
    with pytest.raises(UnsupportedQueryError) as refusal:
        rdflive.explain(case.query)
    assert refusal.value.line > 1
    assert refusal.value.column > 0
    for engine in ENGINES:
        record_property(PROPERTY, (case.cls, engine, "refused"))


def test_w3c_exceptions_are_of_tests() -> None:
    """Every exception names a test and an engine, and says why."""
    shared("data", "w3c", "index.json")
    runs = {(case.id, engine) for case in MAINTAINED for engine in ENGINES}
    for exceptions in (NOT_THE_RESULT, ENGINE_IS_WRONG):
        assert runs.issuperset(exceptions)
        assert all(exceptions.values())
    assert all(case.trusted for case in CASES for e in ENGINES if (case.id, e) in ENGINE_IS_WRONG)


def test_w3c_numbers_do_not_fall() -> None:
    """Per class and engine no fewer tests must pass than the baseline says, and none more be refused.

    Each test above holds its own place, so what the exceptions leave is what passes.
    """
    shared("data", "w3c", "index.json")
    kept = [(case.cls, engine) for case in MAINTAINED for engine in ENGINES]
    left = [(case.cls, e) for case in MAINTAINED for e in ENGINES if (case.id, e) in NOT_THE_RESULT]
    passing = Counter(f"{cls} ({engine})" for cls, engine in kept)
    passing -= Counter(f"{cls} ({engine})" for cls, engine in left)
    refused = Counter(f"{case.cls} ({engine})" for case in REFUSED for engine in ENGINES)
    passing["all"], refused["all"] = passing.total(), refused.total()
    for name, numbers in json.loads(BASELINE.read_text(encoding="utf-8")).items():
        assert passing[name] >= numbers.get("pass", 0), name
        assert refused[name] <= numbers.get("refused", 0), name


def test_the_page_has_the_numbers_of_the_baseline() -> None:
    """docs/conformance.md says per class what passes, is left out and is refused."""
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    for cls in {name.removesuffix(" (memory)") for name in baseline if name.endswith(" (memory)")}:
        memory, oxigraph = (baseline[f"{cls} ({engine})"] for engine in ENGINES)
        numbers = [engine.get(o, 0) for o in ("pass", "left out") for engine in (memory, oxigraph)]
        assert f"| {cls} | {' | '.join(map(str, [*numbers, memory.get('refused', 0)]))} |" in page


def maintain(case: Case, engine: str) -> bool:
    """Follow the query through all data, in and out; tell if the full data gave the W3C result."""
    world = World(case, engine)
    follower = Sum(world.graph, case.query)
    ordered = is_ordered(case.query)

    def check() -> None:
        found, expected = follower.state, full(world)
        assert isomorphic(found, expected), f"deltas add up to {found}, but the answer is {expected}"
        assert not ordered or follower.answers() == fresh(world)[1]

    check()
    empty = follower.state
    for quad, is_compared in checked(case.shuffled("in")):
        world.write(1, quad)
        if is_compared:
            check()
    reached = is_result(case, follower)
    for quad, is_compared in checked(case.shuffled("out")):
        world.write(-1, quad)
        if is_compared:
            check()
    assert isomorphic(follower.state, empty)
    follower.close()
    return reached


def is_result(case: Case, follower: Sum) -> bool:
    """Compare with the W3C result, in order where the query orders."""
    if case.ordered is None or not is_ordered(case.query):
        return isomorphic(folded(follower.state), folded(case.expected))
    answers: list[Row] = follower.answers()
    assert Counter(answers) == follower.state
    found, expected = (list(map(folded_row, sequence)) for sequence in (answers, case.ordered))
    return as_ordered(case.query, found, expected, sliced=case.has("slice"))


def test_planted_results_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result with one solution too few, or too many, is not reached."""
    shared("data", "w3c", "index.json")
    case = next(case for case in CASES if case.id == "sparql10/basic#base-prefix-1")
    whole: Any = case.ordered
    assert maintain(case, "memory")
    for wrong in (whole[1:], [*whole, whole[0]]):
        assert not maintain(_with_result(case, wrong), "memory")


def _with_result(case: Case, result: list[Row]) -> Case:
    changed = Case(case.entry)
    changed.__dict__["result"] = result  # where the cached property keeps it
    return changed
