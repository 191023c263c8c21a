"""What others have written into the graph does nothing in the page; a dialog or a request elsewhere fails."""

from __future__ import annotations

from support.browser import Page, Watched, expect, panel_of, subscribe
from support.served import Served

SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>"
HOSTILE = f"""# {SCRIPT}
PREFIX e: <javascript:alert(4)/>
SELECT ?__proto__ ?constructor ?value {{ ?__proto__ ?constructor ?value }}
"""


def test_page_runs_nothing_of_the_graph(page: Page, served: Served, watched: Watched) -> None:
    """Literals, language tags, datatypes, IRIs, names of variables, comments and plans are text."""
    literal = SCRIPT.replace('"', '\\"')
    served.update(f"""DROP ALL ; INSERT DATA {{
        <javascript:alert(5)> <urn:p> "{literal}", "'\\"--></textarea></title>{literal}"@en ,
            "x"^^<javascript:alert(6)>, "\\u202Egnp.exe", "=HYPERLINK(1)" .
        <data:text/html,alert(7)> <javascript:alert(8)> <http://elsewhere.example/x.png> }}""")
    panel = subscribe(page, HOSTILE)
    expect(panel.locator("tbody tr")).to_have_count(6)
    expect(panel.locator("tbody")).to_contain_text(SCRIPT)
    expect(panel.locator("h3")).to_contain_text("<img src=x")
    expect(panel.locator("th bdi")).to_have_text(["?__proto__", "?constructor", "?value"])
    panel.locator("summary", has_text="Changes").click()
    panel.locator("summary", has_text="Query").click()
    served.update(f'INSERT DATA {{ <urn:x> <urn:p> "{literal}{literal}" }}')
    expect(panel.locator(".log p.came")).to_contain_text("<img src=x")
    panel.locator("tbody tr").first.click()
    panel.get_by_label("Filter").fill("alert(1)")
    expect(panel.locator("tbody tr")).to_have_count(3)
    panel.locator(".plan img").evaluate("image => image.decode()")
    expect(page.locator("#served button", has_text="<img src=x")).to_be_visible()
    elements = (
        "img:not([src^='data:image/svg']):not([src='static/icon.svg']), main script, a[href^='javascript']"
    )
    assert page.locator(elements).count() == 0
    assert page.evaluate("[...document.querySelectorAll('main a')].length") == 0


def test_page_shows_a_problem_as_text(page: Page, served: Served, watched: Watched) -> None:
    """A message that repeats the query is not markup either."""
    watched.allow("status of 400")
    page.goto(served.url)
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f"SELECT {SCRIPT}")
    expect(page.locator("#query-problem")).to_contain_text("<")
    assert page.locator("#query-problem *").count() == 0


def test_page_forbids_scripts_in_its_markup(page: Page, served: Served, watched: Watched) -> None:
    """Were there markup of others all the same, the page's policy would let none of it run."""
    watched.allow("Content Security Policy|violates")
    watched.allow("^request: http://elsewhere.example/")
    failures: list[str | None] = []
    page.on("requestfailed", lambda request: failures.append(request.failure))
    page.goto(served.url)
    page.evaluate(
        "text => { document.body.insertAdjacentHTML('beforeend', text); window.went = 'nowhere'; }",
        '<img src="http://elsewhere.example/x.png" onerror="alert(1)">'
        '<a id="there" href="javascript:alert(2)">x</a>',
    )
    page.locator("#there").click(force=True)
    page.evaluate("fetch('http://elsewhere.example/').catch(() => 0)")
    assert page.evaluate("window.went") == "nowhere"
    assert set(failures) == {"csp"}


def test_panel_titles_are_cut(page: Page) -> None:
    """A title as long as a query does not stretch the page."""
    page.set_viewport_size({"width": 360, "height": 700})
    subscribe(page, f"# {'x' * 5000}\nASK {{ ?a ?b ?c }}")
    expect(panel_of(page, "xxx")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
