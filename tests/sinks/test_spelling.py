"""Sinks spell terms as the store does, whatever the library of the subscribed graph makes of them."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

import rdflive
from rdflive.sinks import NdjsonSink, PatchSink
from rdflive.sinks.events.log import EventLog
from support.effort import examples
from support.sinks import read_events, total

ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

XSD = "http://www.w3.org/2001/XMLSchema#"
SPELLINGS = [
    ("date", "2026-01-01Z"),
    ("date", "2026-01-01"),
    ("date", "2026-01-01+05:00"),
    ("dateTime", "2026-01-01T00:00:00Z"),
    ("time", "10:00:00Z"),
    ("double", "NaN"),
    ("double", "INF"),
    ("double", "1"),
    ("double", "1.0E0"),
    ("decimal", "1"),
    ("decimal", "1.0"),
    ("integer", "01"),
    ("integer", "  1 "),
    ("boolean", "1"),
    ("boolean", "true"),
    ("token", " a  b "),
    ("hexBinary", "ff"),
    ("integer", "no number"),
    ("string", "a"),
    ("string", " a "),
    ("normalizedString", "a"),
    ("normalizedString", " a "),
]
S, P = ox.NamedNode("urn:s"), ox.NamedNode("urn:p")
LITERALS = [ox.Literal(text, datatype=ox.NamedNode(XSD + name)) for name, text in SPELLINGS]
MORE = [
    ox.Literal("a", language="en"),
    ox.Literal("a", language="en", direction=ox.BaseDirection.RTL),
    ox.BlankNode("b"),
    ox.Triple(S, P, ox.Literal("1", datatype=ox.NamedNode(XSD + "decimal"))),
    ox.Triple(S, P, ox.Triple(S, P, S)),
]
QUERY = "SELECT ?o { ?s ?p ?o }"


def spelt(store: Any) -> Counter[str]:
    """Give the solutions as Oxigraph itself writes them."""
    found = json.loads(store.query(QUERY).serialize(format=ox.QueryResultsFormat.JSON))
    return Counter(json.dumps(row, sort_keys=True) for row in found["results"]["bindings"])


def native(graph: rdflib.Dataset) -> Any:
    """Give the stand-in for the native store of a dataset that is subscribed to."""
    return graph.store._inner  # type: ignore[attr-defined]


@settings(max_examples=examples(100, share=3))
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([*LITERALS, *MORE])), max_size=25))
def test_events_are_those_of_the_store(steps: list[tuple[bool, Any]]) -> None:
    """The sum of all events is what Oxigraph writes, also where two spellings are one to rdflib."""
    graph = rdflib.Dataset(store="Oxigraph")
    log, lines = EventLog(), io.StringIO()
    with (
        rdflive.subscribe(graph, QUERY, log.publish) as logged,
        rdflive.subscribe(graph, QUERY, NdjsonSink(lines)) as written,
    ):
        store, reader, events = native(graph), log.join(), []
        for is_added, term in steps:
            (store.add if is_added else store.remove)(ox.Quad(S, P, term))
            event = reader.take_now()
            if event is not None:
                events += read_events(b"".join(event.pieces()).splitlines(keepends=True))
        assert (logged.last_error, written.last_error) == (None, None)
    assert total(events) == spelt(store) or not steps
    added: Counter[str] = Counter()
    for line in lines.getvalue().splitlines():
        added.update(json.dumps(row, sort_keys=True) for row in json.loads(line)["added"])
        added.subtract(json.dumps(row, sort_keys=True) for row in json.loads(line)["removed"])
    assert +added == spelt(store)


def test_patches_are_spelt_as_the_store_does() -> None:
    """A patch of constructed triples has every literal once, as it was written."""
    graph = rdflib.Dataset(store="Oxigraph")
    out = io.StringIO()
    with rdflive.subscribe(graph, "CONSTRUCT WHERE { ?s ?p ?o }", PatchSink(out)) as subscription:
        for literal in LITERALS:
            native(graph).add(ox.Quad(S, P, literal))
        assert subscription.last_error is None
        wanted = sorted(f"A {quad.triple} ." for quad in native(graph))
    assert sorted(line for line in out.getvalue().splitlines() if line.startswith("A")) == wanted


def test_a_native_delta_differs_in_its_terms_only() -> None:
    """Sequence, weights and what is initial are the same."""
    graph = rdflib.Dataset(store="Oxigraph")
    deltas: list[rdflive.Delta] = []
    with rdflive.subscribe(graph, QUERY, deltas.append):
        native(graph).add(ox.Quad(S, P, LITERALS[0]))
    [initial, change] = deltas
    assert (initial.native.initial, change.native.sequence) == (True, change.sequence)
    shown = change.native
    assert [row.o for row in shown.added] == [LITERALS[0]]
    assert shown.native is shown
