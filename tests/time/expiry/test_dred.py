"""Deleting too much and deriving it again."""

from __future__ import annotations

from rdflive.entail.rules import SETS, RuleRegime
from support.expiry import ANY, Peer, rules, triple

TRANSITIVE = rules("{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } .")


def test_dred_keeps_what_follows_in_another_way() -> None:
    """A delete of one way of two takes nothing away that the other way gives."""
    peer = Peer(RuleRegime(TRANSITIVE, SETS))
    peer.want(ANY)
    edges = [triple(text) for text in ("a in b", "b in c", "a in d", "d in c", "c in e")]
    peer.become(edges)
    peer.become(edges[1:])
    assert triple("a in b") not in peer.holds
    assert triple("a in e") in peer.holds
    peer.become(edges[1:3])
    assert peer.holds == set(edges[1:3])


def test_dred_lets_cycles_go() -> None:
    """What holds up itself alone is taken away."""
    peer = Peer(RuleRegime(rules("{ ?x :p ?y . ?x :on :yes } => { ?y :on :yes } ."), SETS))
    peer.want(ANY)
    cycle = [triple(text) for text in ("a p b", "b p a")]
    peer.become([*cycle, triple("a on yes")])
    assert triple("b on yes") in peer.holds
    peer.become(cycle)
    assert peer.holds == set(cycle)


def test_dred_tells_the_same_as_the_rules_regime() -> None:
    """It has the identity of the regime, proves what it holds, and counts a triple once."""
    regime = RuleRegime(TRANSITIVE, SETS)
    assert regime.identity == RuleRegime(TRANSITIVE).identity
    peer = Peer(regime)
    peer.want(ANY)
    peer.become([triple("a in b"), triple("b in c")])
    entailment = peer.entailment
    (proof,) = entailment.why(triple("a in c"))
    assert proof.steps[-1].conclusion == triple("a in c")
    assert entailment.why(triple("c in a")) == []
    assert (entailment.support(triple("a in c")), entailment.support(triple("c in a"))) == (1, 0)
    assert entailment.describe()[0] == "deletes and derives again"
    assert sum(map(len, entailment.containers())) > 0
    peer.unwant(ANY)
    assert len(peer.dictionary) == 0
