"""The configuration of nginx in docs/replicas.md, in front of a primary and two replicas."""

from __future__ import annotations

import http.client
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from urllib.parse import urlencode

import pytest

import rdflive
from rdflive.server.access import read_tokens
from support.nginx import Proxy, need_nginx
from support.protocol import Reply
from support.replicas import reached, replica_of
from support.serving import Serving, serving
from support.waiting import until

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

TOKEN = "crowd-0123456789abcdef"
QUERY = "SELECT ?o { <urn:s> <urn:p> ?o }"


@dataclass(frozen=True)
class World:
    """A proxy with TLS, and the servers behind it."""

    port: int
    certificate: Path
    servers: list[Serving]

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request with the token."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        context = ssl.create_default_context(cafile=str(self.certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        with closing(connection):
            connection.request(method, target, body, {"Authorization": f"Bearer {TOKEN}", **named})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())

    def update(self, text: str) -> None:
        reply = self.ask("POST", "/update", text.encode(), Content_Type="application/sparql-update")
        assert reply.status == 204, reply.body

    def settle(self) -> None:
        for server in self.servers[1:]:
            reached(server, self.servers[0])

    def paths(self) -> dict[str, list[float]]:
        """Return how many requests each server had, by path."""
        found: dict[str, list[float]] = {}
        for server in self.servers:
            for sample in next(iter(server.service.metrics.requests.collect())).samples:
                if sample.name.endswith("_total"):
                    counts = found.setdefault(sample.labels["path"], [0.0] * len(self.servers))
                    counts[self.servers.index(server)] += sample.value
        return found


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    need_nginx()
    if which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[crowd]\ntoken = "{TOKEN}"\nrights = ["read", "update", "subscribe"]\n')
    clients = read_tokens(tokens)
    with (
        serving(tokens=clients) as primary,
        replica_of(primary.url, token=TOKEN, tokens=clients) as first,
        replica_of(primary.url, token=TOKEN, tokens=clients) as second,
    ):
        servers = [primary, first, second]
        with Proxy(tmp_path, [s.port for s in servers], certificate=certificate, key=key) as proxy:
            yield World(proxy.port, certificate, servers)


def test_writes_go_to_the_primary_and_reads_to_all(world: World) -> None:
    """No write comes to a replica, which would refuse it, and each server answers queries."""
    for number in range(6):
        world.update(f"INSERT DATA {{ <urn:s> <urn:p> {number} }}")
    world.settle()
    target = "/query?" + urlencode({"query": QUERY})
    for _ in range(12):
        reply = world.ask("GET", target, Accept="application/sparql-results+json")
        assert len(reply.json["results"]["bindings"]) == 6
    for _ in range(12):
        reply = world.ask("GET", "/store", Accept="application/n-quads")
        assert len(reply.body.splitlines()) == 6
    paths = world.paths()
    assert paths["/update"] == [6, 0, 0]
    assert all(paths["/query"])
    # two reads of the primary are those of the replicas
    assert all(paths["/store"])
    for number in range(6):
        reply = world.ask("POST", "/store?default", b"<urn:s> <urn:q> <urn:o> .", Content_Type="text/turtle")
        assert reply.status in (200, 201, 204), (number, reply.body)


def test_events_come_at_once_and_hold_at_every_server(world: World) -> None:
    """The client of rdflive goes through TLS and the proxy, and over to another server when its own ends."""
    server = rdflive.connect(f"https://127.0.0.1:{world.port}", TOKEN)
    with server.subscribe(QUERY) as subscription:
        deltas = subscription.deltas(60)
        next(deltas)
        for number in range(6):
            world.update(f"INSERT DATA {{ <urn:s> <urn:p> {number} }}")
            delta = next(deltas)
            assert [str(row["o"]) for row in delta.added] == [str(number)]
            assert not delta.removed
            # each server in turn ends its streams; the next change comes all the same
            for topic in tuple(world.servers[number % 3].service.topics):
                for follower in tuple(topic.followers._followers):
                    world.servers[number % 3].service.topics._pace._loop.call_soon_threadsafe(follower.cut)


def test_the_page_works_through_the_proxy(world: World) -> None:
    """Its requests name the proxy's host and HTTPS; a page that came by HTTP is another site."""
    origin = f"https://127.0.0.1:{world.port}"
    reply = world.ask(
        "POST", "/update", b"INSERT DATA { <urn:s> <urn:p> 1 }",
        Content_Type="application/sparql-update", Origin=origin, Sec_Fetch_Site="same-origin",
    )  # fmt: skip
    assert reply.status == 204, reply.body
    reply = world.ask("GET", "/subscriptions", Origin=origin.replace("https:", "http:"))
    assert reply.status == 403


def test_a_server_that_is_away_is_passed_over(world: World) -> None:
    """Another one answers, also a query by POST."""
    world.update("INSERT DATA { <urn:s> <urn:p> 1 }")
    world.settle()
    world.servers[2].service.is_running = False  # answers 503, as while it starts
    for _ in range(9):
        reply = world.ask(
            "POST", "/query", QUERY.encode(),
            Content_Type="application/sparql-query", Accept="application/sparql-results+json",
        )  # fmt: skip
        assert reply.status == 200, reply.body
    world.servers[2].service.is_running = True
    until(lambda: world.ask("GET", "/health").status == 200)
