"""The strategies of expiry: which is chosen, and what each of them keeps and tells."""

from __future__ import annotations

from typing import Any

import pytest

from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import SETS, RuleRegime
from rdflive.time.expiry import choose, program_of, regime_for
from rdflive.time.recompute import Recompute
from support.expiry import ANY, Peer, rules, triple

TRANSITIVE = RuleRegime(rules("{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } ."))


@pytest.mark.parametrize("regime", [Rdfs(), TRANSITIVE])
def test_auto_takes_labels_where_they_can_be_compared(regime: Any) -> None:
    """One window has labels; of several that are merged, all derivations are kept."""
    assert choose("auto", regime) == "labels"
    assert choose("auto", regime, windows=2) == "keep-all"
    assert choose("dred", regime, windows=2) == "dred"


def test_wrong_choices_are_refused() -> None:
    """The message says what was given, and what can be taken."""
    wrong: Any = "lables"
    with pytest.raises(ValueError, match=r"'auto', 'labels', .* got 'lables'"):
        choose(wrong, Rdfs())
    with pytest.raises(ValueError, match=r"2 windows .* use expiry='auto'"):
        choose("labels", Rdfs(), windows=2)
    unknown: Any = object()
    with pytest.raises(TypeError, match="use expiry='keep-all'"):
        program_of(unknown)


def test_all_ways_have_the_identity_of_the_regime_that_they_keep() -> None:
    """How a program's triples are kept makes no difference to what they are."""
    ways: Any = ("keep-all", "dred", "recompute")
    assert {regime_for(way, TRANSITIVE).identity for way in ways} == {TRANSITIVE.identity}
    assert program_of(TRANSITIVE) is TRANSITIVE.program


def test_dred_keeps_what_follows_in_another_way() -> None:
    """A delete of one way of two takes nothing away that the other way gives."""
    peer = Peer(RuleRegime(TRANSITIVE.program, SETS))
    peer.want(ANY)
    edges = [triple(text) for text in ("a in b", "b in c", "a in d", "d in c", "c in e")]
    peer.become(edges)
    peer.become(edges[1:])
    assert triple("a in b") not in peer.holds
    assert triple("a in e") in peer.holds
    peer.become(edges[1:3])
    assert peer.holds == set(edges[1:3])


def test_dred_tells_the_same_as_the_rules_regime() -> None:
    """It has the identity of the regime, proves what it holds, and counts a triple once."""
    regime = RuleRegime(TRANSITIVE.program, SETS)
    assert regime.identity == TRANSITIVE.identity
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


def test_recompute_gives_what_has_changed() -> None:
    """It answers as its regime does, and gives the difference to the last update."""
    peer = Peer(Recompute(TRANSITIVE))
    peer.want(ANY)
    peer.become([triple("a in b"), triple("b in c")])
    assert triple("a in c") in peer.holds
    entailment = peer.entailment
    assert (entailment.support(triple("a in c")), entailment.support(triple("a in b"))) == (1, 1)
    assert len(entailment.why(triple("a in c"))) == 1
    assert entailment.update([]) == []
    assert entailment.describe()[0] == "recomputed at each update"
    peer.become([triple("a in b")])
    assert peer.holds == {triple("a in b")}
    peer.unwant(ANY)
    assert len(peer.dictionary) == 0
    assert Recompute(TRANSITIVE).identity == TRANSITIVE.identity
