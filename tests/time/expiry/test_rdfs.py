"""RDFS as rules entails what `entailment="rdfs"` does."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS

from rdflive.entail.rdfs import Rdfs
from rdflive.time.expiry import program_of, regime_for
from rdflive.time.windows import ALWAYS
from support.effort import examples
from support.entailment import make_commits, saturated, world
from support.expiry import ANY, Peer, Timeline, matches, triple


def make_pattern(random: Random, words: Any) -> Any:
    """Make a pattern on data or on the schema."""
    return random.choice([
        ANY,
        (None, RDF.type, None),
        (None, RDF.type, random.choice(words.classes)),
        (None, random.choice(words.properties), None),
        (None, random.choice([RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range]), None),
        (random.choice(words.nodes), None, None),
    ])  # fmt: skip


@settings(max_examples=examples(40))
@given(st.integers(0, 10**9))
def test_rules_entail_what_rdfs_does(seed: int) -> None:
    """On cyclic schemas, blank nodes, literals and triples about RDF's own words all patterns agree."""
    random, words = Random(seed), world()
    regimes = Rdfs(), *(regime_for(way, Rdfs()) for way in ("dred", "recompute"))
    timeline = Timeline(program_of(Rdfs()), [3, 6], regimes, early=bool(seed % 2))
    for writes in make_commits(random, words, 12):
        if not timeline.wanted or random.random() < 0.2:
            timeline.want(make_pattern(random, words))
        if len(timeline.wanted) > 1 and random.random() < 0.2:
            timeline.unwant(random.choice(timeline.wanted))
        now = timeline.now + random.choice([0, 1, 1, 2])
        labels = {triple: random.choice([now, now, ALWAYS]) if sign > 0 else None for sign, triple in writes}
        timeline.tick(now, labels)
        timeline.check()
        full = {found for found in saturated(timeline.explicit) if matches(found, timeline.wanted)}
        assert timeline.closure.shown().keys() == full
    timeline.finish()


def test_data_never_become_schema(caplog: pytest.LogCaptureFixture) -> None:
    """A property below one of the schema's own is passed over, by the rules as by the regime."""
    below = triple("p in q")[0], RDFS.subPropertyOf, RDFS.subClassOf
    other = below[0], RDFS.subPropertyOf, triple("q in p")[0]
    data = [triple("A p B"), (triple("x in y")[0], RDF.type, triple("A p B")[0])]
    peers = [Peer(Rdfs()), Peer(regime_for("dred", Rdfs()))]
    with caplog.at_level(logging.CRITICAL, logger="rdflive"):
        for peer in peers:
            peer.want(ANY)
            peer.become([*data, below, other])
    assert peers[0].holds == peers[1].holds == {*data, below, other, triple("A q B")}
