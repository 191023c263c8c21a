"""The pages name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAME = re.compile(r"`(?:pytest )?([\w./]+\.py)\b[^`]*`")
SOURCES = ("plugin", "store_adapters", "tests", "examples")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_on_a_page_exist(page: Path) -> None:
    """Every file between backticks is the end of a path of the project."""
    paths = [f"/{path.relative_to(ROOT)}" for top in SOURCES for path in (ROOT / top).rglob("*.py")]
    names = NAME.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in paths)] == []


def test_there_are_names() -> None:
    """The essay on the architecture says where things are."""
    assert len(NAME.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))) > 20
