"""Take the pictures of docs/page.md: `python docs/_site/screenshots.py`.

It needs the packages of `browser` in tox, and Pillow, which shrinks the files.
"""

from __future__ import annotations

import sys
import time
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import Page, expect, launched, subscribe  # noqa: E402 - found by the line above
from support.served import Served  # noqa: E402

SECONDS = 26
SIZE = {"width": 1280, "height": 800}
TRAINS = ("T101", "T102", "T103", "T201", "T202", "T301", "T302")
TO_TOP = "panel => window.scrollTo(0, panel.getBoundingClientRect().top + window.scrollY - 12)"
PREFIX = "PREFIX : <http://example.org/railway/> "


def main() -> None:
    """Take the pictures of completion, an answer, a graph and validation."""
    with Served(ROOT / "examples" / "railway.ttl") as served, launched() as browser:
        show_completion(browser, served)
        show_answer(browser, served)
        show_graph(browser, served)
        show_validation(browser)


def show_completion(browser: Any, served: Served) -> None:
    """Show the completions that the editor offers for a predicate."""
    page = begin(browser, served)
    expect(page.locator("tbody tr").first).to_be_visible()
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("# Late trains\nSELECT ?train ?minutes WHERE {\n  ?train a :Train ;\n    ")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("listbox")).to_be_visible()
    time.sleep(2)  # until the server has checked the query
    keep(page, "page-completion-desktop-light")
    page.context.close()


def show_answer(browser: Any, served: Served) -> None:
    """Show an answer after half a minute of changes."""
    page = open_page(browser, served)
    steps = enumerate(cycle(TRAINS))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for number, train in islice(steps, 1 + int(time.monotonic()) % 3):
            delay(served, train, number % 11 + 2)
        time.sleep(0.3)
    time.sleep(2)  # so that only what comes now is marked
    number, train = next(steps)
    delay(served, train, number % 11 + 2)
    expect(page.locator("tr.came").first).to_be_visible()
    keep(page, "page-desktop-light")
    page.context.close()


def show_graph(browser: Any, served: Served) -> None:
    """Show the neighbours of a train, with a recently changed delay."""
    page = open_page(browser, served)
    page.locator("article").get_by_role("button", name=":T201", exact=True).first.click()
    around = page.locator("article").first
    expect(around.locator(".canvas canvas").first).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    time.sleep(2)  # until the picture is at rest
    delay(served, "T201", 20)
    expect(around.locator(".facts")).to_contain_text("last change")
    time.sleep(0.5)
    around.evaluate(TO_TOP)
    keep(page, "page-graph-desktop-light")
    page.context.close()


def show_validation(browser: Any) -> None:
    """Show added and removed results, and a refused update."""
    examples = ROOT / "examples"
    shapes = ["--shapes", examples / "railway_shapes.ttl", "--guard"]
    with Served(examples / "railway.ttl", *shapes) as served:
        page = open_page(browser, served)
        page.set_viewport_size(SIZE | {"height": 960})
        page.locator("#validation-fold > summary").click()
        page.get_by_text("Update the graph").click()
        page.get_by_role("textbox", name="Update").focus()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(f"{PREFIX}\nINSERT DATA {{\n  :T999 a :Train ; :platform 9 ; :delay 4\n}}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#update-problem li")).to_have_count(2)
        time.sleep(2)  # so that only what comes now is marked
        for train, minutes in {"T101": 8, "T302": 11, "T201": 9}.items():
            delay(served, train, minutes)
        expect(page.locator("#validation li.came").last).to_be_visible()
        page.evaluate("window.scrollTo(0, 0)")
        keep(page, "page-validation-desktop-light")
        page.context.close()


def keep(page: Page, name: str) -> None:
    """Save the view as a picture of the docs."""
    shot = Image.open(BytesIO(page.screenshot()))
    shot.quantize(256, dither=Image.Dither.NONE).save(ROOT / "docs" / f"{name}.png", optimize=True)


def begin(browser: Any, served: Served) -> Page:
    """Open the page as on a first visit."""
    page: Page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.goto(served.url)
    return page


def open_page(browser: Any, served: Served) -> Page:
    """Open a page with one subscription."""
    page = begin(browser, served)
    page.get_by_role("button", name="Unsubscribe").click()
    subscribe(page, (ROOT / "examples" / "delayed.rq").read_text())
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    return page


def delay(served: Served, train: str, minutes: int) -> None:
    """Change the delay of a train."""
    served.update(f"""{PREFIX}
        DELETE {{ :{train} :delay ?before }} INSERT {{ :{train} :delay {minutes} }}
        WHERE {{ OPTIONAL {{ :{train} :delay ?before }} }}""")


if __name__ == "__main__":
    main()
