"""Connections that are lost, and servers that send what they should not."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

import rdflive
from rdflive.client import RemoteSubscription
from rdflive.http import RetryPace
from support.event_server import (
    PATIENCE,
    QUICK,
    EventServer,
    Script,
    Wire,
    cut,
    letters,
    rows,
    stay,
    update,
    whole,
    written,
)

QUERY = "SELECT ?s { ?s a <urn:Train> }"


def refuse(status: int, **headers: str) -> Script:
    """Make a script that refuses."""
    return lambda wire: wire.head(status, "text/plain", **headers).raw("no")


@dataclass
class Told:
    """What a callback was told, up to a solution `z`."""

    deltas: list[tuple[int, str, str]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def __call__(self, delta: rdflive.Delta) -> None:
        self.deltas.append((delta.sequence, letters(delta.added), letters(delta.removed)))
        if "z" in self.deltas[-1][1]:
            self.done.set()


def follow(server: EventServer, *scripts: Script, pace: RetryPace = QUICK) -> list[tuple[int, str, str]]:
    """Subscribe, wait for the solution `z`, and give all deltas; the answer must be what they add up to."""
    server.play(*scripts)
    told = Told()
    with server.client(pace).subscribe(QUERY, told) as subscription:
        assert told.done.wait(PATIENCE), (told.deltas, server.asked)
        found = sorted(letters(subscription.answers()))
    added, removed = ("".join(d[place] for d in told.deltas) for place in (1, 2))
    for letter in removed:
        added = added.replace(str(letter), "", 1)
    assert sorted(added) == found
    return told.deltas


def ended(server: EventServer, *scripts: Script) -> RemoteSubscription:
    """Subscribe and wait until it has ended by itself."""
    server.play(*scripts)
    done = threading.Event()
    subscription = server.client().subscribe(QUERY, on_error=lambda *_: done.set())
    deltas = subscription.deltas(PATIENCE)
    for _ in deltas:
        pass
    assert done.wait(PATIENCE)
    assert subscription.closed
    assert not subscription.connected
    return subscription


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "half", ["", "id: 9-e\n", 'id: 9-e\nevent: update\ndata: {"sequence": 9, "ad', update("9-e", "q")[:-1]]
)
def test_a_lost_connection_is_resumed(server: EventServer, half: str, chunked: bool) -> None:
    """The client says what it has seen last, which is no half event, and gets what it missed."""
    first = cut(whole("3-e", "a"), update("5-e", "b"), *([half] if half else []), chunked=chunked)
    assert follow(server, first, stay(update("9-e", "z", "a", first_sequence=6))) == [
        (3, "a", ""),
        (5, "b", ""),
        (9, "z", "a"),
    ]
    assert [asked.last for asked in server.asked] == [None, "5-e"]


def test_a_chunk_may_be_cut_in_two(server: EventServer) -> None:
    """A connection that ends within a chunk is one that is lost."""

    def first(wire: Wire) -> None:
        wire.head(chunked=True).raw(whole("3-e", "a"))
        wire.line.sendall(b"40\r\nid: 4-e\nevent: upd")

    assert follow(server, first, stay(update("4-e", "z"))) == [(3, "a", ""), (4, "z", "")]


def test_an_update_that_comes_twice_counts_once(server: EventServer) -> None:
    """An update whose number is not above the last one's is passed over, as an event that is not known."""
    told = [whole("3-e", "a"), update("5-e", "b"), update("5-e", "b"), update("4-e", "c")]
    told += [written("weather", "4-e", sky="blue"), update("6-e", "z")]
    assert follow(server, stay(*told)) == [(3, "a", ""), (5, "b", ""), (6, "z", "")]


@pytest.mark.parametrize(
    "event", [update("5-€ é", "b"), written("heartbeat", "5-€ é", sequence=5)], ids=["update", "heartbeat"]
)
def test_any_id_is_given_back(server: EventServer, event: str) -> None:
    """What the id of an event looks like is the server's business; that of a heartbeat counts too."""
    follow(server, cut(whole("3-e", "a"), event), stay(update("9-e", "z")))
    assert server.asked[1].last == "5-€ é"


def test_a_whole_answer_comes_as_what_is_different(server: EventServer) -> None:
    """Where the server no longer knows what was missed, its answer is compared with the one that is known."""
    resync = written("resync", reason="gone")
    first = cut(whole("3-e", "a", "b", "b"))
    second = cut(resync, whole("20-e", "b", "c", "a"))
    third = stay(resync, whole("21-e", "c", "b", "a"), update("22-e", "z"))
    assert follow(server, first, second, third) == [(3, "abb", ""), (20, "c", "b"), (22, "z", "")]
    assert [asked.last for asked in server.asked] == [None, "3-e", "20-e"]


def test_numbers_continue_when_a_server_restarts(server: EventServer) -> None:
    """A new server begins at 0: numbers go on from where they were, without a gap, and never fall."""
    first = cut(whole("30-e", "a"), update("31-e", "b"))
    second = cut(written("resync", reason="unknown"), whole("0-f", "a", "b"), update("2-f", "c"))
    third = stay(update("3-f", "d"), update("9-f", "z", first_sequence=5))
    told = follow(server, first, second, third)
    assert told == [(30, "a", ""), (31, "b", ""), (32, "c", ""), (33, "d", ""), (39, "z", "")]
    assert [asked.last for asked in server.asked] == [None, "31-e", "2-f"]


BAD = {
    "no JSON": "event: update\ndata: {\n\n",
    "no object": "event: update\ndata: [1]\n\n",
    "no number": "event: update\nid: 9-e\ndata: {}\n\n",
    "a fraction": 'event: update\ndata: {"sequence": 1.5}\n\n',
    "not a number": 'event: update\ndata: {"sequence": NaN}\n\n',
    "beyond any number": 'event: update\ndata: {"sequence": 1e99999999999999999999}\n\n',
    "nested": "event: update\ndata: " + "[" * 100_000 + "\n\n",
    "no UTF-8": b'id: 9-e\nevent: update\ndata: {"sequence": 9, "added": [], "removed": "\xff"}\n\n',
    "no rows": written("update", "9-e", sequence=9, added=[]),
    "no row": written("update", "9-e", sequence=9, added=[1], removed=[]),
    "no term": written("update", "9-e", sequence=9, added=[{"s": "x"}], removed=[]),
    "a term of no kind": written(
        "update", "9-e", sequence=9, added=[{"s": {"type": "x", "value": ""}}], removed=[]
    ),
    "another variable": written(
        "update", "9-e", sequence=9, added=[{"t": rows("q")[0]["s"]}], removed=[]
    ),
    "a row that is not there": update("9-e", "", "q"),
    "a row too many": update("9-e", "", "aa"),
    "another form": written("initial", "9-e", sequence=9, form="ASK", head={"vars": []}, boolean=True),
    "an answer without form": written("initial", "9-e", sequence=9),
    "an unknown form": written("initial", "9-e", sequence=9, form="LIST", head={"vars": []}, added=[]),
    "bad variables": written("initial", "9-e", sequence=9, form="SELECT", head={"vars": [1]}, added=[]),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_cannot_be_has_the_answer_sent_again(
    server: EventServer, bad: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """An event that is malformed, or does not fit, changes nothing; the whole answer leads on."""
    first = cut(whole("3-e", "a"), update("5-e", "b"), bad, update("10-e", "q"))
    assert follow(server, first, stay(whole("11-e", "a", "z"))) == [
        (3, "a", ""),
        (5, "b", ""),
        (11, "z", "b"),
    ]
    assert [asked.last for asked in server.asked] == [None, None]
    assert "sends invalid messages" in caplog.text


def test_silence_is_a_lost_connection(server: EventServer) -> None:
    """A server that says nothing, not even that it lives, is connected again."""
    quiet = RetryPace(silence=0.05, first=0.01, longest=0.01)
    follow(server, stay(whole("3-e", "a")), stay(update("4-e", "z")), pace=quiet)
    assert server.asked[1].last == "3-e"


def test_a_server_may_come_back_late(server: EventServer) -> None:
    """Any number of failures passes: refusals that may mend, other answers, none at all."""
    failures = [refuse(503), refuse(429), refuse(500), refuse(408), lambda wire: None]
    failures += [lambda wire: wire.head(kind="text/html").raw("<p>"), lambda wire: wire.raw("SSH-2.0\r\n")]
    failures += [lambda wire: wire.raw("HTTP/1.1 200 OK\r\nContent-Ty")]
    follow(server, cut(whole("3-e", "a")), *failures, stay(update("4-e", "z")))
    assert {asked.last for asked in server.asked[1:]} == {"3-e"}


@dataclass(frozen=True, slots=True)
class Noted(RetryPace):
    """Waits for nothing, and notes how long it should."""

    waits: list[tuple[int, float]] = field(default_factory=list)

    def pause(self, tries: int, asked: float = 0.0) -> float:
        self.waits.append((tries, asked))
        return 0.0


def test_waits_grow_until_a_connection_gets_on(server: EventServer) -> None:
    """Each failure counts, also one behind the whole answer, until an update or heartbeat has come."""
    pace = Noted(silence=PATIENCE)
    follow(
        server,
        cut(whole("3-e", "a")),
        refuse(503, Retry_After="7"),
        refuse(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
        refuse(503, Retry_After="soon"),
        cut(whole("4-e", "a")),
        cut(update("5-e", "b")),
        refuse(429, Retry_After="99999"),
        stay(update("6-e", "z")),
        pace=pace,
    )
    assert pace.waits[:7] == [(1, 0), (2, 7), (3, 0), (4, 0), (5, 0), (1, 0), (2, 600)]


def test_waits_double_up_to_a_limit() -> None:
    """A wait is between half of what doubles and all of it, and never less than the server asks."""
    pace = RetryPace(first=0.25, longest=4.0)
    for tries, most in [(1, 0.25), (2, 0.5), (3, 1), (5, 4), (6, 4), (5000, 4)]:
        waits = [pace.pause(tries) for _ in range(20)]
        assert most / 2 <= min(waits) < max(waits) <= most
    assert pace.pause(1, 30.0) == 30.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 302])
def test_a_refusal_for_good_ends_the_subscription(server: EventServer, status: int) -> None:
    """What would be refused again is not asked again: the subscription closes and says why."""
    subscription = ended(server, cut(whole("3-e", "a")), refuse(status))
    assert isinstance(subscription.last_error, rdflive.ServerError)
    assert subscription.last_error.status == status
    assert len(server.asked) == 2


def test_the_server_may_end_a_subscription(server: EventServer, caplog: pytest.LogCaptureFixture) -> None:
    """Its last event says why; iterators end behind what came before."""
    end = written("end", detail="the answer is too large", status=503)
    events = (whole("3-e", "a"), update("4-e", "b"), end)
    subscription = ended(server, cut(*events))
    assert isinstance(subscription.last_error, rdflive.ServerError)
    assert subscription.last_error.status == 503
    assert "ended the subscription: the answer is too large" in str(subscription.last_error)
    with pytest.raises(rdflive.ClosedError):
        subscription.answers()
    assert len(server.asked) == 1
    assert caplog.text == ""
    server.play(cut(*events))
    subscription = server.client().subscribe(QUERY, name="logged")
    for thread in [thread for thread in threading.enumerate() if thread.name == "rdflive-logged"]:
        thread.join(PATIENCE)
    assert subscription.closed
    assert "subscription 'logged' has ended" in caplog.text


def test_resync_has_the_whole_answer_sent(server: EventServer) -> None:
    """Without an id the server sends everything, of which only the difference is told."""
    server.play(stay(whole("3-e", "a")), stay(whole("3-e", "z")))
    with server.client().subscribe(QUERY, told := Told()) as subscription:
        subscription.resync()
        assert told.done.wait(PATIENCE)
    assert told.deltas == [(3, "a", ""), (4, "z", "a")]
    assert [asked.last for asked in server.asked] == [None, None]


WAITS: dict[str, Script] = {
    "for an event": stay(whole("4-e", "a")),
    "for the rest of an event": stay(update("4-e", "b")[:-9], chunked=True),
    "for the answer to a subscription": lambda wire: wire.wait(),
}


@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_closing_ends_a_wait_for_the_server(server: EventServer, waits: Script) -> None:
    """Whatever the thread that follows waits for, it ends when another thread closes the subscription."""
    reached = threading.Event()
    server.play(cut(whole("3-e", "a")), lambda wire: (reached.set(), waits(wire)))
    subscription = server.client().subscribe(QUERY, name="closed")
    (following,) = [thread for thread in threading.enumerate() if thread.name == "rdflive-closed"]
    assert reached.wait(PATIENCE)
    subscription.close()
    following.join(PATIENCE / 2)
    assert not following.is_alive()
    assert subscription.last_error is None


def test_a_lost_server_is_visible(server: EventServer) -> None:
    """While the connection is lost the last known answer is given, and `connected` is False."""
    away, back = threading.Event(), threading.Event()

    def late(wire: Wire) -> None:
        away.set()
        back.wait(PATIENCE)
        stay(update("4-e", "z"))(wire)

    server.play(cut(whole("3-e", "a")), late)
    with server.client().subscribe(QUERY, told := Told()) as subscription:
        assert away.wait(PATIENCE)
        assert not subscription.connected
        assert repr(subscription).endswith("away>")
        assert letters(subscription.answers()) == "a"
        back.set()
        assert told.done.wait(PATIENCE)
        assert subscription.connected


def test_what_must_not_happen_ends_the_subscription(
    server: EventServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in the thread that follows, no subscription looks open without its thread."""
    monkeypatch.setattr("rdflive.client.answer.Answer.update", lambda *_: 1 / 0)
    subscription = ended(server, stay(whole("3-e", "a"), update("4-e", "b")))
    assert isinstance(subscription.last_error, ZeroDivisionError)
