"""Which way an expiry takes."""

from __future__ import annotations

from typing import Any

import pytest

from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import RuleRegime
from rdflive.time.expiry import choose, program_of, regime_for
from support.expiry import rules

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
    with pytest.raises(ValueError, match=r"2 windows .* take expiry='auto'"):
        choose("labels", Rdfs(), windows=2)
    unknown: Any = object()
    with pytest.raises(TypeError, match="take expiry='keep-all'"):
        program_of(unknown)


def test_all_ways_have_the_identity_of_the_regime_that_they_keep() -> None:
    """How a program's triples are kept makes no difference to what they are."""
    ways: Any = ("keep-all", "dred", "recompute")
    assert {regime_for(way, TRANSITIVE).identity for way in ways} == {TRANSITIVE.identity}
    assert program_of(TRANSITIVE) is TRANSITIVE.program
