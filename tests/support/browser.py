"""A real browser: Chromium, driven by Playwright; tests are skipped where either is missing."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import Browser, Locator, Page, Request, Route, expect, sync_playwright
from playwright.sync_api import TimeoutError as OutOfTime

__all__ = [
    "LATE",
    "VISITED",
    "Browser",
    "Locator",
    "OutOfTime",
    "Page",
    "Request",
    "Route",
    "Watched",
    "copied",
    "expect",
    "launched",
    "panel_of",
    "rows_of",
    "send_otherwise",
    "subscribe",
    "write",
]

expect.set_options(timeout=20_000)  # for slow machines
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
VISITED = "localStorage.getItem('rdflive.history') ?? localStorage.setItem('rdflive.history', '[]')"
"""Script that fakes an earlier visit, after which the page opens no subscription by itself."""
LATE = """# Late trains
PREFIX : <http://example.org/>
SELECT ?train ?minutes WHERE { ?train :delay ?minutes }
"""


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser that RDFLIVE_CHROMIUM names, else an installed one."""
    program = os.environ.get("RDFLIVE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium: install it, or name one by RDFLIVE_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """Records the faults of a page: console errors, dialogs, and requests to other hosts."""

    def __init__(self, page: Page) -> None:
        self._allowed: list[str] = []
        self._seen: list[str] = []
        page.on("console", self._take_message)
        page.on("pageerror", lambda error: self._seen.append(f"error: {error}"))
        page.on("dialog", self._take_dialog)
        page.on("request", lambda request: self._take_request(page, request.url))

    def allow(self, pattern: str) -> None:
        """Expect the faults that match a pattern."""
        self._allowed.append(pattern)

    @property
    def faults(self) -> list[str]:
        """The recorded faults without the expected ones."""
        return [fault for fault in self._seen if not any(re.search(one, fault) for one in self._allowed)]

    def _take_message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            place = message.location
            self._seen.append(f"{message.type}: {message.text} ({place['url']}:{place['lineNumber']})")

    def _take_dialog(self, dialog: Any) -> None:
        self._seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _take_request(self, page: Page, url: str) -> None:
        if not url.startswith(("data:", "blob:", "http://127.0.0.1:")):
            self._seen.append(f"request: {url} by {page.url}")


def write(page: Page, text: str, editor: str = "Query") -> None:
    """Replace the text of an editor; open the page of the server if none is open."""
    if page.url == "about:blank":
        page.goto("/")
    page.get_by_role("textbox", name=editor).focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def send_otherwise(page: Page, url: str, old: str, new: str) -> None:
    """Replace `old` by `new` in the response of a URL."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace(old, new))

    page.route(url, answer)


class HeldBack:
    """Holds back the page's next request for a URL pattern until `release`.

    `expect_request` does not say that a request is held back: Playwright reports requests before it hands
    them to the handler of the route.
    """

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._url = url
        self._routes: list[Route] = []
        page.route(url, self._hold, times=1)

    def wait(self) -> None:
        """Wait for the request."""
        deadline = time.monotonic() + 30
        while not self._routes:
            if time.monotonic() > deadline:
                raise OutOfTime(f"the page sent no request for {self._url}")
            self._page.wait_for_timeout(20)  # handlers are called meanwhile

    def release(self) -> None:
        """Wait for the request, and let it reach the server."""
        self.wait()
        self._routes.pop().continue_()

    def _hold(self, route: Route) -> None:  # Playwright needs a function with a signature
        self._routes.append(route)


def subscribe(page: Page, query: str = LATE) -> Locator:
    """Subscribe to a query in the form, and return its panel once it is connected."""
    write(page, query)
    page.get_by_role("button", name="Subscribe", exact=True).click()
    panel = page.locator("article").first
    expect(panel.locator("h3")).to_be_focused()
    expect(panel.locator("header .state")).to_have_text("Connected")
    expect(panel.locator(".facts")).not_to_be_empty()
    return panel


def copied(page: Page, name: str) -> str:
    """Copy the query in the form, and return the copied text."""
    if not page.locator("#copy").evaluate("fold => fold.open"):
        page.locator("#copy summary").click()
    page.get_by_role("button", name=name, exact=True).click()
    return page.get_by_label("Copied text").input_value()


def panel_of(page: Page, title: str) -> Locator:
    """Return the panel with a title."""
    return page.get_by_role("article", name=title)


def rows_of(panel: Locator) -> list[list[str]]:
    """Return the text of the rows in the answer, sorted, without removed rows."""
    cells = "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
    rows: list[list[str]] = panel.locator("tbody tr:not(.gone)").evaluate_all(cells)
    return sorted(rows)
