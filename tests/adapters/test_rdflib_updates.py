"""Updates on data of watched graphs of rdflib: what the bare library does, from texts that it can read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from rdflib import Dataset, Graph, Namespace, URIRef
from rdflib.compare import to_canonical_graph
from rdflib.plugins.sparql.algebra import translateUpdate
from rdflib.plugins.sparql.parser import parseUpdate
from rdflib.plugins.sparql.update import evalUpdate

import rdflive
from rdflive.errors import QuerySyntaxError
from rdflive.syntax.reader import read_update
from support.data_updates import NAMESPACES, data_update
from support.effort import drawn_from, rounds

KINDS: dict[str, Callable[[], Any]] = {
    "Memory": Graph,
    "SimpleMemory": lambda: Graph("SimpleMemory"),
    "Dataset": Dataset,
    "Dataset, default_union": lambda: Dataset(default_union=True),
}

OTHERWISE = re.compile(r":\w+\\|a\tb|(PREFIX|BASE).+DATA.+DATA", re.DOTALL)
"""What rdflib reads otherwise: it keeps the backslash of a name, makes blanks of a tab in a string, and knows
prefixes no more behind an operation.
"""
QUERY = "SELECT ?s ?p ?o { ?s ?p ?o }"


def bound(graph: Any) -> Any:
    """Bind prefixes on a graph; `:` stands for what another namespace is called too."""
    for prefix, namespace in NAMESPACES.items():
        graph.bind(prefix, Namespace(namespace))
    return graph


def state(graph: Any) -> tuple[Any, Any]:
    """Give the triples by graph, with labels that do not depend on chance, and the prefixes."""
    graphs = graph.graphs() if isinstance(graph, Dataset) else [graph]
    triples = {str(each.identifier): set(to_canonical_graph(each)) for each in graphs if len(each)}
    return list(triples.values()) if len(triples) == 1 else triples, set(graph.namespaces())


def as_the_library(graph: Any, text: str, options: Any) -> Any:
    """Run a request as rdflib by itself does; None for a text that it cannot read."""
    try:
        request = translateUpdate(parseUpdate(text), initNs=options.get("initNs") or dict(graph.namespaces()))
    except Exception:  # noqa: BLE001 - its parser raises many
        return None
    return attempted(evalUpdate, graph, request, options.get("initBindings"))


def is_sparql(text: str) -> bool:
    try:
        read_update(text, NAMESPACES)
    except QuerySyntaxError:
        return False
    return True


def attempted(operation: Callable[..., object], *arguments: Any, **options: Any) -> type[Exception] | str:
    try:
        operation(*arguments, **options)
    except Exception as error:  # noqa: BLE001 - they are compared
        return type(error)
    return "done"


@pytest.mark.parametrize("kind", KINDS)
def test_updates_on_data_do_what_the_library_does(kind: str) -> None:
    """The same triples in the same graphs, prefixes and errors; the answers are those of the graph then."""
    random = drawn_from("library", kind)
    ends: Counter[Any] = Counter()
    for _ in range(rounds(160)):
        bare, watched = bound(KINDS[kind]()), bound(KINDS[kind]())
        subscription = rdflive.subscribe(watched, QUERY)
        for _ in range(8):
            text = data_update(random, prologues=1)
            options: dict[str, Any] = random.choice(
                [
                    {},
                    {"initNs": {**dict(bare.namespaces()), "e": "urn:e:"}},
                    {"initBindings": {"s": URIRef("urn:s")}},
                ]
            )
            if OTHERWISE.search(text) or not is_sparql(text):
                continue
            end = as_the_library(bare, text, options)
            if end is None:
                continue
            ends[end] += 1
            assert attempted(watched.update, text, **options) == end, text
            assert state(watched) == state(bare), text
            told = Counter(tuple(row[name] for name in "spo") for row in subscription.answers())
            assert told == Counter(map(tuple, watched.query(QUERY))), text
        subscription.close()
    assert ends["done"] > rounds(160) / 4
    if kind == "Memory":
        assert sum(ends.values()) > ends["done"], "some name a graph, which a single one does not have"
