"""The laws of annotations, on which the order of derivations and deletes rests."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.rules.driver import Driver
from entail.rules.naive import Index, derivations, entailed
from entail.rules.worlds import make_program, make_triple
from rdflive.entail.rules import LABELS, LEVELS, SETS, Algebra
from support.expiry import ANY, rules, triple

ALGEBRAS = pytest.mark.parametrize("algebra", [LABELS, LEVELS, SETS], ids=["labels", "levels", "sets"])
ANNOTATION = st.integers(-50, 50)


@ALGEBRAS
@given(st.lists(ANNOTATION, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 20))
def test_a_derivation_is_never_better_than_a_premise_and_grows_with_it(
    algebra: Algebra, premises: list[int], place: int, more: int
) -> None:
    """So what is derived in descending order is derived once; with levels it is worse than each premise."""
    found = algebra.derivation(*premises)
    assert all(found <= premise - algebra.step for premise in premises)
    premises[place % len(premises)] += more
    assert algebra.derivation(*premises) >= found


@ALGEBRAS
@given(ANNOTATION, ANNOTATION, st.lists(ANNOTATION, max_size=3))
def test_the_best_of_derivations_is_that_of_the_best_premises(
    algebra: Algebra, one: int, other: int, rest: list[int]
) -> None:
    """Combining derivations distributes over combining premises, whose order does not matter."""
    best = max(algebra.derivation(one, *rest), algebra.derivation(*rest, other))
    assert best == algebra.derivation(max(one, other), *rest)


@ALGEBRAS
def test_a_conclusion_without_premises_is_like_an_explicit_triple(algebra: Algebra) -> None:
    """What rules say of every graph is annotated like what the graph says."""
    assert algebra.derivation() == algebra.explicit
    assert algebra.derivation(algebra.explicit) == algebra.explicit - algebra.step


def levels_of(driver: Driver) -> dict[tuple[Any, ...], int]:
    """Give the level of each triple, explicit or derived."""
    terms, table = driver.dictionary.terms, driver.entailment.closure.labels.table
    return {(terms[s], terms[p], terms[o]): level for (s, p, o), level in table.items()}


def test_levels_count_the_steps_from_what_is_explicit() -> None:
    """Each step of a, b, c, d is one level worse. `:a :on :yes` follows from `:c :on :yes` too, but that is
    on a worse level, so it does not keep the fact when the explicit triple goes.
    """
    driver = Driver(rules("{ ?x :p ?y . ?x :on :yes } => { ?y :on :yes } ."))
    driver.want(ANY)
    driver.commit((1, triple(t)) for t in ("a p b", "b p c", "c p d", "c p a", "a on yes"))
    levels = levels_of(driver)
    assert [levels[triple(f"{node} on yes")] for node in "abcd"] == [0, -1, -2, -3]
    driver.commit([(-1, triple("a on yes"))])
    assert levels_of(driver).keys() == driver.triples


@given(st.integers(0, 10**9))
def test_every_derived_fact_has_a_founded_derivation(seed: int) -> None:
    """After any updates each fact that is not explicit follows from facts on better levels."""
    random = Random(seed)
    program = make_program(random)
    driver = Driver(program)
    driver.want(ANY)
    pool = [make_triple(random) for _ in range(15)]
    for _ in range(12):
        batch = {random.choice(pool): random.choice([1, -1]) for _ in range(random.choice([1, 3]))}
        driver.commit((sign, fact) for fact, sign in batch.items())
        levels = levels_of(driver)
        assert levels.keys() == entailed(program, driver.triples)
        founded = set(driver.triples)
        index = Index(levels)
        for rule in program.rules:
            for bindings, head in derivations(rule, index):
                found = dict(bindings)
                premises = [tuple(found.get(t, t) for t in pattern) for pattern in rule.body]
                reached = [levels[premise] for premise in premises]
                # a transitive rule takes its first premise as an explicit triple
                if premises and premises[0] in driver.triples:
                    reached[0] = 0
                if LEVELS.derivation(*reached) >= levels[head]:
                    founded.add(head)
        assert levels.keys() <= founded
