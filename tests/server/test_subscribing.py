"""Subscriptions over server-sent events, against a server that runs."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef

import rdflive
from rdflive.server import topics as topics_module
from rdflive.server.live_query import LiveQuery
from rdflive.sinks.ndjson import to_json
from support.effort import examples, rounds
from support.protocol import asked, updated
from support.raw_requests import status
from support.serving import Serving, serving
from support.sinks import Event, listening, read_events, total
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

P = URIRef("http://e/p")
QUERY = "SELECT ?s ?o { ?s <http://e/p> ?o }"


def at(server: Serving, query: str = QUERY, **options: str) -> str:
    """The address of a query's events."""
    return f"{server.url}/subscribe?{urlencode({'query': query, **options})}"


def begun(events: Iterator[Event]) -> Event:
    """Pass over comments, and give the first event."""
    return next(event for event in events if event.kind)


def add(server: Serving, number: int, text: str = "x") -> None:
    server.dataset.add((URIRef(f"http://e/{number}"), P, Literal(text), server.dataset.default_graph))


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Serving]:
    with serving() as server:
        yield server


@pytest.fixture
def server(shared_server: Serving) -> Serving:
    """A server whose graph is empty."""
    shared_server.dataset.update("CLEAR ALL")
    return shared_server


def test_rules_of_the_server_entail() -> None:
    """Clients ask for them by name; the answer is the same as in Python, and follows data and schema."""
    query = "SELECT ?s ?o { ?s <http://e/near> ?o }"
    symmetric = "INSERT DATA { <http://e/near> a <http://www.w3.org/2002/07/owl#SymmetricProperty> }"
    with serving(rdflib.Dataset(), rules=["owl-rl"]) as server:
        assert updated(server, "INSERT DATA { <http://e/a> <http://e/near> <http://e/b> }").status == 204
        with (
            listening(at(server, query, entailment="rules")) as events,
            listening(at(server, query)) as plain,
            rdflive.subscribe(server.dataset, query, rules=["owl-rl"]) as local,
        ):
            assert [len(begun(each).data["added"]) for each in (events, plain)] == [1, 1]
            updated(server, symmetric)
            (row,) = begun(events).data["added"]
            assert (row["s"]["value"], row["o"]["value"]) == ("http://e/b", "http://e/a")
            assert len(local.answers()) == 2
        shown = asked(server, "GET", "/explain?" + urlencode({"query": query, "entailment": "rules"}))
        assert (shown.status, shown.json["form"]) == (200, "SELECT")


def test_a_client_is_told_the_answer_and_its_changes(server: Serving) -> None:
    """Events come as the graph changes, with the ids that lead back."""
    add(server, 0)
    with listening(at(server)) as events:
        initial = begun(events)
        assert (initial.kind, initial.data["form"], initial.data["head"]) == (
            "initial", "SELECT", {"vars": ["s", "o"]},
        )  # fmt: skip
        add(server, 1, "é\n")
        update = next(events)
        assert update.kind == "update"
        assert update.data["added"] == [
            {"s": {"type": "uri", "value": "http://e/1"}, "o": {"type": "literal", "value": "é\n"}}
        ]
        server.dataset.remove((None, P, None, None))
        assert len(next(events).data["removed"]) == 2


FORMS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ASK { ?s <http://e/p> ?o }", {"boolean": False}, {"boolean": True}),
    ("CONSTRUCT { ?s <http://e/q> 1 } { ?s <http://e/p> ?o }", {"added": [], "removed": []}, {"removed": []}),
    ("SELECT (COUNT(*) AS ?count) { ?s <http://e/p> ?o }", {"head": {"vars": ["count"]}, "removed": []}, {}),
]


def test_queries_of_every_form_are_followed(server: Serving, caplog: pytest.LogCaptureFixture) -> None:
    """ASK has a boolean, CONSTRUCT has triples.

    A variable may be called as a method of rows: clients read JSON, so the server's log has no warning of it.
    """
    for query, initial, update in FORMS:
        server.dataset.update("CLEAR ALL")
        with listening(at(server, query)) as events:
            first = begun(events)
            assert first.data | initial == first.data
            add(server, 1)
            changed = next(events).data
            assert changed | update == changed
    assert [record for record in caplog.records if record.name == "rdflive"] == []


def test_queries_are_posted(server: Serving) -> None:
    """As a form, or as themselves, however long; other types, and what is no UTF-8, are refused."""
    query, sparql = QUERY + "#" + "x" * 40_000, "application/sparql-query"
    for body, kind, expected in (
        (urlencode({"query": query}).encode(), "application/x-www-form-urlencoded", 200),
        (query.encode(), sparql + "; charset=utf-8", 200),
        (QUERY.encode(), "text/plain", 415),
        (b"\xff", sparql, 400),
    ):
        assert status(server, "POST", "/subscribe", body, Content_Type=kind) == expected


BAD: list[tuple[Any, int, dict[str, Any]]] = [
    ({"query": "SELECT {"}, 400, {"line": 1, "column": 8}),
    ({"query": "SELECT ?s {\n ?s ?p ?o }\nLIMIT x"}, 400, {"line": 3}),
    ({"query": "DESCRIBE <urn:x>"}, 400, {"line": 1, "column": 1}),
    ({"query": "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }"}, 400, {"line": 1, "column": 12}),
    ({"query": " "}, 400, {"detail": "the parameter query is missing or empty"}),
    ({}, 400, {}),
    ({"query": QUERY, "entailment": "rules"}, 400, {"detail": "entailment must be one of rdfs, got 'rules'"}),
    ({"query": QUERY, "entailment": "owl"}, 400, {"detail": "entailment must be one of rdfs, got 'owl'"}),
    ({"query": QUERY, "quest": "1"}, 400, {}),
    ({"query": "ASK " + "{" * 300}, 400, {"line": 1, "column": 305}),
    ({"query": "ASK " + "{" * 2_000 + "}" * 2_000}, 400, {"construct": "nesting"}),
    ({"query": "ASK { ?s <> " + "<<( <> <> " * 1_000 + "1" + " )>>" * 1_000 + " }"}, 400, {}),
    ({"query": "PREFIX : <urn:>\nASK { ?s :p unknown:a }"}, 400, {"line": 2, "column": 13}),
    ({"query": QUERY + "#" + "x" * 50_000}, 413, {}),
    ([("query", QUERY), ("query", QUERY)], 400, {"detail": "a parameter is given more than once"}),
]


def test_a_bad_request_is_answered_with_a_problem(server: Serving) -> None:
    """What is wrong with a query is said with its place."""
    for path, (parameters, expected, members) in product(["/subscribe", "/explain"], BAD):
        reply = asked(server, "GET", f"{path}?{urlencode(parameters)}")
        assert (reply.status, reply.json["status"]) == (expected, expected), parameters
        assert reply.json | members == reply.json


def test_head_opens_nothing(server: Serving) -> None:
    """It has the headers of the stream, and the connection goes on."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
        for _ in range(2):
            connection.request("HEAD", f"/subscribe?{urlencode({'query': QUERY + ' #head'})}")
            with connection.getresponse() as response:
                assert response.status == 200
                assert response.headers["Content-Type"].startswith("text/event-stream")
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                response.read()
    assert not [topic for topic in server.service.topics if topic.live_query.query.endswith("#head")]


def test_other_sites_reach_nothing_by_pictures_and_forms(server: Serving) -> None:
    """A browser says that another site asks, also where it sends no Origin; links alone may be followed."""
    picture = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert asked(server, "GET", "/subscriptions", **picture).status == 403
    assert asked(server, "GET", "/subscriptions", **link).status == 200
    assert updated(server, "INSERT DATA { <urn:forged> <urn:p> 1 }", **link).status == 403
    assert not list(server.dataset.quads((URIRef("urn:forged"), None, None, None)))


def test_a_query_is_explained(server: Serving) -> None:
    """The plan comes as text and as a picture, with the key that GROUP BY makes.

    The plan is one that queries with other constants share, as those of a server do.
    """
    plan = explained(server, QUERY)
    assert (plan["form"], plan["vars"], plan["key"]) == ("SELECT", ["s", "o"], None)
    assert plan["svg"].startswith("<svg")
    assert "an update costs" in plan["text"]
    text = explained(server, "SELECT ?s { ?s <urn:p> ?o FILTER(?o > 5) }")["text"]
    assert "queries with other constants share the plan" in text
    query = "SELECT ?o (COUNT(?s) AS ?all) { ?s <urn:p> ?o } GROUP BY ?o"
    assert explained(server, query)["key"] == ["o"]


def explained(server: Serving, query: str, **options: str) -> Any:
    reply = asked(server, "GET", f"/explain?{urlencode({'query': query, **options})}")
    assert reply.status == 200
    return reply.json


def test_a_blank_node_is_followed_by_its_label(server: Serving) -> None:
    """`node=` puts the blank node of an answer in the place of ?node, which SPARQL has no word for."""
    server.dataset.update("INSERT { <urn:i> <urn:has> _:x . _:x <urn:is> 3 . _:y <urn:is> 4 } WHERE {}")
    with listening(at(server, "SELECT ?x { <urn:i> <urn:has> ?x }")) as events:
        label = begun(events).data["added"][0]["x"]["value"]
    query = "SELECT ?value { ?node <urn:is> ?value }"
    with listening(at(server, query, node=label)) as events:
        told = (event for event in events if event.kind)
        assert [row["value"]["value"] for row in next(told).data["added"]] == ["3"]
        server.dataset.update("INSERT { ?x <urn:is> 5 } WHERE { ?x <urn:is> ?value }")
        assert [row["value"]["value"] for row in next(told).data["added"]] == ["5"]
        listed = asked(server, "GET", "/subscriptions").json
        assert [(t["node"], t["rows"]) for t in listed if t["query"] == query] == [(label, 2)]
    assert "initBindings" in explained(server, query, node=label)["text"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LiveQuery("ASK {} #", node="b"), LiveQuery("ASK {} #\0b")),
        (LiveQuery("x", key=("a", "b")), LiveQuery("x", key=("a\0b",))),
        (LiveQuery("x", "rdfs"), LiveQuery("x", key=("rdfs",))),
    ],
)
def test_different_questions_have_different_names(one: LiveQuery, other: LiveQuery) -> None:
    """Else a client would follow what another has asked for."""
    assert topics_module.name_of(one) != topics_module.name_of(other)
    assert topics_module.name_of(one) == topics_module.name_of(one)


def test_clients_of_one_query_share_a_subscription(server: Serving) -> None:
    """`/subscriptions` lists it once, with its clients."""
    with ExitStack() as stack:
        streams = [stack.enter_context(listening(at(server, QUERY + " #shared"))) for _ in range(3)]
        for events in streams:
            begun(events)
        [topic] = [t for t in asked(server, "GET", "/subscriptions").json if t["query"].endswith("#shared")]
        assert topic["clients"] == 3
        assert topic["stats"]["deltas"] == 1
        assert asked(server, "GET", f"/subscriptions/{topic['id']}").json["vars"] == ["s", "o"]
    assert asked(server, "GET", "/subscriptions/nothing").status == 404


def test_a_query_without_clients_is_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is closed, and the graph is not watched for it any more."""
    monkeypatch.setattr(topics_module, "_LINGER", 0.1)
    with serving() as server:
        with listening(at(server)) as events:
            begun(events)
        assert len(server.service.topics) == 1
        until(lambda: not len(server.service.topics))


def test_a_query_that_a_client_returns_to_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had been given to live without clients is forgotten."""
    monkeypatch.setattr(topics_module, "_LINGER", 0.3)
    with serving() as server:
        with listening(at(server)) as events:
            begun(events)
        until(lambda: not any(topic.followers for topic in server.service.topics))
        with listening(at(server)) as events:
            begun(events)
            time.sleep(0.6)
            add(server, 1)
            assert next(events).kind == "update"


def test_no_more_queries_linger_than_a_client_may_have() -> None:
    """The oldest are closed first."""
    with serving(subscriptions=2) as server:
        for number in range(6):
            with listening(at(server, f"{QUERY} #{number}")) as events:
                begun(events)
            until(lambda: all(not topic.followers for topic in server.service.topics))
        assert {topic.live_query.query[-1] for topic in server.service.topics} == {"4", "5"}


def test_a_client_has_no_more_subscriptions_than_it_may() -> None:
    """The next is refused with 429, and may come when one has ended."""
    with serving(subscriptions=2) as server:
        with listening(at(server)) as one, listening(at(server)) as two:
            for events in (one, two):
                begun(events)
            refused = asked(server, "GET", f"/subscribe?{urlencode({'query': QUERY})}")
            assert (refused.status, "2 open subscriptions" in refused.json["detail"]) == (429, True)
        until(lambda: not any(topic.followers for topic in server.service.topics))
        with listening(at(server)) as events:
            begun(events)


def test_an_answer_that_grows_too_large_ends_its_subscription() -> None:
    """Its clients are told why; one that asks again is refused, and others go on."""
    with serving(rows=3) as server:
        with listening(at(server)) as events, listening(at(server, "ASK { ?s ?p ?o }")) as others:
            begun(events)
            begun(others)
            server.dataset.update(
                "INSERT DATA {" + " . ".join(f"<urn:{i}> <http://e/p> {i}" for i in range(4)) + "}"
            )
            got = list(events)
            assert [event.kind for event in got] == ["update", "end"]
            assert "more than 3 solutions" in got[-1].data["detail"]
            assert next(others).data["boolean"] is True
        assert [topic["form"] for topic in asked(server, "GET", "/subscriptions").json] == ["ASK"]
        refused = asked(server, "GET", f"/subscribe?{urlencode({'query': QUERY})}")
        assert (refused.status, "more than 3 solutions" in refused.json["detail"]) == (403, True)
        server.dataset.update("DELETE WHERE { <urn:0> ?p ?o }")
        with listening(at(server)) as events:
            assert len(begun(events).data["added"]) == 3


def test_an_update_that_is_under_way_is_waited_for() -> None:
    """The end of the server comes behind it, it is answered and told, and nothing is taken any more."""
    entered, leave, answers = threading.Event(), threading.Event(), []
    with ExitStack() as stack:
        with serving() as server:
            events = stack.enter_context(listening(at(server)))
            assert begun(events).kind == "initial"
            write = server.service.threads.write

            async def slow(function: Any) -> Any:
                return await write(lambda: (entered.set(), leave.wait(20)) and function())

            server.service.threads.write = slow  # type: ignore[method-assign]
            text = "INSERT DATA { <urn:a> <http://e/p> 1 }"
            sending = threading.Thread(target=lambda: answers.append(updated(server, text).status))
            sending.start()
            assert entered.wait(20)
            threading.Timer(0.3, leave.set).start()
        sending.join()
        assert answers == [204]
        assert [len(event.data["added"]) for event in events if event.kind] == [1]
    assert len(server.dataset.default_graph) == 1


def test_a_subscription_that_is_being_opened_is_refused_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 503, so that its client comes back."""
    entered, answers = threading.Event(), []

    async def for_ever(*_: Any) -> None:
        entered.set()
        await asyncio.sleep(60)

    with serving() as server:
        monkeypatch.setattr(server.service.children, "rehearse", for_ever)
        target = f"/subscribe?{urlencode({'query': 'SELECT * { ?a ?b ?c . ?c ?d ?e }'})}"
        asking = threading.Thread(target=lambda: answers.append(asked(server, "GET", target).status))
        asking.start()
        assert entered.wait(20)
    asking.join()
    assert answers == [503]


def test_terms_that_rdflib_cannot_hold_end_no_subscription(server: Serving) -> None:
    """A triple as a term is told as SPARQL 1.2 writes it, and is gone when it goes."""
    data = "DATA { <urn:a> <http://e/p> <<( <urn:s> <urn:p> 'x'@en--ltr )>> }"
    with listening(at(server)) as events:
        begin = next(event for event in events if event.kind == "initial")
        seen = [begin]
        for verb in ("INSERT", "DELETE"):
            assert updated(server, f"{verb} {data}").status == 204
            seen.append(next(event for event in events if event.kind == "update"))
    [came], [went] = seen[1].data["added"], seen[2].data["removed"]
    assert came == went
    assert came["o"]["value"]["object"]["its:dir"] == "ltr"


def test_a_client_that_reads_nothing_delays_no_other(server: Serving) -> None:
    """The writer and others go on, and it gets the sum when it reads again."""
    query = QUERY + " #slow"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"/subscribe?{urlencode({'query': query})}")
    with closing(connection), connection.getresponse() as slow:
        with listening(at(server, query)) as quick:
            got = [begun(quick)]
            for number in range(rounds(100, share=3)):
                with rdflive.batch(server.dataset):
                    server.dataset.remove((None, P, None, None))
                    add(server, number, "long " * 60_000)
                got.append(next(quick))
        answer = total(got)
        [topic] = [topic for topic in server.service.topics if topic.live_query.query == query]
        assert topic.log._backlog.rows < 500
        late = []
        for event in read_events(slow):
            late.append(event)
            if event.data and event.data["sequence"] >= got[-1].data["sequence"]:
                break
    assert len(late) < len(got)
    assert total(late) == answer


def test_the_end_of_the_server_ends_all_streams_at_once() -> None:
    """They are cut without `end`, so that clients come back."""
    with ExitStack() as stack:
        with serving() as server:
            streams = [stack.enter_context(listening(at(server))) for _ in range(5)]
            assert {begun(events).kind for events in streams} == {"initial"}
            start = time.monotonic()
        assert time.monotonic() - start < 4
        assert [list(events) for events in streams] == [[]] * 5


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove", "batch", "leave", "return"]),
        st.integers(0, 5),
        st.integers(0, 2),
    ),
    max_size=20,
)


@settings(max_examples=examples(25))
@given(steps=STEPS)
def test_events_add_up_for_clients_that_come_and_go(shared_server: Serving, steps: list) -> None:
    """What each client was sent, over all its connections, is the answer of the query in the end."""
    server, query = shared_server, "SELECT ?o { ?s <http://e/p> ?o }"
    server.dataset.update("CLEAR ALL")
    streams: dict[int, Any] = {}
    seen: dict[int, list[Event]] = {0: [], 1: [], 2: []}

    def join(who: int) -> None:
        last = next((event.id for event in reversed(seen[who]) if event.id), None)
        streams[who] = stack.enter_context(listening(at(server, query), last))
        if last is None:
            take(who, 0)

    def take(who: int, sequence: int) -> None:
        for event in streams[who]:
            seen[who].append(event)
            if event.data is not None and event.data.get("sequence", -1) >= sequence:
                return

    with ExitStack() as stack:
        for who in seen:
            join(who)
        for step, number, who in steps:
            if step == "add":
                add(server, number, str(number % 3))
            elif step == "remove":
                server.dataset.remove((URIRef(f"http://e/{number}"), P, None, None))
            elif step == "batch":
                inserted = f"<urn:{number}> <http://e/p> {number}"
                server.dataset.update(f"DELETE WHERE {{ ?s <http://e/p> ?o }} ; INSERT DATA {{ {inserted} }}")
            elif step == "leave" and who in streams:
                streams.pop(who).close()
            elif step == "return" and who not in streams:
                join(who)
        add(server, 99, "last")
        sequence = server.service.capture.sequence
        for who in seen:
            if who not in streams:
                join(who)
            take(who, sequence)
    bindings = server.dataset.query(query)
    names = rdflib.Variable("o")
    answer = Counter(json.dumps({"o": to_json(row[names])}, sort_keys=True) for row in bindings)
    assert [total(events) for events in seen.values()] == [answer] * 3


def test_rows_come_by_the_clock_of_the_server(server: Serving) -> None:
    """A query with NOW() is told what time changes without a write; its plan says when."""
    query = "SELECT ?s { ?s <http://e/due> ?t FILTER(?t <= NOW()) }"
    with rdflive.connect(server.url).subscribe(query) as subscription:
        assert len(subscription.next(timeout=30).added) == 0
        # after the first answer, which a busy machine may delay beyond any time
        due = datetime.now(UTC) + timedelta(seconds=0.5)
        server.dataset.add((URIRef("http://e/alarm"), URIRef("http://e/due"), Literal(due)))
        (row,) = subscription.next(timeout=30).added
        assert row.s == URIRef("http://e/alarm")
        assert datetime.now(UTC) >= due
        assert len(subscription.answers()) == 1
        assert "Clocked filter" in str(subscription.explain())


def test_queries_that_differ_in_a_constant_share_a_plan() -> None:
    """Also with the budgets of a server: each client has its own answer and changes."""
    queries = [f"SELECT ?s {{ ?s <http://e/p> ?o FILTER(?o > {n}) }}" for n in range(30)]
    queries += [f"SELECT ?o {{ <http://e/{n}> <http://e/p> ?o }}" for n in range(30)]
    with serving() as server, ExitStack() as stack:
        streams = [stack.enter_context(listening(at(server, query))) for query in queries]
        for events in streams:
            assert begun(events).data["added"] == []
        subscriptions = [topic.subscription for topic in server.service.topics]
        assert len(subscriptions) == 60
        plans = {id(s._live()) for s in subscriptions if s is not None}
        members = Counter(id(query) for s in subscriptions if s is not None for query in s._queries())
        assert len(plans) == 1
        assert sorted(members.values()) == [30, 30]
        assert updated(server, "INSERT DATA { <http://e/7> <http://e/p> 20 }").status == 204
        for number, events in enumerate(streams):
            if number < 20 or number == 37:
                assert len(next(events).data["added"]) == 1
