"""What a panel shows of an answer: numbers, rows that change, the plan, files, and who else is subscribed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import isomorphic

from support.axe import violations
from support.browser import LATE, Page, Watched, expect, panel_of, rows_of, subscribe
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "
PER_CLASS = "SELECT ?class (COUNT(?thing) AS ?things) { ?thing a ?class } GROUP BY ?class"


def choose_key(panel: object, *names: str) -> None:
    """Say which columns tell rows apart."""
    panel.locator(".key summary").click()  # type: ignore[attr-defined]  # a locator
    for name in names:
        panel.get_by_role("checkbox", name=name).check()  # type: ignore[attr-defined]  # likewise


def test_datatypes_of_numbers_are_on_hover(page: Page, served: Served) -> None:
    """A number stands alone, and its datatype is its tooltip; what only looks like one is told from it."""
    served.update("""DROP ALL ; INSERT DATA { <urn:a> <urn:p> 4, 4.5, 1e3, "INF"^^xsd:double,
        "four"^^xsd:integer, "4", true, "2024-05-01"^^xsd:date }""")
    panel = subscribe(page, "SELECT ?value { <urn:a> <urn:p> ?value }")
    expect(panel.locator("tbody tr")).to_have_count(8)
    others = ["2024-05-01^^xsd:date", "4", "four^^xsd:integer", "true^^xsd:boolean"]
    assert rows_of(panel) == sorted([[text] for text in ["4", "4.5", "1000", "INF", *others]])
    titles = panel.locator("td .literal").evaluate_all(
        "all => Object.fromEntries(all.filter(one => one.title).map(one => [one.textContent, one.title]))"
    )
    kinds = {
        "4": "xsd:integer",
        "4.5": "xsd:decimal",
        "1000": "xsd:double",
        "INF": "xsd:double",
    }
    assert titles == kinds
    panel.locator("th button").click()
    first = panel.locator("tbody tr:nth-child(-n+4) td:nth-child(2)")
    expect(first).to_have_text(["4", "4.5", "1000", "INF"])


def test_row_of_a_group_changes_on_one_line(page: Page, served: Served) -> None:
    """Rows of GROUP BY are told apart by its variables, which need not be said."""
    panel = subscribe(page, f"# Per class\n{PREFIX}{PER_CLASS}")
    expect(panel.locator(".key summary")).to_have_text("Row key: ?class")
    panel.get_by_text("Changes", exact=True).click()
    served.update(PREFIX + "INSERT DATA { :T4 a :Train }")
    expect(panel.locator("tr.changed")).to_have_text("~:Train3 → 4")
    expect(panel.locator("tr.changed del")).to_have_text("3")
    expect(panel.locator("tbody tr")).to_have_count(1)
    entry = panel.locator(".log li").first
    expect(entry.locator("strong")).to_have_text("~1")
    expect(entry.locator("p.changed")).to_have_text("~ :Train  3 → 4")
    expect(page.get_by_role("status").last).to_have_text("Per class: 1 row changed; 1 row.")
    expect(panel.locator("tr.changed")).to_have_count(0)
    expect(panel.locator("tbody tr")).to_have_text(":Train4")


@pytest.mark.hunted("the gate has the row of a group")
def test_row_of_a_total_changes_on_one_line(page: Page, served: Served) -> None:
    """Aggregates without GROUP BY have one row, which is the same one always: there is no key to choose."""
    panel = subscribe(page, PREFIX + "SELECT (COUNT(?train) AS ?trains) { ?train a :Train }")
    served.update(PREFIX + "INSERT DATA { :T4 a :Train }")
    expect(panel.locator("tr.changed")).to_have_text("~3 → 4")
    expect(panel.locator(".key")).to_be_hidden()


def test_key_is_not_guessed(page: Page, served: Served) -> None:
    """One row that goes and one that comes are two, until the user says what tells rows apart."""
    panel = subscribe(page)
    expect(panel.locator(".key summary")).to_have_text("Row key: all columns")
    served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T1 :delay 5 }")
    expect(panel.locator("tr.came")).to_have_text("+:T15")
    expect(panel.locator("tr.went")).to_have_text("−:T14")
    expect(panel.locator("tr.went")).to_have_count(0)
    choose_key(panel, "?train")
    expect(panel.locator(".key summary")).to_have_text("Row key: ?train")
    served.update(PREFIX + "DELETE DATA { :T1 :delay 5 } ; INSERT DATA { :T1 :delay 6 }")
    expect(panel.locator("tr.changed")).to_have_text("~:T15 → 6")
    expect(panel.locator("tbody tr")).to_have_count(2)
    # two rows came in place of one: which of them is its successor is not known
    served.update(PREFIX + "DELETE DATA { :T1 :delay 6 } ; INSERT DATA { :T1 :delay 7, 8 }")
    expect(panel.locator("tr.came")).to_have_count(2)
    expect(panel.locator("tr.went")).to_have_text("−:T16")
    page.reload()
    expect(panel.locator(".key summary")).to_have_text("Row key: ?train")


def test_changed_row_keeps_its_place_and_the_focus(page: Page, served: Served) -> None:
    """The focus stays on a row when its value changes."""
    panel = subscribe(page)
    choose_key(panel, "?train")
    node = panel.get_by_role("button", name=":T2", exact=True)
    node.focus()
    before = panel.locator("tbody td:nth-child(2)").all_text_contents()
    for value in (8, 9):
        served.update(
            PREFIX + f"DELETE {{ :T2 :delay ?x }} INSERT {{ :T2 :delay {value} }} WHERE {{ :T2 :delay ?x }}"
        )
        expect(panel.locator("tr.changed ins")).to_have_text(str(value))
        expect(node).to_be_focused()
    expect(panel.locator("tr.changed")).to_have_count(0)
    expect(node).to_be_focused()
    assert panel.locator("tbody td:nth-child(2)").all_text_contents() == before


@pytest.mark.hunted("the gate has keys that this page chose")
def test_keyed_subscription_of_others_opens_with_its_key(page: Page, served: Served) -> None:
    """What was subscribed to with a key is followed as it is, and its pairs are lines."""
    page.goto(served.url)
    page.evaluate(
        "query => { new EventSource(`subscribe?${new URLSearchParams({ query, key: 'train' })}`); }",
        LATE,
    )
    page.locator("#served button", has_text="key ?train").click()
    panel = panel_of(page, "Late trains")
    expect(panel.locator("tbody tr")).to_have_count(2)
    served.update(PREFIX + "DELETE DATA { :T1 :delay 4 } ; INSERT DATA { :T1 :delay 5 }")
    expect(panel.locator("tr.changed")).to_have_text("~:T14 → 5")
    assert rows_of(panel_of(page, "Late trains"))[1] == [":T2", "7"]
    expect(page.locator("#served button", has_text="key ?train")).to_contain_text(
        "2 subscribers, you included"
    )
    # who takes the key back has none, also after a reload, and can choose one again
    panel.locator(".key summary").click()
    panel.get_by_role("checkbox", name="?train").uncheck()
    page.reload()
    expect(panel.locator(".key summary")).to_have_text("Row key: all columns")
    served.update(PREFIX + "DELETE DATA { :T1 :delay 5 } ; INSERT DATA { :T1 :delay 6 }")
    expect(panel.locator("tr.came")).to_have_text("+:T16")
    choose_key(panel, "?train")
    served.update(PREFIX + "DELETE DATA { :T1 :delay 6 } ; INSERT DATA { :T1 :delay 7 }")
    expect(panel.locator("tr.changed")).to_have_text("~:T16 → 7")


@pytest.mark.parametrize(("status", "meanwhile"), [(503, None), (429, None), (400, "Row key: all columns")])
def test_key_is_asked_for_until_the_server_has_time(
    page: Page, watched: Watched, status: int, meanwhile: str | None
) -> None:
    """A busy server is asked again after three seconds; a refusal is final."""
    watched.allow(f"status of {status}")
    page.clock.install()
    panel = subscribe(page, PREFIX + PER_CLASS)
    page.route("**/explain", lambda route: route.fulfill(status=status, json={"detail": "no"}))
    key = panel.locator(".key summary")
    with page.expect_response("**/explain"):
        page.reload()
    expect(panel.locator("tbody tr")).to_have_count(1)
    if meanwhile is not None:
        expect(key).to_have_text(meanwhile)
        return
    expect(key).to_be_hidden()
    page.unroute_all(behavior="wait")
    page.clock.fast_forward(3_000)
    expect(key).to_have_text("Row key: ?class")


def test_list_tells_what_is_open_here(page: Page, served: Served) -> None:
    """It marks what this page has open, and says how many are subscribed, to each query and in all."""
    page.goto(served.url)
    query = f"# Mine\n{PREFIX} SELECT ?train {{ ?train a :Train }}"
    subscribe(page, query)
    mine = page.locator("#served button", has_text="Mine")
    expect(mine).to_contain_text("3 rows · only you")
    expect(mine.locator(".mine")).to_have_text("open here")
    other = page.context.new_page()
    other.goto(served.url)
    listed = other.locator("#served button", has_text="Mine")
    expect(listed).to_contain_text("1 subscriber")
    expect(listed.locator(".mine")).to_be_hidden()
    listed.click()
    expect(listed).to_contain_text("2 subscribers, you included")
    expect(other.locator("#served-all")).to_contain_text("1 here")
    expect(mine).to_contain_text("2 subscribers, you included")
    panel_of(page, "Mine").get_by_role("button", name="Unsubscribe").click()
    expect(mine).to_contain_text("1 subscriber")
    expect(mine.locator(".mine")).to_be_hidden()


def test_triples_are_downloaded_as_turtle(page: Page, served: Served, tmp_path: Path) -> None:
    """The file has the triples of the answer, whatever is in their terms, with the prefixes that it uses."""
    served.update(r"""PREFIX : <http://example.org/> DROP ALL ; INSERT DATA {
        :a a :Thing ; :says "a \"quote\", a \\ and\na line\r", "hi"@en-GB, "4"^^xsd:integer, "x"^^<urn:odd> ;
            :to [ :part :b ] , <urn:x/y#z> , :1st .
        <http://example.org/a.b> :says "t\tab \u0007" }""")
    panel = subscribe(page, PREFIX + "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    with page.expect_download() as download:
        panel.get_by_role("button", name="Turtle").click()
    download.value.save_as(tmp_path / "answer.ttl")
    text = (tmp_path / "answer.ttl").read_text()
    assert text.startswith("PREFIX : <http://example.org/>\n")
    written = rdflib.Graph().parse(data=text, format="turtle")
    expected = rdflib.Graph()
    for row in json.loads(served.query("SELECT ?s ?p ?o { ?s ?p ?o }"))["results"]["bindings"]:
        expected.add(tuple(term_of(row[name]) for name in "spo"))  # type: ignore[arg-type]  # three of them
    assert len(written) == 10
    assert isomorphic(written, expected)


def term_of(term: dict[str, str]) -> rdflib.term.Node:
    """Read a term of SPARQL results."""
    if term["type"] == "uri":
        return rdflib.URIRef(term["value"])
    if term["type"] == "bnode":
        return rdflib.BNode(term["value"])
    datatype = rdflib.URIRef(term["datatype"]) if "datatype" in term else None
    return rdflib.Literal(term["value"], lang=term.get("xml:lang"), datatype=datatype, normalize=False)


def test_plan_fits_the_page(page: Page) -> None:
    """Its title says what it names, the page's colour is behind it, and it is as high as it needs to be."""
    panel = subscribe(page)
    panel.get_by_text("Plan", exact=True).click()
    image = panel.locator(".plan img")
    image.evaluate("image => image.decode()")
    assert "algorithm: connected" in image.evaluate("image => decodeURIComponent(image.src)")
    frame = panel.locator(".plan")
    sizes = frame.evaluate("frame => [frame.clientHeight, frame.scrollHeight, frame.firstChild.offsetHeight]")
    assert len(set(sizes)) == 1
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # both are literals
        corner, card = (pixel(page, selector) for selector in (".plan img", "article header"))
        assert corner == card
    panel.get_by_text("As text").click()
    expect(panel.get_by_role("region", name="The plan as text")).to_contain_text("?train :delay ?minutes")
    expect(panel.get_by_role("button", name="CSV")).to_be_visible()
    expect(panel.get_by_role("button", name="Turtle")).to_be_hidden()  # a table of bindings is no graph


def pixel(page: Page, selector: str) -> tuple[int, ...]:
    """Give the colour of the upper left corner of an element, as it is seen."""
    pytest.importorskip("PIL", reason="needs Pillow, to look at pixels")
    from io import BytesIO

    from PIL import Image

    colour = Image.open(BytesIO(page.locator(selector).first.screenshot())).convert("RGB").getpixel((2, 2))
    assert isinstance(colour, tuple)
    return tuple(int(part) for part in colour)


def test_wide_plan_fits(page: Page, served: Served) -> None:
    """It is folded; then it is as wide as its frame, and has its own size after a click."""
    page.set_viewport_size({"width": 1400, "height": 800})
    page.goto(served.url)
    union = " UNION ".join(f"{{ ?a :p{n} ?b }}" for n in range(4))
    panel = subscribe(page, f"{PREFIX} SELECT * {{ {union} }}")
    image = panel.locator(".plan img")
    expect(image).to_have_count(0)
    panel.get_by_text("Plan", exact=True).click()
    image.evaluate("image => image.decode()")
    sizes = "image => [image.naturalWidth, image.offsetWidth, image.closest('.plan').clientWidth]"
    natural, shown, frame = image.evaluate(sizes)
    assert natural > frame
    assert shown <= frame
    expect(panel.locator(".edges.more-right:has(.plan)")).to_have_count(0)
    image.click()
    natural, shown, frame = image.evaluate(sizes)
    assert shown == natural
    expect(panel.locator(".edges.more-right:has(.plan)")).to_have_count(1)


def test_results_come_into_view_on_a_phone(page: Page, served: Served) -> None:
    """Subscribing leads to the panel, the top of which is at the top of the screen."""
    served.update(PREFIX + "INSERT DATA { " + " ".join(f":X{n} :delay {n} ." for n in range(40)) + "}")
    page.set_viewport_size({"width": 390, "height": 700})
    panel = subscribe(page)
    expect(panel.locator("tbody tr").first).to_be_in_viewport()
    expect(panel.locator("h3")).to_be_in_viewport()
    assert abs(panel.evaluate("panel => panel.getBoundingClientRect().top")) < 30


def test_columns_scroll_visibly(page: Page, served: Served) -> None:
    """A shadow is at each side that has more columns."""
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(served.url)
    names = [f"a_long_name_{number}" for number in range(6)]
    row = " ".join(map(str, range(6)))
    panel = subscribe(page, f"SELECT * {{ VALUES ({' '.join(f'?{name}' for name in names)}) {{ ({row}) }} }}")
    edges = panel.locator(".edges:has(table)")
    sides = "edges => ['::before', '::after'].map(side => getComputedStyle(edges, side).opacity)"
    expect(edges).to_have_class("edges more-right")
    assert edges.evaluate(sides) == ["0", "1"]
    scroller = panel.locator(".scroller")
    scroller.evaluate("scroller => scroller.scrollBy(60, 0)")
    expect(edges).to_have_class("edges more-right more-left")
    assert edges.evaluate(sides) == ["1", "1"]
    scroller.evaluate("scroller => scroller.scrollBy(9999, 0)")
    expect(edges).to_have_class("edges more-left")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
