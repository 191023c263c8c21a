"""A browser's own EventSource on `/subscribe`."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from support.browser import LATE, Page, Watched
from support.served import Network, Served

PREFIX = "PREFIX : <http://example.org/> "
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
    """It gets the answer, a change, and by itself what it missed while its connection was lost."""
    watched.allow("net::ERR_")
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
