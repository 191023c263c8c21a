"""A server with tokens: the form, the cookie, and what a token may do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.axe import violations_in_all_colours
from support.browser import Page, Watched, copied, expect, subscribe, write
from support.served import Served

RIGHTS = {
    "a-token-of-the-tests": ["subscribe", "update"],
    "a-token-that-reads": ["read"],
    "a-token-that-updates": ["update"],
    "a-token-that-follows": ["subscribe"],
}
TOKEN, READS, UPDATES, FOLLOWS = RIGHTS


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    lines = (
        f'[u{place}]\ntoken = "{token}"\nrights = {RIGHTS[token]}\n' for place, token in enumerate(RIGHTS)
    )
    tokens.write_text("".join(lines).replace("'", '"'))
    with Served("--tokens", tokens) as served:
        yield served


def sign_in(page: Page, token: str) -> None:
    """Give a token to the form."""
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")


def test_page_asks_for_a_token(page: Page, guarded: Served, watched: Watched) -> None:
    """A wrong token leads to the form again, a right one to the page, where no script can read it."""
    watched.allow("status of 401")
    response = page.goto(guarded.url)
    assert response is not None
    assert response.status == 401
    expect(page.get_by_label("Token")).to_be_focused()
    sign_in(page, "not-the-right-token")
    expect(page.get_by_role("alert")).to_have_text("Unknown token.")
    sign_in(page, TOKEN)
    panel = subscribe(page)
    guarded.update("INSERT DATA { <urn:x> <http://example.org/delay> 3 }", Authorization=f"Bearer {TOKEN}")
    expect(panel.locator("tbody tr")).to_have_count(1)
    assert page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_page_says_what_a_token_may_not(page: Page, guarded: Served, watched: Watched) -> None:
    """A token without the right to subscribe opens the page, which says what is missing."""
    watched.allow("status of 40[13]")
    page.goto(guarded.url)
    sign_in(page, READS)
    expect(page.locator("#server")).to_contain_text("no right to subscribe")
    expect(page.locator("#query-problem")).to_contain_text("no right to subscribe")


@pytest.mark.hunted("the gate has the page that asks for a token")
def test_page_says_that_one_is_no_longer_signed_in(page: Page, guarded: Served, watched: Watched) -> None:
    """When the cookie has gone, with what to do: neither the server nor the query is to blame."""
    watched.allow("status of 401")
    page.goto(guarded.url)
    sign_in(page, TOKEN)
    subscribe(page)
    page.context.clear_cookies()
    lost = "you are no longer signed in: reload the page and sign in"
    expect(page.locator("#server")).to_have_text(lost)
    write(page, "ASK { ?a ?b ?c }")
    expect(page.locator("#query-problem")).to_have_text(lost)
    page.reload()
    sign_in(page, TOKEN)
    expect(page.locator("#server")).to_have_text("Connected")


def test_sign_in_is_accessible(page: Page, guarded: Served, watched: Watched) -> None:
    """axe-core finds nothing serious in the form, light and dark."""
    watched.allow("status of 401")
    page.goto(guarded.url)
    sign_in(page, "not-the-right-token")
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations_in_all_colours(page) == []


@pytest.mark.parametrize("token", [UPDATES, FOLLOWS])
def test_form_is_for_those_who_may_update(page: Page, guarded: Served, watched: Watched, token: str) -> None:
    """A token without the right has no form; one with nothing but the right can update."""
    watched.allow("status of 40[13]")
    page.goto(guarded.url)
    sign_in(page, token)
    expect(page.locator(".cm-editor")).to_be_visible()
    expect(page.locator("#update-card")).to_be_visible(visible=token == UPDATES)
    body = page.locator("body")
    assert body.get_attribute("data-rights") == " ".join(RIGHTS[token])
    if token == UPDATES:
        assert body.get_attribute("data-prefixes") == "{}"  # what is in the graph is not for it
        page.get_by_text("Update the graph").click()
        write(page, "INSERT DATA { <urn:a> <urn:b> 1 }", "Update")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").filter(has_text="Done")).to_be_visible()


def test_link_outlives_the_sign_in(page: Page, guarded: Served, watched: Watched) -> None:
    """A link to a query leads through the form, also a second time, and no token is ever in a link."""
    watched.allow("status of 40[13]")
    page.goto(guarded.url + "?query=ASK%20%7B%20%3Fa%20%3Fb%20%22%26%22%20%7D&entailment=rdfs")
    sign_in(page, "not-the-right-token")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, FOLLOWS)
    expect(page.locator(".cm-line")).to_have_text('ASK { ?a ?b "&" }')
    expect(page.get_by_label("Entailment")).to_have_value("rdfs")
    assert page.url == guarded.url
    link = copied(page, "Link")
    assert link.startswith(guarded.url + "?query=ASK")
    assert FOLLOWS not in link
