"""The pages name files that exist."""

from __future__ import annotations

import re

from support.pages import PAGES, page_name
from support.shared import ROOT

NAME = re.compile(r"`(?:pytest )?([\w./]+\.py)\b[^`]*`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SOURCES = ("plugin", "store_adapters", "tests", "examples")


def test_files_named_on_pages_exist() -> None:
    """Every file between backticks is the end of a path of the project, and there are many."""
    paths = "\n".join(f"/{path.relative_to(ROOT)}" for top in SOURCES for path in (ROOT / top).rglob("*.py"))
    named = [(page_name(page), name) for page in PAGES for name in NAME.findall(page.read_text("utf-8"))]
    assert [(page, name) for page, name in named if f"/{name}\n" not in paths + "\n"] == []
    assert len(named) > 150


def test_links_of_pages_lead_to_files() -> None:
    """Where the checkout itself is browsed, links work too, also those that leave the documentation."""
    pages = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text("utf-8"))]
    assert [(page, link) for page, link in links if not (page.parent / link).exists()] == []
