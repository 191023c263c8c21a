"""Subscribing in the page, and what a panel shows."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import LATE, Page, expect, panel_of, rows_of, subscribe, write
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "
DECLARED = re.compile(f"^{re.escape('PREFIX skos: <http://www.w3.org/2004/02/skos/core#>')}$")


def test_page_subscribes_and_shows_a_change(page: Page, served: Served) -> None:
    """What an update adds flashes and stays, what it removes flashes and leaves."""
    panel = subscribe(page)
    assert rows_of(panel) == [[":T1", "4"], [":T2", "7"]]
    expect(panel.locator("tr.came, tr.went")).to_have_count(0)
    served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T3 :delay 9 }")
    expect(panel.locator("tr.came")).to_have_text("+:T39")
    expect(panel.locator("tr.went.gone")).to_have_text("−:T14")
    expect(panel.locator("tr.went, tr.came")).to_have_count(0)
    assert rows_of(panel) == [[":T2", "7"], [":T3", "9"]]
    expect(panel.locator(".facts")).to_contain_text("2 rows · sequence")
    expect(page.get_by_role("status").last).to_have_text("Late trains: 1 row added, 1 removed; 2 rows.")


def test_page_shows_how_often_a_row_counts(page: Page, served: Served) -> None:
    """A solution that stands there twice is one row with ×2."""
    panel = subscribe(page, PREFIX + "SELECT ?class { ?train a ?class }")
    expect(panel.locator("tbody tr")).to_have_text("×3:Train")
    served.update(PREFIX + "DELETE DATA { :T1 a :Train }")
    expect(panel.locator("tbody tr")).to_have_text("−×2:Train")
    expect(panel.locator("tbody tr")).to_have_text("×2:Train")


def test_page_shows_yes_and_no(page: Page, served: Served) -> None:
    """An ASK query is a word that changes."""
    panel = subscribe(page, PREFIX + "ASK { ?train :delay ?minutes FILTER(?minutes > 8) }")
    expect(panel.locator(".truth")).to_have_text("no")
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 }")
    expect(panel.locator(".truth")).to_have_text("yes")


def test_page_shows_languages_and_unbound(page: Page, served: Served) -> None:
    """A language tag is shown and set, and what is unbound says so."""
    page.goto(served.url)
    query = PREFIX + "SELECT ?train ?label { ?train a :Train OPTIONAL { ?train rdfs:label ?label } }"
    panel = subscribe(page, query)
    assert rows_of(panel) == [[":T1", "Dunes@en"], [":T2", "–unbound"], [":T3", "–unbound"]]
    expect(panel.locator("bdi[lang=en]")).to_have_text("Dunes")
    expect(panel.get_by_title("http://example.org/T1")).to_have_text(":T1")


def test_page_draws_rates(page: Page, served: Served) -> None:
    """The charts say how many updates and deltas a second there are; there are none while nothing moves."""
    panel = subscribe(page)
    shown = panel.locator(".chart:visible")
    for _ in range(2):  # the second tells of the subscription for certain
        with page.expect_response("**/subscriptions"):
            pass
    expect(shown).to_have_count(0)
    assert panel.locator(".charts").is_hidden()
    for number in range(20):
        served.update(PREFIX + f"INSERT DATA {{ :X{number} :delay {number} }}")
    expect(shown).to_have_count(2)
    updates, deltas = shown.all()
    expect(updates).to_contain_text("highest")
    expect(deltas).to_contain_text("highest")
    expect(deltas.locator("path.line")).to_have_attribute("d", re.compile("M.*L"))


def test_page_comes_back_after_a_reload(page: Page) -> None:
    """What is open, and the draft, are there again; what was closed is not."""
    subscribe(page)
    subscribe(page, PREFIX + "SELECT ?a { ?a a :Train }")
    subscribe(page, PREFIX + "ASK { ?a ?b ?c }")
    panel_of(page, "SELECT ?a").get_by_role("button", name="Unsubscribe").click()
    page.reload()
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("article h3")).to_have_text(["ASK { ?a ?b ?c }", "Late trains"])
    expect(page.get_by_role("textbox", name="Query")).to_contain_text("ASK { ?a ?b ?c }")


def test_page_opens_a_query_once(page: Page, served: Served) -> None:
    """Subscribing to what is open leads to its panel; the sixth is refused."""
    page.goto(served.url)
    for number in (1, 2, 3, 4, 5, 5, 6):
        write(page, f"{PREFIX} SELECT ?x{number} {{ ?x{number} a :Train }}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("article")).to_have_count(min(number, 5))
        if number < 6:
            expect(panel_of(page, f"SELECT ?x{number}").locator("h3")).to_be_focused()
    expect(page.get_by_role("alert").filter(has_text="5 subscriptions are open")).to_be_visible()


def test_page_filters_and_sorts(page: Page, served: Served) -> None:
    """A filter leaves the rows with these words; a column's heading sorts, numbers as numbers."""
    served.update(PREFIX + "INSERT DATA { :T4 :delay 12 . :T5 :delay -3 }")
    panel = subscribe(page)
    shown = panel.locator("tbody tr td:nth-child(2)")
    panel.get_by_role("button", name="?minutes").click()
    expect(panel.locator("th[aria-sort=ascending]")).to_have_text("?minutes")
    expect(shown).to_have_text([":T5", ":T1", ":T2", ":T4"])
    panel.get_by_role("button", name="?minutes").click()
    expect(shown).to_have_text([":T4", ":T2", ":T1", ":T5"])
    panel.get_by_label("Filter").fill("T4")
    expect(shown).to_have_text([":T4"])
    expect(panel.locator(".note")).to_have_text("1 of 4 rows match.")


def test_page_downloads_the_answer(page: Page, served: Served, tmp_path: Path) -> None:
    """The files are the current answer as SPARQL results in JSON and CSV, rows as often as they count."""
    served.update('INSERT DATA { <urn:a> <urn:says> "x,\\"y\\"" . <urn:b> <urn:says> "x,\\"y\\"" }')
    panel = subscribe(page, "SELECT ?said { ?who <urn:says> ?said }")
    files = {}
    for name in ("JSON", "CSV"):
        with page.expect_download() as download:
            panel.get_by_role("button", name=name).click()
        files[name] = tmp_path / name
        download.value.save_as(files[name])
    bindings = json.loads(files["JSON"].read_text())["results"]["bindings"]
    assert bindings == [{"said": {"type": "literal", "value": 'x,"y"'}}] * 2
    with files["CSV"].open(newline="") as lines:
        assert list(csv.reader(lines)) == [["said"], ['x,"y"'], ['x,"y"']]


@pytest.mark.hunted("the gate has tables that fit")
def test_page_shows_the_first_of_many_columns(page: Page, served: Served, tmp_path: Path) -> None:
    """It says how many there are, the file has them all, and those that are shown sort by keys."""
    names = [f"c{number}" for number in range(200)]
    values = " ".join(map(str, range(200)))
    page.goto(served.url)
    panel = subscribe(
        page, f"SELECT * {{ VALUES ({' '.join(f'?{name}' for name in names)}) {{ ({values}) ({values}) }} }}"
    )
    expect(panel.locator("tbody tr")).to_have_text(["×2" + "".join(map(str, range(50)))])
    expect(panel.locator("th button")).to_have_text([f"?{name}" for name in names[:50]])
    expect(panel.locator(".note")).to_have_text("First 50 of 200 columns; filter and downloads use all.")
    write(page, LATE)  # axe-core takes a text that scrolls for out of reach, wherever it can be edited
    assert violations(page) == []
    panel.get_by_role("button", name="?c49").focus()
    page.keyboard.press("Enter")
    expect(panel.locator("th[aria-sort=ascending]")).to_have_text("?c49")
    with page.expect_download() as download:
        panel.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "answer.csv")
    with (tmp_path / "answer.csv").open(newline="") as lines:
        assert list(csv.reader(lines)) == [names, *[values.split()] * 2]


def test_page_has_queries_to_begin_with(page: Page, served: Served) -> None:
    """Every example can be subscribed to as it stands, and a prefix is declared once."""
    page.goto(served.url)
    page.get_by_text("Examples").click()
    examples = page.locator("#examples button")
    expect(examples).to_have_count(5)  # they come once the editor is loaded
    for example in examples.all():
        example.click()
        page.get_by_role("button", name="Subscribe", exact=True).click()
    expect(page.locator("article header .state")).to_have_text(["Connected"] * 5)
    write(page, LATE)
    page.get_by_text("Prefixes", exact=True).click()
    for _ in range(2):
        page.get_by_role("button", name="skos:").click()
    declared = page.locator(".cm-line", has_text=DECLARED)
    expect(declared).to_have_count(1)
