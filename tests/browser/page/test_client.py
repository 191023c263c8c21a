"""The client for pages, in a browser and with a real server."""

from __future__ import annotations

from typing import Any

from support.browser import Page, Watched
from support.served import Network, Served

PREFIX = "PREFIX : <http://example.org/> "
LATE = PREFIX + "SELECT ?train ?minutes { ?train :delay ?minutes }"
FOLLOW = """async ({ query, from, options }) => {
  const { subscribe } = await import(from);
  window.deltas = [];
  window.states = [];
  const onState = ({ name }) => window.states.push(name);
  window.followed = subscribe(query, delta => window.deltas.push(delta), { ...options, onState });
}"""


def follow(page: Page, query: str = LATE, where: str = "/static/client.js", **options: Any) -> None:
    page.evaluate(FOLLOW, {"query": query, "from": where, "options": options})


def deltas(page: Page, count: int) -> list[dict[str, Any]]:
    """Wait for so many deltas."""
    page.wait_for_function("count => window.deltas.length >= count", arg=count)
    found: list[dict[str, Any]] = page.evaluate("window.deltas")
    return found


def answer(page: Page) -> list[tuple[str, ...]]:
    rows: list[dict[str, Any]] = page.evaluate("window.followed.answers()")
    return sorted(tuple(term["value"].rpartition("/")[2] for term in row.values()) for row in rows)


def test_client_follows_and_resumes(page: Page, served: Served, watched: Watched) -> None:
    """A page gets the answer, a change, and what it missed while its connection was lost; `close` ends it."""
    watched.allow("net::ERR_")
    with Network(served.port) as network:
        page.goto(network.url)
        follow(page)
        (first,) = deltas(page, 1)
        assert (first["initial"], len(first["added"])) == (True, 2)
        network.is_down = True
        network.cut()
        served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T3 :delay 9 }")
        network.is_down = False
        _, missed = deltas(page, 2)
        assert [len(missed[part]) for part in ("added", "removed")] == [1, 1]
        assert answer(page) == [("T2", "7"), ("T3", "9")]
        page.evaluate("window.followed.close()")
        served.update(PREFIX + "INSERT DATA { :T4 :delay 1 }")
        page.wait_for_timeout(300)
        assert len(page.evaluate("window.deltas")) == 2


def test_client_follows_asks_and_triples(page: Page, served: Served) -> None:
    """ASK has a boolean, and triples of CONSTRUCT have three terms."""
    page.goto(served.url)
    follow(page, PREFIX + "ASK { :T3 :delay ?minutes }")
    assert [one["boolean"] for one in deltas(page, 1)] == [False]
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    assert [one["boolean"] for one in deltas(page, 2)] == [False, True]
    follow(page, PREFIX + "CONSTRUCT { ?train :late true } { ?train :delay ?minutes FILTER(?minutes > 5) }")
    deltas(page, 1)
    assert answer(page) == [("T2", "late", "true"), ("T3", "late", "true")]
