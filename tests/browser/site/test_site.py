"""The documentation site builds without a warning and stands alone; its front page; the README is short.

One module, so that one process builds the site.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Literal
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

import rdflive
from rdflive.api.options import ContinuousOptions, Options, ValidationOptions
from rdflive.server.openapi import describe_api
from support.axe import violations
from support.browser import Browser, Page, Watched, expect, launched
from support.shared import ROOT

pytest.importorskip("material", reason="the site is built by mkdocs-material: tox run -e site")

PARTS = ".live, #what-do-you-want-to-do + ul"
"""What is ours; the rest is the theme's."""
PHONE = {"width": 360, "height": 740}
MOVING = "document.getAnimations().filter(each => each.effect.target.closest('.live')).length"
CORNERS = """all => all.map(card => {
    card.scrollIntoView();
    const { right, bottom } = card.getBoundingClientRect();
    return document.elementFromPoint(right - 9, bottom - 9).href;
})"""
EDGES = "all => all.map(each => each.textContent)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a dead link or anchor, or a page outside of the navigation, is a warning and fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


class Quiet(SimpleHTTPRequestHandler):
    """Gives files, and says nothing about it."""

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server that knows only files offers the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The front page for a reader who asked for less movement: nothing moves by itself."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    watched = Watched(page)
    # first: later it would be a clock that cannot stop the timers which the theme has started
    page.clock.install()
    # the theme logs an error for what a reload, or the end, breaks off
    page.goto(address, wait_until="networkidle")
    yield page
    page.wait_for_load_state("networkidle")
    page.close()
    assert watched.faults == []


class Fetched(HTMLParser):
    """Collects what a browser fetches for a page by itself, and which classes there are."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "class":
                self.classes |= set((value or "").split())
            elif name == "style" or (name == "srcset" and value):
                self.addresses += ADDRESS.findall(value or "")
            elif name in ("src", "poster", "data") or (name == "href" and tag in ("link", "use", "image")):
                self.addresses.append(value or "")


ADDRESS = re.compile(r"(?:https?:)?//[^\s\"')]+")
STYLED = re.compile(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)")


def fetched(site: Path) -> Iterator[tuple[Path, str]]:
    """List what pages and styles of the site make a browser fetch."""
    for path in site.rglob("*.html"):
        page = Fetched()
        page.feed(path.read_text(encoding="utf-8"))
        assert "mermaid" not in page.classes, path
        yield from ((path, address) for address in page.addresses)
    for path in site.rglob("*.css"):
        yield from ((path, address) for address in STYLED.findall(path.read_text(encoding="utf-8")))


def test_site_fetches_nothing_from_other_hosts(site: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site, so it works without a network.

    A diagram that a script draws would have the theme load the program that draws it from another host.
    """
    found = list(fetched(site))
    assert len(found) > 100
    assert [(path.name, address) for path, address in found if urlsplit(address).netloc] == []


def test_files_that_pages_link_to_are_there(site: Path) -> None:
    """The examples are part of the site."""
    assert (site / "examples" / "railway.ttl").read_bytes() == (
        ROOT / "examples" / "railway.ttl"
    ).read_bytes()
    assert 'href="examples/first_subscription.py"' in (site / "examples.html").read_text(encoding="utf-8")


def test_reference_is_whole(site: Path) -> None:
    """Each public name has an anchor, doctests are code, commands have their help, and HTTP has all paths."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html")}
    text = "".join(pages.values())
    assert [name for name in rdflive.__all__ if f'id="rdflive.{name}"' not in text] == []
    assert "&gt;&gt;&gt;" in text
    assert "<blockquote>" not in text  # which a prompt of Python would become
    assert "usage: rdflive watch" in pages["command-line"]
    assert "<!-- rdflive" not in pages["command-line"]
    for path in describe_api()["paths"]:
        assert f"<code>{path}</code>" in pages["server"]


@pytest.mark.parametrize(
    ("page", "name", "kind"),
    [
        ("subscriptions", "rdflive.subscribe", Options),
        ("subscriptions", "rdflive.Prepared.subscribe", Options),
        ("subscriptions", "rdflive.register", ContinuousOptions),
        ("entailment", "rdflive.validate", ValidationOptions),
    ],
)
@pytest.mark.parametrize("width", [390, 1280])
def test_reference_has_a_table_of_all_options(
    browser: Browser, address: str, page: str, name: str, kind: type[ValidationOptions], width: int
) -> None:
    """A row for each has its name, type, default and meaning; signatures have a parameter per line."""
    sheet = browser.new_page(viewport={"width": width, "height": 900})
    sheet.goto(f"{address.removesuffix('index.html')}reference/{page}.html")
    about = sheet.locator(f"div.doc-object:has(> [id='{name}'])")
    signature = about.locator("> .doc-signature").last.inner_text()
    assert [len(re.findall(r"\w+: ", line)) for line in signature.splitlines() if ": " in line]
    assert all(line.count(": ") <= 1 for line in signature.splitlines())
    table = about.locator("> .doc-contents table").first
    texts = "all => all.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    shown = {row[0]: row[1:] for row in table.locator("tbody tr").evaluate_all(texts)}
    for option, declared in kind.__annotations__.items():
        default, meaning = declared.__metadata__
        assert shown[option][0]
        assert shown[option][1] == meaning.replace("`", "")
        assert shown[option][2] == ("time.time" if callable(default) else repr(default))
    assert "graph" in shown or "text" in shown
    assert sheet.evaluate("document.documentElement.scrollWidth") == width
    assert table.evaluate("each => each.getBoundingClientRect().right <= innerWidth")
    sheet.close()


@pytest.mark.parametrize("name", ["benchmarks", "expect"])
def test_texts_of_a_picture_can_be_read_on_a_phone(browser: Browser, address: str, name: str) -> None:
    """A phone has the narrow picture, whose texts are not shrunk; other screens have the wide one."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(address.replace("index.html", f"{name}.html"))
    picture = page.locator(f"img[src='{name}.svg']")
    shown = picture.evaluate("image => image.decode().then(() => image.currentSrc)")
    assert shown.endswith(f"{name}-narrow.svg")
    inner = "image => (image.clientWidth - 2 * parseFloat(getComputedStyle(image).paddingLeft))"
    assert picture.evaluate(f"image => ({inner})(image) / image.naturalWidth") > 0.9
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function(
        "name => document.querySelector(`img[src='${name}.svg']`).currentSrc.endsWith(`/${name}.svg`)",
        arg=name,
    )
    page.close()


FIRST = {
    "unsubscribe": "howto/lifetimes.html",
    "pandas": "howto/notebook.html",
    "notebook": "howto/notebook.html",
    "FastAPI": "web.html",
    "Flask": "web.html",
    "Django": "web.html",
    "slow": "howto/troubleshooting.html",
    "missing delta": "howto/troubleshooting.html",
    "why is my subscription slow": "howto/troubleshooting.html",
    "update my web page": "web.html",
    "dashboard": "page.html",
    "polling": "howto/polling.html",
    "LiveStore": "howto/disk.html",
    "performance": "expect.html",
    "GraphDB": "others.html",
    "graph.subscribe": "reference/subscriptions.html",
    "subscribe": "reference/subscriptions.html",
    "install": "index.html",
    "license": "index.html",
    "cdc": "spark-pipelines.html",
    "reconnect": "web.html",
    "shacl": "validation.html",
}
"""What people search for, and the page that they are to find first."""


def test_search_finds_the_right_page_first(browser: Browser, address: str) -> None:
    """Typed into the search of the site, as a reader does, each leads to its page."""
    page = browser.new_page()
    page.goto(address)
    box, told = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__meta")
    box.click()
    found = {}
    for words in FIRST:
        for typed in ("", words):  # at once: each letter would be a search
            box.fill(typed)
            page.keyboard.press("Shift")  # the search looks when a key is released
            expect(told).to_have_text(re.compile("matching document" if typed else "^Type"))
        url = page.locator(".md-search-result__item > a").first.get_attribute("href")
        found[words] = urlsplit(url or "").path.removeprefix("/")
    page.close()
    assert found == FIRST


def rows(page: Page) -> list[list[str]]:
    """Read the rows that are shown, each with its sign."""
    cells = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    found: list[list[str]] = page.locator(".live tbody tr").evaluate_all(cells)
    return found


def test_each_step_is_shown_by_the_keyboard(page: Page, recording: ModuleType) -> None:
    """Next, pressed as a key, shows what was recorded, and where it enters the plan."""
    run = recording.record()
    page.get_by_role("button", name="Next").focus()
    for number, step in enumerate(run.steps):
        assert page.locator(".live-place").inner_text().startswith(f"{number} of the {len(run.steps) - 1} ")
        assert page.locator(".live-words").text_content() == step.words
        changes = [f"{sign} {triple}" for sign, triple in step.changes]
        assert page.locator(".live li").all_text_contents() == changes
        signs = {**dict.fromkeys(step.went, "−"), **dict.fromkeys(step.came, "+")}
        assert rows(page) == [[signs.get(row, ""), *row] for row in step.rows]
        edges = page.locator(".live .rdflive-plan .edge.hit").evaluate_all(EDGES)
        assert sorted(f":{name}" for name in edges) == list(step.touched)
        assert page.locator(".live .rdflive-plan .arrow.hit").count() == len(step.touched)
        assert page.locator(".live pre .hit").count() == len(step.touched)
        page.keyboard.press("Enter")
    assert page.locator(".live-place").inner_text().startswith("0 of ")


def test_nothing_moves_where_less_movement_is_asked_for(page: Page) -> None:
    """It waits to be started, and a row that comes is there at once."""
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    assert page.locator(".live tr.came").count() == 2
    assert page.evaluate(MOVING) == 0


def test_it_plays_until_it_is_stopped(page: Page) -> None:
    """Else it moves by itself; Pause stops it, and what is stepped to by hand is read out."""
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    said = page.locator(".live [role=status]")
    expect(said).to_have_attribute("aria-live", "off")
    expect(page.locator(".live-place")).to_have_text(re.compile("^1 of "))
    assert page.evaluate(MOVING) > 0
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(said).to_have_attribute("aria-live", "polite")
    page.get_by_role("button", name="Back", exact=True).click()
    place = page.locator(".live-place").inner_text()
    page.clock.run_for(60_000)
    assert page.locator(".live-place").inner_text() == place


def test_a_task_is_a_click_away(page: Page) -> None:
    """Four tasks lead to pages, wherever their cards are clicked; the build knows that these exist."""
    cards = page.locator("#what-do-you-want-to-do + ul > li")
    corners = cards.evaluate_all(CORNERS)
    assert len(set(corners)) == 4
    assert corners == cards.locator("a").evaluate_all("all => all.map(each => each.href)")


def test_without_scripts_there_is_the_moving_picture(browser: Browser, address: str) -> None:
    """What only scripts could fill is not shown."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("img[src='live.svg']").is_visible()
    assert not page.locator(".live").is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_it(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Neither on a wide screen nor on a phone, where nothing is wider than the screen."""
    page.emulate_media(color_scheme=scheme)
    page.reload()
    for _ in range(6):
        page.get_by_role("button", name="Next").click()
    assert violations(page, PARTS) == []
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a dict of that form
    assert violations(page, PARTS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    table = page.locator(".live-answer")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")


README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = {"width": 1920, "height": 1080}
STYLE = """
body { margin: 0; width: 1012px; font: 16px/1.5 sans-serif }
p, pre, table { margin: 0 0 16px }
h1, h2 { margin: 24px 0 16px; padding-bottom: .3em; border-bottom: 1px solid; line-height: 1.25 }
h1 { margin-top: 0; font-size: 2em }
h2 { font-size: 1.5em }
code { font-size: 85% }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45 }
pre code { font-size: 100% }
table { border-collapse: collapse }
th, td { padding: 6px 13px; border: 1px solid }
"""
"""The sizes with which GitHub shows a README."""


def test_readme_fits_on_two_screens(browser: Browser, tmp_path: Path) -> None:
    """What is more belongs to the site."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(README)
    shown = tmp_path / "README.html"
    head = f'<!DOCTYPE html><meta charset="utf-8"><base href="{ROOT.as_uri()}/"><style>{STYLE}</style>'
    shown.write_text(head + body, encoding="utf-8")
    page = browser.new_page(viewport=SCREEN)  # type: ignore[arg-type]  # a dict of that form
    page.goto(shown.as_uri())
    assert page.locator("img").evaluate("image => image.naturalHeight") > 200
    assert page.evaluate("document.body.offsetHeight") <= 2 * SCREEN["height"]
    page.close()
