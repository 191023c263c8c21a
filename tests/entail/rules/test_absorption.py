"""What rules need not read changes no answer, and is not derived."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, BNode

from entail.rules.test_regime import NODES, Follower, iri, make_statement
from rdflive.entail.rules import Program, load_program
from rdflive.entail.rules.absorption import spared
from support.effort import examples
from support.expiry import rules, triple

CLOSED = "{ ?c :sub ?d . ?d :sub ?e } => { ?c :sub ?e } . "
INSTANCES = "{ ?c :sub ?d . ?x :in ?c } => { ?x :in ?d } . "


def absorbs(program: Program) -> set[tuple[str, str]]:
    """Give the names of rules that need not read another's conclusions, with the other's."""
    return {(rule.name, other.name) for (rule, _), spares in spared(program).items() for other in spares}


def test_instances_need_no_closed_hierarchy() -> None:
    """A chain of classes is followed step by step, and its n²/2 pairs are not derived."""
    follower = Follower(rules(CLOSED + INSTANCES))
    follower.want((None, iri("in"), iri("c9")))
    follower.commit((1, triple("x in c0")), *((1, triple(f"c{i} sub c{i + 1}")) for i in range(9)))
    assert follower.driver.entailment.describe()[1] == "10 explicit and 9 derived triples are kept"
    follower.want((None, iri("sub"), None))
    assert follower.driver.entailment.describe()[1] == "10 explicit and 45 derived triples are kept"
    follower.commit((-1, triple("c4 sub c5")))
    follower.finish()


def test_what_a_query_wanted_stays_right_for_others() -> None:
    """A rule that worked for a query that is gone works on where others read what it gave."""
    follower = Follower(
        rules(
            "{ ?c :sub ?d . ?d :sub ?e } => { ?c :near ?e } . { ?c :near ?e . ?x a ?c } => { ?x a ?e } . "
            "{ ?c :sub ?d . ?x a ?c } => { ?x a ?d } ."
        )
    )
    assert ("rule 2", "rule 1") in absorbs(follower.program)
    follower.want((None, RDF.type, iri("c")))
    member = iri("x"), RDF.type, iri("a")
    follower.commit((1, triple("a sub b")), (1, triple("b sub c")), (1, member))
    follower.want((None, iri("near"), iri("c")))
    follower.unwant((None, iri("near"), iri("c")))
    follower.commit((-1, triple("b sub c")))
    follower.commit((1, triple("b sub c")), (-1, triple("a sub b")))
    follower.finish()


def test_rules_that_tell_terms_apart_absorb_only_what_they_can_follow() -> None:
    """Where a step is forbidden for one class, the pairs of the hierarchy are needed to pass it by."""
    text = CLOSED + "{ ?c :sub ?d . ?x :at ?c } => { ?x :in ?d } . "
    step = "{ ?c :sub ?d . ?x :in ?c . %s } => { ?x :in ?d } ."
    assert ("rule 2", "rule 1") in absorbs(rules(text + INSTANCES))
    assert ("rule 2", "rule 1") in absorbs(rules(text + step % "?c log:notEqualTo ?d"))
    forbidden = rules(text + step % "?c log:notEqualTo :s")
    assert ("rule 2", "rule 1") not in absorbs(forbidden)
    follower = Follower(forbidden)
    follower.want((None, iri("in"), None))
    follower.commit(*((1, triple(part)) for part in ("c sub s", "s sub e", "x at c")))
    assert triple("x in e") in follower.full
    follower.finish()


def test_rules_that_tell_several_constants_apart_are_read() -> None:
    """Terms that must differ from one constant or another are not taken for each other without end."""
    step = "{ ?c :sub ?d . ?x :in ?c . ?c log:notEqualTo :%s } => { ?x :in ?d } . "
    program = rules(CLOSED + "{ ?c :sub ?d . ?x :at ?c } => { ?x :in ?d } . " + step % "s" + step % "t")
    # at either constant the other step goes on
    assert ("rule 2", "rule 1") in absorbs(program)
    follower = Follower(program)
    follower.want((None, iri("in"), None))
    follower.commit(*((1, triple(part)) for part in ("c sub s", "s sub t", "t sub e", "x at c")))
    follower.finish()


def test_each_conclusion_of_a_rule_must_follow_by_itself() -> None:
    """Where one conclusion has a literal as subject and is none, the other may be one all the same."""
    follower = Follower(
        rules(
            CLOSED + "{ ?c :sub ?e . ?x :at ?c } => { ?e :foo ?x . ?x :out ?e } . "
            "{ ?c :sub ?d . ?x :at ?c } => { ?x :in ?d } . { ?c :sub ?d . ?x :in ?c } => { ?x :in ?d } . "
            "{ ?d :sub ?e } => { ?e :up ?d } . { ?m :up ?d . ?m :sub ?e } => { ?e :up ?d } . "
            "{ ?e :up ?d . ?x :in ?d } => { ?e :foo ?x . ?x :out ?e } ."
        )
    )
    follower.want((None, iri("out"), None))
    follower.commit(*((1, triple(part)) for part in ("a sub b", "b sub 1", "x at a")))
    assert triple("x out 1") in follower.full
    follower.finish()


def test_properties_in_between_may_be_no_properties() -> None:
    """A blank node between two properties is no predicate, so their closed hierarchy is needed."""
    program = load_program("rdfs-plus")
    assert ("cax-sco", "scm-sco") in absorbs(program)
    assert ("prp-spo1", "scm-spo") not in absorbs(program)
    follower = Follower(program)
    follower.want((None, iri("q"), None))
    between = BNode("between")
    below = (iri("p"), RDFS.subPropertyOf, between), (between, RDFS.subPropertyOf, iri("q"))
    follower.commit((1, triple("a p b")), *((1, fact) for fact in below))
    assert triple("a q b") in follower.full
    follower.finish()


@settings(max_examples=examples(25))
@given(st.integers(0, 10**9))
def test_any_part_of_a_rule_set_equals_recomputation(seed: int) -> None:
    """With some rules left out, others follow less, and absorb less."""
    random = Random(seed)
    whole = [rule for rule in load_program("rdfs-plus").rules if not rule.name.startswith("eq-")]
    program = Program(tuple(rule for rule in whole if random.random() < 0.7))
    follower = Follower(program)
    pool = [make_statement(random) for _ in range(20)]
    pool += [(random.choice(NODES), RDFS.subClassOf, random.choice(NODES)) for _ in range(8)]
    pool += [(random.choice(NODES), OWL.equivalentClass, random.choice(NODES)) for _ in range(2)]
    wishes = [
        (None, RDF.type, random.choice(NODES)), (None, RDF.type, None), (None, RDFS.subClassOf, None),
        (None, RDFS.domain, None), (None, random.choice(NODES[3:]), None), (None, RDFS.subClassOf, NODES[0]),
    ]  # fmt: skip
    for _ in range(14):
        choice = random.random()
        if choice < 0.25 or not follower.wanted:
            follower.want(random.choice(wishes))
        elif choice < 0.4:
            follower.unwant(random.choice(follower.wanted))
        else:
            batch = {random.choice(pool): random.choice([1, 1, -1]) for _ in range(random.choice([1, 3]))}
            follower.commit(*((sign, fact) for fact, sign in batch.items()))
    follower.finish()
