"""The mirror of an endpoint that nobody here wrote, while somebody else writes to it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import URIRef
from rdflib.compare import isomorphic

import rdflive
from rdflive.feeds import NAMED_GRAPHS
from rdflive.model import Quad
from rdflive_stores.endpoint_feed import EndpointFeed
from support.effort import drawn_from, rounds
from support.endpoint import RunningEndpoint, fuseki, mark, rdflib_endpoint
from support.mirror_thread import following

LITERALS = (
    '"plain"',
    '"with \\"quotes\\", \\\\ and\\nlines"',
    '"Zürich"@de-CH', '"x"@EN', "1", "1.50", "2e3", "true",
    '"01"^^<http://www.w3.org/2001/XMLSchema#integer>', '"2020-02-03"^^<http://www.w3.org/2001/XMLSchema#date>',
    '"typed"^^<urn:type>', '"\\u2028 and \\U0001F600"', '""',
)  # fmt: skip
EVERYTHING = [Quad(None, None, None), Quad(None, None, None, NAMED_GRAPHS)]


def updates(choose: random.Random) -> Iterator[str]:
    """Write at random: ground triples, nested blank nodes, deletes, renamed nodes, named graphs."""
    while True:
        s, p = f"<urn:s{choose.randrange(6)}>", f"<urn:p{choose.randrange(3)}>"
        literal, number = choose.choice(LITERALS), choose.randrange(100_000)
        yield choose.choice(
            [
                f"INSERT {{ {s} {p} {literal} }} WHERE {{}}",
                f"INSERT {{ {s} {p} [ <urn:n> {number} ; <urn:of> [ <urn:n> {literal} ] ] }} WHERE {{}}",
                f"INSERT {{ {s} {p} _:a . _:a <urn:n> {number} ; <urn:next> _:b . "
                "_:b <urn:next> _:a } WHERE {}",
                f"DELETE WHERE {{ {s} {p} ?o }}",
                f"DELETE {{ ?b <urn:n> ?n }} INSERT {{ ?b <urn:n> {number} }} "
                f"WHERE {{ SELECT ?b ?n {{ ?b <urn:n> ?n }} LIMIT 1 }}",
                f"INSERT {{ GRAPH <urn:g{number % 3}> {{ {s} {p} {literal}, [ <urn:n> {number} ] }} }} "
                "WHERE {}",
                f"DELETE WHERE {{ GRAPH <urn:g{number % 3}> {{ {s} ?p ?o }} }}",
            ]
        )


@pytest.fixture(params=["rdflib-endpoint", "fuseki"])
def endpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningEndpoint]:
    with ExitStack() as stack:
        run = rdflib_endpoint() if request.param == "rdflib-endpoint" else fuseki(tmp_path)
        yield stack.enter_context(run)


def named(dataset: rdflib.Dataset) -> rdflib.Graph:
    """Give the triples of the named graphs as `RunningEndpoint.named` does."""
    graph = rdflib.Graph()
    for s, p, o, name in dataset.quads():
        if name is not None and name != dataset.default_graph.identifier:
            graph.add((s, mark(p, name), o))
    return graph


@pytest.mark.sampled(by="make")
@pytest.mark.parametrize("make", [rdflib.Dataset, lambda: rdflib.Dataset(store="Oxigraph")])
def test_endpoint_is_mirrored_whenever_the_writer_pauses(
    endpoint: RunningEndpoint, make: Callable[[], rdflib.Dataset]
) -> None:
    """After every pause of a random writer, the mirrored dataset is that of the endpoint, graph by graph."""
    dataset = make()
    feed = EndpointFeed(endpoint.url, patterns=EVERYTHING, every=0.01)
    written = updates(drawn_from("pauses"))
    with following(dataset, feed) as mirrored:
        for _ in range(rounds(6)):
            for _ in range(25):
                endpoint.update(next(written))
            default, others = canonical(endpoint.graph()), canonical(endpoint.named())
            mirrored.until(partial(is_mirror, dataset, default, others))
            assert len(default) > 5


def canonical(graph: rdflib.Graph) -> rdflib.Graph:
    """Spell literals in one way, as Oxigraph does with some of its own accord."""
    result = rdflib.Graph()
    for s, p, o in list(graph):
        if isinstance(o, rdflib.Literal):
            language = o.language.lower() if o.language else None
            value = o.normalize() if o.value is not None else o
            text = str(float(value)) if o.datatype in _NUMBERS else str(o)
            o = rdflib.Literal(text, lang=language, datatype=None if language else _type(o.datatype))
        result.add((s, p, o))
    return result


def is_mirror(dataset: rdflib.Dataset, default: rdflib.Graph, others: rdflib.Graph) -> bool:
    """Say whether a dataset holds the default graph and the named ones."""
    return same(canonical(named(dataset)), others) and same(canonical(dataset.default_graph), default)


_NUMBERS = (rdflib.XSD.decimal, rdflib.XSD.double)


def _type(datatype: Any) -> Any:
    return None if datatype == rdflib.XSD.string else datatype


def same(one: rdflib.Graph, other: rdflib.Graph) -> bool:
    """Compare, quickly where they cannot be the same."""
    return len(one) == len(other) and isomorphic(one, other)


def test_endpoint_that_nobody_writes_to_gives_no_entry(endpoint: RunningEndpoint) -> None:
    """Every poll has other labels for blank nodes; without a change there is no entry all the same."""
    written = updates(drawn_from("nobody"))
    for _ in range(60):
        endpoint.update(next(written))
    dataset = rdflib.Dataset()
    for _ in range(3):
        feed = EndpointFeed(endpoint.url, patterns=EVERYTHING, every=None)
        entries = rdflive.mirror(dataset, feed).entries
        assert (entries > 0) is (len(dataset) > 0 and _ == 0)


def test_endpoint_gives_a_subscription_its_answers(endpoint: RunningEndpoint) -> None:
    """What is fetched is what the subscription needs, and its deltas add up to the endpoint's answers."""
    graph = rdflib.Graph()
    query = 'SELECT ?s ?n { ?s <urn:p1> ?b . ?b <urn:n> ?n . ?s <urn:kind> "shown" }'
    answers: Counter[Any] = Counter()
    written = updates(drawn_from("answers"))
    for i in range(4):
        endpoint.update(f'INSERT {{ <urn:s{i}> <urn:kind> "shown", "other" }} WHERE {{}}')
    with rdflive.subscribe(graph, query, lambda delta: answers.update(delta.weights())):
        with following(graph, EndpointFeed(endpoint.url, every=0.01)) as mirrored:
            for _ in range(4):
                for _ in range(20):
                    endpoint.update(next(written))
                rows = endpoint.graph().query(query)
                expected = Counter((row.s, row.n) for row in rows)  # type: ignore[union-attr]
                mirrored.until(partial(adds_up, answers, expected))
        assert (None, None, rdflib.Literal("other")) not in graph
        assert {*graph.predicates()} <= {URIRef("urn:p1"), URIRef("urn:n"), URIRef("urn:kind")}


def adds_up(deltas: Counter[Any], expected: Counter[Any]) -> bool:
    """Say whether weights of solutions are the expected rows."""
    return Counter({(row.s, row.n): weight for row, weight in list(deltas.items()) if weight}) == expected
