"""Accessibility checks of pages with axe-core; tests are skipped where it is missing."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["violations", "violations_in_all_colours"]

pytest.importorskip("axe_playwright_python", reason="needs axe-core: pip install axe-playwright-python")


def violations(page: Page, part: str = "html") -> list[Any]:
    """Return the serious and critical violations that axe-core finds in a page.

    `part` is the CSS selector of the checked part. The rules are those of WCAG and of best practice.
    """
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("part => axe.run(part).then(result => result.violations)", part)
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def violations_in_all_colours(page: Page, *widths: int) -> list[Any]:
    """Return the violations in the light and the dark scheme; at no width may content overflow."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # both are literals
        for width in widths or (None,):
            if width is not None:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == width
            found += violations(page)
    return found
