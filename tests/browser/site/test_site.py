"""The documentation site builds without a warning and stands alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import rdflive
from rdflive.server.openapi import describe_api
from support.shared import ROOT

pytest.importorskip("material", reason="the site is built by mkdocs-material: tox run -e site")


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
        yield from ((path, address) for address in page.addresses)
    for path in site.rglob("*.css"):
        yield from ((path, address) for address in STYLED.findall(path.read_text(encoding="utf-8")))


def test_site_fetches_nothing_from_other_hosts(site: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site, so it works without a network."""
    addresses = list(fetched(site))
    assert len(addresses) > 100
    assert [(path.name, address) for path, address in addresses if urlsplit(address).netloc] == []


def test_site_has_no_diagrams_that_a_script_draws(site: Path) -> None:
    """The theme would load the program that draws them from another host."""
    for path in site.rglob("*.html"):
        page = Fetched()
        page.feed(path.read_text(encoding="utf-8"))
        assert "mermaid" not in page.classes, path


def test_files_that_pages_link_to_are_there(site: Path) -> None:
    """The examples are part of the site."""
    assert (site / "examples" / "railway.ttl").read_bytes() == (
        ROOT / "examples" / "railway.ttl"
    ).read_bytes()
    assert 'href="examples/first_subscription.py"' in (site / "examples.html").read_text(encoding="utf-8")


def test_public_names_have_a_place_to_link_to(site: Path) -> None:
    """Every name of `rdflive` has an anchor of its own in the reference."""
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    assert [name for name in rdflive.__all__ if f'id="rdflive.{name}"' not in text] == []


def test_doctests_are_shown_as_code(site: Path) -> None:
    """No prompt of Python became a quotation."""
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    assert "&gt;&gt;&gt;" in text
    assert "<blockquote>" not in text


def test_help_of_the_commands_is_shown(site: Path) -> None:
    """The page on the command line has what the commands print."""
    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "usage: rdflive watch" in text
    assert "<!-- rdflive" not in text


def test_paths_of_the_server_are_shown(site: Path) -> None:
    """The page on HTTP is made of what the server publishes."""
    text = (site / "reference" / "http.html").read_text(encoding="utf-8")
    for path in describe_api()["paths"]:
        assert f"<code>{path}</code>" in text


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
    "tell my web page": "web.html",
    "dashboard": "howto/dashboard.html",
    "polling": "howto/polling.html",
    "LiveStore": "howto/disk.html",
    "performance": "expect.html",
    "GraphDB": "others.html",
}
"""What people search for, and the page that they are to find first."""


def test_search_finds_the_right_page_first(site: Path) -> None:
    """Typed into the search of the site, as a reader does, each leads to its page."""
    from support.browser import expect, launched

    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, launched() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        page = browser.new_page()
        page.goto(f"{url}index.html")
        box, told = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__meta")
        box.click()
        found = {}
        for words in FIRST:
            for typed in ("", words):  # at once: each letter would be a search
                box.fill(typed)
                page.keyboard.press("Shift")  # the search looks when a key is released
                expect(told).to_have_text(re.compile("matching document" if typed else "^Type"))
            address = page.locator(".md-search-result__item > a").first.get_attribute("href")
            found[words] = urlsplit(address or "").path.removeprefix("/")
        server.shutdown()
    assert found == FIRST


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None: ...


def test_search_knows_the_pages(site: Path) -> None:
    """The index of the search is a file of the site."""
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"location":"windows.html"' in index
