"""The look of the page: its columns, headings and density, and what is not there on a phone."""

from __future__ import annotations

import pytest

from support.axe import violations
from support.browser import Browser, Page, expect, subscribe
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "


def test_headings_have_one_scale(page: Page) -> None:
    """All headings below the name of the page have the size of text."""
    subscribe(page)
    sizes = page.locator("h2, h3").evaluate_all("all => all.map(one => getComputedStyle(one).fontSize)")
    assert len(sizes) >= 4
    assert set(sizes) == {page.locator("body").evaluate("body => getComputedStyle(body).fontSize")}


def test_sign_is_as_wide_as_its_column(page: Page, served: Served) -> None:
    """The first column has the room of a sign, also while it has none, so that nothing moves."""
    panel = subscribe(page)
    width = "cell => cell.getBoundingClientRect().width"
    sign = panel.locator("tbody .sign").first
    before = sign.evaluate(width)
    assert before <= 24
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    expect(panel.locator("tr.came .sign")).to_have_text("+")
    assert sign.evaluate(width) == before


def test_density_is_remembered(page: Page, served: Served) -> None:
    """Compact rows are lower, also after a reload; the button says which density is on."""
    subscribe(page)
    button = page.get_by_role("button", name="Compact")
    row = page.locator("tbody tr").first
    height = "row => row.getBoundingClientRect().height"
    comfortable = row.evaluate(height)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    compact = row.evaluate(height)
    assert compact < 0.85 * comfortable
    assert violations(page) == []
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(row).to_be_visible()
    assert row.evaluate(height) == compact
    button.click()
    assert row.evaluate(height) == comfortable


@pytest.mark.parametrize(
    ("width", "has_touch", "is_shown"), [(1280, False, True), (390, False, False), (1280, True, False)]
)
def test_keys_are_named_where_there_are_keys(
    browser: Browser, served: Served, width: int, has_touch: bool, is_shown: bool
) -> None:
    """Neither a narrow window nor a touch screen names keys."""
    page = browser.new_page(
        viewport={"width": width, "height": 800}, has_touch=has_touch, is_mobile=has_touch
    )
    page.goto(served.url)
    expect(page.locator("#server")).to_have_text("Connected")
    expect(page.locator("#query-keys")).to_be_visible(visible=is_shown)
    page.context.close()


def test_a_tab_has_its_own_cross(page: Page, served: Served) -> None:
    """A cross closes its tab, also one that is not shown, and the shown one stays."""
    page.goto(served.url)
    for number in range(3):
        page.get_by_role("button", name="New query").click()
        page.get_by_role("textbox", name="Query").focus()
        page.keyboard.insert_text(f"ASK {{ ?x{number} a ?class }}")
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_count(4)
    page.get_by_role("tab", name="?x0").hover()
    page.get_by_role("button", name="Close ASK { ?x0").click()
    expect(tabs).to_have_count(3)
    expect(page.get_by_role("tab", name="?x2")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#query .cm-content")).to_contain_text("?x2")
    page.get_by_role("button", name="Close ASK { ?x2").click()
    expect(page.get_by_role("tab", name="?x1")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tab", name="?x1")).to_be_focused()
    assert violations(page) == []
