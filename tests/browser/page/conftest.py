"""A browser for each module; whatever goes wrong in the page of a test fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.served import RAILWAY, Served

if TYPE_CHECKING:
    from support.browser import Browser, Page, Watched


@pytest.fixture(scope="module")  # while it runs, Playwright's event loop is in the way of asyncio's
def browser() -> Iterator[Browser]:
    from support.browser import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """A page in which nothing is open yet; `write` and `subscribe` open that of the server."""
    from support.browser import VISITED

    context = browser.new_context(base_url=served.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    context.add_init_script(VISITED)
    page = context.new_page()
    yield page
    context.close()


@pytest.fixture(autouse=True)
def watched(request: pytest.FixtureRequest) -> Iterator[Watched | None]:
    if "page" not in request.fixturenames:
        yield None
        return
    from support.browser import Watched

    watched = Watched(request.getfixturevalue("page"))
    yield watched
    assert watched.faults == []


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    with Served() as server:
        yield server


@pytest.fixture
def served(server: Served) -> Served:
    """A server that has run for a while, and whose graph is the railway again."""
    server.update(RAILWAY)
    return server
