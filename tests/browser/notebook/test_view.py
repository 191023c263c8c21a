"""The view of a widget, in Chromium, beside a stand-in for the model that a notebook gives it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from support.axe import violations
from support.browser import Browser, Page, Watched, expect, launched

MODULE = files("rdflive.delivery").joinpath("widget.js").read_text(encoding="utf-8")
BEGIN = """async ([code, shown]) => {
    const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    const listeners = new Map();
    const model = {
        get: (name) => ({ shown })[name],
        on: (event, listener) => listeners.set(event, listener),
        off: (event, listener) => listeners.get(event) === listener && listeners.delete(event),
    };
    window.send = (next) => { shown = next; listeners.get("change:shown")?.(); };
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
    page.set_content("<!doctype html><html lang=en><title>view</title><main></main>")
    yield page
    page.close()
    assert watched.faults == []


def row(label: str, number: float | None, sign: str = "") -> dict[str, Any]:
    return {"sign": sign, "cells": [label, str(number)], "label": label, "number": number}


def shown(*rows: dict[str, Any], chart: int | None = 1) -> dict[str, Any]:
    return {
        "caption": "late trains",
        "titles": ["?train", "?minutes"],
        "chart": chart,
        "rows": list(rows),
        "prefixes": ": <http://example.org/>",
    }


def begin(page: Page, *rows: dict[str, Any], chart: int | None = 1) -> None:
    page.evaluate(BEGIN, [MODULE, shown(*rows, chart=chart)])


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
    """The longest bar has all the space; what went has no bar, and is struck through below."""
    begin(page, row(":T201", 8), row(":T101", 4))
    assert spans(page) == [[0, 1], [0, 0.5]]
    assert page.locator("tr").all_inner_texts() == ["?train\t?minutes", ":T201\t8", ":T101\t4"]
    page.evaluate("next => send(next)", shown(row(":T101", 16, "+"), row(":T201", 8), row(":T101", 4, "−")))
    assert spans(page) == [[0, 1], [0, 0.5]]
    assert page.locator(".label").all_inner_texts() == [":T101", ":T201"]
    assert page.locator("tr").all_inner_texts()[1:] == ["+\t:T101\t16", "\t:T201\t8", "−\t:T101\t4"]
    expect(page.locator(".gone td").nth(1)).to_have_css("text-decoration-line", "line-through")
    expect(page.locator(".rdflive-note")).to_have_text(": <http://example.org/>")


def test_bars_below_zero_go_to_the_left(page: Page) -> None:
    """All begin at the same place; a row without a number has none."""
    begin(page, row(":early", -5), row(":late", 15), row(":unknown", None), row(":on-time", 0))
    early, late, on_time = spans(page)
    assert (early, late) == ([0, 0.25], [0.25, 1])
    assert on_time[0] == 0.25
    assert page.locator("tbody tr").count() == 4


def test_nothing_to_show_and_no_chart_are_drawn_too(page: Page) -> None:
    """A view without a chart is a table; an empty answer has its titles."""
    begin(page)
    assert page.locator("tr").all_inner_texts() == ["?train\t?minutes"]
    page.evaluate("next => send(next)", shown(row(":T201", 7), chart=None))
    assert page.locator(".rdflive-bars").count() == 0
    assert page.locator("tbody tr").count() == 1


def test_texts_are_no_html(page: Page) -> None:
    """Terms come from outside."""
    hostile = '<img src=x onerror="document.title = 1"><b>'
    begin(page, row(hostile, 3))
    assert page.locator("main img, main b").count() == 0
    expect(page.locator(".label")).to_have_text(hostile)
    assert page.title() == "view"


def test_a_view_that_is_closed_draws_no_more(page: Page) -> None:
    """The function that `render` gives back ends it."""
    begin(page, row(":T201", 7))
    page.evaluate("next => { end(); send(next) }", shown(row(":T101", 9)))
    assert page.locator(".label").all_inner_texts() == [":T201"]


def test_axe_finds_nothing_serious_in_a_view(page: Page) -> None:
    """The bars have a name, and the table says the same."""
    begin(page, row(":T201", 7, "+"), row(":T101", 4, "−"))
    assert violations(page) == []
    expect(page.get_by_role("img", name="?minutes as bars")).to_be_visible()
