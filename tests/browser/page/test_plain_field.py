"""The page of a package that was built without npm: a plain text field in place of the editor."""

from __future__ import annotations

import pytest

from support.browser import LATE, Page, Watched, expect
from support.served import Served


@pytest.fixture
def plain(page: Page, served: Served) -> Page:
    """A page that the server sends as if its package had no editor."""

    def without_editor(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]  # Playwright's Route
        text = response.text().replace('data-editor="editor.js"', 'data-editor=""')
        route.fulfill(response=response, body=text)  # type: ignore[attr-defined]

    page.route(served.url, without_editor)
    page.goto(served.url)
    expect(page.locator("textarea")).to_be_visible()
    return page


def test_plain_field_subscribes(plain: Page) -> None:
    """The field takes the query, and the same keys."""
    box = plain.get_by_role("textbox", name="Query")
    box.fill(LATE)
    expect(plain.locator("#query-form")).to_have_text("SELECT ?train ?minutes")
    box.press("Control+Enter")
    expect(plain.locator("tbody tr")).to_have_count(2)
    plain.get_by_text("Examples").click()
    plain.get_by_role("button", name="All triples", exact=True).click()
    expect(box).to_have_value(
        "# All triples\nSELECT ?subject ?predicate ?object WHERE {\n  ?subject ?predicate ?object\n}\n"
    )


def test_plain_field_leads_to_the_place_of_an_error(plain: Page, watched: Watched) -> None:
    """The cursor goes to the place, and the field is said to be wrong."""
    watched.allow("status of 400")
    box = plain.get_by_role("textbox", name="Query")
    box.fill("ASK {\n  ?train a ten:Train }")
    plain.get_by_role("button", name="Subscribe", exact=True).click()
    expect(plain.locator("#query-alert")).to_contain_text("ine 2, column 12")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    assert box.evaluate("box => box.selectionStart") == len("ASK {\n  ?train a ")
