"""Connections that are lost: the page comes back by itself, and no row is lost or repeated."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from support.browser import LATE, Locator, OutOfTime, Page, Request, Watched, expect, rows_of, subscribe
from support.served import RAILWAY, Network, Served

PREFIX = "PREFIX : <http://example.org/> "
LOST = "net::ERR_"


def rows_of_server(served: Served) -> list[list[str]]:
    """Ask the server for the answer, as the page writes it."""
    bindings = json.loads(served.query(LATE))["results"]["bindings"]
    return sorted(
        [f":{row['train']['value'].rpartition('/')[2]}", row["minutes"]["value"]] for row in bindings
    )


def subscribing(page: Page) -> list[Request]:
    """Give a list into which every request for a subscription comes from now on."""
    asked: list[Request] = []
    page.on("request", lambda one: asked.append(one) if one.url.endswith("/subscribe") else None)
    return asked


def expect_rows(panel: Locator, count: int) -> None:
    """Wait until the panel says that it has so many rows, and none is about to go."""
    expect(panel.locator(".facts")).to_contain_text(f" {count} rows ")
    expect(panel.locator("tbody tr")).to_have_count(count)


@pytest.mark.hunted("a server is killed; the gate has a page that resumes after its connection was cut")
def test_page_outlives_its_server(page: Page, tmp_path: Path, watched: Watched) -> None:
    """A server that is killed and started again has changed meanwhile; the page shows the difference once."""
    watched.allow(LOST)
    store = ["--store-path", tmp_path / "store"]
    with Served(*store) as served:
        served.update(RAILWAY)
        page.goto(served.url)
        panel = subscribe(page)
        served.kill()
        expect(panel.locator("header .state")).to_contain_text("Reconnecting in")
        expect(page.get_by_role("status").last).to_contain_text("connection lost")
    with Served(*store) as other:
        other.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T3 :delay 9 . :T4 :delay 1 }")
    with served:
        with suppress(OutOfTime):  # the page may have come back by itself
            panel.get_by_role("button", name="Try now").click(timeout=1000)
        expect_rows(panel, 3)
        expect(panel.locator("header .state")).to_have_text("Connected")
        expect(page.get_by_role("status").last).to_contain_text("2 rows added, 1 removed; 3 rows.")
        assert rows_of(panel) == rows_of_server(served)
        panel.get_by_text("Changes", exact=True).click()
        entries = panel.locator(".log strong")
        expect(entries.first).to_have_text("+2 −1")
        served.update(PREFIX + "INSERT DATA { :T5 :delay 2 }")
        expect_rows(panel, 4)
        assert rows_of(panel) == rows_of_server(served)


def test_page_resumes(page: Page, served: Served, watched: Watched) -> None:
    """When only the connection is lost, the page asks for what it missed, by the last event's id."""
    watched.allow(LOST)
    with Network(served.port) as network:
        page.goto(network.url)
        panel = subscribe(page)
        asked = subscribing(page)
        for number in range(3):
            network.is_down = True
            network.cut()
            expect(panel.locator("header .state")).to_contain_text("Reconnecting in")
            served.update(PREFIX + f"INSERT DATA {{ :N{number} :delay {number} }}")
            served.update(PREFIX + f"INSERT DATA {{ :M{number} :delay {number} }}")
            network.is_down = False
            expect_rows(panel, 4 + 2 * number)
            assert rows_of(panel) == rows_of_server(served)
    assert len(asked) >= 3
    assert all(one.header_value("last-event-id") for one in asked)
    panel.get_by_text("Changes", exact=True).click()
    expect(panel.locator(".log strong")).to_have_text(["+2 −0"] * 3)


def test_page_takes_a_silent_connection_for_lost(page: Page, watched: Watched) -> None:
    """Without a heartbeat for 45 seconds it connects again."""
    watched.allow(LOST)
    page.clock.install()
    panel = subscribe(page)
    with page.expect_request("**/subscribe") as request:
        page.clock.fast_forward(46_000)
        expect(panel.locator(".lost")).to_contain_text("the server stopped sending")
        page.clock.fast_forward(2_000)
    assert request.value.header_value("last-event-id")
    expect(panel.locator("header .state")).to_have_text("Connected")


def test_page_says_when_a_subscription_is_over(page: Page) -> None:
    """An answer that outgrows the server's limit ends, and is not asked for again."""
    with Served("--rows", "3") as served:
        served.update(RAILWAY)
        page.goto(served.url)
        panel = subscribe(page)
        asked = subscribing(page)
        served.update(PREFIX + "INSERT DATA { :T3 :delay 9 . :T4 :delay 9 }")
        expect(panel.locator("header .state")).to_have_text("Ended")
        expect(panel.locator(".lost")).to_contain_text("more than 3 solutions")
        page.wait_for_timeout(1_500)  # the first tries come within this
        assert asked == []


FOLLOW = """url => {
  window.seen = [];
  const source = new EventSource(url);
  for (const type of ["initial", "update", "resync", "end"]) {
    source.addEventListener(type, event => window.seen.push([event.lastEventId, type, event.data]));
  }
}"""


def seen(page: Page, count: int) -> list[tuple[str, str, Any]]:
    """Wait for so many events and give their ids, types and members."""
    page.wait_for_function("count => window.seen.length >= count", arg=count)
    return [(name, kind, json.loads(text)) for name, kind, text in page.evaluate("window.seen")]


def test_event_source_follows_and_resumes(page: Page, served: Served, watched: Watched) -> None:
    """A browser's own one gets the answer, a change, and what it missed while its connection was lost."""
    watched.allow(LOST)
    with Network(served.port) as network:
        page.goto(network.url)
        page.evaluate(FOLLOW, "subscribe?" + urlencode({"query": LATE}))
        ((_, kind, initial),) = seen(page, 1)
        assert (kind, len(initial["added"])) == ("initial", 2)
        served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
        _, (name, kind, update) = seen(page, 2)
        assert (kind, len(update["added"]), update["removed"]) == ("update", 1, [])
        assert int(name.partition("-")[0]) == update["sequence"]
        network.is_down = True
        network.cut()
        served.update(PREFIX + "DELETE DATA { :T1 :delay 4 }")
        network.is_down = False
        *_, (_, kind, missed) = seen(page, 3)
        assert (kind, missed["added"], len(missed["removed"])) == ("update", [], 1)
        assert missed["first_sequence"] == update["sequence"] + 1
