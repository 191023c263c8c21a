"""The view of a widget, in Chromium, beside a stand-in for the model that a notebook gives it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest
from rdflib import Literal, URIRef

from rdflive.delivery.widget import bars
from rdflive.model import Glimpse, Header
from support.axe import violations
from support.browser import Browser, Page, Watched, expect, launched

MODULE = files("rdflive.delivery").joinpath("widget.js").read_text(encoding="utf-8")
BEGIN = """async ([code, html]) => {
    const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    const listeners = new Map();
    const model = {
        get: (name) => ({ html, copy: "copy" })[name],
        on: (event, listener) => listeners.set(event, listener),
        off: (event, listener) => listeners.get(event) === listener && listeners.delete(event),
    };
    window.send = (next) => { html = next; listeners.get("change:html")?.(); };
    window.end = module.default.render({ model, el: document.querySelector("main") });
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 700, "height": 500})
    watched = Watched(page)
    page.set_content("<!doctype html><html lang=en><title>view</title><main></main><div id=copy>copy</div>")
    yield page
    page.close()
    assert watched.faults == []


def shown(*rows: tuple[str, int]) -> str:
    """Draw the content of a widget as a subscription does."""
    listed = [((URIRef(f"http://example.org/{train}"), Literal(minutes)), 1) for train, minutes in rows]
    glimpse = Glimpse(
        Header("SELECT", ("train", "minutes"), prefixes=lambda: {"": "http://example.org/"}), listed
    )
    return bars(glimpse, None, "minutes") + glimpse.html(None, "late trains")


def begin(page: Page, html: str) -> None:
    page.evaluate(BEGIN, [MODULE, html])


def spans(page: Page) -> list[tuple[float, float]]:
    """Where the bars begin and end, as shares of the space that they have."""
    return page.locator(".bar").evaluate_all(
        """bars => bars.map((bar) => {
            const [own, all] = [bar.getBoundingClientRect(), bar.parentElement.getBoundingClientRect()];
            return [(own.left - all.left) / all.width, (own.right - all.left) / all.width].map(share =>
                Math.round(share * 100) / 100);
        })"""
    )


def test_view_shows_bars_and_rows_and_redraws_both(page: Page) -> None:
    """The longest bar has all the space, and each is as high as its label."""
    begin(page, shown(("T201", 8), ("T101", 4)))
    assert spans(page) == [[0, 1], [0, 0.5]]
    assert page.locator(".bar").first.evaluate("bar => bar.offsetHeight") > 10
    assert page.locator("tr").all_inner_texts() == ["?train\t?minutes", ":T201\t8", ":T101\t4"]
    page.evaluate("next => send(next)", shown(("T101", 16), ("T201", 8), ("early", -16)))
    assert spans(page) == [[0.5, 1], [0.5, 0.75], [0, 0.5]]
    assert page.locator(".label").all_inner_texts() == [":T101", ":T201", ":early"]


def test_a_view_hides_the_copy_for_exports(page: Page) -> None:
    """A notebook shows the content once; where the view is gone, its copy is there."""
    expect(page.locator("#copy")).to_be_visible()
    begin(page, shown(("T201", 8)))
    expect(page.locator("#copy")).to_be_hidden()
    page.evaluate("document.querySelector('main').replaceChildren()")
    expect(page.locator("#copy")).to_be_visible()


def test_a_view_that_is_closed_draws_no_more(page: Page) -> None:
    """The function that `render` gives back ends it."""
    begin(page, shown(("T201", 7)))
    page.evaluate("next => { end(); send(next) }", shown(("T101", 9)))
    assert page.locator(".label").all_inner_texts() == [":T201"]


def test_axe_finds_nothing_serious_in_a_view(page: Page) -> None:
    """The bars have a name, and the table says the same."""
    begin(page, shown(("T201", 7), ("T101", 4)))
    assert violations(page) == []
    expect(page.get_by_role("img", name="?minutes as bars")).to_be_visible()
