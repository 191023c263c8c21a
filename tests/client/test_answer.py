"""The answer that a client keeps: what each message comes to."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from rdflive.client.answer import Answer

HEAD: dict[str, Any] = {"form": "SELECT", "head": {"vars": ["s"]}, "removed": []}


def rows(letters: str) -> list[Any]:
    return [{"s": {"type": "uri", "value": f"urn:{letter}"}} for letter in letters]


def letters(solutions: Any) -> Counter[str]:
    return Counter(str(solution.s).removeprefix("urn:") for solution in solutions)


def now(answer: Answer) -> Counter[str]:
    return letters(answer.shown(answer.listed()))


def test_terms_are_those_of_the_graph() -> None:
    """Each term is as it is spelt, in the order of the variables, and None stands for an unbound one."""
    given = {
        "a": {"type": "uri", "value": "urn:é"},
        "b": {"type": "bnode", "value": "n1"},
        "c": {"type": "literal", "value": "01", "datatype": str(XSD.integer)},
        "d": {"type": "literal", "value": "x\ud800", "xml:lang": "en"},
    }
    members = {"sequence": 0, "form": "SELECT", "head": {"vars": ["d", "c", "b", "a", "e"]}, "added": [given]}
    answer = Answer(members)
    (solution,) = answer.shown(answer.listed())
    assert list(solution.labels) == ["d", "c", "b", "a", "e"]
    assert solution == (
        Literal("x\ud800", lang="en"),
        Literal("01", datatype=XSD.integer, normalize=False),
        BNode("n1"),
        URIRef("urn:é"),
        None,
    )


STATES = st.text("abc", max_size=5)


KINDS = st.sampled_from(["update", "update", "again", "initial", "restart"])
MESSAGES = st.lists(st.tuples(KINDS, STATES, st.integers(0, 3)), max_size=12)


@given(begin=STATES, messages=MESSAGES)
def test_deltas_add_up(begin: str, messages: list[tuple[str, str, int]]) -> None:
    """Deltas lead from answer to answer, their numbers grow, and what comes again is nothing."""
    answer = Answer({"sequence": 0, **HEAD, "added": rows(begin)})
    state = sums = Counter(begin)
    number = served = 0
    for kind, text, step in messages:
        after = Counter(text)
        came, went = ("".join(part.elements()) for part in (after - state, state - after))
        if kind == "again":
            delta = answer.update({"sequence": served - step, "added": rows(text), "removed": rows(text[:1])})
            assert delta is None
            continue
        if kind == "update":
            served += 1 + step
            delta = answer.update({"sequence": served, "added": rows(came), "removed": rows(went)})
        else:
            served = step if kind == "restart" else served + step
            delta = answer.replace({"sequence": served, **HEAD, "added": rows(text)})
        state = after
        assert now(answer) == state
        assert (delta is None) == (sums == state)
        if delta is not None:
            assert number < delta.first_sequence <= delta.sequence == answer.sequence
            number = delta.sequence
            sums = sums + letters(delta.added) - letters(delta.removed)
            assert sums == state
    answer.update({"sequence": served + 1, "added": [], "removed": rows("".join(state.elements()))})
    assert answer.listed() == []


def test_a_solution_that_comes_and_goes_in_one_message_is_nothing() -> None:
    """Only the net change counts."""
    answer = Answer({"sequence": 0, **HEAD, "added": []})
    assert answer.update({"sequence": 1, "added": rows("aab"), "removed": rows("baa")}) is None
    assert answer.listed() == []
