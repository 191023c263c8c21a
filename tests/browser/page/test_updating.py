"""The form for updates: for whom it is there, what it does, and why an update is refused."""

from __future__ import annotations

import pytest

from support.axe import violations_in_all_colours
from support.browser import Page, Watched, expect, subscribe
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "


def open_form(page: Page) -> None:
    """Unfold the form."""
    page.get_by_text("Update the graph").click()
    expect(page.get_by_role("textbox", name="Update")).to_be_visible()


def write(page: Page, text: str) -> None:
    """Write an update in place of what is there."""
    page.get_by_role("textbox", name="Update").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def test_update_changes_the_graph(page: Page) -> None:
    """By the button and by keys; the answer of a subscription changes, and the form says that it is done."""
    panel = subscribe(page)
    open_form(page)
    write(page, PREFIX + "INSERT DATA { :T3 :delay 9 }")
    page.get_by_role("button", name="Update", exact=True).click()
    expect(panel.locator("tr.came")).to_contain_text(":T3")
    done = page.get_by_role("status").filter(has_text="Done, commit ")
    expect(done).to_be_visible()
    write(page, PREFIX + "DELETE WHERE { :T3 :delay ?minutes }")
    expect(done).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(panel.locator("tbody tr")).to_have_count(2)
    expect(done).to_be_visible()


def test_own_change_is_in_sight(page: Page, served: Served) -> None:
    """Of many rows the changed one is scrolled to; a change of others moves nothing, and the focus stays."""
    many = " ".join(f":N{number:03} :delay {number} ." for number in range(200))
    served.update(f"{PREFIX} INSERT DATA {{ {many} }}")
    panel = subscribe(page, f"{PREFIX} SELECT ?train ?minutes {{ ?train :delay ?minutes }}")
    panel.get_by_text("Row key").click()
    panel.get_by_role("checkbox", name="?train").check()
    last = panel.locator("tbody tr").last
    name = (last.locator("td").nth(1).text_content() or "").removeprefix(":")
    scrolled = "() => document.querySelector('article .scroller').scrollTop"
    deleted = f"{PREFIX} DELETE WHERE {{ :{name} :delay ?minutes }} ;"
    change = f"{deleted} INSERT DATA {{ :{name} :delay %d }}"
    served.update(change % 1001)
    expect(last).to_contain_text("1001")
    assert page.evaluate(scrolled) == 0
    open_form(page)
    write(page, change % 1002)
    page.keyboard.press("Control+Enter")
    expect(last).to_have_class("changed")
    expect(last).to_be_in_viewport(ratio=0.9)
    assert page.evaluate(scrolled) > 0
    expect(page.get_by_role("textbox", name="Update")).to_be_focused()


def test_empty_graph_offers_a_first_insert(page: Page) -> None:
    """A click writes it, and runs nothing; once it is sent the offer is gone."""
    with Served() as empty:
        page.goto(empty.url)
        expect(page.locator("#graph-empty")).to_contain_text("The graph is empty.")
        page.get_by_role("button", name="Insert first triples").click()
        expect(page.get_by_role("textbox", name="Update")).to_be_focused()
        expect(page.get_by_role("textbox", name="Update")).to_contain_text("INSERT DATA")
        assert b"alice" not in empty.query("SELECT * { ?s ?p ?o }")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").filter(has_text="Done, commit ")).to_be_visible()
        expect(page.locator("#graph-empty")).to_be_hidden()
        assert b"alice" in empty.query("SELECT * { ?s ?p ?o }")


def test_graph_with_data_has_no_such_offer(page: Page, served: Served) -> None:
    """The page waits for the count of the data."""
    served.count(6)
    with page.expect_response("**/vocabulary"):
        page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    expect(page.locator("#graph-empty")).to_be_hidden()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (PREFIX + "\nINSERT DATA { :T3 ten:delay 9 }", "\nINSERT DATA { :T3 ", "line 2, column 19"),
        ("LOAD <http://elsewhere.example/>", "", "LOAD"),
        ("INSERT DATA { <urn:a> <urn:b> }", None, "line 1"),
    ],
)
def test_refused_update_is_explained_at_the_form(
    page: Page, served: Served, watched: Watched, text: str, place: str | None, words: str
) -> None:
    """The problem is said aloud below the editor, its place is marked, and the cursor is there."""
    watched.allow("status of 40[03]")
    before = served.query("SELECT * { ?s ?p ?o }")
    page.goto(served.url)
    open_form(page)
    write(page, text)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#update-problem")).to_contain_text(words)
    expect(page.locator("#update-problem")).to_have_attribute("role", "alert")
    box = page.get_by_role("textbox", name="Update")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    if place is not None:
        page.keyboard.insert_text("#HERE#")
        lines = "\n".join(page.locator("#update .cm-line").all_text_contents())
        assert place + "#HERE#" in lines
        expect(page.locator("#update-problem")).to_be_empty()  # it was about another text
    assert served.query("SELECT * { ?s ?p ?o }") == before


UNKNOWN = "The server was not reached. The update may or may not have run."


@pytest.mark.parametrize(
    ("status", "words"),
    [(None, UNKNOWN), (502, UNKNOWN), (504, UNKNOWN), (503, "the server responded 503 Service Unavailable")],
)
def test_update_that_is_lost_is_not_said_to_be_done(
    page: Page, served: Served, watched: Watched, status: int | None, words: str
) -> None:
    """Where the server, or a proxy the server, is not reached the form says that one cannot know."""
    watched.allow("net::ERR_FAILED|status of 50[234]")
    page.goto(served.url)
    open_form(page)
    write(page, " ")
    page.get_by_role("button", name="Update", exact=True).click()
    expect(page.locator("#update-problem")).to_have_text("Write an update first.")
    page.route("**/update", lambda route: route.fulfill(status=status) if status else route.abort())
    write(page, "CLEAR DEFAULT")
    page.get_by_role("button", name="Update", exact=True).click()
    expect(page.locator("#update-problem")).to_have_text(words)


def test_update_is_sent_once(page: Page, served: Served) -> None:
    """Pressing twice does not do it twice; the draft outlives a reload."""
    sent = []
    page.route("**/update", lambda route: (sent.append(1), page.wait_for_timeout(300), route.continue_()))
    page.goto(served.url)
    open_form(page)
    write(page, PREFIX + "INSERT { :n :is ?more } WHERE { SELECT (COUNT(*) AS ?more) { ?s ?p ?o } }")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status").filter(has_text="Done")).to_be_visible()
    assert sent == [1]
    page.unroute_all(behavior="wait")
    page.reload()
    open_form(page)
    expect(page.get_by_role("textbox", name="Update")).to_contain_text("COUNT(*)")


@pytest.mark.hunted("the gate completes queries, in the same editor")
def test_update_is_completed(page: Page, served: Served) -> None:
    """Its editor knows the names of the data too."""
    served.count(6)
    with page.expect_response("**/vocabulary"):
        page.goto(served.url)
    open_form(page)
    write(page, "")
    page.keyboard.type(PREFIX + "INSERT DATA { :T3 :de")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(":delay")


def test_form_is_accessible(page: Page, served: Served, watched: Watched) -> None:
    """axe-core finds nothing serious in it, with an error too, wide and narrow."""
    watched.allow("status of 400")
    page.emulate_media(reduced_motion="reduce")
    page.goto(served.url)
    open_form(page)
    write(page, "INSERT")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#update-problem")).not_to_be_empty()
    assert violations_in_all_colours(page, 1280, 360) == []
