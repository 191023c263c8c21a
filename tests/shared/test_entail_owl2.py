"""OWL 2 test cases by the shipped rules: entailed exactly while the premises that it takes are in."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any, Final

import pytest
from rdflib import BNode, Graph

from entail.rules.driver import Driver, match
from entail.rules.naive import Index, entailed, matches
from rdflive.entail.rules import load_program
from rdflive.query.bgp import TriplePattern, Variable
from support.effort import sampled
from support.shared import shared

pytestmark = pytest.mark.shared

CLASSES: Final = "the conclusion is about class expressions, whose equality takes more than rules"
NEW_TERMS: Final = "the conclusion has a blank node that the premises do not: rules make no terms"
DIFFERENT: Final = "owl:differentFrom follows from an inconsistency, by reasoning backwards"
OUT_OF_REACH: Final = {
    "New_Feature_ObjectPropertyChain_BJP_003": "the premises are in a file that the test does not contain",
    "WebOnt_AnnotationProperty_002": "owl:Thing takes in the values of annotations: no rule says so",
    "WebOnt_I4_6_005_Direct": "annotations are shared by equivalent classes in one semantics only",
    "WebOnt_I5_24_003": NEW_TERMS,
    "WebOnt_I5_24_004": "a range follows from a superclass of owl:Thing: no rule says so",
    "WebOnt_I5_26_010": NEW_TERMS,
    "WebOnt_I5_2_002": CLASSES,
    "WebOnt_I5_2_004": CLASSES,
    "WebOnt_I5_2_006": CLASSES,
    "WebOnt_I5_5_005": NEW_TERMS,
    "WebOnt_I5_8_006": "the range of two datatypes is their intersection, another datatype",
    "WebOnt_SymmetricProperty_002": "the individuals of an enumeration must be told apart",
    "WebOnt_TransitiveProperty_002": NEW_TERMS,
    "WebOnt_cardinality_001": NEW_TERMS,
    "WebOnt_cardinality_002": NEW_TERMS,
    "WebOnt_cardinality_003": NEW_TERMS,
    "WebOnt_cardinality_004": NEW_TERMS,
    "WebOnt_description_logic_201": CLASSES,
    "WebOnt_description_logic_205": CLASSES,
    "WebOnt_description_logic_208": CLASSES,
    "WebOnt_description_logic_901": NEW_TERMS,
    "WebOnt_differentFrom_001": "owl:differentFrom is symmetric, which OWL 2 RL does not say",
    "WebOnt_disjointWith_001": DIFFERENT,
    "WebOnt_equivalentClass_006": NEW_TERMS,
    "WebOnt_equivalentClass_008_Direct": "annotations are shared by equivalent classes in one semantics only",
    "WebOnt_equivalentProperty_004": "properties are equivalent by what individuals must have",
    "WebOnt_miscellaneous_302_Direct": "the conclusion is an annotation of another resource",
    "WebOnt_unionOf_003": CLASSES,
    "WebOnt_unionOf_004": CLASSES,
    "bnode2somevaluesfrom": NEW_TERMS,
    "chain2trans1": "the premises are in a file that the test does not contain",
    "owl2_rl_rules_fp_differentFrom": DIFFERENT,
    "owl2_rl_rules_ifp_differentFrom": DIFFERENT,
    "rdfbased_sem_restrict_hasvalue_inst_obj": "the premises are not those of the conclusion",
}
PREMISES_REMOVED: Final = 8
"""At most so many premises of a test are removed in turn, spread over all."""
TURNS: Final = 5
"""The gate has one of so many tests."""


@cache
def cases() -> dict[str, Any]:
    """Give the test cases by their names."""
    listed = json.loads(shared("data", "owl2", "tests.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in listed}


def triples(lines: list[str]) -> list[Any]:
    """Read N-Triples."""
    return sorted(Graph().parse(data="\n".join(lines), format="nt"))


def concludes(found: set[Any], conclusion: list[Any]) -> bool:
    """Tell whether the conclusion is there, its blank nodes standing for anything."""
    body = [
        TriplePattern(*(Variable(str(t)) if isinstance(t, BNode) else t for t in one)) for one in conclusion
    ]
    return next(matches(body, {}, Index(found)), None) is not None


def follow(case: Any) -> Counter[bool]:
    """Put the premises in and remove them in turn, comparing with the fixpoint; count the conclusions."""
    program = load_program("owl-rl")
    premises, conclusion = triples(case["premise"]), triples(case["conclusion"])
    patterns = {tuple(None if isinstance(t, BNode) else t for t in one) for one in conclusion}
    driver = Driver(program)
    driver.want(*patterns)
    driver.commit((1, one) for one in premises)
    told: Counter[bool] = Counter()

    def check() -> bool:
        full = entailed(program, driver.triples)
        for pattern in patterns:
            assert driver.holds(pattern) == set(match(full, pattern))
        return concludes(full, conclusion)

    told[check()] += 1
    for premise in premises[:: -(-len(premises) // PREMISES_REMOVED) or 1]:
        driver.commit([(-1, premise)])
        told[check()] += 1
        driver.commit([(1, premise)])
    assert concludes({t for p in patterns for t in driver.holds(p)}, conclusion) == check()
    return told


def in_reach() -> list[str]:
    return [name for name, case in cases().items() if name not in OUT_OF_REACH and case["premise"]]


def test_reachable_conclusions_hold_exactly_while_the_premises_do() -> None:
    """Each conclusion in reach is entailed by all premises, and each state equals the fixpoint."""
    for name in sampled("OWL 2, in reach", in_reach(), TURNS):
        case = cases()[name]
        positive = case["kind"] == "POSITIVE_IMPL"
        told = follow(case)
        assert told[True] > 0 if positive else told[True] == 0, name


def test_all_conclusions_are_in_reach_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Each test is tried here, as one that the rules reach or as one that they do not."""
    reached, beyond, total = len(in_reach()), len(OUT_OF_REACH), len(cases())
    with capsys.disabled():
        print(f"OWL 2: {reached} of {total} tests are in reach of the rules, {beyond} are not")
    assert reached + beyond == total


def test_conclusions_out_of_reach_are_not_entailed() -> None:
    """What is listed as out of reach is: a rule that reaches it must take it off the list."""
    program = load_program("owl-rl")
    for name in sampled("OWL 2, out of reach", OUT_OF_REACH, TURNS):
        case = cases()[name]
        driver = Driver(program)
        driver.want((None, None, None))
        driver.commit((1, one) for one in triples(case["premise"]))
        assert not concludes(driver.holds(), triples(case["conclusion"])), name
