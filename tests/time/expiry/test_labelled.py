"""The labels of a closure are those of the fixpoint, and all strategies hold the same at every tick."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, URIRef

from entail.rules.worlds import make_program, make_triple
from rdflive.entail.rules import SETS, Program, RuleRegime, load_program
from rdflive.time.recompute import Recompute
from rdflive.time.windows import ALWAYS
from support.effort import examples
from support.expiry import ANY, Labelled, Timeline, draw, play, rules, triple

IN = (None, URIRef("urn:in"), None)
TRANSITIVE = rules("{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } .")


def timeline(program: Program, *ranges: int, early: bool = False) -> Timeline:
    regimes = RuleRegime(program, SETS), Recompute(RuleRegime(program)), RuleRegime(program)
    return Timeline(program, ranges, regimes, early=early)


@settings(max_examples=examples(120))
@given(st.integers(0, 10**9), st.booleans())
def test_closure_equals_the_fixpoint_and_the_other_strategies(seed: int, early: bool) -> None:
    """Under random programs, wishes, renewals, deletes and jumps of the clock all labels are right."""
    random = Random(seed)
    world = timeline(make_program(random), *random.sample([2, 3, 5, 8], 2), early=early)
    play(world, random, [make_triple(random) for _ in range(random.choice([5, 15, 30]))], 12)


PROGRAMS = {
    "transitive": "{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } .",
    "by two rules": "{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } . { ?x :on ?y } => { ?x :in ?y } .",
    "on a condition": "{ ?x :in ?y . ?y :in ?z . ?x log:notEqualTo ?z } => { ?x :in ?z } .",
    "symmetric": "{ ?x :in ?y } => { ?y :in ?x } . { ?x :in ?y . ?y :on ?z } => { ?x :on ?z } .",
    "joins": "{ ?x :in ?y . ?y :on ?z } => { ?x :at ?z } . { ?x :at ?y . ?z :at ?y } => { ?x :in ?z } .",
    "two heads": "{ ?x :in ?y . ?x :on ?z } => { ?y :at ?z . ?z :at ?x } .",
    "axiom": ":a :in :b . { ?x :in ?y } => { ?y :on ?x } .",
    "variable predicate": "{ ?p :at ?q . ?x ?p ?y } => { ?x ?q ?y } . { ?x ?x ?y } => { ?x :in ?y } .",
    "a loop": "{ ?x :in ?x . ?x :on ?y } => { ?y :in ?y } .",
}  # fmt: skip


@settings(max_examples=examples(10))
@given(st.integers(0, 10**9))
@pytest.mark.parametrize("name", PROGRAMS)
def test_closure_of_examples(name: str, seed: int) -> None:
    """Each kind of rule follows edges that come, are renewed, are deleted early and expire."""
    random = Random(seed)
    world = timeline(rules(PROGRAMS[name]), 3, 7)
    world.want(ANY)
    names = "abcd" if random.random() < 0.7 else ["a", "b", "in", "on"]
    pool = [
        triple(f"{random.choice(names)} {random.choice(['in', 'in', 'on', 'at'])} {random.choice(names)}")
        for _ in range(12)
    ]
    for _ in range(12):
        world.tick(*draw(world, random, pool))
        world.check()
    world.finish()


def test_closure_derives_only_what_is_wanted() -> None:
    """Unwanted rules and classes cost nothing, and unwanting removes their labels."""
    closure = Labelled(load_program("rdfs-plus"), early=False)
    for name in "ABCD":
        closure.update({(URIRef(f"urn:{name}"), RDFS.subClassOf, URIRef(f"urn:{name.lower()}")): ALWAYS})
    member = triple("x in y")[0]
    closure.want((None, RDF.type, URIRef("urn:a")))
    for name, label in (("A", 1), ("B", 2)):
        closure.update({(member, RDF.type, URIRef(f"urn:{name}")): label})
    assert closure.shown() == {(member, RDF.type, URIRef("urn:a")): 1}
    known = closure.dictionary.ids
    ids = [known.get(term, -1) for term in (member, RDF.type, URIRef("urn:B"))]
    assert not closure.closure.concerns((ids[0], ids[1], ids[2]))
    closure.want((None, RDF.type, URIRef("urn:b")))
    assert closure.shown()[member, RDF.type, URIRef("urn:b")] == 2
    active = closure.closure.describe()[0]
    closure.unwant((None, RDF.type, URIRef("urn:b")))
    assert closure.closure.describe()[0] != active
    assert closure.shown() == {(member, RDF.type, URIRef("urn:a")): 1}


def test_closure_falls_back_to_the_arrival_of_the_triple_itself() -> None:
    """A triple that is entailed longer than it lasts by itself lasts no longer when what entails it goes."""
    closure = Labelled(TRANSITIVE, early=False)
    closure.want(IN)
    closure.update({triple("a in b"): 5, triple("b in c"): 5, triple("a in c"): 3})
    assert closure.shown()[triple("a in c")] == 5
    closure.update({triple("b in c"): None})
    assert closure.shown() == {triple("a in b"): 5, triple("a in c"): 3}


def test_closure_takes_what_a_rule_asks_for_that_comes_with_its_data() -> None:
    """An axiom and the triples that only it makes matter may come in one update."""
    closure = Labelled(load_program("rdfs-plus"), early=False)
    closure.want(IN)
    closure.update({triple("a on b"): 2, (URIRef("urn:in"), OWL.inverseOf, URIRef("urn:on")): 1})
    assert closure.shown() == {triple("b in a"): 1}


def test_closure_notes_what_changes_but_not_what_expires() -> None:
    """A watcher of the labels sees each change once, with the label before it."""
    closure = Labelled(TRANSITIVE, early=False)
    closure.want(IN)
    before = closure.closure.labels.watch()
    closure.update({triple("a in b"): 1, triple("b in c"): 1})
    assert list(before.values()) == [None] * 3
    closure.closure.labels.forget(before)
    closure.update({triple("a in b"): 2})
    assert list(before.values()) == [1]
    closure.closure.labels.forget(before)
    closure.expire(3)
    assert not before
    closure.closure.labels.unwatch(before)


def test_closure_forgets_everything_when_reset() -> None:
    """After `reset` the closure wants and keeps nothing, and can be used again."""
    closure = Labelled(TRANSITIVE, early=False)
    closure.want(IN)
    closure.update({triple("a in b"): 1, triple("b in c"): 1})
    closure.closure.reset()
    closure.dictionary.sweep()
    assert len(closure.dictionary) == 0
    closure.want(IN)
    assert closure.shown()[triple("a in c")] == 1


def test_want_that_fails_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the explicit triples cannot be read, nothing is wanted that was not before."""
    closure = Labelled(TRANSITIVE, early=False)
    closure.want(IN)
    closure.update({triple("a in b"): 1, triple("b in c"): 1, triple("a on b"): 1})
    failures = [OSError("the stream is unreadable")]
    read = closure.read

    def unreadable(key: object) -> object:
        if failures:
            raise failures.pop()
        return read(key)

    monkeypatch.setattr(closure, "read", unreadable)
    with pytest.raises(OSError, match="unreadable"):
        closure.want((None, URIRef("urn:on"), None))
    assert closure.shown() == {triple("a in b"): 1, triple("b in c"): 1, triple("a in c"): 1}
