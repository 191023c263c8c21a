"""SEPA's messages: each subscription adds up to its query's answer, whatever the client does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import rdflive
from rdflive.feeds import Line
from rdflive.feeds.bindings import read_bindings
from rdflive.server.access import Client, digest
from support.effort import drawn_from, rounds
from support.serving import Serving, serving

pytestmark = pytest.mark.posix("the server forks")

ALL = "SELECT ?s ?o { ?s <http://e/p> ?o }"
P = URIRef("http://e/p")


def node(number: int) -> URIRef:
    return URIRef(f"http://e/{number}")


def put(dataset: rdflib.Dataset, *numbers: int) -> None:
    """Add triples, in one commit."""
    with rdflive.batch(dataset):
        for number in numbers:
            dataset.default_graph.add((node(number), P, Literal(number)))


def drop(dataset: rdflib.Dataset, *numbers: int) -> None:
    with rdflive.batch(dataset):
        for number in numbers:
            dataset.default_graph.remove((node(number), P, None))


@dataclass
class Socket:
    """One socket, and the messages of it."""

    connection: ClientConnection

    def take(self) -> Any:
        return json.loads(self.connection.recv(timeout=30))

    def ask(self, message: Any) -> Any:
        self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))
        return self.take()

    def subscribe(self, query: str = ALL, **members: Any) -> Any:
        answer = self.ask({"subscribe": {"sparql": query, **members}})
        return answer.get("notification", answer)


@contextmanager
def socket(url: str, **headers: str) -> Iterator[Socket]:
    address = url.replace("http", "ws") + "/subscribe"
    with connect(address, additional_headers=headers, proxy=None, max_size=None) as connection:
        yield Socket(connection)


@pytest.fixture(scope="module")
def running() -> Iterator[Serving]:
    with serving(rdflib.Dataset()) as served:
        yield served


@pytest.fixture
def served(running: Serving) -> Serving:
    """A server of an empty dataset."""
    running.dataset.remove((None, None, None, None))
    return running


@pytest.fixture
def dataset(served: Serving) -> rdflib.Dataset:
    return served.dataset


@pytest.fixture
def client(served: Serving) -> Iterator[Socket]:
    with socket(served.url) as client:
        yield client


def test_first_notification_is_the_answer(dataset: rdflib.Dataset, client: Socket) -> None:
    """The first notification has sequence 0, a new URI, the alias and the answer as SPARQL results."""
    put(dataset, 7)
    told = client.subscribe(alias="board", unknown=[1])
    assert told.pop("spuid").startswith("sepa://subscription/")
    seven = {"type": "literal", "value": "7", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    binding = {"s": {"type": "uri", "value": "http://e/7"}, "o": seven}
    results = {"head": {"vars": ["s", "o"]}, "results": {"bindings": [binding]}}
    assert told == {"sequence": 0, "alias": "board", "addedResults": results, "removedResults": {}}
    # the triples of CONSTRUCT bind subject, predicate and object
    told = client.subscribe("CONSTRUCT { ?s a <http://e/C> } { ?s <http://e/p> ?o }")
    assert told["addedResults"]["head"]["vars"] == ["subject", "predicate", "object"]
    assert told["addedResults"]["results"]["bindings"][0]["subject"]["value"] == "http://e/7"


def test_later_notifications_count_up_and_say_what_changed(dataset: rdflib.Dataset, client: Socket) -> None:
    """Each commit that changes an answer is one notification to its subscription, and to no other."""
    first = client.subscribe(alias="all")
    other = client.subscribe("SELECT * { ?s <http://e/q> ?o }")
    assert first["spuid"] != other["spuid"]
    assert "alias" not in other
    put(dataset, 1, 2)
    told = client.take()["notification"]
    assert (told["spuid"], told["sequence"], told["alias"]) == (first["spuid"], 1, "all")
    assert len(told["addedResults"]["results"]["bindings"]) == 2
    assert told["removedResults"] == {"head": {"vars": ["s", "o"]}, "results": {"bindings": []}}
    drop(dataset, 1)
    told = client.take()["notification"]
    assert told["sequence"] == 2
    assert [row["s"]["value"] for row in told["removedResults"]["results"]["bindings"]] == ["http://e/1"]


def test_unsubscribed_subscription_is_told_nothing_more(dataset: rdflib.Dataset, client: Socket) -> None:
    """The answer to unsubscribe is the last that is heard of a subscription; the others go on."""
    first, second = client.subscribe(alias="one"), client.subscribe(alias="two")
    told = client.ask({"unsubscribe": {"spuid": first["spuid"], "alias": "one"}})
    assert told == {"unsubscribed": {"spuid": first["spuid"], "alias": "one"}}
    put(dataset, 1)
    assert client.take()["notification"]["spuid"] == second["spuid"]
    assert client.ask({"unsubscribe": {"spuid": first["spuid"]}})["status_code"] == 404


@pytest.mark.parametrize("seed", range(3))
def test_notifications_add_up_to_the_answer(dataset: rdflib.Dataset, client: Socket, seed: int) -> None:
    """What a client was told is at every time an answer that the query had, and in the end the last one."""
    choose = drawn_from("sepa", seed)
    put(dataset, *range(5))
    queries = [ALL, "SELECT ?o { ?s <http://e/p> ?o FILTER(?o > 3) }", "SELECT (1 AS ?n) { ?s ?p ?o }"]
    held: dict[str, Counter[str]] = {}
    for query in queries:
        told = client.subscribe(query)
        held[told["spuid"]] = Counter()
        _add(held, told)
    for _ in range(rounds(40)):
        numbers = {choose.randrange(9) for _ in range(3)}
        (put if choose.random() < 0.5 else drop)(dataset, *numbers)
    put(dataset, 100)
    expected = [Counter(map(str, _rows(dataset, query))) for query in queries]
    while list(held.values()) != expected:  # the last one has the 100
        _add(held, client.take()["notification"])


def _add(held: dict[str, Counter[str]], told: Any) -> None:
    answer = held[told["spuid"]]
    for side, weight in (("addedResults", 1), ("removedResults", -1)):
        for row in told[side].get("results", {"bindings": []})["bindings"]:
            answer[str({name: term["value"] for name, term in sorted(row.items())})] += weight
    assert min(answer.values(), default=0) >= 0
    held[told["spuid"]] = +answer


def _rows(dataset: rdflib.Dataset, query: str) -> Iterator[dict[str, str]]:
    for row in dataset.query(query):
        yield {name: str(term) for name, term in sorted(row.asdict().items())}  # type: ignore[union-attr]


def test_notifications_are_readable_as_a_feed(dataset: rdflib.Dataset, client: Socket) -> None:
    """`read_bindings` reads what the server sends."""
    put(dataset, 1)
    told = [client.ask({"subscribe": {"sparql": ALL}})]
    put(dataset, 2)
    lines = [Line(json.dumps(one), i) for i, one in enumerate([*told, client.take()])]
    deltas = read_bindings(lines, "x", format="sepa")
    found = [(delta.initial, delta.sequence, len(delta.added)) for delta in deltas]
    assert found == [(True, 0, 1), (False, 1, 1)]


BAD = [
    ("", 400, "JSON"),
    ("[" * 100_000, 400, "JSON"),
    (b"{}", 400, "JSON object in text"),
    ("[]", 400, "'subscribe'"),
    ({"hello": 1}, 400, "'subscribe'"),
    ({"subscribe": "select * where {?s ?p ?o}"}, 400, "with an object"),
    ({"subscribe": {}, "unsubscribe": {}}, 400, "'subscribe'"),
    ({"subscribe": {}}, 400, "'sparql'"),
    ({"subscribe": {"sparql": 7}}, 400, "'sparql' must be a string"),
    ({"subscribe": {"sparql": "SELECT \ud800"}}, 400, "surrogate"),
    ({"subscribe": {"sparql": ALL, "alias": []}}, 400, "'alias' must be a string"),
    ({"subscribe": {"sparql": ALL, "alias": "x" * 1001}}, 400, "longer"),
    ({"subscribe": {"sparql": ALL, "default-graph-uri": "http://e/g"}}, 400, "FROM"),
    ({"subscribe": {"sparql": ALL, "named-graph-uri": ["http://e/g"]}}, 400, "FROM"),
    ({"subscribe": {"sparql": "ASK { ?s ?p ?o }"}}, 400, "SELECT"),
    ({"subscribe": {"sparql": "SELECT * {"}}, 400, ""),
    ({"unsubscribe": {}}, 404, "no subscription"),
    ({"unsubscribe": {"spuid": "sepa://subscription/1"}}, 404, "no subscription"),
]


def test_bad_messages_are_answered_and_the_socket_stays(dataset: rdflib.Dataset, client: Socket) -> None:
    """Whatever cannot be carried out is an error with a status; what was subscribed before goes on."""
    client.subscribe()
    for message, status, part in BAD:
        told = client.ask(message)
        assert told["status_code"] == status, message
        assert part in told["error_description"]
        assert told["error"]
    told = client.subscribe("SELECT *\n{ ?s ?p }", alias="broken")
    assert (told["alias"], told["status_code"], told["line"]) == ("broken", 400, 2)
    put(dataset, 1)
    assert client.take()["notification"]["sequence"] == 1


@contextmanager
def closed_with(code: int) -> Iterator[None]:
    """Expect that the server closes the socket with this code."""
    with pytest.raises(ConnectionClosed) as caught:
        yield
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == code


def test_flood_of_bad_messages_ends_the_socket(served: Serving, client: Socket) -> None:
    """Twenty bad messages in a row are answered, more are not; other sockets do not notice."""
    for _ in range(21):
        assert client.ask("no")["status_code"] == 400
    with closed_with(1008):
        client.ask("no")
    with socket(served.url) as other:
        assert other.subscribe()["sequence"] == 0


def test_limits_of_a_client(dataset: rdflib.Dataset) -> None:
    """A client has no more subscriptions than it may, over all its sockets; each that ends makes room.

    A message above the limit of a request is not read, and ends the socket.
    """
    with (
        serving(dataset, subscriptions=2, request_bytes=1000) as served,
        socket(served.url) as client,
        socket(served.url) as other,
    ):
        first = client.subscribe()
        assert other.subscribe(alias="b")["sequence"] == 0
        assert client.subscribe(alias="c")["status_code"] == 429
        client.ask({"unsubscribe": {"spuid": first["spuid"]}})
        assert client.subscribe(alias="c")["sequence"] == 0
        assert other.subscribe(alias="d")["status_code"] == 429
        with closed_with(1009):
            client.ask({"subscribe": {"sparql": ALL, "pad": "x" * 2000}})


TOKENS = {
    digest(f"{name}-0123456789abcdef"): Client(name, frozenset(rights))
    for name, rights in {"ann": ["subscribe"], "ben": ["read", "update"]}.items()
}


def test_token_comes_with_the_message_or_the_handshake(dataset: rdflib.Dataset) -> None:
    """The message's token goes before the handshake's; without any there is 401, without the right 403."""
    ann, ben = ("Bearer ann-0123456789abcdef", "Bearer ben-0123456789abcdef")
    with serving(dataset, tokens=TOKENS) as served:
        with socket(served.url) as client:
            assert client.subscribe()["status_code"] == 401
            assert client.subscribe(authorization="Bearer unknown")["status_code"] == 401
            assert client.subscribe(authorization="Bearer \u2028")["status_code"] == 401
            assert client.subscribe(authorization=ben)["status_code"] == 403
            told = client.subscribe(authorization=ann)
            assert told["sequence"] == 0
            assert client.ask({"unsubscribe": {"spuid": told["spuid"]}})["status_code"] == 401
            told = client.ask({"unsubscribe": {"spuid": told["spuid"], "authorization": ann}})
            assert "unsubscribed" in told
        with socket(served.url, Authorization=ann) as client:
            assert client.subscribe()["sequence"] == 0
            assert client.subscribe(authorization="Bearer unknown")["status_code"] == 401


def test_socket_without_a_token_is_closed_in_time(dataset: rdflib.Dataset) -> None:
    """Who shows no token, in the handshake or a message, is let go; who does, stays."""
    with serving(dataset, tokens=TOKENS, header_seconds=0.3) as served:
        with socket(served.url) as stranger, closed_with(1008):
            stranger.connection.recv(timeout=20)
        ann = "Bearer ann-0123456789abcdef"
        with socket(served.url, Authorization=ann) as client, pytest.raises(TimeoutError):
            client.connection.recv(timeout=0.7)


def test_answer_that_is_read_anew_has_a_new_uri(dataset: rdflib.Dataset, client: Socket) -> None:
    """An answer that replaces the last one restarts: sequence 0, the same alias, then differences."""
    put(dataset, 1)
    first = client.subscribe(alias="board")
    with rdflive.subscribe(dataset, ALL) as other:
        other.resync()
    again = client.take()["notification"]
    assert again["spuid"] != first["spuid"]
    assert {**again, "spuid": first["spuid"]} == first
    put(dataset, 2)
    told = client.take()["notification"]
    assert (told["spuid"], told["sequence"]) == (again["spuid"], 1)
    assert "unsubscribed" in client.ask({"unsubscribe": {"spuid": again["spuid"]}})


def test_answer_that_grows_too_large_ends_with_an_error(dataset: rdflib.Dataset) -> None:
    """A subscription that the server ends is an error with its URI, and gone; the socket stays."""
    with serving(dataset, rows=2) as served, socket(served.url) as client:
        first = client.subscribe(alias="board")
        put(dataset, 1, 2, 3)
        while "notification" in (told := client.take()):
            pass
        assert (told["status_code"], told["spuid"], told["alias"]) == (503, first["spuid"], "board")
        assert client.ask({"unsubscribe": {"spuid": first["spuid"]}})["status_code"] == 404
        assert client.subscribe("SELECT * { ?s <http://e/q> ?o }")["sequence"] == 0


def test_failure_of_the_server_is_told(
    served: Serving, client: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong with a subscription, its client hears of it."""
    monkeypatch.setattr(served.service.topics, "follow", lambda *_: 1 / 0)
    assert client.subscribe(alias="board")["status_code"] == 500


def test_client_that_goes_leaves_nothing(dataset: rdflib.Dataset) -> None:
    """A socket that closes takes its subscriptions with it, also one that is cut in the middle."""
    with serving(dataset, subscriptions=3) as served:
        for is_cut in (False, False, True):
            with socket(served.url) as client:
                for _ in range(3):
                    assert client.subscribe()["sequence"] == 0
                if is_cut:
                    client.connection.socket.close()


def test_slow_client_is_told_the_sum(dataset: rdflib.Dataset, client: Socket) -> None:
    """A client that reads late has fewer notifications than there were commits, which add up all the same."""
    told = client.subscribe("SELECT ?o { ?s <http://e/p> ?o }")
    for number in range(400):
        dataset.default_graph.add((node(number), P, Literal(f"{number}{'x' * 20_000}")))
    held = {told["spuid"]: Counter[str]()}
    notifications = 0
    while held[told["spuid"]].total() < 400:
        _add(held, client.take()["notification"])
        notifications += 1
    assert notifications < 400
