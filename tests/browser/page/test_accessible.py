"""axe-core looks at the page in all its states: light and dark, wide and narrow."""

from __future__ import annotations

from typing import Literal

import pytest

from support.axe import violations
from support.browser import Page, Watched, expect, subscribe
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "
SIZES = {"desktop": (1280, 900), "phone": (360, 740)}


@pytest.mark.sampled(by="size")
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
    expect(page.locator("#query-problem")).to_be_visible()
    served.update(PREFIX + "DELETE DATA { :T2 :delay 7 } ; INSERT DATA { :T1 :delay 2 }")
    expect(panel.locator("tr.came")).not_to_have_count(0)
    assert violations(page) == []
    expect(panel.locator("tr.came")).to_have_count(0)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
