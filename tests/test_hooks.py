"""Each hook is documented under its exact signature and does what its page says."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import rdflib
from rdflib import URIRef
from rdflib.plugins.stores.memory import Memory

import rdflive
from rdflive import feeds
from rdflive.cli import targets
from rdflive.cli.targets import sink_choices
from rdflive.plugins import hookspecs, manager
from rdflive.sinks import SinkChoice
from rdflive.testing.operations import World
from rdflive.testing.quads import QuadWatch
from support.shared import ROOT

TRIPLE = (URIRef("urn:a"), URIRef("urn:b"), URIRef("urn:c"))
HOOKS = {name: function for name, function in vars(hookspecs).items() if name.startswith("rdflive_")}


@contextmanager
def plugged(**hooks: Any) -> Iterator[None]:
    """Register hook implementations for the time of a test."""
    plugin = SimpleNamespace(**{name: rdflive.hookimpl(f, tryfirst=True) for name, f in hooks.items()})
    rdflive.register_plugin(plugin)
    try:
        yield
    finally:
        rdflive.unregister_plugin(plugin)


@pytest.mark.parametrize("name", HOOKS)
def test_hook_is_documented_and_tested(name: str) -> None:
    """A hook has a heading with its signature in docs/hooks.md and a test here."""
    signature = f"## `{name}({', '.join(inspect.signature(HOOKS[name]).parameters)})`"
    assert signature in (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert f"test_hook_{name}" in globals()
    assert "Called" in (HOOKS[name].__doc__ or "")


def test_hook_rdflive_attach() -> None:
    """An adapter from a plugin wins over the built-in ones, and gets the way to attach inner stores."""
    asked: list[Any] = []

    def attach_(store: Any, attach: Any) -> None:
        asked.append((store, attach))

    graph = rdflib.Graph()
    with plugged(rdflive_attach=attach_), rdflive.subscribe(graph, "ASK { ?s ?p ?o }"):
        assert asked[0] == (graph.store, manager.attach)


def test_hook_rdflive_wrap() -> None:
    """LiveStore gives what a plugin wraps the store in."""
    with plugged(rdflive_wrap=lambda store: ("wrapped", store)):
        assert rdflive.LiveStore(4) == ("wrapped", 4)


def test_hook_rdflive_feed_formats() -> None:
    """A format from a plugin is found by name."""
    mine = feeds.FeedFormat("mine", (".mine",), feeds.StatelessDecoder)
    with plugged(rdflive_feed_formats=lambda: [mine]):
        assert feeds.feed_format("mine") is mine


def test_hook_rdflive_rule_sets() -> None:
    """Rules from a plugin are found by the name of their set, for as long as it is registered."""
    graph = rdflib.Graph()
    graph.add(TRIPLE)
    query = "SELECT ?y { ?y <urn:b> <urn:a> }"
    mine = plugged(rdflive_rule_sets=lambda: {"mine": "{ ?x <urn:b> ?y } => { ?y <urn:b> ?x } ."})
    with mine, rdflive.subscribe(graph, query, rules="mine") as subscription:
        assert len(list(subscription.answers())) == 1
    with pytest.raises(rdflive.RuleError, match="'mine' is not a rule set"):
        rdflive.subscribe(graph, query, rules="mine")


def test_hook_rdflive_sinks() -> None:
    """A sink from a plugin joins those of rdflive, which come by the hook too."""
    mine = SinkChoice("mine", "for a test", lambda _: nullcontext(print))
    own = list(sink_choices())
    with plugged(rdflive_sinks=lambda: [mine]):
        assert sink_choices()["mine"] is mine
        assert sorted(sink_choices()) == sorted([*own, "mine"])
    assert list(sink_choices()) == own == [choice.name for choice in targets.rdflive_sinks()]


def test_hook_rdflive_endpoint() -> None:
    """A plugin makes the feed of a URL it knows, with the options given and the patterns of the queries."""
    asked: list[Any] = []

    def make(url: str, options: Any) -> Any:
        asked.append((url, options))
        return "feed"

    with plugged(rdflive_endpoint=make):
        feed: Any = rdflive.endpoint("mine:", queries=["ASK { ?s a ?o }"], every=3)
    assert feed == "feed"
    patterns = [rdflive.Quad(None, rdflib.RDF.type, None, None)]
    assert asked == [("mine:", {"every": 3, "patterns": patterns})]


def test_hook_rdflive_batch(caplog: pytest.LogCaptureFixture) -> None:
    """Every batch is seen in commit order, whatever it matches; a failing plugin is logged."""
    seen: list[Any] = []

    def take(store: Any, batch: rdflive.Batch) -> None:
        seen.append((store, batch.sequence, [tuple(quad)[:3] for quad in batch.added], len(batch.removed)))
        raise ValueError("mine")

    graph = rdflib.Graph()
    with plugged(rdflive_batch=take), rdflive.subscribe(graph, "ASK { ?s a ?o }"):
        graph.add(TRIPLE)
        graph.remove(TRIPLE)
        assert seen == [(graph.store, 1, [TRIPLE], 0), (graph.store, 2, [], 1)]
        assert "rdflive_batch" in caplog.text
    graph.add(TRIPLE)
    assert len(seen) == 2


def test_a_plugin_that_takes_batches_keeps_no_store_watched() -> None:
    """The store is unwatched after the last listener has left, in any order."""
    graph = rdflib.Graph()
    with plugged(rdflive_batch=lambda store, batch: None):
        subscription = rdflive.subscribe(graph, "ASK { ?s a ?o }")
        quads = QuadWatch(World(graph.store))
        subscription.close()
        quads.close()
    assert (type(graph.store), set(vars(graph.store))) == (Memory, set(vars(Memory())))


def test_hook_rdflive_delta(caplog: pytest.LogCaptureFixture) -> None:
    """A plugin sees each delta before the callback; its failure does not keep the delta back."""
    order: list[str] = []

    def take(subscription: Any, delta: Any) -> None:
        order.append(f"plugin {subscription.name}")
        raise ValueError("mine")

    graph = rdflib.Graph()
    with plugged(rdflive_delta=take):
        rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", lambda d: order.append("callback"), name="n")
    assert order == ["plugin n", "callback"]
    assert "rdflive_delta" in caplog.text


def test_a_closed_subscription_tells_and_is_told_nothing() -> None:
    """Closed by another's callback it tells no plugin; closed by a plugin it does not call back."""
    told: list[str] = []
    others: list[rdflive.Subscription] = []
    taken: list[rdflive.Delta] = []
    graph, query = rdflib.Graph(), "SELECT ?s { ?s ?p ?o }"
    rdflive.subscribe(graph, query, lambda _: [other.close() for other in others], name="closes")
    others.append(rdflive.subscribe(graph, query, initial=False, name="closed"))
    with plugged(rdflive_delta=lambda subscription: told.append(subscription.name)):
        graph.add(TRIPLE)
    assert told == ["closes"]
    rdflive.subscribe(graph, query, taken.append, initial=False)
    with plugged(rdflive_delta=lambda subscription: subscription.close()):
        graph.remove(TRIPLE)
    assert taken == []


def test_trace_prints_commits_and_deltas(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace plugin writes a line per batch and per delta to standard error."""
    from rdflive.plugins import trace

    graph = rdflib.Graph()
    rdflive.register_plugin(trace)
    try:
        with rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", name="all"):
            graph.add(TRIPLE)
    finally:
        rdflive.unregister_plugin(trace)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("rdflive: commit 0: initial delta +0 -0")
    assert lines[1].startswith("rdflive: commit 1 of LiveMemory: +1 -0 quads")
    assert lines[2].startswith("rdflive: commit 1: delta +1 -0")


def test_a_plugin_may_look_at_the_store_when_it_is_told_of_a_batch() -> None:
    """The commit is over for all subscriptions then, and none is told anything for the look."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()

    def look(store: Any, batch: rdflive.Batch) -> None:
        with manager.locked(store):
            pass

    with plugged(rdflive_batch=look), rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", deltas.append):
        graph.add(TRIPLE)
        with rdflive.batch(graph):
            graph.remove(TRIPLE)
            graph.add((*TRIPLE[:2], URIRef("urn:d")))
    assert [(delta.initial, len(delta.added), len(delta.removed)) for delta in deltas] == [
        (True, 0, 0),
        (False, 1, 0),
    ]
