"""Audits of a server's subscriptions: what is wrong is reported, counted and corrected."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import rdflib

import rdflive
from rdflive.delivery.subscription import Member
from rdflive.engine.view import View
from rdflive.server.access import Client, digest
from rdflive.store import History
from support.protocol import Reply, asked, updated
from support.serving import Serving, serving
from support.sinks import Event, listening
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

LONE = "SELECT ?s ?o { ?s <http://e/p> ?o }"
JOIN = "SELECT ?s ?z { ?s <http://e/p> ?o . ?o <http://e/q> ?z }"
STORES = ["default", "Oxigraph", "disk"]


def made(store: str, folder: Path) -> rdflib.Dataset:
    if store != "default":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    dataset = rdflib.Dataset("Oxigraph" if store == "disk" else store)
    if store == "disk":
        dataset.open(str(folder / "store"))
    return dataset


def add(server: Serving, number: int) -> None:
    """Make one commit, which gives each query one solution more."""
    node = f"<http://e/n{number}>"
    text = f"INSERT DATA {{ <http://e/{number}> <http://e/p> {node} . {node} <http://e/q> {number} }}"
    assert updated(server, text).status == 204


def add_unseen(server: Serving, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a commit that a fault of the kernel, or of the delivery, loses."""
    with monkeypatch.context() as patch:
        for method in ("take", "take_net", "apply", "apply_all"):
            patch.setattr(View, method, lambda *_: False)
        patch.setattr(Member, "emit", lambda *_: None)
        add(server, number)


def at(server: Serving, query: str, **more: str) -> str:
    return f"{server.url}/subscribe?{urlencode({'query': query, **more})}"


def begun(events: Iterator[Event]) -> Event:
    return next(event for event in events if event.kind == "initial")


def topics(server: Serving) -> dict[str, Any]:
    return {topic["query"]: topic for topic in asked(server, "GET", "/subscriptions").json}


def audited(server: Serving, query: str) -> Reply:
    return asked(server, "POST", f"/subscriptions/{topics(server)[query]['id']}/audit")


def counted(server: Serving) -> tuple[float, float]:
    """Return the audits and the differences."""
    registry = server.service.metrics.registry
    names = ("rdflive_audits_total", "rdflive_audit_differences_total")
    return tuple(registry.get_sample_value(name) or 0.0 for name in names)  # type: ignore[return-value]  # two


@pytest.mark.parametrize("store", STORES)
def test_a_wrong_answer_is_reported_within_n_commits_of_its_turn(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two subscriptions have their turns after two commits each; their clients then get the right answers."""
    with (
        serving(made(store, tmp_path), audit=2) as server,
        listening(at(server, LONE)) as lone,
        listening(at(server, JOIN)) as join,
    ):
        assert [len(begun(events).data["added"]) for events in (lone, join)] == [0, 0]
        # each commit waits for the audit that is due, so that turns are known
        for number in range(4):
            add(server, number)
            until(lambda expected=(number + 1) // 2: counted(server)[0] == expected)
        assert counted(server) == (2.0, 0.0)
        assert [topic["stats"]["audits"] for topic in topics(server).values()] == [1, 1]
        with caplog.at_level(logging.ERROR, "rdflive"):
            add_unseen(server, 4, monkeypatch)
            add(server, 5)
            until(lambda: counted(server) == (3.0, 1.0))
        (record,) = caplog.records
        assert "at commit 6 the kept answer is not the answer" in record.getMessage()
        assert "<http://e/4>" in record.getMessage()
        for events in (lone, join):
            assert len(begun(events).data["added"]) == 6
        assert sum(topic["stats"]["audit_differences"] for topic in topics(server).values()) == 1
        for number in range(6, 10):
            add(server, number)
        assert audited(server, JOIN).json["equal"]
        assert counted(server)[1] == 1


@pytest.mark.parametrize("store", STORES)
def test_an_audit_on_request(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response has the commit and both answers; the next one is right."""
    with serving(made(store, tmp_path)) as server, listening(at(server, JOIN)) as events:
        begun(events)
        add(server, 0)
        right = audited(server, JOIN)
        assert (right.status, right.json["equal"], right.json["commit"]) == (200, True, 1)
        add_unseen(server, 1, monkeypatch)
        wrong = audited(server, JOIN).json
        assert (wrong["equal"], wrong["commit"]) == (False, 2)
        assert [wrong[name]["total"] for name in ("kept", "expected", "missing", "surplus")] == [1, 2, 1, 0]
        assert wrong["missing"]["rows"][0].startswith("<http://e/1> ")
        assert len(begun(events).data["added"]) == 2
        assert audited(server, JOIN).json["equal"]


def test_an_audit_names_the_commit_as_its_clients_know_it() -> None:
    """By its number in the history of the store, which holds across restarts."""
    with (
        serving(rdflib.Dataset(), history=History("0000002a", number=40)) as server,
        listening(at(server, JOIN)) as events,
    ):
        begun(events)
        add(server, 0)
        assert audited(server, JOIN).json["commit"] == 41 == next(events).data["sequence"]


def test_what_cannot_be_audited_has_a_reason() -> None:
    """In the description, and as the response to the request; it has no turn."""
    with (
        serving(rdflib.Dataset(), audit=1) as server,
        listening(at(server, LONE, entailment="rdfs")) as events,
    ):
        begun(events)
        add(server, 0)
        topic = topics(server)[LONE]
        assert topic["unaudited"] == "the store's engine does not entail triples"
        reply = audited(server, LONE)
        assert (reply.status, counted(server)[0]) == (409, 0)
        assert "does not entail" in reply.json["detail"]
        assert asked(server, "POST", "/subscriptions/none/audit").status == 404


def test_named_graphs_blank_nodes_and_unions_are_audited() -> None:
    """Over everything that the data of a server can hold."""
    queries = [
        "SELECT ?g ?s { GRAPH ?g { ?s <http://e/p> ?o } }",
        "SELECT ?s FROM <http://e/g> { ?s <http://e/p> ?o }",
        "CONSTRUCT { ?o <http://e/q> ?s } { ?s <http://e/p> ?o OPTIONAL { ?s <http://e/r> ?x } }",
        "ASK { ?s <http://e/p>+ ?o }",
        "SELECT ?s (AVG(?n) AS ?mean) { ?s <http://e/n> ?n } GROUP BY ?s",
    ]
    update = "INSERT DATA { GRAPH <http://e/g> { _:a <http://e/p> _:b } "
    update += "_:a <http://e/p> 'é'@en ; <http://e/n> 1,2.5 }"
    for union in (False, True):
        with serving(rdflib.Dataset(default_union=union)) as server:
            for query in queries:
                with listening(at(server, query)) as events:
                    begun(events)
                    assert updated(server, update).status == 204
                    assert audited(server, query).json["equal"], query


def test_an_audit_beyond_the_limits_is_given_up() -> None:
    """The process is ended, the subscription stays, and other work goes on."""
    cross = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    # rdflive multiplies the numbers of solutions, and rdflib makes each of them
    with serving(rdflib.Dataset(), query_seconds=2.0) as server, listening(at(server, cross)) as events:
        begun(events)
        triples = " ".join(f"<http://e/{n}> <http://e/p> {n} ." for n in range(45))
        assert updated(server, f"INSERT DATA {{ {triples} }}").status == 204
        reply = audited(server, cross)
        assert reply.status == 503
        assert "the audit takes longer than 2 s" in reply.json["detail"]
        assert counted(server) == (0, 0)
        add(server, 99)
        assert asked(server, "GET", "/health").status == 200


def test_only_subscribers_may_audit() -> None:
    """It costs a process, as a query does."""
    tokens = {digest("secret"): Client("reader", frozenset({"read"}))}
    with serving(rdflib.Dataset(), tokens=tokens) as server:
        assert asked(server, "POST", "/subscriptions/any/audit").status == 401
        reply = asked(server, "POST", "/subscriptions/any/audit", Authorization="Bearer secret")
        assert reply.status == 403


def test_a_remote_subscription_is_audited_by_its_server() -> None:
    """`audit` of a client returns what the server finds, and the reason where that is impossible."""
    with serving() as server:
        add(server, 1)
        client = rdflive.connect(server.url)
        with client.subscribe(LONE) as subscription:
            audit = subscription.audit()
            assert (bool(audit), audit.commit, audit.kept.total, audit.query) == (True, 1, 1, LONE)
        with (
            client.subscribe(LONE, entailment="rdfs") as subscription,
            pytest.raises(rdflive.RdfliveError, match="does not entail triples"),
        ):
            subscription.audit()
