"""Queries that run once, answers that pause, and numbers over time."""

from __future__ import annotations

import re
import urllib.request
from itertools import pairwise

import pytest

from support.axe import violations
from support.browser import LATE, Locator, Page, Route, Watched, expect, rows_of, subscribe, write
from support.served import RAILWAY, Served

PREFIX = "PREFIX : <http://example.org/> "
COUNT = f"# How many\n{PREFIX}SELECT (COUNT(?train) AS ?trains) {{ ?train a :Train }}"


def run_once(page: Page, query: str) -> None:
    write(page, query)
    page.get_by_role("button", name="Run once").click()
    panel = page.locator("article").first
    expect(panel.locator("h3")).to_be_focused()
    expect(panel.locator("header .state")).to_contain_text("Ran at ")
    expect(panel.locator(".facts")).not_to_be_empty()


def test_query_runs_once(page: Page, served: Served) -> None:
    """No subscription is made, and the answer stands until it is run again; a reload forgets it."""
    run_once(page, LATE.replace("Late", "Once late"))
    panel = page.locator("article").first
    assert [minutes for _, minutes in rows_of(panel)] == ["4", "7"]
    assert b"Once late" not in urllib.request.urlopen(f"{served.url}subscriptions").read()
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    page.wait_for_timeout(500)
    expect(panel.locator("tbody tr")).to_have_count(2)
    panel.get_by_role("button", name="Run again").click()
    expect(panel.locator("tbody tr")).to_have_count(3)
    expect(panel.locator("tr.came")).to_contain_text("9")
    assert violations(page) == []
    subscribe(page, LATE.replace("Late", "Once late"))
    expect(page.locator("article")).to_have_count(2)
    page.reload()
    expect(page.locator("article")).to_have_count(1)
    expect(page.locator("article header .state")).to_have_text("Connected")


def test_all_forms_run_once(page: Page, served: Served) -> None:
    """Also those that cannot be subscribed to, with every kind of term."""
    served.update(
        PREFIX
        + """DROP ALL ; INSERT DATA {
        :a :p <http://example.org/%20> , "tab\\t \\"quoted\\" \\\\ é 🚆"@en-GB , 4.50 , _:b ,
        "x > y"^^<urn:d> }"""
    )
    run_once(page, "ASK { ?a ?b ?c }")
    expect(page.locator("article").first.locator(".truth")).to_have_text("yes")
    run_once(page, PREFIX + "SELECT ?o { :a :p ?o FILTER(!isBlank(?o)) }")
    selected = rows_of(page.locator("article").first)
    assert len(selected) == 4
    run_once(page, PREFIX + "CONSTRUCT { :a :p ?o } { :a :p ?o FILTER(!isBlank(?o)) }")
    assert sorted([row[2]] for row in rows_of(page.locator("article").first)) == selected
    run_once(page, PREFIX + "DESCRIBE :a")
    expect(page.locator("article").first.locator(".facts")).to_have_text("5 triples")


@pytest.mark.parametrize(
    ("query", "words"),
    [("SELECT {", "line 1"), (" ", "Write a query first."), ("ASK { ?a ten:b ?c }", "line 1, column 10")],
)
def test_query_that_cannot_run_is_explained(page: Page, watched: Watched, query: str, words: str) -> None:
    """At the editor, as for a subscription."""
    watched.allow("status of 400")
    write(page, query)
    page.get_by_role("button", name="Run once").click()
    expect(page.locator("#query-problem")).to_be_visible()
    expect(page.locator("#query-problem")).to_contain_text(re.compile(words, re.I))
    expect(page.locator("article")).to_have_count(0)


def test_entailment_needs_a_subscription(page: Page) -> None:
    """The server answers single queries without it, so the page does not pretend to."""
    write(page, LATE)
    page.get_by_label("Entailment").select_option("rdfs")
    page.get_by_role("button", name="Run once").click()
    expect(page.locator("#query-problem")).to_have_text(
        "Run once has no entailment: choose None, or subscribe."
    )
    expect(page.locator("article")).to_have_count(0)


def test_answer_stands_still_while_paused(page: Page, served: Served) -> None:
    """Changes are counted meanwhile; resuming applies and marks them all."""
    panel = subscribe(page)
    panel.get_by_role("button", name="Pause").click()
    before = rows_of(panel)
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    expect(panel.get_by_role("button", name="Resume · 1 change", exact=True)).to_be_visible()
    served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T1 :delay 5 }")
    resume = panel.get_by_role("button", name="Resume · 2 changes")
    expect(resume).to_be_visible()
    assert rows_of(panel) == before
    assert violations(page) == []
    resume.click()
    expect(panel.locator("tr.came")).to_have_count(2)
    expect(panel.get_by_role("button", name="Pause")).to_be_visible()
    assert [minutes for _, minutes in rows_of(panel)] == ["5", "7", "9"]
    served.update(PREFIX + "DELETE DATA { :T3 :delay 9 }")
    expect(panel.locator("tbody tr")).to_have_count(2)


def test_paused_answer_survives_a_restart(page: Page, watched: Watched) -> None:
    """The whole answer that comes after a lost connection waits too."""
    watched.allow("net::ERR|Failed to load|network error")
    with Served() as own:
        own.update(RAILWAY)
        page.goto(own.url)
        panel = subscribe(page)
        panel.get_by_role("button", name="Pause").click()
        own.kill()
        expect(panel.locator("header .state")).to_contain_text("Reconnecting in")
        own.start()
        own.update(PREFIX + "INSERT DATA { :T9 :delay 1 }")
        expect(panel.locator("header .state")).to_have_text("Connected")
        expect(panel.locator("tbody tr")).to_have_count(2)
        resume = panel.get_by_role("button", name="Resume · new answer", exact=True)
        expect(resume).to_be_visible()
        own.update(PREFIX + "INSERT DATA { :T9 :delay 2 }")
        resume = panel.get_by_role("button", name="Resume · new answer, 1 change", exact=True)
        resume.click()
        expect(panel.locator("tbody tr:not(.gone)")).to_have_count(2)


def test_paused_answer_resumes_with_too_many_rows(page: Page, served: Served) -> None:
    """The panel says that it has resumed by itself, until it is paused again."""

    def lower(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace("100_000", "2"))

    page.route("**/pause.js", lower)
    panel = subscribe(page)
    pause = panel.get_by_role("button", name="Pause")
    pause.click()
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 . :T4 :delay 9 }")
    expect(panel.get_by_role("button", name="Resume · 1 change", exact=True)).to_be_visible()
    served.update(PREFIX + "INSERT DATA { :T5 :delay 9 }")
    expect(panel.locator(".facts")).to_contain_text(
        re.compile("resumed at .*, with more than 2 rows to apply")
    )
    expect(panel.locator("tbody tr")).to_have_count(5)
    pause.click()
    served.update(PREFIX + "INSERT DATA { :T6 :delay 9 }")
    panel.get_by_role("button", name="Resume · 1 change").click()
    expect(panel.locator("tbody tr")).to_have_count(6)
    expect(panel.locator(".facts")).not_to_contain_text("resumed")


HOLD = """async events => {
  const { Pause } = await import("/static/pause.js");
  const applied = [];
  const pause = new Pause(held => applied.push(held.map(([type]) => type)));
  pause.element.click();
  const words = events.map(([type, rows]) => {
    pause.holds(type, { added: Array(rows).fill({}) });
    return pause.element.textContent;
  });
  return { words, applied };
}"""


def test_a_whole_answer_replaces_what_is_held(page: Page, served: Served) -> None:
    """Rows before it no longer count towards the most that are held, and its own do."""
    page.goto(served.url)
    events = [["update", 60_000], ["initial", 30_000], ["update", 60_000], ["resync", 0], ["update", 10_001]]
    held = page.evaluate(HOLD, events)
    assert held["words"] == [
        "Resume · 1 change",
        "Resume · new answer",
        "Resume · new answer, 1 change",
        "Resume · new answer, 1 change",
        "Pause",
    ]
    assert held["applied"] == [["initial", "update", "update"]]


def test_number_has_a_chart(page: Page, served: Served) -> None:
    """A count is drawn as steps once it changes, with the same as text; other answers have none."""
    panel = subscribe(page, COUNT)
    chart = panel.locator(".chart", has_text="?trains")
    expect(chart).to_have_count(0)
    served.update(PREFIX + "INSERT DATA { :T4 a :Train . :T5 a :Train }")
    expect(chart.locator("figcaption")).to_contain_text("?trains 5 lowest 3, highest 5 since ")
    served.update(PREFIX + "DELETE DATA { :T1 a :Train }")
    expect(chart.locator("figcaption")).to_contain_text("?trains 4 lowest 3, highest 5")
    line = chart.locator(".line").get_attribute("d") or ""
    heights = [point.split()[1] for point in line.removeprefix("M").split("L")]
    assert heights[0::2] == heights[1::2]  # each value is level until the next one
    assert len(set(heights)) == 3
    assert violations(page) == []
    late = subscribe(page)
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    expect(late.locator("tbody tr")).to_have_count(3)
    expect(late.locator(".chart", has_text="?minutes")).to_have_count(0)


NUMBER = PREFIX + "SELECT ?number { :T1 :number ?number }"


def numbered(page: Page, served: Served, *numbers: str) -> Locator:
    """Follow a number from its first value to its last, and give its chart."""
    served.update(PREFIX + f"INSERT DATA {{ :T1 :number {numbers[0]} }}")
    panel = subscribe(page, NUMBER)
    for before, after in pairwise(numbers):
        served.update(
            PREFIX + f"DELETE DATA {{ :T1 :number {before} }} ; INSERT DATA {{ :T1 :number {after} }}"
        )
        expect(panel.locator("tbody tr:not(.gone)")).to_contain_text(after[0])
    chart = panel.locator(".chart", has_text="?number")
    expect(chart).to_be_visible()
    return chart


def test_long_numbers_wrap_in_the_chart(page: Page, served: Served) -> None:
    """A number of hundreds of digits does not make a narrow page scroll sideways."""
    page.set_viewport_size({"width": 390, "height": 800})
    chart = numbered(page, served, "1" * 309, "2" * 80)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert chart.evaluate("chart => chart.scrollWidth <= chart.clientWidth")


def test_the_widest_spread_is_drawn(page: Page, served: Served) -> None:
    """The difference of two numbers may be infinite."""
    chart = numbered(page, served, "1.7e308", "-1.7e308", "3.0e0")
    line = chart.locator(".line").get_attribute("d") or ""
    assert "NaN" not in line
    assert {point.split()[1] for point in line.removeprefix("M").split("L")} == {"4.0", "46.0", "25.0"}
