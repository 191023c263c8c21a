"""Tabs, history and links: the queries that a browser keeps and that people pass on."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from support.axe import violations
from support.browser import (
    LATE,
    VISITED,
    Browser,
    HeldBack,
    Page,
    Watched,
    copied,
    expect,
    panel_of,
    subscribe,
    write,
)
from support.served import Served

TRAINS = "# All trains\nSELECT ?train { ?train a <http://example.org/Train> }\n"


def expect_query(page: Page, query: str) -> None:
    """The editor shows that query, or will: the tabs are drawn before what the editor shows."""
    expect(page.locator("#query .cm-line")).to_have_text(query.split("\n"))


def expect_first_line(page: Page, line: str | re.Pattern[str]) -> None:
    expect(page.locator("#query .cm-line").first).to_have_text(line)


def test_tabs_hold_queries(page: Page) -> None:
    """Each has its own query and entailment, by the mouse and by keys; the titles are theirs."""
    write(page, LATE)
    page.get_by_role("button", name="New query").click()
    expect_query(page, "")
    write(page, TRAINS)
    page.get_by_label("Entailment").select_option("rdfs")
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text(["Late trains", "All trains"])
    tabs.first.click()
    expect_query(page, LATE)
    expect(page.get_by_label("Entailment")).to_have_value("")
    tabs.first.press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    expect_query(page, TRAINS)
    expect(page.get_by_label("Entailment")).to_have_value("rdfs")
    expect(page.locator("#query-form")).to_have_text("SELECT ?train")
    assert violations(page) == []
    tabs.nth(1).press("Delete")
    expect(tabs).to_have_text(["Late trains"])
    expect(tabs.first).to_be_focused()
    page.get_by_role("button", name="Close Late trains").click()
    expect(tabs).to_have_text(["New query"])
    page.get_by_text("History", exact=True).click()
    expect(page.locator("#past-queries button")).to_have_text(["Late trains", "All trains RDFS"])


def test_tab_that_is_chosen_while_the_editor_loads_is_shown(page: Page) -> None:
    """The editor that comes has the query of that tab, with its entailment."""
    write(page, LATE)
    page.get_by_role("button", name="New query").click()
    write(page, TRAINS)
    editor = HeldBack(page, "**/editor.js")
    page.reload(wait_until="commit")
    editor.wait()
    page.get_by_role("tab", name="Late trains").click()
    editor.release()
    expect(page.locator("#query-form")).to_have_text("SELECT ?train ?minutes")
    expect_query(page, LATE)


def test_tab_is_not_undone_into_another(page: Page) -> None:
    """Undoing stays within the tab."""
    write(page, LATE)
    page.get_by_role("button", name="New query").click()
    write(page, TRAINS)
    page.get_by_role("tab").first.click()
    page.get_by_role("textbox", name="Query").press("Control+z")
    expect_query(page, LATE)


def test_tabs_come_back(page: Page, served: Served) -> None:
    """After a reload, and in a new window, the tabs are there; windows do not disturb each other."""
    write(page, LATE)
    page.get_by_role("button", name="New query").click()
    write(page, TRAINS)
    page.reload()
    expect(page.get_by_role("tab")).to_have_text(["Late trains", "All trains"])
    expect_query(page, TRAINS)
    other = page.context.new_page()
    other.goto(served.url)
    expect(other.get_by_role("tab")).to_have_text(["Late trains", "All trains"])
    other.get_by_role("button", name="Close All trains").click()
    expect(other.get_by_role("tab")).to_have_text(["Late trains"])
    page.reload()
    expect(page.get_by_role("tab")).to_have_text(["Late trains", "All trains"])


def test_tabs_are_bounded(page: Page, served: Served, watched: Watched) -> None:
    """There are twelve: the thirteenth takes the place of the first, which goes to the history."""
    watched.allow("status of 400")  # a comment is no query
    page.goto(served.url)
    for number in range(13):
        page.get_by_role("button", name="New query").click()
        write(page, f"# {number}")
    expect(page.get_by_role("tab")).to_have_text([f"{number}" for number in range(1, 13)])
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    page.get_by_text("History", exact=True).click()
    expect(page.locator("#past-queries button").first).to_have_text("0")
    page.get_by_role("tab").nth(3).click()
    expect(page.get_by_role("tab").nth(3)).to_be_focused()
    page.get_by_role("button", name="Clear history").click()
    expect(page.locator("summary", has_text="Prefixes")).to_be_focused()


def test_history_has_what_was_subscribed_to(page: Page, served: Served) -> None:
    """The latest first, each once, also from other windows; it opens in a tab, and can be cleared."""
    page.goto(served.url)
    expect(page.get_by_text("History", exact=True)).to_be_hidden()
    other = page.context.new_page()
    other.goto(served.url)
    subscribe(page, LATE)
    subscribe(page, TRAINS)
    subscribe(other, LATE)
    page.get_by_text("History", exact=True).click()
    past = page.locator("#past-queries button")
    expect(past).to_have_text(["Late trains", "All trains"])
    write(page, "ASK { ?x ?y ?z }")
    past.first.click()
    expect_query(page, LATE)
    expect(page.get_by_role("tab")).to_have_text(["ASK { ?x ?y ?z }", "Late trains"])
    expect(page.get_by_role("textbox", name="Query")).to_be_focused()
    page.get_by_role("button", name="Clear history").click()
    expect(page.locator("#past")).to_be_hidden()
    expect(other.locator("#past")).to_be_hidden()


def test_history_is_bounded(page: Page, served: Served) -> None:
    """Fifty queries of together half a million characters are kept."""
    page.goto(served.url)
    for size, count in ((10, 50), (20_000, 24)):
        past = [{"query": f"# {number}\n" + "#" * size, "entailment": ""} for number in range(200)]
        page.evaluate("past => localStorage.setItem('rdflive.history', JSON.stringify(past))", past)
        subscribe(page, LATE)
        kept = page.evaluate("JSON.parse(localStorage.getItem('rdflive.history'))")
        assert kept[0]["query"] == LATE
        assert kept[1:] == past[: len(kept) - 1]
        assert len(kept) in (count, count + 1)
        page.get_by_role("button", name="Unsubscribe").click()


ODD = [
    "nonsense",
    "7",
    "null",
    '{"all": [7, {"query": 3}], "current": "x"}',
    '[{"a": 1}]',
    *(f'[{{"query": "#odd", "entailment": "", {member}: 7}}]' for member in ('"key"', '"rowKey"')),
    '[{"query": "#odd", "entailment": "", "key": [7]}]',
]


@pytest.mark.hunted("the page is loaded eleven times; the gate loads what it has stored itself")
def test_page_does_without_what_it_cannot_read(page: Page) -> None:
    """Whatever a browser has kept, of another version or of another program, the page works."""
    for kept in ODD:
        page.goto("/")
        page.evaluate(
            """kept => {
              for (const name of ["tabs", "history", "open", "update"])
                for (const store of [localStorage, sessionStorage]) store.setItem(`rdflive.${name}`, kept);
            }""",
            kept,
        )
        page.reload()
        subscribe(page, LATE)
        expect(panel_of(page, "odd")).to_have_count(0)
        expect(page.get_by_role("tab")).to_have_text(["Late trains"])


def test_page_works_where_nothing_can_be_kept(page: Page) -> None:
    """As in a window that forbids it, or when all room is taken."""
    page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    )
    subscribe(page, LATE)
    expect(page.get_by_role("tab")).to_have_text(["Late trains"])


def test_link_opens_a_query(page: Page, served: Served) -> None:
    """In a tab beside those that are there, without running it; a reload does not open it again."""
    page.goto(served.url)
    query = LATE + '# é 🚆 & + % " #'
    write(page, query)
    page.get_by_label("Entailment").select_option("rdfs")
    link = copied(page, "Link")
    fields = parse_qs(urlsplit(link).query)
    assert fields == {"query": [query], "entailment": ["rdfs"]}
    other = page.context.browser.new_page()  # type: ignore[union-attr]  # it is no persistent context
    other.add_init_script(VISITED)
    watched = Watched(other)
    other.goto(served.url)
    write(other, TRAINS)
    other.goto(link)
    expect(other.get_by_role("tab")).to_have_text(["All trains", "Late trains"])
    expect_query(other, query)
    expect(other.get_by_label("Entailment")).to_have_value("rdfs")
    expect(other.locator("#query-form")).to_have_text("SELECT ?train ?minutes")
    expect(other.locator("article")).to_have_count(0)
    assert other.url == served.url
    other.get_by_role("tab").first.click()
    other.reload()
    expect(other.get_by_role("tab")).to_have_text(["All trains", "Late trains"])
    assert watched.faults == []
    other.context.close()


@pytest.mark.hunted("the gate opens links")
def test_link_is_as_long_as_the_server_takes(page: Page, served: Served, watched: Watched) -> None:
    """One that the server would refuse is not given."""
    watched.allow("status of 400")
    page.goto(served.url)
    breaks, rest = divmod(60_000 - len(served.url + "?query="), len("%0A"))
    longest = "x" * rest + "\n" * breaks
    write(page, longest + "x")
    page.locator("#copy summary").click()
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.locator("#copy-done")).to_have_text("The query is too long for a link.")
    expect(page.locator("#copy-text")).to_be_hidden()
    write(page, longest)
    link = copied(page, "Link")
    assert len(link) == 60_000
    response = page.goto(link)
    assert response is not None
    assert response.ok


def test_link_that_is_hostile_is_text(page: Page, served: Served, watched: Watched) -> None:
    """What others have put into a link is shown, and does nothing."""
    watched.allow("status of 400")
    page.goto(served.url + "?query=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&entailment=%22%3E%3Cb%3E")
    expect(page.locator("#query .cm-line")).to_have_text("<img src=x onerror=alert(1)>")
    expect(page.get_by_label("Entailment")).to_have_value("")
    assert page.locator("main img").count() == 0


def test_first_visit_shows_data_at_once(browser: Browser, served: Served) -> None:
    """Who comes for the first time sees an answer without doing anything; the focus is not taken."""
    served.count(6)
    context = browser.new_context()
    page = context.new_page()
    watched = Watched(page)
    page.goto(served.url)
    panel = panel_of(page, "Train with delay, label")
    expect(panel.locator("tbody tr")).to_have_count(3)
    expect_first_line(page, "# Train with delay, label")
    assert page.evaluate("document.activeElement === document.body")
    served.update("PREFIX : <http://example.org/> INSERT DATA { :T4 a :Train }")
    expect(panel.locator("tr.came")).to_have_count(1)
    subscribe(page, LATE)  # from here on there is a history
    again = context.new_page()
    again.goto(served.url)
    expect(again.locator("#query-form")).to_have_text("SELECT ?train ?minutes")
    expect(again.locator("article")).to_have_count(0)
    assert watched.faults == []
    context.close()


def test_later_visit_begins_with_a_query_of_the_data(page: Page, served: Served) -> None:
    """It stands in the editor, can be run as it is, and nothing is open."""
    served.count(6)
    page.goto(served.url)
    expect(page.get_by_role("tab")).to_have_text(["Train with delay, label"])
    expect(page.locator("article")).to_have_count(0)
    page.get_by_role("button", name="Subscribe", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_first_query_is_no_obstacle(page: Page, served: Served) -> None:
    """It does not come where the user writes already, nor in place of what was written before."""
    vocabulary = HeldBack(page, "**/vocabulary")
    page.goto(served.url)
    page.get_by_role("textbox", name="Query").focus()
    with page.expect_response("**/vocabulary"):
        vocabulary.release()
    page.wait_for_timeout(200)
    expect_first_line(page, re.compile("^# Number of instances"))
    write(page, LATE)
    page.unroute_all(behavior="wait")
    page.reload()
    expect(page.locator("#query-form")).to_have_text("SELECT ?train ?minutes")
    expect_query(page, LATE)


def test_empty_graph_has_an_example(browser: Browser, served: Served) -> None:
    """Nothing is opened, and the editor has a query that fits any graph."""
    served.update("DROP ALL")
    served.count(0)
    context = browser.new_context()
    page = context.new_page()
    with page.expect_response("**/vocabulary"):
        page.goto(served.url)
    expect(page.locator("#query-form")).to_have_text("SELECT ?class ?things")
    expect(page.locator("article")).to_have_count(0)
    context.close()
