"""The pages of the documentation, and the blocks of code on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.shared import ROOT

__all__ = ["DOCS", "PAGES", "TUTORIAL", "Block", "blocks", "page_name"]

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TUTORIAL = sorted((DOCS / "tutorial").glob("*.md"))

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code, and its output on the page, or None."""

    language: str
    code: str
    printed: str | None


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page; a block of text is the output of the block before it."""
    found = [(match[1], match[2]) for match in _FENCED.finditer(page.read_text(encoding="utf-8"))]
    for number, (language, code) in enumerate(found):
        follower = found[number + 1] if number + 1 < len(found) else ("", "")
        if language != "text":
            yield Block(language, code, follower[1] if follower[0] == "text" else None)


def page_name(page: Path) -> str:
    """Return the path of a page in the project, for the name of a test."""
    return page.relative_to(ROOT).as_posix()
