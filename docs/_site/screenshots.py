"""Takes the pictures of docs/page.md: `python docs/_site/screenshots.py`.

It needs what tox installs for `browser`, and Pillow, which makes the files small.
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
from support.served import Network, Served  # noqa: E402

SECONDS = 26
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
TRAINS = ("T101", "T102", "T103", "T201", "T202", "T301", "T302")
TO_TOP = "panel => window.scrollTo(0, panel.getBoundingClientRect().top + window.scrollY - 12)"
PREFIX = "PREFIX : <http://example.org/railway/> "


def main() -> None:
    """Take the pictures at all sizes and in all colours: of writing, of half a minute of a railway, of what a
    train is linked to, and of a connection that is lost.
    """
    looks = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
    with Served(ROOT / "examples" / "railway.ttl") as served, launched() as browser:
        for size, scheme in looks:
            show_writing(browser, served, size, scheme)
        pages = {f"page-{size}-{scheme}": open_page(browser, served, size, scheme) for size, scheme in looks}
        steps = enumerate(cycle(TRAINS))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for number, train in islice(steps, 1 + int(time.monotonic()) % 3):
                delay(served, train, number % 11 + 2)
            time.sleep(0.3)
        for name, page in pages.items():
            time.sleep(2)  # so that only what comes now is marked
            number, train = next(steps)
            delay(served, train, number % 11 + 2)
            expect(page.locator("tr.came").first).to_be_visible()
            if "phone" in name:
                page.locator("article").evaluate(TO_TOP)
            keep(page, name)
            page.context.close()
        for size, scheme in looks:
            show_graph(browser, served, size, scheme)
            show_lost(browser, served, size, scheme)
            show_validation(browser, size, scheme)


def show_graph(browser: Any, served: Served, size: str, scheme: str) -> None:
    """Show what a train is linked to, with a delay that has just changed."""
    page = open_page(browser, served, size, scheme)
    page.locator("article").get_by_role("button", name=":T201", exact=True).first.click()
    around = page.locator("article").first
    expect(around.locator(".canvas canvas").first).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    time.sleep(2)  # so that the picture is at rest
    delay(served, "T201", 10 + len(size + scheme))  # another one each time
    expect(around.locator(".facts")).to_contain_text("last change")
    time.sleep(0.5)
    around.evaluate(TO_TOP)
    keep(page, f"page-graph-{size}-{scheme}")
    page.context.close()


def show_validation(browser: Any, size: str, scheme: str) -> None:
    """Show results that come and go, on a wide screen with an update that is refused, else with a preview."""
    examples = ROOT / "examples"
    shapes = ["--shapes", examples / "railway_shapes.ttl", "--guard"]
    with Served(examples / "railway.ttl", *shapes) as served:
        page = open_page(browser, served, size, scheme)
        page.get_by_text("Update the graph").click()
        page.get_by_role("textbox", name="Update").focus()
        page.keyboard.press("Control+A")
        if size == "desktop":
            page.keyboard.insert_text(
                f"{PREFIX}\nINSERT DATA {{\n  :T999 a :Train ; :platform 9 ; :delay 4\n}}"
            )
            page.keyboard.press("Control+Enter")
            expect(page.locator("#update-problem li")).to_have_count(2)
        else:
            page.keyboard.insert_text(f"{PREFIX}\nDELETE DATA {{\n  :T201 :delay 7\n}}")
            page.get_by_role("button", name="Preview", exact=True).click()
            expect(page.locator("#update-previewed")).to_contain_text("Validation")
        time.sleep(2)  # so that only what comes now is marked
        for train, minutes in {"T101": 8, "T302": 11, "T201": 9}.items():
            delay(served, train, minutes)
        expect(page.locator("#validation li.came").last).to_be_visible()
        page.locator("#update-card").evaluate(TO_TOP)
        keep(page, f"page-validation-{size}-{scheme}")
        page.context.close()


def show_lost(browser: Any, served: Served, size: str, scheme: str) -> None:
    """Show a connection that is lost, one that is back with what was missed, and a query that is wrong."""
    with Network(served.port) as network:
        page = open_page(browser, network, size, scheme)
        panel = page.locator("article").first
        network.is_down = True
        network.cut()
        expect(panel.locator("header .state")).to_contain_text("reconnecting")
        time.sleep(4)  # so that it waits for some seconds
        expect(panel.locator("header .state")).to_contain_text("reconnecting")
        panel.evaluate(TO_TOP)
        keep(page, f"page-lost-{size}-{scheme}")
        delay(served, "T101", 20 + len(size + scheme))
        network.is_down = False
        expect(panel.locator("tr.came").first).to_be_visible()
        keep(page, f"page-back-{size}-{scheme}")
        page.get_by_role("textbox", name="Query").focus()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text("SELECT ?train ?minutes WHERE {\n  ?train late:delay ?minutes\n}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#query-problem")).to_be_visible()
        page.evaluate("window.scrollTo(0, 0)")
        keep(page, f"page-error-{size}-{scheme}")
        page.context.close()


def show_writing(browser: Any, served: Served, size: str, scheme: str) -> None:
    """Show a first visit, completion and an update that is refused."""
    page = begin(browser, served, size, scheme)
    expect(page.locator("tbody tr").first).to_be_visible()
    time.sleep(3)  # so that the charts and what is live are there
    keep(page, f"page-empty-{size}-{scheme}")
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("# Late trains\nSELECT ?train ?minutes WHERE {\n  ?train a :Train ;\n    ")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("listbox")).to_be_visible()
    time.sleep(2)  # so that the server has looked at the query
    keep(page, f"page-completion-{size}-{scheme}")
    page.keyboard.press("Escape")
    page.get_by_text("Update the graph").click()
    page.get_by_role("textbox", name="Update").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f"{PREFIX}\nINSERT DATA {{\n  :T101 late:delay 12\n}}")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#update-problem")).not_to_be_empty()
    page.locator("#update-card").evaluate(TO_TOP)
    keep(page, f"page-update-{size}-{scheme}")
    page.context.close()


def keep(page: Page, name: str) -> None:
    """Keep what is in view as a picture of the docs."""
    shot = Image.open(BytesIO(page.screenshot()))
    shot.quantize(256, dither=Image.Dither.NONE).save(ROOT / "docs" / f"{name}.png", optimize=True)


def begin(browser: Any, served: Served | Network, size: str, scheme: str) -> Page:
    """Open the page as who has never seen it."""
    width, height = SIZES[size]
    page: Page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(served.url)
    return page


def open_page(browser: Any, served: Served | Network, size: str, scheme: str) -> Page:
    """Open a page with a subscription, and no other."""
    page = begin(browser, served, size, scheme)
    page.get_by_role("button", name="Unsubscribe").click()
    subscribe(page, (ROOT / "examples" / "delayed.rq").read_text())
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    return page


def delay(served: Served, train: str, minutes: int) -> None:
    """Give a train another delay."""
    served.update(f"""{PREFIX}
        DELETE {{ :{train} :delay ?before }} INSERT {{ :{train} :delay {minutes} }}
        WHERE {{ OPTIONAL {{ :{train} :delay ?before }} }}""")


if __name__ == "__main__":
    main()
