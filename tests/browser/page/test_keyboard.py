"""The page by the keyboard alone, what assistive technology is told, and what axe-core finds."""

from __future__ import annotations

from typing import Literal

import pytest

from support.axe import violations
from support.browser import LATE, Page, Watched, expect, subscribe
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "


def focused(page: Page) -> str:
    """Give the name of what has the focus."""
    name: str = page.evaluate(
        "(element => element.getAttribute('aria-label') || element.labels?.[0]?.textContent.trim()"
        " || element.textContent.trim())(document.activeElement)"
    )
    return name


def tab_to(page: Page, name: str) -> None:
    """Press Tab until something with this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if focused(page).startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name!r}")


def test_page_needs_no_mouse(page: Page, served: Served, watched: Watched) -> None:
    """Subscribing, sorting, looking at the query, and unsubscribing all go by keys."""
    watched.allow("status of 400")  # who types slowly has half a query checked
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role') === 'textbox'"):
            break
    page.keyboard.press("Control+A")
    page.keyboard.type(LATE.replace("\n", " ").replace("# Late trains", ""))
    page.keyboard.press("Control+Enter")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert focused(page) == "SELECT ?train ?minutes"  # the heading of the new panel
    tab_to(page, "?minutes")
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("?minutes")
    tab_to(page, "Query")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Query", exact=True)).to_be_visible()
    page.keyboard.press("Shift+Tab")
    for _ in range(40):
        if focused(page).startswith("Unsubscribe"):
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("article")).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "open"


def test_tab_leaves_the_editor(page: Page, served: Served) -> None:
    """Tab writes nothing, it moves on; Shift-Tab comes back."""
    page.goto(served.url)
    box = page.get_by_role("textbox", name="Query")
    box.focus()
    before = box.text_content()
    page.keyboard.press("Tab")
    expect(box).not_to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(box).to_be_focused()
    assert box.text_content() == before


def test_focus_can_be_seen(page: Page, served: Served) -> None:
    """Whatever Tab leads to has an outline."""
    page.goto(served.url)
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("article header .state")).to_have_text("Connected")
    page.locator("body").press("Home")
    outlined = """() => {
      let element = document.activeElement;
      if (element.closest('.cm-editor')) element = element.closest('.cm-editor');
      return element === document.body || parseFloat(getComputedStyle(element).outlineWidth) >= 1;
    }"""
    for _ in range(30):
        page.keyboard.press("Tab")
        assert page.evaluate(outlined), focused(page)


def test_first_key_leads_to_the_subscriptions(page: Page, served: Served) -> None:
    """The first stop of Tab is a link past the form."""
    page.goto(served.url)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the answers"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "open"


def test_changes_are_summed_up_aloud(page: Page, served: Served) -> None:
    """A hundred changes are one or two sentences of the live region."""
    page.goto(served.url)
    page.evaluate("""() => {
      window.said = [];
      const region = document.getElementById("announced");
      new MutationObserver(() => window.said.push(region.textContent)).observe(region, {childList: true});
    }""")
    subscribe(page)
    for number in range(50):
        served.update(PREFIX + f"INSERT DATA {{ :N{number} :delay {number} }}")
    expect(page.locator("#announced")).to_contain_text("52 rows")
    said = page.evaluate("window.said")
    assert len(said) <= 3
    assert sum(int(sentence.split(": ")[1].split()[0]) for sentence in said) == 50


def test_page_is_still_for_those_who_ask_for_it(page: Page, served: Served) -> None:
    """With reduced motion nothing is animated, and what came is marked all the same."""
    page.emulate_media(reduced_motion="reduce")
    subscribe(page)
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    came = page.locator("tr.came")
    expect(came.locator(".sign")).to_have_text("+")
    assert came.locator("td").first.evaluate("cell => getComputedStyle(cell).animationName") == "none"


SIZES = {"desktop": (1280, 900), "phone": (360, 740)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    page: Page, served: Served, watched: Watched, size: str, scheme: Literal["light", "dark"]
) -> None:
    """Neither in the form, nor in a panel with all its parts open, nor beside an error."""
    watched.allow("status of 400")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": SIZES[size][0], "height": SIZES[size][1]})
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    assert violations(page) == []
    panel = subscribe(page)
    served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T3 :delay 9 }")
    page.locator("details:not([open]) > summary").evaluate_all("all => all.forEach(one => one.click())")
    expect(panel.locator(".plan img")).to_be_visible()
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.insert_text("}")
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="New query").focus()
    expect(page.locator("#query-problem")).to_be_visible()
    served.update(PREFIX + "DELETE DATA { :T2 :delay 7 } ; INSERT DATA { :T1 :delay 2 }")
    expect(panel.locator("tr.came")).not_to_have_count(0)
    assert violations(page) == []
    expect(panel.locator("tr.came")).to_have_count(0)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
