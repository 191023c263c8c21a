"""The pages name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import DOCS, PAGES, page_name
from support.shared import ROOT

NAME = re.compile(r"`(?:pytest )?([\w./]+\.py)\b[^`]*`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SOURCES = ("plugin", "store_adapters", "tests", "examples")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_named_on_a_page_exist(page: Path) -> None:
    """Every file between backticks is the end of a path of the project."""
    paths = [f"/{path.relative_to(ROOT)}" for top in SOURCES for path in (ROOT / top).rglob("*.py")]
    names = NAME.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in paths)] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=page_name)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    """Where the checkout itself is browsed, links work too, also those that leave the documentation."""
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_there_are_names() -> None:
    """The pages on the architecture, and the one on where to add things, name many files."""
    pages = [*(DOCS / "architecture").glob("*.md"), DOCS / "where-to-add.md"]
    assert sum(len(NAME.findall(page.read_text(encoding="utf-8"))) for page in pages) > 150
