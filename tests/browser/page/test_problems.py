"""Queries that cannot be subscribed to: the problem is shown at its place."""

from __future__ import annotations

import pytest

from support.browser import HeldBack, Page, Watched, expect, write
from support.served import Served

BAD_REQUEST = "status of 400"

WRONG = "SELECT ?train\nWHERE {\n  ?train :delay ?minutes .\n  FILTER(\n}"


def test_page_marks_an_error_while_one_types(page: Page, watched: Watched) -> None:
    """The line and the word are marked, and nothing moves; the sentence comes when one leaves the editor."""
    watched.allow(BAD_REQUEST)
    write(page, "SELECT ?train WHERE {\n  ?train a <urn:T> }")
    expect(page.locator("#query-form")).to_have_text("SELECT ?train")
    shown = "#compose :is(button, summary, .cm-editor)"
    places = f"() => [...document.querySelectorAll('{shown}')].map(one => one.getBoundingClientRect().top)"
    before = page.evaluate(places)
    write(page, "SELECT ?train WHERE {\n  ?train a ten:Train }")
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    expect(page.locator("#query-problem")).to_be_hidden()
    assert page.evaluate(places) == before
    expect(page.locator(".cm-lintRange-error")).to_have_text("ten:Train")
    expect(page.locator("#query-problem")).to_contain_text("ine 2, column 12")
    box = page.get_by_role("textbox", name="Query")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    described = box.evaluate("box => box.getAttribute('aria-describedby').split(' ')")
    assert "query-problem" in described
    expect(page.get_by_role("alert").filter(has_text="line 2")).to_have_count(0)
    page.get_by_role("button", name="New query").focus()
    expect(page.locator("#query-problem")).to_be_visible()
    shown_at = page.evaluate(places)
    write(
        page, "SELECT ?train WHERE {\n  ?train a <urn:T> }"
    )  # the sentence leaves its room until one leaves the editor
    expect(page.locator("#query-form")).to_have_text("SELECT ?train")
    expect(page.locator("#query-problem")).not_to_be_visible()
    assert page.evaluate(places) == shown_at
    page.get_by_role("button", name="New query").focus()
    expect(page.locator("#query-problem")).to_be_hidden()
    assert page.evaluate(places) == before


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT ?train {\n  ?train a ten:Train }", "SELECT ?train {\n  ?train a "),
        ('ASK { ?x ?y "😀🚆"\t, ten: }', 'ASK { ?x ?y "😀🚆"\t, '),
    ],
    ids=["second line", "characters outside of the basic plane and a tab"],
)
def test_page_leads_to_the_place_of_an_error(page: Page, watched: Watched, query: str, place: str) -> None:
    """Subscribing says the problem aloud and puts the cursor where it is."""
    watched.allow(BAD_REQUEST)
    write(page, query)
    page.get_by_role("button", name="Subscribe", exact=True).click()
    expect(page.get_by_role("textbox", name="Query")).to_be_focused()
    expect(page.locator("#query-alert")).not_to_be_empty()
    page.keyboard.insert_text("#HERE#")
    text = "\n".join(page.locator(".cm-line").all_text_contents())
    assert text == place + "#HERE#" + query.removeprefix(place)
    expect(page.locator("article")).to_have_count(0)


def test_page_forgets_an_error_that_is_mended(page: Page, watched: Watched) -> None:
    """With the text put right the mark and the sentence are gone."""
    watched.allow(BAD_REQUEST)
    write(page, WRONG)
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    page.get_by_role("button", name="New query").focus()
    expect(page.locator("#query-problem")).to_be_visible()
    write(page, "ASK { ?a ?b ?c }")
    expect(page.locator("#query-problem")).not_to_be_visible()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0)
    expect(page.locator("#query-form")).to_have_text("ASK")


def test_page_shows_what_cannot_be_maintained(page: Page, watched: Watched) -> None:
    """A refusal of the engine has its place too."""
    watched.allow(BAD_REQUEST)
    write(page, "SELECT * WHERE {\n  ?a ?b ?c\n  SERVICE <http://elsewhere.example/> { ?a ?d ?e }\n}")
    expect(page.locator("#query-problem")).to_contain_text("SERVICE")
    expect(page.locator(".cm-lintRange-error")).to_have_text("SERVICE")


def test_page_asks_for_a_query(page: Page) -> None:
    """An empty field is said to be empty."""
    write(page, " ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#query-problem")).to_have_text("Write a query first.")
    page.wait_for_timeout(600)  # longer than the page waits before it checks a draft
    expect(page.locator("#query-problem")).to_have_text("Write a query first.")
    expect(page.locator("article")).to_have_count(0)


@pytest.mark.parametrize(("query", "panels"), [(WRONG, 0), ("SELECT ?old { ?old ?b ?c }", 1)])
def test_what_is_said_of_a_query_is_not_shown_at_another(
    page: Page, served: Served, watched: Watched, query: str, panels: int
) -> None:
    """One may write on while the server works out what it says of the query that was subscribed to."""
    watched.allow(BAD_REQUEST)
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    write(page, query)
    answer = HeldBack(page, "**/explain")
    page.keyboard.press("Control+Enter")
    answer.wait()
    write(page, "SELECT ?new { ?new ?b ?c }")
    expect(page.locator("#query-form")).to_have_text("SELECT ?new")
    with page.expect_response("**/explain"):
        answer.release()
    expect(page.get_by_role("article")).to_have_count(panels)
    if not panels:
        expect(page.get_by_role("status").last).to_contain_text("Not subscribed: ")
    expect(page.locator("#query-form")).to_have_text("SELECT ?new")
    expect(page.locator("#query-problem")).to_be_hidden()
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Query")).to_be_focused()


def test_focus_stays_where_one_has_gone_meanwhile(page: Page) -> None:
    """A panel that opens late takes no key from who has gone back to the query; else it has the focus."""
    write(page, "SELECT ?old { ?old ?b ?c }")
    expect(page.locator("#query-form")).to_have_text("SELECT ?old")
    for has_gone in (True, False):
        answer = HeldBack(page, "**/explain")
        page.get_by_role("button", name="Subscribe", exact=True).click()
        answer.wait()
        if has_gone:
            page.get_by_role("textbox", name="Query").focus()
        answer.release()
        heading = page.get_by_role("article").locator("h3")
        if has_gone:
            expect(heading).to_be_visible()
            expect(page.get_by_role("textbox", name="Query")).to_be_focused()
        else:
            expect(heading).to_be_focused()


@pytest.mark.hunted("the gate has a server that is too busy to say the key of a query")
def test_page_does_not_blame_the_query_for_a_busy_server(
    page: Page, served: Served, watched: Watched
) -> None:
    """When the server has too much to do, the panel opens all the same and tries again, but not too soon."""
    watched.allow("status of (429|503)")
    busy = {"status": 503, "content_type": "application/problem+json", "headers": {"Retry-After": "4"}}
    body = '{"title": "Service Unavailable", "status": 503, "detail": "too many queries are running"}'
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    page.route("**/explain", lambda route: route.fulfill(**busy, body=body))
    page.route("**/subscribe", lambda route: route.fulfill(**busy, body=body), times=1)
    write(page, "ASK { ?a ?b ?c }")
    page.get_by_role("button", name="Subscribe", exact=True).click()
    panel = page.get_by_role("article")
    expect(panel.locator(".lost")).to_contain_text("too many queries are running")
    expect(panel.locator("header .state")).to_contain_text("Reconnecting in ")
    expect(page.locator("#query-problem")).to_be_hidden()
    expect(panel.locator(".truth")).to_have_text("yes")
