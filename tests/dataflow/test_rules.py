"""Rules as a part of the query, by the stages of Spark, and rules in one process: equal nets."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef

import rdflive
from dataflow.simulation import Quad, Simulation, colliding, in_order, steady
from dataflow.test_differential import Operations, check
from rdflive.entail.reasoning import read_rules
from rdflive.entail.rules import Program, Rule, load_program
from rdflive.entail.rules.unfolding import unfold
from rdflive.errors import UnsupportedQueryError
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.parse import parse_query
from rdflive_stores.spark.dataflow.identity import describe
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from rdflive_stores.spark.dataflow.state import StateError
from support.effort import drawn_from, examples
from support.one_process import OneProcess

EX = "urn:"
PREFIXES = f"PREFIX : <{EX}> "
N3 = f"@prefix : <{EX}> . @prefix math: <http://www.w3.org/2000/10/swap/math#> . " \
    "@prefix log: <http://www.w3.org/2000/10/swap/log#> .\n"  # fmt: skip
TERMS = (
    *(f"<{EX}{name}>" for name in "abc"),
    *(f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>' for n in (1, 2)),
)
"""Terms of data; the last two are literals, which rules must not make subjects."""
EXPLICIT = ("p", "q", "r1", "s1")
"""The predicates of data. Rules conclude `r1`, `r2`, `s1` and `s2`, some of which are explicit too."""
BODIES = (
    "{ ?x :KNOWN ?y }",
    "{ ?x :KNOWN ?y . ?y :KNOWN ?z }",
    "{ ?x :KNOWN ?y . ?x :KNOWN ?z . ?y log:notEqualTo ?z }",
    "{ ?x :KNOWN ?y . ?y math:greaterThan 1 }",
    "{ ?x :KNOWN :a . ?x :KNOWN ?y }",
    "{ ?x :KNOWN ?x . ?x :KNOWN ?y }",
    "{ ?y :KNOWN ?x . ?y :KNOWN ?y }",
)
HEADS = ("{ ?x :MADE ?y }", "{ ?y :MADE ?x }", "{ ?x :MADE ?x }", "{ ?x :MADE :c }", "{ :b :MADE ?y }",
         "{ ?x :MADE ?y . ?y :MADE :a }")  # fmt: skip
QUERIES = (
    "SELECT * { ?x :s2 ?y }",
    "SELECT * { ?x :r2 ?y . ?y :p ?z }",
    "SELECT * { ?x ?p ?y }",
    "SELECT ?p ?x { ?x ?p ?x }",
    "SELECT ?x { ?x :s2 :c ; :q ?y }",
    "SELECT * { ?x :p ?y OPTIONAL { ?y :s2 ?z } }",
    "SELECT * { ?x :p ?y FILTER NOT EXISTS { ?x :r2 ?y } }",
    "SELECT * { { ?x :r2 ?y } UNION { ?y :s1 ?x } MINUS { ?x :q ?y } }",
    "SELECT (COUNT(*) AS ?n) { ?x :s2 ?y }",
    "SELECT ?x (COUNT(*) AS ?n) { ?x ?p ?y . ?y :s1 ?z } GROUP BY ?x",
    "SELECT DISTINCT ?y { ?x :s2/:r1? ?y }",
    "ASK { ?x :s2 ?y . ?y :p ?x }",
    "CONSTRUCT { ?y :is ?x } { ?x :r2 ?y FILTER(?x != :b) }",
    "SELECT * { GRAPH :g { ?x :r2 ?y } ?y :r1 ?z }",
    "SELECT * { VALUES ?x { :a :b } ?x :s2 ?y }",
)


def make_rules(chance: random.Random) -> str:
    """Make rules of four layers, each of which reads what the ones before conclude; and perhaps a fact."""
    rules, known = [N3], ["p", "q"]
    for made in ("r1", "r2", "s1", "s2"):
        for _ in range(chance.choice((1, 1, 2))):
            body, head = chance.choice(BODIES), chance.choice(HEADS)
            while "KNOWN" in body:
                body = body.replace("KNOWN", chance.choice(known), 1)
            rules.append(f"{body} => {head.replace('MADE', made)} .")
        known.append(made)
    if chance.random() < 0.2:
        rules.append(":a :r1 :b .")
    return "\n".join(rules)


def make_operations(chance: random.Random, count: int) -> Operations:
    """Make operations on few quads, so that many are deleted again."""
    operations: Operations = []
    for _ in range(count):
        predicate, graph = f"<{EX}{chance.choice(EXPLICIT)}>", chance.choice(("", "", f"<{EX}g>"))
        quad = (chance.choice(TERMS[:3]), predicate, chance.choice(TERMS), graph)
        operations.append((chance.choice("AAD"), quad))
    return operations


@pytest.mark.parametrize(
    "hash", [colliding, pytest.param(steady, marks=pytest.mark.hunted("the gate has the other case"))]
)
def test_nets_are_those_of_one_process(hash: Any, tmp_path_factory: Any) -> None:  # noqa: A002
    """Random rules, queries and micro-batches, some killed or run twice; the state made anew in between."""
    told = {True: 0, False: 0}

    @settings(max_examples=examples(100, share=50), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(QUERIES), st.integers(0, 1 << 32))
    @example("SELECT * { ?x ?p ?y }", 1)
    def run(query: str, seed: int) -> None:
        chance = random.Random(seed)
        rules, text = make_rules(chance), PREFIXES + query
        folder = tmp_path_factory.mktemp("state")
        simulation = Simulation(text, str(folder / "0"), chance.randint(1, 4), hash, chance, rules=rules)
        engine = OneProcess(text, rules=rules)
        present: dict[Quad, None] = {}
        for number in range(4):
            operations = make_operations(chance, chance.choice((5, 20, 40)))
            told[check(simulation, engine, operations, chance)] += 1
            present |= dict.fromkeys(quad for _, quad in operations)
            if number == 1 and chance.random() < 0.3:
                # the text of the rules is enough to plan them again
                simulation.rules = read_rules(simulation.joint.rules or "")
                simulation, _ = simulation.rebuilt(str(folder / "1"), 2)
        check(simulation, engine, [("D", quad) for quad in present], chance)
        engine.close()
        assert not simulation.live()

    run()
    assert told[True] > 0.2 * told[False], "too few micro-batches change an answer"


def test_what_rules_conclude_is_a_triple_of_its_graph(tmp_path: Path) -> None:
    """A literal is no subject, and constants of a head are told; a graph entails by what is in it alone."""
    rules = N3 + "{ ?x :p ?y } => { ?y :q ?x } . { ?x :q ?y } => { ?y :r ?x ; :of :a } ."
    text = (
        PREFIXES + "SELECT ?x ?y ?z ?c { ?x :q ?y OPTIONAL { GRAPH :g { ?z :q ?y } } OPTIONAL { ?y :of ?c } }"
    )
    simulation = Simulation(text, str(tmp_path), rules=rules)
    a, b, c, g = (f"<{EX}{name}>" for name in "abcg")
    assert not simulation.run(in_order([("A", (a, f"<{EX}p>", '"1"', ""))]))
    assert simulation.run(in_order([("A", (a, f"<{EX}p>", b, ""))])) == {(b, a, None, a): 1}
    net = simulation.run(in_order([("A", (a, f"<{EX}p>", c, g))]))
    assert net == {(b, a, None, a): -1, (b, a, c, a): 1}


def test_recursive_rules_are_refused_where_the_query_needs_them() -> None:
    """The error names the rules and says what to do; another query over the same rules is answered."""
    rules = (
        N3
        + "{ ?x :p ?y } => { ?x :q ?y } . { ?x :q ?y . ?y :q ?z } => { ?x :q ?z } . "
        + "{ ?x :s ?y } => { ?y :t ?x } ."
    )
    with pytest.raises(
        UnsupportedQueryError, match=r"rule 2 may lead back.*rdflive\.subscribe\(rules=\)"
    ) as caught:
        plan_queries(PREFIXES + "ASK { ?x :q ?y }", rules=rules)
    assert caught.value.construct == "recursive rules"
    with pytest.raises(UnsupportedQueryError, match="recursive rules"):
        plan_queries("ASK { ?x ?p ?y }", rules=rules)
    assert plan_queries(PREFIXES + "ASK { ?x :t ?y ; :p ?z }", rules=rules).rules
    around = N3 + "{ ?x :p ?y } => { ?x :q ?y } . { ?x :q ?y } => { ?y :p ?x } ."
    with pytest.raises(UnsupportedQueryError, match=r"rule (1 and rule 2|2 and rule 1)"):
        plan_queries(PREFIXES + "ASK { ?x :q ?y }", rules=around)
    for known in ("rdfs", "owl-rl"):
        with pytest.raises(UnsupportedQueryError, match="recursive rules"):
            plan_queries("ASK { ?x a ?c }", rules=known)


def test_rules_and_entailment_exclude_each_other() -> None:
    """As in one process, which also refuses patterns over all graphs, as each entails by itself."""
    with pytest.raises(ValueError, match="cannot be combined"):
        plan_queries("ASK { ?x a ?c }", entailment="rdfs", rules=N3 + "{ ?x :p ?y } => { ?x :q ?y } .")
    with pytest.raises(UnsupportedQueryError, match="GRAPH with a variable"):
        plan_queries("ASK { GRAPH ?g { ?x <urn:q> ?y } }", rules=N3 + "{ ?x :p ?y } => { ?x :q ?y } .")
    with pytest.raises(rdflive.RuleError):
        plan_queries("ASK { ?x a ?c }", rules="{ ?x :p")


def test_a_pattern_is_unfolded_once() -> None:
    """Rules that each read the one before twice: as many unions as rules, not as many as ways."""
    rules = N3 + "".join(f"{{ ?x :r{n} ?y . ?y :r{n} ?z }} => {{ ?x :r{n + 1} ?z }} . " for n in range(12))
    plan = plan_queries(PREFIXES + "SELECT * { ?x :r12 ?y }", rules=rules)
    assert len(plan.queries[0].stages) < 40


def test_a_query_without_rules_stays_as_it_is() -> None:
    """What no rule concludes is matched as before, with its filters."""
    query = parse_query(PREFIXES + "SELECT * { ?x :p ?y . ?y :p ?z FILTER(?z > 1) OPTIONAL { ?x :q ?w } }")
    assert unfold(query.root, load_program(N3 + "{ ?x :p ?y } => { ?x :s ?y } .")) is query.root


@pytest.mark.parametrize(
    "rules",
    [
        ["{ ?x :p ?y } => { ?x :q ?y } .", "{ ?x :r ?y } => { ?x :q ?y } . :k :q :l ."],
        ["{ ?x :p ?y } => { ?x :q ?y } . { ?a :p ?b } => { ?a :q ?b } ."],
        ["{ } => { :a :q :c . :b :q :d } . { ?x :p ?y } => { ?x :q ?y } ."],
        ["{ } => { :a :q :b } ."],
    ],
    ids=["facts in the second text", "one rule twice", "two facts in one", "facts alone"],
)
def test_a_plan_of_what_the_state_says_is_that_of_the_rules(rules: list[str], tmp_path: Path) -> None:
    """Identity goes by what the rules say, so files may come in any order."""
    text, given_rules = PREFIXES + "SELECT * { ?x :q ?y }", [N3 + each for each in rules]
    plan = plan_queries(text, rules=given_rules)
    assert plan.rules
    for same in (read_rules(plan.rules), given_rules[::-1]):
        assert describe(plan_queries(text, rules=same), 2) == describe(plan, 2)
    other = plan_queries(text, rules=N3 + "{ ?x :r ?y } => { ?y :q ?x } .")
    assert describe(other, 2)["rules"] != describe(plan, 2)["rules"]
    simulation = Simulation(text, str(tmp_path / "0"), rules=given_rules)
    engine = OneProcess(text, rules=given_rules)
    changes = in_order([("A", (f"<{EX}a>", f"<{EX}p>", f"<{EX}b>", ""))])
    assert simulation.run(changes) == engine.run(changes)
    engine.close()


def test_a_literal_that_would_be_read_as_another_is_refused() -> None:
    """A program that is made in Python may have one that rdflib's parser does not leave as it is."""
    one = Literal("01", datatype=XSD.integer, normalize=False)
    x = Variable("x")
    head, body = TriplePattern(x, URIRef(f"{EX}q"), one), TriplePattern(x, URIRef(f"{EX}p"), one)
    with pytest.raises(rdflive.RuleError, match="read a literal of the rules as a different one"):
        plan_queries(PREFIXES + "ASK { ?x :q ?y }", rules=Program((Rule("rule 1", (body,), (head,)),)))


def test_other_rules_are_told_before_what_follows_from_them(tmp_path: Path) -> None:
    """The message says rules, not stages, shows little of long ones, and gives no advice that fails."""
    text, rule = PREFIXES + "ASK { ?x :q ?y }", "{{ ?x :p{} ?y }} => {{ ?x :q ?y }} . "
    many = N3 + "".join(rule.format(number) for number in range(50))
    Simulation(text, str(tmp_path), rules=many)
    with pytest.raises(StateError, match=r"(?s)other rules: .{203}, not none; .* begin again") as caught:
        Simulation(text, str(tmp_path)).restart()
    assert "rebuild" not in str(caught.value)


def test_what_is_too_deep_or_hidden_is_refused() -> None:
    """A long chain of rules ends planning with a plain error, and so do predicates that are hidden."""
    chain = N3 + "".join(f"{{ ?x :r{n} ?y }} => {{ ?x :r{n + 1} ?y }} . " for n in range(600))
    with pytest.raises(UnsupportedQueryError, match="too deeply"):
        plan_queries(PREFIXES + "SELECT * { ?x :r600 ?y }", rules=chain)
    own = "<urn:x-rdflive:rule:h>"
    hidden = N3 + f"{{ ?x :p ?y }} => {{ ?x {own} ?y }} . {{ ?x {own} ?y }} => {{ ?y :q ?x }} ."
    for query in ("{ ?x :q ?y }", f"{{ ?x {own} ?y }}"):
        with pytest.raises(UnsupportedQueryError, match="are hidden"):
            plan_queries(PREFIXES + f"SELECT * {query}", rules=hidden)


def test_programs_are_written_as_they_are_read() -> None:
    """What is written of random programs says the same, whatever their variables are called."""
    chance = drawn_from("programs")
    for _ in range(20):
        program = load_program(make_rules(chance))
        again = load_program(program.n3)
        assert {meaning(rule) for rule in again.rules} == {meaning(rule) for rule in program.rules}
        assert again.n3 == program.n3


def meaning(rule: Any) -> str:
    """Write a rule with its variables numbered in their order."""
    patterns = (*rule.body, *((c.left, c.operator, c.right) for c in rule.conditions), *rule.head)
    names = list(
        dict.fromkeys(term for pattern in patterns for term in pattern if hasattr(term, "distinguished"))
    )
    return str(
        [[names.index(term) if term in names else str(term) for term in pattern] for pattern in patterns]
    )
