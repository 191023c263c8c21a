"""Rules are given the constants of patterns, where that keeps what they ask for small."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.rules.test_regime import Follower, iri
from support.effort import examples
from support.expiry import ANY, rules, triple

STEP = "{ ?x :next ?y } => { ?x :to ?y } . "
PATHS = {
    "steps of two paths": STEP + "{ ?x :to ?y . ?y :to ?z } => { ?x :to ?z } .",
    "alone": "{ ?x :to ?y . ?y :to ?z } => { ?x :to ?z } .",
    "of different nodes": STEP
    + "{ ?x :to ?y . ?y :to ?z . ?x log:notEqualTo ?y . ?y log:notEqualTo ?z } => { ?x :to ?z } .",
    "to the end": STEP + "{ ?x :to ?y . ?y :next ?z } => { ?x :to ?z } .",
    "from the end": STEP + "{ ?x :next ?y . ?y :to ?z } => { ?x :to ?z } .",
    "backwards too": STEP + "{ ?x :to ?y } => { ?y :to ?x } . { ?x :to ?y . ?y :to ?z } => { ?x :to ?z } .",
    "of a property": "{ ?p :like :to . ?x ?p ?y } => { ?x :to ?y } . "
    "{ ?x :to ?y . ?y :to ?z } => { ?x :to ?z } .",
    "on to others": STEP + "{ ?x :to ?y . ?y :to ?z } => { ?x :to ?z } . { ?x :to ?y } => { ?y :at ?x } .",
}  # fmt: skip


def kept(follower: Follower) -> tuple[int, int]:
    """Give how many explicit and derived triples are kept."""
    words = follower.driver.entailment.describe()[1].split()
    return int(words[0]), int(words[3])


@pytest.mark.parametrize("name", ["steps of two paths", "alone", "of different nodes", "to the end"])
def test_what_is_reached_from_one_node_costs_what_it_is(name: str) -> None:
    """Of a chain only the paths from the node are derived, and the steps."""
    follower = Follower(rules(PATHS[name]))
    predicate = "to" if name == "alone" else "next"
    follower.want((iri("n5"), iri("to"), None))
    follower.commit(*((1, triple(f"n{i} {predicate} n{i + 1}")) for i in range(20)))
    assert kept(follower)[1] < 40
    follower.commit((-1, triple(f"n9 {predicate} n10")))
    follower.want((None, iri("to"), iri("n9")))
    follower.unwant((iri("n5"), iri("to"), None))
    follower.commit((-1, triple(f"n7 {predicate} n8")))
    follower.want(ANY)  # from here on derivations are counted, each once
    follower.commit((1, triple(f"n7 {predicate} n8")))
    follower.finish()


def test_many_constants_make_a_rule_work_for_all() -> None:
    """The work does not grow with the number of nodes that are asked for."""
    follower = Follower(rules(PATHS["steps of two paths"]))
    follower.commit(*((1, triple(f"n{i} next n{i + 1}")) for i in range(12)))
    for number in range(12):
        follower.want((iri(f"n{number}"), iri("to"), None))
    assert follower.driver.entailment.describe()[0] == "2 of 2 rules at work, as 11 instances"
    follower.commit((-1, triple("n3 next n4")))
    for number in range(11):
        follower.unwant((iri(f"n{number}"), iri("to"), None))
    follower.commit((1, triple("n3 next n4")))
    follower.finish()


@settings(max_examples=examples(60))
@given(st.integers(0, 10**9), st.sampled_from(sorted(PATHS)))
def test_paths_from_and_to_nodes_equal_recomputation(seed: int, name: str) -> None:
    """Whatever is asked for about which nodes, while edges come and go."""
    random = Random(seed)
    follower = Follower(rules(PATHS[name]))
    nodes = [iri(letter) for letter in "abcdefghijkl"[: random.choice([3, 5, 12])]]
    predicates = [iri(word) for word in ("next", "next", "to", "at")] + (
        [iri("like")] * (name == "of a property")
    )

    def edge() -> tuple[object, object, object]:
        predicate = random.choice(predicates)
        if predicate == iri("like"):
            return random.choice([iri("next"), iri("at"), iri("to")]), predicate, iri("to")
        return random.choice(nodes), predicate, random.choice(nodes)

    pool = [edge() for _ in range(25)]
    for _ in range(20):
        choice = random.random()
        if choice < 0.35 or not follower.wanted:
            ends = random.choice([(1, 0), (1, 0), (0, 1), (0, 1), (1, 1), (0, 0)])
            start, end = (random.choice(nodes) if bound else None for bound in ends)
            follower.want(ANY if random.random() < 0.05 else (start, iri("to"), end))
        elif choice < 0.5:
            follower.unwant(random.choice(follower.wanted))
        else:
            batch = {random.choice(pool): random.choice([1, 1, -1]) for _ in range(random.choice([1, 2, 5]))}
            follower.commit(*((sign, fact) for fact, sign in batch.items()))
    follower.finish()
