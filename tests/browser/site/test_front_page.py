"""The front page of the site shows a recorded run in a browser, from files alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from support.browser import Browser, Page

PARTS = ".live, #what-do-you-want-to-do + ul"
"""What is ours; the rest is the theme's."""
PHONE = {"width": 360, "height": 740}
MOVING = "document.getAnimations().filter(each => each.effect.target.closest('.live')).length"
CORNERS = """all => all.map(card => {
    card.scrollIntoView();
    const { right, bottom } = card.getBoundingClientRect();
    return document.elementFromPoint(right - 9, bottom - 9).href;
})"""
EDGES = "all => all.map(each => each.textContent)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from support.browser import launched

    with launched() as browser:
        yield browser


class Quiet(SimpleHTTPRequestHandler):
    """Gives files, and says nothing about it."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server that knows only files offers the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The front page for somebody who asked for less movement: nothing moves by itself."""
    from support.browser import Watched

    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    watched = Watched(page)
    # first: later it would be a clock that cannot stop the timers which the theme has started
    page.clock.install()
    # the theme logs an error for what a reload, or the end, breaks off
    page.goto(address, wait_until="networkidle")
    yield page
    page.wait_for_load_state("networkidle")
    page.close()
    assert watched.faults == []


def rows(page: Page) -> list[list[str]]:
    """Read the rows that are shown, each with its sign."""
    cells = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    found: list[list[str]] = page.locator(".live tbody tr").evaluate_all(cells)
    return found


def test_each_step_is_shown_by_the_keyboard(page: Page, recording: ModuleType) -> None:
    """Next, pressed as a key, shows what was recorded, and where it enters the plan."""
    run = recording.record()
    page.get_by_role("button", name="Next").focus()
    for number, step in enumerate(run.steps):
        assert page.locator(".live-place").inner_text().startswith(f"{number} of the {len(run.steps) - 1} ")
        assert page.locator(".live-words").text_content() == step.words
        changes = [f"{sign} {triple}" for sign, triple in step.changes]
        assert page.locator(".live li").all_text_contents() == changes
        signs = {**dict.fromkeys(step.went, "−"), **dict.fromkeys(step.came, "+")}
        assert rows(page) == [[signs.get(row, ""), *row] for row in step.rows]
        edges = page.locator(".live .rdflive-plan .edge.hit").evaluate_all(EDGES)
        assert sorted(f":{name}" for name in edges) == list(step.touched)
        assert page.locator(".live .rdflive-plan .arrow.hit").count() == len(step.touched)
        assert page.locator(".live pre .hit").count() == len(step.touched)
        page.keyboard.press("Enter")
    assert page.locator(".live-place").inner_text().startswith("0 of ")


def test_nothing_moves_where_less_movement_is_asked_for(page: Page) -> None:
    """It waits to be started, and a row that comes is there at once."""
    from support.browser import expect

    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    assert page.locator(".live tr.came").count() == 2
    assert page.evaluate(MOVING) == 0


def test_it_plays_until_it_is_stopped(page: Page) -> None:
    """Else it moves by itself; Pause stops it, and what is stepped to by hand is read out."""
    from support.browser import expect

    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    said = page.locator(".live [role=status]")
    expect(said).to_have_attribute("aria-live", "off")
    expect(page.locator(".live-place")).to_have_text(re.compile("^1 of "))
    assert page.evaluate(MOVING) > 0
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(said).to_have_attribute("aria-live", "polite")
    page.get_by_role("button", name="Back", exact=True).click()
    place = page.locator(".live-place").inner_text()
    page.clock.run_for(60_000)
    assert page.locator(".live-place").inner_text() == place


def test_a_task_is_a_click_away(page: Page) -> None:
    """Four tasks lead to pages, wherever their cards are clicked; the build knows that these exist."""
    cards = page.locator("#what-do-you-want-to-do + ul > li")
    corners = cards.evaluate_all(CORNERS)
    assert len(set(corners)) == 4
    assert corners == cards.locator("a").evaluate_all("all => all.map(each => each.href)")


def test_without_scripts_there_is_the_moving_picture(browser: Browser, address: str) -> None:
    """What only scripts could fill is not shown."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("img[src='live.svg']").is_visible()
    assert not page.locator(".live").is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_it(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Neither on a wide screen nor on a phone, where nothing is wider than the screen."""
    from support.axe import violations

    page.emulate_media(color_scheme=scheme)
    page.reload()
    for _ in range(6):
        page.get_by_role("button", name="Next").click()
    assert violations(page, PARTS) == []
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a dict of that form
    assert violations(page, PARTS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    table = page.locator(".live-answer")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
