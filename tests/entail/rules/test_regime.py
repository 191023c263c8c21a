"""What rules entail, kept under inserts and deletes, is what they entail from scratch."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, Literal, URIRef

from entail.rules.driver import Driver, match
from entail.rules.naive import entailed, supports
from entail.rules.worlds import make_pattern, make_program, make_triple
from interrupts.lines import lines_of, raising_at
from rdflive.entail.rules import Program, RuleRegime, load_program
from support.effort import drawn_from, examples, rounds
from support.expiry import ANY, rules, triple


def iri(name: str) -> URIRef:
    return URIRef(f"urn:{name}")


class Follower:
    """Compares every step of a driver with two fixpoints."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.driver = Driver(program)
        self.wanted: list[Any] = []
        self.full = entailed(program, ())

    def shown(self, triples: set[Any]) -> set[Any]:
        return {t for t in triples if any(list(match([t], pattern)) for pattern in self.wanted)}

    def want(self, *patterns: Any) -> None:
        self.wanted += patterns
        self.driver.want(*patterns)
        self.check_lists()

    def unwant(self, pattern: Any) -> None:
        self.wanted.remove(pattern)
        self.driver.unwant(pattern)
        self.check_lists()

    def check_lists(self) -> None:
        for pattern in set(self.wanted):
            assert self.driver.holds(pattern) == set(match(self.full, pattern))

    def commit(self, *changes: tuple[int, Any]) -> None:
        net = self.driver.commit(changes)
        before, self.full = self.full, entailed(self.program, self.driver.triples)
        gone, new = self.shown(before - self.full), self.shown(self.full - before)
        assert net == {(1, t) for t in new} | {(-1, t) for t in gone}
        if ANY in self.wanted:
            self.check_supports()

    def check_supports(self) -> None:
        counted = supports(self.program, self.full)
        for found in self.full:
            assert self.driver.entailment.support(found) == counted[found] + (found in self.driver.triples)
            self.check_proof(found)

    def check_proof(self, found: Any) -> None:
        (proof,) = self.driver.entailment.why(found)
        known = set(self.driver.triples)
        for step in proof.steps:
            assert known.issuperset(step.premises)
            known.add(step.conclusion)
        assert found in known
        assert not (proof.steps and found in self.driver.triples)

    def finish(self) -> None:
        """Take all away, and find nothing left behind."""
        self.commit(*((-1, t) for t in sorted(self.driver.triples)))
        for pattern in self.wanted:
            self.driver.unwant(pattern)
        assert len(self.driver.dictionary) == 0
        assert not any(self.driver.dictionary._references[1:])


@settings(max_examples=examples(150, share=15))
@given(st.integers(0, 10**9))
def test_regime_equals_recomputation(seed: int) -> None:
    """Under random programs, wishes and batches every net change is the difference of two fixpoints."""
    random = Random(seed)
    follower = Follower(make_program(random))
    pool = [make_triple(random) for _ in range(random.choice([5, 15, 30]))]
    for _ in range(12):
        choice = random.random()
        if choice < 0.25 or not follower.wanted:
            follower.want(ANY if random.random() < 0.3 else make_pattern(random))
        elif choice < 0.4:
            follower.unwant(random.choice(follower.wanted))
        else:
            drawn = [random.choice(pool) for _ in range(random.choice([1, 1, 2, 6]))]
            batch = {t: random.choice([1, 1, -1]) for t in drawn}
            follower.commit(*((sign, t) for t, sign in batch.items()))
    follower.finish()


CASES = {
    "transitive": ("{ ?x :p ?y . ?y :p ?z } => { ?x :p ?z } .", "a p b|b p c|c p d|b p a"),
    "self-join": ("{ ?x :p ?y . ?x :p ?z } => { ?y :q ?z } .", "a p b|a p c"),
    "repeated variable": ("{ ?x :p ?x } => { ?x :q ?x } .", "a p a|a p b"),
    "constants": ("{ :a :p ?y . ?y :q :c } => { :done :is ?y } .", "a p b|b q c|b q d"),
    "ground body": ("{ :a :p :b . :c :p :d } => { :e :p :f } .", "a p b|c p d"),
    "ground pattern": ("{ :a :p :b } => { :e :p :f } .", "a p b"),
    "two heads": ("{ ?x :p ?y } => { ?y :p ?x . ?x :q ?y . ?y :q ?x } .", "a p b|a p a"),
    "variable predicate": ("{ ?p :on true . ?x ?p ?y } => { ?y ?p ?x } . :p :on true .", "a p b|q r p"),
    "derived guide": (
        "{ ?p :like ?q . ?q :on :yes } => { ?p :on :yes } . { ?p :on :yes . ?x ?p ?y } => { ?y ?p ?x } .",
        "p like q|q on yes|a p b|like on yes",
    ),
    "open": ("{ ?x ?p ?y } => { ?p :used ?p } .", "a p b|b q 1"),
    "literals": ("{ ?x :p ?y } => { ?y :q ?x } .", "a p 1|a p b"),
    "no predicate": ("{ ?x :p ?y } => { ?x ?y ?x } .", "a p 1|a p b"),
    "comparison": ("{ ?x :p ?n . ?n math:greaterThan 2 } => { ?x :q ?n } .", "a p 1|a p 3|a p b"),
    "different": ("{ ?x :p ?y . ?x log:notEqualTo ?y } => { ?y :p ?x } .", "a p b|a p a"),
    "axiom": (":a :p :b . { ?x :p ?y } => { ?y :p ?x } .", "a p b|c p d"),
    "mutual": ("{ ?x :p ?y } => { ?x :q ?y } . { ?x :q ?y } => { ?x :p ?y } .", "a p b|a q b"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_examples(case: str) -> None:
    """Each kind of rule follows its premises as they come one by one and go in another order."""
    text, data = CASES[case]
    premises = [triple(part) for part in data.split("|")]
    follower = Follower(rules(text))
    follower.want(ANY)
    for premise in premises:
        follower.commit((1, premise))
    for premise in premises:
        follower.commit((-1, premise))
        follower.commit((1, premise))
        follower.commit((-1, premise))
    follower.finish()


def test_want_takes_only_the_rules_that_it_needs() -> None:
    """Rules derive triples of wanted patterns only."""
    driver = Driver(rules("{ ?x :p ?y } => { ?x :q ?y } . { ?x :r ?y } => { ?x :s ?y } ."))
    driver.want((None, iri("q"), None))
    assert driver.entailment.describe()[0].startswith("1 of 2 rules at work")
    assert driver.entailment.concerns(triple("a p b"))
    assert not driver.entailment.concerns(triple("a r b"))
    driver.want((None, iri("s"), iri("b")))
    assert driver.entailment.describe()[0].startswith("2 of 2 rules at work")
    assert not driver.entailment.concerns(triple("a s c"))
    driver.unwant((None, iri("q"), None))
    assert driver.entailment.describe()[0].startswith("1 of 2 rules at work")
    assert not driver.entailment.concerns(triple("a p b"))


def test_want_takes_only_the_instances_that_it_needs() -> None:
    """A class that no query reads costs nothing, even if rules apply to all classes."""
    driver = Driver(load_program("rdfs-plus"))
    for name in "ABCD":
        driver.triples.add((iri(name), RDFS.subClassOf, iri(name.lower())))
    driver.want((None, RDF.type, iri("a")))
    assert driver.entailment.concerns((iri("x"), RDF.type, iri("A")))
    assert not driver.entailment.concerns((iri("x"), RDF.type, iri("B")))
    change = driver.commit([(1, (iri("b"), RDFS.subClassOf, iri("A"))), (1, (iri("x"), RDF.type, iri("B")))])
    assert (1, (iri("x"), RDF.type, iri("a"))) in change
    driver.want((None, RDF.type, iri("b")))
    assert driver.holds((None, RDF.type, iri("b"))) == {(iri("x"), RDF.type, iri("b"))}


def test_unwant_lets_explicit_triples_go() -> None:
    """What only an unwanted pattern needed is not kept, what others need is."""
    driver = Driver(rules("{ ?x :p ?y } => { ?x :q ?y } ."))
    driver.want((None, iri("q"), None))
    driver.want((None, iri("p"), iri("b")))
    driver.commit([(1, triple("a p b")), (1, triple("a p c"))])
    assert driver.entailment.describe()[1] == "2 explicit and 2 derived triples are kept"
    driver.unwant((None, iri("q"), None))
    assert driver.entailment.describe()[1] == "1 explicit and 0 derived triples are kept"


def test_want_finds_rules_by_variables_that_repeat() -> None:
    """A head that repeats a variable is found by what may be equal, not by what must differ."""
    text = """
        { ?x :p ?y } => { ?x :same ?x } .
        { ?x :same ?y } => { ?x :q ?y } .
        { ?x :same ?y . ?x log:notEqualTo ?y } => { ?x :other ?y } ."""
    follower = Follower(rules(text))
    follower.want((None, iri("other"), None))
    follower.commit((1, triple("a p b")), (1, triple("a same b")))
    assert not follower.driver.entailment.concerns(triple("a p b"))
    follower.want((None, iri("q"), None))
    follower.commit((1, triple("b p c")))
    follower.finish()


@pytest.mark.parametrize("heads", ["?x :p ?y . ?x :p ?x", "?x :p ?x . ?x :p ?y"])
def test_want_finds_rules_by_each_of_their_heads(heads: str) -> None:
    """A rule with two heads that differ in a repeated variable is found by either, and let go with both."""
    text = f"""
        {{ ?x :on ?p . ?x ?p ?y }} => {{ {heads} }} .
        {{ ?x :p ?y . ?x log:notEqualTo ?y }} => {{ ?x :other ?y }} .
        {{ ?x :p ?x }} => {{ ?x :self ?x }} ."""
    follower = Follower(rules(text))
    for name in ("other", "self"):
        follower.want((None, iri(name), None))
        follower.commit((1, triple("a on q")), (1, triple("a q b")))
        follower.unwant((None, iri(name), None))
        follower.want((None, iri("self"), None))
        follower.commit((1, triple("c on q")), (1, triple("c q d")))
        follower.commit((-1, triple("a on q")), (-1, triple("c q d")))
        follower.unwant((None, iri("self"), None))
    follower.finish()


def test_a_derived_triple_becomes_explicit_as_its_reader_goes() -> None:
    """A triple that is told in the batch that takes the guide of a rule away is read once by the rule."""
    follower = Follower(rules("{ ?x :r ?y } => { ?x :p ?y } . { ?p :on true . ?x ?p ?y } => { ?x :q ?y } ."))
    follower.want(ANY)
    switch = (iri("p"), iri("on"), Literal(True))
    follower.commit((1, triple("a r b")), (1, switch))
    follower.commit((-1, switch), (1, triple("a p b")))
    assert triple("a q b") not in follower.full
    follower.finish()


def test_a_triple_that_nobody_asks_for_does_not_outlive_its_premises() -> None:
    """A rule at work for one of its heads gives the other too; what does not work for it holds nothing up."""
    driver = Driver(rules("{ ?p :on ?q . ?x ?p ?y } => { ?x ?q ?y . ?x :some ?y } ."))
    for number in range(6):
        driver.triples.add((iri(f"p{number}"), iri("on"), iri(f"q{number}")))
    driver.want(*((None, iri(f"q{number}"), None) for number in range(5)), (None, iri("p5"), None))
    driver.commit([(1, triple("a p1 b")), (1, triple("a p5 b"))])
    driver.commit([(-1, triple("a p1 b"))])
    driver.commit([(-1, triple("a p5 b"))])
    driver.want((None, iri("some"), None))
    assert driver.holds((None, iri("some"), None)) == set()


NODES = [iri(letter) for letter in "ABCdef"]
VOCABULARY = (
    RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range, OWL.inverseOf, OWL.sameAs,
    OWL.equivalentClass, RDF.type, RDF.type, RDF.type,
)  # fmt: skip
KINDS = (OWL.TransitiveProperty, OWL.SymmetricProperty, OWL.FunctionalProperty)


def make_statement(random: Random) -> Any:
    """Make a triple of a small schema, or of data under it."""
    predicate = random.choice([*VOCABULARY, *NODES[3:], *NODES[3:]])
    end = random.choice([*NODES, *KINDS]) if predicate == RDF.type else random.choice(NODES)
    return random.choice(NODES), predicate, end


@settings(max_examples=examples(12))
@given(st.integers(0, 10**9), st.sampled_from(["rdfs", "rdfs-plus"]))
def test_shipped_sets_equal_recomputation(seed: int, name: str) -> None:
    """Under a schema and data that change, and wishes that grow and shrink, shipped sets stay exact."""
    random = Random(seed)
    follower = Follower(load_program(name))
    for _ in range(14):
        choice = random.random()
        if choice < 0.3 or not follower.wanted:
            wish = (None, RDF.type, random.choice(NODES)), (None, random.choice(NODES[3:]), None)
            follower.want(random.choice(wish))
        elif choice < 0.4:
            follower.unwant(random.choice(follower.wanted))
        else:
            removed = random.sample(sorted(follower.driver.triples), min(1, len(follower.driver.triples)))
            batch = {make_statement(random): 1 for _ in range(4)} | dict.fromkeys(removed, -1)
            follower.commit(*((sign, t) for t, sign in batch.items()))
    follower.finish()


def test_want_that_fails_leaves_what_was_wanted() -> None:
    """When the graph cannot be read, what was wanted before goes on."""
    follower = Follower(rules("{ ?x :p ?y } => { ?y :p ?x } . { ?x :p ?y } => { ?x :s ?y } ."))
    follower.want((None, iri("p"), None))
    follower.commit((1, triple("a p b")))
    follower.driver.failures = 1
    with pytest.raises(OSError, match="unreadable"):
        follower.driver.want((None, iri("s"), None))
    assert not follower.driver.entailment.concerns(triple("a s b"))
    follower.commit((1, triple("c p d")))
    follower.finish()


@pytest.mark.parametrize("what", ["want", "unwant"])
def test_interrupted_at_any_line(what: str) -> None:
    """Ctrl-C while a pattern begins or stops to be wanted: the others go on, and it can be wanted again."""
    program = rules("{ ?p :on true . ?x ?p ?y } => { ?y ?p ?x } . { ?x :p ?y . ?y :p ?z } => { ?x :q ?z } .")
    first, second = (None, iri("p"), None), (iri("a"), iri("q"), None)
    on = iri("p"), iri("on"), Literal(True)

    def begun() -> tuple[Follower, Callable[[], object]]:
        follower = Follower(program)
        follower.want(first, *([second] if what == "unwant" else ()))
        follower.commit((1, on), (1, triple("a p b")), (1, triple("b p c")))
        return follower, lambda: getattr(follower.driver.entailment, what)([second])

    places = lines_of(begun()[1])
    for place in drawn_from("interrupted", what).sample(places, min(len(places), rounds(300))):
        follower, operation = begun()
        if not raising_at(place, KeyboardInterrupt, operation):
            continue  # the code of joins is written once
        follower.driver.dictionary.sweep()
        # one that stops to be wanted may be wanted still, if it was interrupted before it began
        follower.wanted = list(follower.driver.entailment._wanted)
        assert set(follower.wanted) - {first} <= ({second} if what == "unwant" else set()), place
        follower.commit((-1, triple("a p b")), (1, triple("c p a")))
        follower.want(second)
        follower.commit((1, triple("a p b")))
        follower.commit((-1, on))


def test_update_that_fails_is_made_good_by_the_next_one() -> None:
    """After an update that failed half-way the regime derives everything again."""
    driver = Driver(rules("{ ?p :on true . ?x ?p ?y } => { ?y ?p ?x } ."))
    driver.want((None, iri("p"), None))
    driver.commit([(1, triple("a p b"))])
    driver.failures = 1
    with pytest.raises(OSError, match="unreadable"):
        driver.commit([(1, (iri("p"), iri("on"), Literal(True)))])
    driver.want((None, iri("q"), None))
    assert driver.holds((None, iri("p"), None)) == {triple("a p b"), triple("b p a")}
    driver.failures = 1
    with pytest.raises(OSError, match="unreadable"):
        driver.commit([(1, (iri("q"), iri("on"), Literal(True)))])
    assert driver.commit([(1, triple("c p d"))]) == set()
    assert triple("d p c") in driver.holds((None, iri("p"), None))
    driver.unwant((None, iri("p"), None))
    driver.unwant((None, iri("q"), None))
    assert len(driver.dictionary) == 0


def test_auxiliary_triples_never_show() -> None:
    """What rules use among themselves is neither listed nor sent, nor a step of a proof."""
    text = """
        @prefix aux: <urn:x-rdflive:rule:> .
        { ?x :p ?y } => { ?y aux:seen ?x } .
        { ?y aux:seen ?x } => { ?y :q ?x } ."""
    driver = Driver(rules(text))
    driver.want(ANY)
    assert driver.commit([(1, triple("a p b"))]) == {(1, triple("a p b")), (1, triple("b q a"))}
    assert driver.holds() == {triple("a p b"), triple("b q a")}
    (proof,) = driver.entailment.why(triple("b q a"))
    assert proof.explicit == (triple("a p b"),)
    assert [str(step.rule) for step in proof.steps] == ["rule 2"]


def test_triples_about_auxiliary_predicates_never_show() -> None:
    """What rules say about any predicate they do not say about those that they use among themselves."""
    text = """
        @prefix aux: <urn:x-rdflive:rule:> .
        { ?x :p ?y } => { ?y aux:seen ?x } .
        { ?x ?p ?y } => { ?p :used ?p } ."""
    driver = Driver(rules(text))
    driver.want(ANY)
    used = {(1, triple(f"{name} used {name}")) for name in ("p", "used")}
    assert driver.commit([(1, triple("a p b"))]) == {(1, triple("a p b")), *used}
    assert driver.holds() == {fact for _, fact in used} | {triple("a p b")}


def test_owl_rl_takes_lists_apart_once() -> None:
    """A list of a class takes a few facts per member, and one that no class has takes none."""

    def make_list(name: str) -> list[Any]:
        cells = [iri(f"{name}{i}") for i in range(20)]
        rests = zip(cells, [*cells[1:], RDF.nil], strict=True)
        links = [(cell, RDF.rest, rest) for cell, rest in rests]
        return [*links, *((cell, RDF.first, iri(f"{cell[4:]}-first")) for cell in cells)]

    driver = Driver(load_program("owl-rl"))
    driver.want((None, RDFS.subClassOf, None))
    before = len(driver.entailment.closure.labels.table)
    driver.commit([(1, fact) for fact in make_list("free")])
    driver.commit([(1, fact) for fact in make_list("union")])
    assert len(driver.entailment.closure.labels.table) == before + 80
    gained = driver.commit([(1, (iri("c"), OWL.unionOf, iri("union0")))])
    assert {fact for _, fact in gained} == {
        (iri(f"union{i}-first"), RDFS.subClassOf, iri("c")) for i in range(20)
    }
    assert len(driver.entailment.closure.labels.table) == before + 80 + 1 + 20 + 21 + 20


def test_the_identity_of_a_regime_is_short_and_is_what_its_rules_say() -> None:
    """Rules that say the same have one identity, whatever their names and their order."""
    first, second = "{ ?x :p ?y } => { ?y :p ?x }", "{ ?x :q ?y } => { ?y :q ?x }"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    one = RuleRegime(rules(f"{first} . {second} .")).identity
    assert one == RuleRegime(rules(f'{second} ; {label} "b" . {first} .')).identity
    assert one != RuleRegime(rules(f"{first} . {second.replace(':q', ':r')} .")).identity
    rdfs = load_program("rdfs")
    assert RuleRegime(rdfs).identity.startswith(f"{len(rdfs.rules)} rules, digest ")


def test_why_looks_only_at_what_may_give_a_triple() -> None:
    """However many instances are at work, a proof is looked for among those with its head."""
    text = "{ ?p :on true . ?x ?p ?y } => { ?y ?p ?x } ."
    driver = Driver(rules(text))
    predicates = [iri(f"p{number}") for number in range(50)]
    driver.want(ANY)
    driver.commit([(1, (p, iri("on"), Literal(True))) for p in predicates])
    driver.commit([(1, (iri("a"), p, iri("b"))) for p in predicates])
    ids = driver.dictionary.ids
    fact = ids[iri("b")], ids[predicates[7]], ids[iri("a")]
    assert len(list(driver.entailment.closure.propagation.derivations(fact))) == 1
    assert len(driver.entailment.why((iri("b"), predicates[7], iri("a")))) == 1
    driver.commit([(-1, (predicates[7], iri("on"), Literal(True)))])
    assert list(driver.entailment.closure.propagation.derivations(fact)) == []


def test_what_follows_in_several_ways_stays_while_one_is_left() -> None:
    """Edges of a digraph with cycles come and go; always the same ones, so that each run says the same."""
    text = "{ ?x :p ?y . ?y :p ?z } => { ?x :p ?z } ."
    for seed in range(20):
        random, driver, edges = Random(seed), Driver(rules(text)), set[Any]()
        driver.want(ANY)
        for _ in range(40):
            edge = iri(random.choice("abcde")), iri("p"), iri(random.choice("abcde"))
            sign = 1 if random.random() < 0.6 else -1
            if (edge in edges) != (sign > 0):
                (edges.add if sign > 0 else edges.remove)(edge)
                driver.commit([(sign, edge)])
            assert driver.holds() == entailed(rules(text), edges)
