"""The hook makes a feed of any http URL, and of nothing else."""

from __future__ import annotations

import re

import pytest
import rdflib

import rdflive
from rdflive.errors import RdfliveError
from rdflive.extras import install_command
from rdflive.feeds import Feed
from rdflive_stores.endpoint import rdflive_endpoint
from support.misbehaving import Server, rows
from support.set_target import triple


def test_hook_refuses_unknown_options() -> None:
    """An option that is misspelled is named, with those there are; what is no http URL is left to others."""
    assert rdflive_endpoint("kafka://host/topic", {}) is None
    with pytest.raises(TypeError, match="no option 'evry'; it has: queries, initNs, every, page"):
        rdflive_endpoint("http://127.0.0.1/", {"evry": 1})


def test_endpoint_is_mirrored_through_the_plugin(server: Server) -> None:
    """`rdflive.endpoint` finds the hook, and turns queries into the patterns that are fetched."""
    server.answer(rows(["<urn:s0001> <urn:p> <urn:o1> ."]))
    graph = rdflib.Graph()
    feed = rdflive.endpoint(server.url, queries=["ASK { ?s <urn:p> ?o }"], every=None)
    assert isinstance(feed, Feed)
    assert (feed.source, server.asked) == (server.url, [])
    assert rdflive.mirror(graph, feed).entries == 1
    assert set(graph) == {tuple(triple(1))[:3]}
    assert "<urn:p>" in server.asked[0].query
    with pytest.raises(TypeError, match="queries is a list"):
        rdflive.endpoint(server.url, queries="ASK { ?s ?p ?o }")


def test_hook_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SPARQLWrapper the error has the command that installs it."""
    monkeypatch.setattr("rdflive_stores.endpoint.find_spec", lambda name: None)
    with pytest.raises(RdfliveError, match=re.escape(install_command("endpoint"))):
        rdflive_endpoint("http://127.0.0.1/", {})
