"""Beginning anew at each update."""

from __future__ import annotations

from rdflive.entail.rules import RuleRegime
from rdflive.time.recompute import Recompute
from support.expiry import ANY, Peer, rules, triple

TRANSITIVE = RuleRegime(rules("{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } ."))


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
    assert entailment.describe()[0] == "worked out anew at each update"
    peer.become([triple("a in b")])
    assert peer.holds == {triple("a in b")}
    peer.unwant(ANY)
    assert len(peer.dictionary) == 0
    assert Recompute(TRANSITIVE).identity == TRANSITIVE.identity
