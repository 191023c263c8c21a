"""A server with tokens: the form, the cookie, and what a token may do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import Page, Watched, expect, subscribe, write
from support.served import Served

TOKEN = "a-token-of-the-tests"
OTHER = "another-token-of-tests"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Served]:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        f'[alice]\ntoken = "{TOKEN}"\nrights = ["subscribe", "update"]\n'
        f'[bob]\ntoken = "{OTHER}"\nrights = ["read"]\n'
    )
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
    expect(page.get_by_role("alert")).to_have_text("This server does not know the token.")
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
    sign_in(page, OTHER)
    expect(page.locator("#server")).to_contain_text("no right to subscribe")
    expect(page.locator("#query-problem")).to_contain_text("no right to subscribe")


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
    expect(page.locator("#server")).to_have_text("server reached")


def test_sign_in_is_accessible(page: Page, guarded: Served, watched: Watched) -> None:
    """axe-core finds nothing serious in the form, light and dark."""
    watched.allow("status of 401")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # both are literals
        page.goto(guarded.url)
        sign_in(page, "not-the-right-token")
        expect(page.get_by_role("alert")).to_be_visible()
        assert violations(page) == []
