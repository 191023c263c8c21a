"""The README is short."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

from support.browser import launched
from support.shared import ROOT

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


def test_readme_fits_on_two_screens(tmp_path: Path) -> None:
    """What is more belongs to the site."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(README)
    shown = tmp_path / "README.html"
    head = f'<!DOCTYPE html><meta charset="utf-8"><base href="{ROOT.as_uri()}/"><style>{STYLE}</style>'
    shown.write_text(head + body, encoding="utf-8")
    with launched() as browser:
        page = browser.new_page(viewport=SCREEN)  # type: ignore[arg-type]  # a dict of that form
        page.goto(shown.as_uri())
        assert page.locator("img").evaluate("image => image.naturalHeight") > 200
        assert page.evaluate("document.body.offsetHeight") <= 2 * SCREEN["height"]
