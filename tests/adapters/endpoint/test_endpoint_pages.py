"""States that take several pages: complete, of one moment, or not at all."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdflive_stores.endpoint import blank_nodes
from rdflive_stores.endpoint.requests import EndpointError
from support.effort import HUNT, examples
from support.misbehaving import COUNT, N_TRIPLES, Answering, Asked, Reply, Server, rows, window
from support.set_target import SetTarget, feed, line, triple


def held(numbers: range) -> set[object]:
    return {triple(number) for number in numbers}


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 21])
def test_pages_give_a_state_of_any_size(server: Server, size: int) -> None:
    """Pages of ten give all rows, at their edges too; several are read twice."""
    server.answer(rows([line(number) for number in range(size)]))
    target = SetTarget()
    target.follow(feed(server, page=10))
    assert target.held == held(range(size))
    pages = max(1, -(-size // 10))
    assert len(server.asked) == (pages if pages == 1 else 2 * pages)


def test_pages_of_one_version_are_read_once(server: Server) -> None:
    """A server whose pages all bear one strong ETag numbers its states, so one round is enough."""
    server.answer(rows([line(number) for number in range(25)], ETag='"7"'))
    target = SetTarget()
    target.follow(feed(server, page=10))
    assert target.held == held(range(25))
    assert len(server.asked) == 3


def test_pages_that_are_still_the_same_are_not_sent_again(server: Server) -> None:
    """The second round, and each later poll, only gets the pages that have changed."""
    numbers = list(range(25))
    sent = []

    def answer(asked: Asked) -> Reply:
        reply = rows([line(number) for number in numbers])(asked)
        reply.headers["ETag"] = f'"{hash(reply.body)}"'
        if asked.headers["If-None-Match"] == reply.headers["ETag"]:
            return Reply(304)
        sent.append(len(server.asked))
        return reply

    server.answer(answer)
    target = SetTarget()
    polling = feed(server, page=10, every=0)
    for entry in polling.entries(None, {}, target):
        target.apply(entry)
        if target.held == held(range(25)):
            numbers[15] = 1015
        else:
            polling.close()
    assert target.held == {*held(range(15)), *held(range(16, 25)), triple(1015)}
    assert sent == [1, 2, 3, 8, 9]  # three pages, three times 304, then the two that differ


def changing(states: list[list[str]], every: int) -> Answering:
    """Answer from the next state after so many requests; the last one stays."""
    turn = count()

    def answer(asked: Asked) -> Reply:
        return rows(states[min(next(turn) // every, len(states) - 1)])(asked)

    return answer


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(every=st.integers(1, 6), moves=st.integers(0, 6), size=st.integers(9, 24))
def test_pages_are_never_torn(server: Server, every: int, moves: int, size: int) -> None:
    """Whenever the endpoint changes between the requests, what comes out is one of its states."""
    # in each state all rows have moved on by one, so that pages of different states do not fit together
    states = [[line(number) for number in range(move, move + size)] for move in range(moves + 1)]
    server.asked.clear()
    server.answer(changing(states, every))
    target = SetTarget()
    target.follow(feed(server, page=8, tries=20, backoff=0))
    assert target.held in [held(range(move, move + size)) for move in range(moves + 1)]


def copies(asked: Asked) -> Reply:
    """Pages of different copies, though each stands still."""
    return rows([line(number) for number in range(25 + (window(asked.query)[1] > 0))])(asked)


def unordered(asked: Asked) -> Reply:
    """Pages that do not keep to ORDER BY repeat rows and lack others."""
    limit, offset = window(asked.query)
    lines = [line(number) for number in range(25)][: min(limit, 25 - offset)]
    body = "\n".join([*lines, f'{COUNT} "25" .', ""])
    return Reply(200, body.encode(), {"Content-Type": N_TRIPLES})


restless = changing([[line(number) for number in range(i, i + 25)] for i in range(200)], 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (copies, "changed while its pages of 10 rows were read"),
        (restless, r"changed while.*larger page=.*given up after 3 tries"),
        (unordered, "repeats rows"),
    ],
)
def test_pages_that_do_not_fit_together_are_refused(server: Server, answer: Answering, reason: str) -> None:
    """The error has advice, and nothing of them is applied."""
    server.answer(answer)
    target = SetTarget()
    with pytest.raises(EndpointError, match=reason):
        target.follow(feed(server, page=10))
    assert not target.held


@pytest.mark.parametrize(
    ("limit", "counted"), [(0, False), (1, True), (1, False), (7, False), (20, True), (20, False)]
)
def test_pages_find_a_server_that_leaves_rows_out(server: Server, limit: int, counted: bool) -> None:
    """A limit that the server does not speak of is found, and the error says how to live with it."""

    def answer(asked: Asked) -> Reply:
        reply = rows([line(number) for number in range(25)])(asked)
        assert isinstance(reply.body, bytes)
        lines = reply.body.splitlines(keepends=True)
        lines = sorted(lines, key=lambda text: not text.startswith(COUNT.encode())) if counted else lines
        return Reply(200, b"".join(lines[:limit]), reply.headers)

    server.answer(answer)
    target = SetTarget()
    few = ["the answer is empty", "at most 1 row, and a page needs 2: raise that limit of the server"]
    reason = few[limit] if limit < 2 else f"rows: set page={limit - 1} or less"
    server.url += "?key=secret"
    with pytest.raises(EndpointError, match=reason) as caught:
        target.follow(feed(server, page=100))
    assert "secret" not in str(caught.value)
    assert not target.held
    if limit > 1:
        target.follow(feed(server, page=limit - 1))
        assert target.held == held(range(25))


def test_pages_with_blank_nodes_are_refused(server: Server) -> None:
    """Labels mean nothing on another page; the error names a page that is large enough."""
    server.answer(rows([line(1), *(f"_:b{n} <urn:p> <urn:o> ." for n in range(30))]))
    with pytest.raises(EndpointError, match=r"set page=31 or more.*skolemise.*stable_labels=True"):
        SetTarget().follow(feed(server, page=10))
    for options in ({"page": 31}, {"page": 10, "stable_labels": True}):
        target = SetTarget()
        target.follow(feed(server, **options))
        assert len(target.held) == 31


def test_feed_refuses_blank_nodes_that_cannot_be_told_apart(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes in a large symmetric tangle cannot be matched in time; the advice is how to do without."""
    size = 100 if HUNT else 40
    if not HUNT:
        monkeypatch.setattr(blank_nodes, "_LEAST_WORK", 10_000)
    tangle = [f"_:b{i} <urn:p> _:b{j} ." for i in range(size) for j in range(size) if i != j]
    renamed = [text.replace("_:b", "_:c") for text in tangle]
    target = SetTarget()
    server.answer(rows(tangle))
    target.follow(feed(server))
    server.answer(rows(renamed))
    with pytest.raises(EndpointError, match="too similar to match"):
        target.follow(feed(server))
