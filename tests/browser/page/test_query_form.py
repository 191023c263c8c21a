"""The form for a query: its room, the prefixes of the server in it and in answers, and without its editor."""

from __future__ import annotations

import gzip
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib

from support.browser import LATE, Page, Watched, expect, rows_of, send_otherwise, subscribe, write
from support.served import Served

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "plugin" / "rdflive" / "page" / "static"
MOST = 400_000
"""Bytes of all files of the page, compressed, at most."""
LONG = "SELECT ?train ?minutes { ?train <http://example.org/railway/delay> ?minutes }"


@pytest.fixture(scope="module")
def railway() -> Iterator[Served]:
    """A server with a file that declares a prefix."""
    with Served(ROOT / "examples" / "railway.ttl") as served:
        served.count(len(rdflib.Graph().parse(ROOT / "examples" / "railway.ttl")))
        yield served


@pytest.mark.parametrize(
    ("width", "editor", "is_beside"),
    [(1200, 400, True), (1920, 700, True), (800, 700, False), (360, 290, False)],
)
def test_editor_is_wide(page: Page, width: int, editor: int, is_beside: bool) -> None:
    """It is above the results, or beside the wider results on a wide screen, and nothing is cut off."""
    page.set_viewport_size({"width": width, "height": 900})
    panel = subscribe(page, "# " + 20 * "long title " + LATE).bounding_box()
    expect(page.locator("#plain-note")).to_be_hidden()
    box = page.locator("#query .cm-editor").bounding_box()
    assert panel is not None
    assert box is not None
    assert box["width"] >= editor
    if is_beside:
        assert box["x"] + box["width"] < panel["x"]
        assert box["y"] < panel["y"] + panel["height"]
        assert panel["width"] > 1.3 * box["width"]
    else:
        assert box["y"] + box["height"] < panel["y"]
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_prefixes_of_the_server_shorten_rows_and_plans(page: Page, railway: Served) -> None:
    """A query that declares none is answered in the names of the server's files."""
    page.goto(railway.url)
    panel = subscribe(page, LONG)
    assert all(train.startswith(":T") for train, _ in rows_of(panel))
    panel.get_by_text("Plan", exact=True).click()
    panel.get_by_text("As text").click()
    expect(panel.get_by_role("region", name="The plan as text")).to_contain_text("?train :delay ?minutes")


def test_prefixes_of_the_server_are_at_hand(page: Page, railway: Served, watched: Watched) -> None:
    """Its files' prefixes are the first of the list, declared by a click, and need not be declared at all."""
    watched.allow("status of 400")
    page.goto(railway.url)
    write(page, "SELECT ?train { ?train :del")
    page.keyboard.type("a")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(":delay")
    panel = subscribe(page, "SELECT ?train ?minutes { ?train :delay ?minutes }")
    assert rows_of(panel)
    page.get_by_text("Prefixes", exact=True).click()
    first = page.locator("#prefixes button").first
    expect(first).to_have_text(":")
    expect(first).to_have_attribute("title", "http://example.org/railway/")
    first.click()
    expect(page.locator("#query .cm-line").first).to_have_text("PREFIX : <http://example.org/railway/>")


def test_prefix_with_a_point_is_declared_beside_one_that_is_like_it(page: Page, served: Served) -> None:
    """The point of its name is no other character."""
    more = 'data-prefixes="{&quot;a.b&quot;: &quot;urn:ab:&quot;, '
    send_otherwise(page, served.url, 'data-prefixes="{', more)
    write(page, "PREFIX axb: <urn:x>\nASK {}")
    page.get_by_text("Prefixes", exact=True).click()
    for _ in range(2):  # the second time it is there
        page.get_by_role("button", name="a.b:", exact=True).click()
        lines = page.locator("#query .cm-line").all_text_contents()
        assert lines == ["PREFIX a.b: <urn:ab:>", "PREFIX axb: <urn:x>", "ASK {}"]


def test_page_is_sent_compressed_and_is_small(served: Served) -> None:
    """All files together are less than 400 kB, as sent to who takes gzip, and the docs say how many."""
    total = 0
    names = [file.name for file in PAGE.iterdir() if file.suffix in (".js", ".css", ".svg")]
    for name in names:
        plain = urllib.request.urlopen(f"{served.url}static/{name}").read()
        request = urllib.request.Request(
            f"{served.url}static/{name}", headers={"Accept-Encoding": "gzip, br"}
        )
        with urllib.request.urlopen(request) as response:
            assert response.headers["Content-Encoding"] == "gzip"
            assert "Accept-Encoding" in response.headers["Vary"]
            packed = response.read()
        assert gzip.decompress(packed) == plain
        total += len(packed)
    assert "editor.js" in names
    assert total < MOST
    told = re.search(r"together (\d+) kB, compressed", (ROOT / "docs" / "page.md").read_text())
    assert told is not None
    assert abs(int(told[1]) * 1000 - total) < 5_000, total


@pytest.fixture
def plain(page: Page, served: Served) -> Page:
    """A page that the server sends as if its package had no editor."""
    send_otherwise(page, served.url, 'data-editor="editor.js"', 'data-editor=""')
    page.goto(served.url)
    expect(page.locator("#query textarea")).to_be_visible()
    return page


def test_plain_field_subscribes(plain: Page) -> None:
    """The field takes the query, and the same keys; the page says why it is plain, and the remedy."""
    note = "Plain editor: rdflive was built without npm. Install npm and reinstall rdflive"
    expect(plain.locator("#plain-note")).to_contain_text(note)
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
