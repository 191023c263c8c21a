"""The gate and the hunt: how much is tried, and what is drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import effort


@pytest.fixture(params=["gate", "hunt"])
def hunt(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(effort, "HUNT", request.param == "hunt")
    monkeypatch.setattr(effort, "SEED", "17" if request.param == "hunt" else "")
    return bool(effort.HUNT)


def test_a_hunt_tries_all_and_the_gate_some(hunt: bool) -> None:
    """There is no number so small that nothing is tried."""
    for number in (1, 2, 3, 4, 5, 8, 25, 250, 1000):
        full, sample = effort.examples(number), effort.examples(number, sample=True)
        assert 1 <= sample <= full <= number
        assert full == effort.rounds(number)
        assert (full == sample == number) or not hunt
    assert effort.examples(1000) == (1000 if hunt else 125)
    assert effort.examples(1000, sample=True) == (1000 if hunt else 31)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 12])
def test_every_step_is_given_and_the_last_is_always_compared(hunt: bool, count: int) -> None:
    """The gate compares each fifth step, a hunt each."""
    steps = list(effort.checked(range(1, count + 1)))
    assert [step for step, _ in steps] == list(range(1, count + 1))
    compared = [step for step, is_compared in steps if is_compared]
    assert compared == [step for step in range(1, count + 1) if hunt or step % 5 == 0 or step == count]


def test_a_step_is_made_before_the_next_is_asked_for() -> None:
    """Steps that depend on what was done with those before see it."""
    done: list[int] = []

    def steps() -> list[int]:
        return [len(done)]

    for _ in range(3):
        for step, _ in effort.checked(steps()):
            done.append(step)
    assert done == [0, 1, 2]


def test_draws_depend_on_their_names_and_in_a_hunt_on_the_seed(
    hunt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same names give the same numbers within a run, and in each run of the gate."""
    assert effort.drawn_from("a", 1).random() == effort.drawn_from("a", 1).random()
    assert effort.drawn_from("a", 1).random() != effort.drawn_from("a", 2).random()
    before = effort.drawn_from("a").random()
    monkeypatch.setattr(effort, "SEED", "18" if hunt else "")
    assert (effort.drawn_from("a").random() == before) != hunt


@given(st.text(), st.integers(1, 5))
def test_of_some_places_one_is_in_the_share_of_the_gate(name: str, among: int) -> None:
    """Which one depends on the name alone."""
    assert sum(effort.in_share(name, among, place) for place in range(among)) == 1
