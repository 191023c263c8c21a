"""The mirror of a third-party endpoint that another client updates."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import pytest
import rdflib
from rdflib.compare import isomorphic

import rdflive
from rdflive.feeds import NAMED_GRAPHS
from rdflive.model import Quad
from rdflive_stores.endpoint.feed import EndpointFeed
from support.effort import drawn_from, rounds
from support.endpoint import RunningEndpoint, mark, rdflib_endpoint
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


@pytest.fixture(scope="module")
def running() -> Iterator[RunningEndpoint]:
    with rdflib_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(running: RunningEndpoint) -> RunningEndpoint:
    running.update("DROP ALL")
    return running


def named(dataset: rdflib.Dataset) -> rdflib.Graph:
    """Give the triples of the named graphs as `RunningEndpoint.named` does."""
    graph = rdflib.Graph()
    for s, p, o, name in dataset.quads():
        if name is not None and name != dataset.default_graph.identifier:
            graph.add((s, mark(p, name), o))
    return graph


def test_endpoint_is_mirrored_whenever_the_writer_pauses(endpoint: RunningEndpoint) -> None:
    """After every pause of a random writer, the mirrored dataset is that of the endpoint, graph by graph."""
    dataset = rdflib.Dataset()
    feed = EndpointFeed(endpoint.url, patterns=EVERYTHING, every=0.01)
    written = updates(drawn_from("pauses"))
    with following(dataset, feed) as mirrored:
        for _ in range(rounds(6)):
            for _ in range(25):
                endpoint.update(next(written))
            default, others = endpoint.graph(), endpoint.named()
            mirrored.until(partial(is_mirror, dataset, default, others))
            assert len(default) > 5


def is_mirror(dataset: rdflib.Dataset, default: rdflib.Graph, others: rdflib.Graph) -> bool:
    """Say whether a dataset holds the default graph and the named ones; quickly where it cannot."""
    pairs = ((named(dataset), others), (dataset.default_graph, default))
    return all(len(one) == len(other) and isomorphic(one, other) for one, other in pairs)


def test_endpoint_that_nobody_writes_to_gives_no_entry(endpoint: RunningEndpoint) -> None:
    """Every poll has other labels for blank nodes; without a change there is no entry all the same."""
    written = updates(drawn_from("no writer"))
    for _ in range(40):
        endpoint.update(next(written))
    dataset = rdflib.Dataset()
    for poll in range(3):
        feed = EndpointFeed(endpoint.url, patterns=EVERYTHING, every=None)
        entries = rdflive.mirror(dataset, feed).entries
        assert (entries > 0) is (len(dataset) > 0 and poll == 0)
