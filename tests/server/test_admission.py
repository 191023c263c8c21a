"""Limits of what a client has under way: requests, rates, bodies and connections."""

from __future__ import annotations

import http.client
import json
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from typing import Any

import pytest
import rdflib

from rdflive.server.access import Client, digest
from rdflive.server.admission import Admission, UnderWay
from rdflive.server.failures import Problem
from rdflive.server.settings import Limits
from support.raw_requests import HOST, raw, status
from support.serving import Serving, serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

RIGHTS = frozenset({"read", "update", "subscribe"})
UPDATE = b"POST /update HTTP/1.1\r\n" + HOST + b"Content-Type: application/sparql-update\r\n"


def nothing() -> None:
    """End nothing."""


def test_rates_are_those_of_a_bucket_of_one_second() -> None:
    """Admitted are the requests for which an exact computation finds a whole token, at random times."""
    generator = random.Random(5)
    for rate in (1.0, 3.0, 50.0):
        now = Fraction(0)
        admission = Admission(Limits(requests_per_second=rate), clock=lambda: float(now))  # noqa: B023
        spare, before = Fraction(rate), Fraction(0)
        for _ in range(500):
            # eighths are exact as floats
            now += Fraction(generator.choice([0, 0, 0, 1, 2, 5, 40]), 8)
            spare = min(Fraction(rate), spare + (now - before) * Fraction(rate))
            before = now
            request = UnderWay("a", nothing)
            if spare >= 1:
                spare -= 1
                admission.enter(request)
                admission.leave(request)
                continue
            with pytest.raises(Problem) as caught:
                admission.enter(request)
            assert caught.value.status == 429
            # after the stated wait the next one is admitted
            assert spare + int(caught.value.headers["Retry-After"]) * Fraction(rate) >= 1


def test_clients_that_are_gone_leave_nothing() -> None:
    """Without a rate at once; with one after a second, as soon as there are many."""
    admission = Admission(Limits())
    for number in range(100):
        request = UnderWay(str(number), nothing)
        admission.enter(request)
        admission.leave(request)
    assert not admission._clients
    now = 0.0
    admission = Admission(Limits(requests_per_second=5), clock=lambda: now)
    for number in range(30_000):
        now = number / 1000
        request = UnderWay(str(number), nothing)
        admission.enter(request)
        admission.leave(request)
    assert len(admission._clients) <= 10_000


def test_bodies_are_counted_to_their_end() -> None:
    """Of one client and of all, also where they are refused; other clients may go on."""
    admission = Admission(Limits(body_bytes=10, all_body_bytes=15))
    for key in ("a", "b", "c"):
        admission.enter(UnderWay(key, nothing))
    with admission.body("a") as first, admission.body("a") as second, admission.body("b") as other:
        first(6)
        other(4)
        with pytest.raises(Problem, match="unfinished bodies of a are larger than 10 bytes") as caught:
            second(5)
        assert (caught.value.status, admission.body_bytes) == (429, 15)
        with pytest.raises(Problem, match="of all clients") as caught, admission.body("c") as third:
            third(1)
        assert caught.value.status == 503
    assert admission.body_bytes == 0


def test_requests_under_way_are_bounded_and_ended_by_their_rights() -> None:
    """A request ends if it needs a right that is lost, and not for another client or right."""
    admission, ended, requests = Admission(Limits(connections=3)), [], []
    clients = [Client(name, RIGHTS) for name in ("a", "a", "b")]
    for number, (client, right) in enumerate(zip(clients, ("read", "subscribe", "subscribe"), strict=True)):
        request = UnderWay(client.name, lambda number=number: ended.append(number))  # type: ignore[misc]
        admission.enter(request)
        request.use(client, right)  # type: ignore[arg-type]
        requests.append(request)
    assert admission.end_lost({"a": frozenset({"subscribe", "update"}), "c": RIGHTS}) == 1
    assert ended == [1]
    assert [request.has_lost for request in requests] == [False, True, False]
    with pytest.raises(Problem, match="no right to update"):
        UnderWay("a", nothing).use(Client("a", frozenset({"read"})), "update")


def get(served: Serving, path: str, token: str | None = None) -> tuple[int, dict[str, str]]:
    """Send a GET; return the status and the headers."""
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers)


def test_a_client_beyond_its_rate_gets_429_and_others_go_on() -> None:
    """Requests with an unknown token count for their address."""
    tokens = {digest(name * 16): Client(name, RIGHTS) for name in "ab"}
    with serving(tokens=tokens, requests_per_second=0.001 + 2) as served:
        answers = [get(served, "/subscriptions", "a" * 16) for _ in range(3)]
        assert [code for code, _ in answers] == [200, 200, 429]
        assert int(answers[-1][1]["retry-after"]) >= 1
        assert get(served, "/subscriptions", "b" * 16)[0] == 200
        assert [get(served, "/subscriptions", "wrong")[0] for _ in range(3)] == [401, 401, 429]


@contextmanager
def connected(served: Serving, sent: bytes = b"") -> Iterator[socket.socket]:
    """Open a connection, and send bytes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(sent)
        yield connection


def test_connections_beyond_the_bound_are_refused_at_once() -> None:
    """Before a byte is read; when one is closed, the next is accepted."""
    with serving(connections=3) as served, ExitStack() as stack:
        connections = served.service.connections
        idle = [stack.enter_context(connected(served)) for _ in range(3)]
        until(lambda: len(connections) == 3)
        assert raw(served, b"").startswith(b"HTTP/1.1 503 ")
        assert (len(connections), connections.refused) == (3, 1)
        idle[0].close()
        until(lambda: len(connections) == 2)
        assert status(served, "GET", "/health") == 200
        idle[1].close()
        idle[2].close()
        until(lambda: len(connections) == 0)


def test_connections_of_all_are_bounded_by_the_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the files stays for the store and for processes."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (8, 8))
    with serving() as served, ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(connected(served))
        until(lambda: len(served.service.connections) == 6)
        assert raw(served, b"").startswith(b"HTTP/1.1 503 ")


def test_half_sent_bodies_are_bounded_in_sum() -> None:
    """The request that exceeds the bound is refused; when the others end, there is room again."""
    limits: dict[str, Any] = {"body_bytes": 250_000, "request_bytes": 1_000_000}
    half = UPDATE + b"Content-Length: 200000\r\n\r\n" + b" " * 100_000
    with serving(**limits) as served:
        admission = served.service.admission
        with connected(served, half), connected(served, half):
            until(lambda: admission.body_bytes == 200_000)
            assert raw(served, half).startswith(b"HTTP/1.1 429 ")
            assert admission.body_bytes == 200_000
        until(lambda: admission.body_bytes == 0)
        body = b"INSERT DATA { <urn:a> <urn:p> <urn:o> }"
        assert status(served, "POST", "/update", body, Content_Type="application/sparql-update") == 204


def test_many_idle_and_slow_connections_stop_no_other_client() -> None:
    """With 600 connections of which none sends a whole request, other requests are answered."""
    with serving(connections=700, header_seconds=60.0) as served, ExitStack() as stack:
        for number in range(600):
            stack.enter_context(
                connected(served, (b"", b"GET /hea", UPDATE + b"Content-Length: 9\r\n\r\n1")[number % 3])
            )
        until(lambda: len(served.service.connections) == 600)
        assert status(served, "GET", "/ready") == 200
        body = b"INSERT DATA { <urn:a> <urn:p> <urn:o> }"
        assert status(served, "POST", "/update", body, Content_Type="application/sparql-update") == 204
        code, _ = get(served, "/metrics")
        assert code == 200
    assert len(served.service.connections) == 0


def test_addresses_come_from_trusted_proxies_only() -> None:
    """The name of a client without a token is the address that the proxy passes on."""
    # a server without tokens serves this machine; the header decides by which address limits count
    for proxies, keys in ((["127.0.0.1"], {"192.0.2.7"}), ([], {"127.0.0.1"})):
        with serving(rdflib.Dataset(store="Oxigraph"), proxies=proxies) as served:
            query = (
                b"GET /subscribe?query=ASK+%7B%7D HTTP/1.1\r\n" + HOST + b"X-Forwarded-For: 192.0.2.7\r\n\r\n"
            )
            with connected(served, query) as connection:
                assert b"200 OK" in connection.recv(1000)
                assert set(served.service.admission._clients) == keys


def test_limits_are_the_own_ones_of_each_server() -> None:
    """A reload of one server does not change the limits that its caller has given to others."""
    limits = Limits(queries=2)
    with serving() as served:
        served.service.limits.replace_by(limits)
        assert served.service.children.limits.queries == 2
        assert json.dumps(limits.queries) == "2"
