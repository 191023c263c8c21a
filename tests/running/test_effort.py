"""The two efforts: how much is tried, what is drawn, and whose turn it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import effort

TESTS = Path(__file__).parents[1]


@pytest.fixture(params=["quick", "deep"])
def deep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(effort, "DEEP", request.param == "deep")
    monkeypatch.setattr(effort, "SEED", "" if request.param == "deep" else "17")
    return bool(effort.DEEP)


def test_a_deep_run_tries_all_and_a_quick_one_some(deep: bool) -> None:
    """There is no number so small that nothing is tried."""
    for number in (1, 2, 3, 4, 5, 8, 25, 250, 1000):
        full, sample = effort.examples(number), effort.examples(number, sample=True)
        assert 1 <= sample <= full <= number
        assert full == effort.rounds(number)
        assert (full == sample == number) or not deep
    assert effort.examples(1000) == (1000 if deep else 200)
    assert effort.examples(1000, sample=True) == (1000 if deep else 50)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 12])
def test_every_step_is_given_and_the_last_is_always_compared(deep: bool, count: int) -> None:
    """A quick run compares each fifth step, a deep one each."""
    steps = list(effort.checked(range(1, count + 1)))
    assert [step for step, _ in steps] == list(range(1, count + 1))
    compared = [step for step, is_compared in steps if is_compared]
    assert compared == [step for step in range(1, count + 1) if deep or step % 5 == 0 or step == count]


def test_a_step_is_made_before_the_next_is_asked_for() -> None:
    """Steps that depend on what was done with those before see it."""
    done: list[int] = []

    def steps() -> list[int]:
        return [len(done)]

    for _ in range(3):
        for step, _ in effort.checked(steps()):
            done.append(step)
    assert done == [0, 1, 2]


def test_draws_depend_on_their_names_and_in_quick_runs_on_the_seed(
    deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same names give the same numbers within a run."""
    assert effort.drawn_from("a", 1).random() == effort.drawn_from("a", 1).random()
    assert effort.drawn_from("a", 1).random() != effort.drawn_from("a", 2).random()
    before = effort.drawn_from("a").random()
    monkeypatch.setattr(effort, "SEED", "" if deep else "18")
    assert (effort.drawn_from("a").random() == before) == deep


@given(st.text(), st.integers(1, 5), st.integers(0, 1 << 64))
def test_of_keys_in_a_row_one_gives_each_case_its_turn(name: str, among: int, first: int) -> None:
    """So many runs cover all cases as there are turns."""
    held, places = effort.TURN, list(range(among))
    try:
        turns = []
        for effort.TURN in range(first, first + among):
            turns.append([place for place in places if effort.has_turn(name, among, place)])
        assert sorted(place for each in turns for place in each) == places
        assert all(len(each) == 1 for each in turns)
    finally:
        effort.TURN = held


def test_a_number_is_a_key_as_it_stands() -> None:
    """Keys 1, 2, 3 are turns in a row; other texts are hashed."""
    assert [effort._turn(str(number)) for number in (0, 1, 2)] == [0, 1, 2]
    assert effort._turn("c0ffee") == effort._turn("c0ffee") != effort._turn("c0ffef")


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({}, "quick None True"),
        ({"RDFLIVE_SEED": "5", "RDFLIVE_KEY": "3"}, "quick 5 True"),
        ({"RDFLIVE_EFFORT": "deep"}, "deep  True"),
    ],
)
def test_programs_of_a_run_have_its_seed_and_key(variables: dict[str, str], printed: str) -> None:
    """What was drawn anew is handed on in the environment."""
    program = (
        "import os, subprocess, sys; from support.effort import EFFORT, SEED, KEY\n"
        "if len(sys.argv) > 1: print(EFFORT, SEED, KEY); raise SystemExit\n"
        "inner = subprocess.run([*sys.orig_argv, 'inner'], capture_output=True, text=True).stdout\n"
        "print(EFFORT, SEED, inner == f'{EFFORT} {SEED} {KEY}\\n' and bool(KEY))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RDFLIVE_")}
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, **variables, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    words = run.stdout[:-1].split(" ")
    if "None" in printed:
        assert words[1].isdecimal()
        words[1] = "None"
    assert " ".join(words) == printed


def test_an_unknown_effort_is_refused() -> None:
    """The message names what there is."""
    run = subprocess.run(
        [sys.executable, "-c", "import support.effort"],
        env={**os.environ, "RDFLIVE_EFFORT": "fast", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "RDFLIVE_EFFORT is 'fast'; it can be quick or deep" in run.stderr
