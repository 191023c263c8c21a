"""Pictures of graphs: what CONSTRUCT makes, and what a node is linked to."""

from __future__ import annotations

from typing import Any

import pytest

from support.axe import violations_in_all_colours
from support.browser import (
    VISITED,
    Browser,
    HeldBack,
    Locator,
    Page,
    Watched,
    expect,
    panel_of,
    rows_of,
    send_otherwise,
    subscribe,
)
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "
LATE_GRAPH = (
    PREFIX + "CONSTRUCT { ?train :late ?minutes ; a ?class } WHERE { ?train a ?class ; :delay ?minutes }"
)
ELEMENTS = """canvas => canvas._cyreg.cy.elements().map(one =>
  [one.isNode() ? "node" : "edge", one.data("label"), one.classes().join(" "), one.renderedBoundingBox()])"""


def picture_of(panel: Locator) -> Locator:
    """Give the picture of a panel, once it is drawn."""
    canvas = panel.locator(".canvas")
    expect(canvas.locator("canvas").first).to_be_visible()
    return canvas


def labels(panel: Locator, group: str = "node") -> list[str]:
    """Give the labels of the nodes or the edges that are drawn, sorted."""
    return sorted(label for kind, label, *_ in picture_of(panel).evaluate(ELEMENTS) if kind == group)


def expect_labels(panel: Locator, expected: list[str], group: str = "node") -> None:
    """Wait until these are the labels that are drawn."""
    text = "([...found].filter(one => one[0] === group).map(one => one[1]).sort().join('|'))"
    picture_of(panel).evaluate(
        f"""async (canvas, [group, wanted]) => {{
          for (let i = 0; i < 200; i++) {{
            const found = ({ELEMENTS})(canvas);
            if ({text} === wanted) return;
            await new Promise(resolve => setTimeout(resolve, 100));
          }}
          throw new Error("not drawn: " + JSON.stringify(({ELEMENTS})(canvas)));
        }}""",
        [group, "|".join(sorted(expected))],
    )


def test_triples_are_drawn_when_one_asks(page: Page) -> None:
    """What draws is loaded with the first picture, not before; nodes and edges have short labels."""
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    panel = subscribe(page, LATE_GRAPH)
    expect(panel.locator("tbody tr")).to_have_count(4)
    assert not [url for url in loaded if url.endswith("graph.js")]
    panel.get_by_role("button", name="Picture").click()
    expect_labels(panel, [":T1", ":T2", ":Train", "4", "7"])
    assert labels(panel, "edge") == [":late", ":late", "rdf:type", "rdf:type"]
    assert len([url for url in loaded if url.endswith("graph.js")]) == 1
    expect(panel.locator("table")).to_be_hidden()
    expect(panel.get_by_role("img", name="Picture of 5 nodes and 4 triples")).to_be_visible()
    panel.get_by_role("button", name="Table").click()
    expect(panel.locator("tbody tr")).to_have_count(4)
    page.reload()
    panel = page.locator("article").first
    expect(panel.get_by_role("button", name="Table")).to_have_attribute("aria-pressed", "true")


def test_picture_is_live(page: Page, served: Served) -> None:
    """Nodes and edges come and go with the deltas, marked for a while, and the others stay where they are."""
    panel = subscribe(page, LATE_GRAPH)
    panel.get_by_role("button", name="Picture").click()
    expect_labels(panel, [":T1", ":T2", ":Train", "4", "7"])
    places = """canvas => Object.fromEntries(
      canvas._cyreg.cy.nodes().map(one => [one.data("label"), one.position()]))"""
    before = picture_of(panel).evaluate(places)
    served.update(PREFIX + "INSERT DATA { :T3 :delay 9 } ; DELETE DATA { :T1 :delay 4 }")
    expect_labels(panel, [":T1", ":T2", ":T3", ":Train", "4", "7", "9"])
    drawn = picture_of(panel).evaluate(ELEMENTS)
    marks = {label: classes.split()[0] for kind, label, classes, _ in drawn if kind == "node"}
    assert marks == {
        ":T1": "went", "4": "went", ":T3": "came", "9": "came", ":T2": "uri", ":Train": "uri", "7": "literal",
    }  # fmt: skip
    expect_labels(panel, [":T2", ":T3", ":Train", "7", "9"])
    after = picture_of(panel).evaluate(places)
    for stays in (":T2", ":Train", "7"):
        assert after[stays] == {axis: pytest.approx(place, abs=1) for axis, place in before[stays].items()}
    expect(panel.get_by_role("img", name="Picture of 5 nodes and 4 triples")).to_be_visible()


@pytest.mark.hunted("a large picture; the gate has the bounds of exploring")
def test_picture_is_bounded(page: Page, served: Served) -> None:
    """Of many triples the first are drawn, and the words say so; the table has more."""
    rows = " ".join(f":X{n} :delay {n} ." for n in range(400))
    served.update(f"{PREFIX} DROP ALL ; INSERT DATA {{ {rows} }}")
    panel = subscribe(page, PREFIX + "CONSTRUCT { ?s :late ?o } WHERE { ?s :delay ?o }")
    panel.get_by_role("button", name="Picture").click()
    expect(panel.locator(".drawn:visible")).to_have_text("150 of 400 triples drawn; the table has more.")
    assert len(labels(panel, "edge")) == 150
    served.update(PREFIX + "DELETE { ?s :delay ?o } WHERE { ?s :delay ?o FILTER(?o < 390) }")
    expect(panel.locator(".drawn:visible")).to_have_count(0)
    assert len(labels(panel, "edge")) == 10


@pytest.mark.sampled(by="width")
@pytest.mark.parametrize("width", [1280, 390])
def test_labels_can_be_read(page: Page, width: int) -> None:
    """They are large enough, inside of the frame, and have the colours of the page."""
    page.set_viewport_size({"width": width, "height": 800})
    panel = subscribe(page, LATE_GRAPH)
    panel.get_by_role("button", name="Picture").click()
    expect_labels(panel, [":T1", ":T2", ":Train", "4", "7"])
    canvas = picture_of(panel)
    zoom = canvas.evaluate("canvas => canvas._cyreg.cy.zoom()")
    assert 14 * zoom >= 9.8
    frame = canvas.evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    for _, label, _, box in canvas.evaluate(ELEMENTS):
        assert 0 <= box["x1"] < box["x2"] <= frame[0], label
        assert 0 <= box["y1"] < box["y2"] <= frame[1], label
    drawn = "canvas => canvas._cyreg.cy.nodes()[0].style('color').replaceAll(' ', '')"
    written = "canvas => getComputedStyle(canvas).color.replaceAll(' ', '')"
    colours = set()
    for scheme in ("light", "dark", "light"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # they are literals
        colours.add(canvas.evaluate(drawn))
        assert canvas.evaluate(drawn) == canvas.evaluate(written)
    assert len(colours) == 2
    assert violations_in_all_colours(page) == []


@pytest.mark.hunted("it watches frames; the gate has the picture's changes")
def test_picture_stands_still_for_those_who_ask_for_it(page: Page, served: Served) -> None:
    """With reduced motion nothing glides, neither when the picture changes nor when one zooms."""
    moves = """async canvas => {
      const cy = canvas._cyreg.cy;
      let frames = 0;
      cy.on("viewport", () => frames++);
      document.querySelector(".zoom button").click();
      await new Promise(resolve => setTimeout(resolve, 600));
      return frames;
    }"""
    for reduced, most in (("reduce", 1), ("no-preference", 1000)):
        page.emulate_media(reduced_motion=reduced)  # type: ignore[arg-type]  # both are literals
        page.goto(served.url)
        panel = page.locator("article").first if reduced != "reduce" else subscribe(page, LATE_GRAPH)
        panel.get_by_role("button", name="Picture").click()
        expect_labels(panel, [":T1", ":T2", ":Train", "4", "7"])
        page.wait_for_timeout(600)
        frames = picture_of(panel).evaluate(moves)
        assert frames == most if most == 1 else frames > 1


def test_node_of_a_row_is_explored(page: Page, served: Served) -> None:
    """Its triples, in and out, are a picture that is live, and a table."""
    served.update(PREFIX + "INSERT DATA { :Dunes :board :T1 . :T2 :behind :T3 }")
    panel = subscribe(page)
    panel.get_by_role("button", name=":T1", exact=True).click()
    around = panel_of(page, "Around :T1")
    expect(around.locator("h3")).to_be_focused()
    expect_labels(around, [":T1", ":Train", '"Dunes"@en', "4", ":Dunes"])
    assert labels(around, "edge") == [":board", ":delay", "rdf:type", "rdfs:label"]
    served.update(PREFIX + "INSERT DATA { :T2 :behind :T1 } ; DELETE DATA { :T1 :delay 4 }")
    expect_labels(around, [":T1", ":Train", '"Dunes"@en', ":Dunes", ":T2"])
    around.get_by_role("button", name="Table").click()
    rows = [[":Dunes", ":board", ":T1"], [":T1", "rdf:type", ":Train"], [":T1", "rdfs:label", "Dunes@en"]]
    expect(around.locator("tbody tr")).to_have_count(4)
    assert rows_of(around) == [*rows, [":T2", ":behind", ":T1"]]


@pytest.mark.hunted("the gate explores in new panels")
def test_exploring_goes_on_in_one_panel(page: Page, served: Served) -> None:
    """A node of the picture is explored in its place, so that no panel is left behind at each step."""
    panel = subscribe(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    panel.get_by_role("button", name=":T1", exact=True).click()
    around = panel_of(page, "Around :T1")
    expect_labels(around, [":T1", ":Train", '"Dunes"@en', "4"])
    assert served.url + "explain" not in asked  # there is no key to learn
    where = """(canvas, label) => {
      const cy = canvas._cyreg.cy;
      return cy.nodes().filter(one => one.data("label") === label).renderedPosition();
    }"""
    page.wait_for_timeout(400)  # the picture comes to rest
    canvas = picture_of(around)
    place = canvas.evaluate(where, ":Train")
    canvas.click(position=place)
    expect_labels(panel_of(page, "Around :Train"), [":Train", ":T1", ":T2", ":T3"])
    expect(page.locator("article h3")).to_have_text(["Around :Train", "Late trains"])
    expect(page.locator("article h3").first).to_be_focused()


@pytest.mark.hunted("the gate explores an IRI")
def test_blank_node_is_explored(page: Page, served: Served) -> None:
    """By its label, which no query can say; also when the page is loaded again."""
    served.update(PREFIX + "INSERT { :T1 :at _:place . _:place :x 3 ; :y 4 . _:other :x 5 } WHERE {}")
    panel = subscribe(page, PREFIX + "SELECT ?place { :T1 :at ?place }")
    panel.locator("button.node").click()
    around = page.locator("article").first
    expect(around.locator("h3")).to_contain_text("Around _:")
    expect(around.locator(".facts")).to_contain_text("3 triples")
    assert labels(around, "edge") == [":at", ":x", ":y"]
    served.update(PREFIX + "INSERT { ?place :z 6 } WHERE { :T1 :at ?place }")
    expect(around.locator(".facts")).to_contain_text("4 triples")
    page.reload()
    expect(page.locator("article").first.locator(".facts")).to_contain_text("4 triples")


MANY = "60 triples with this node as"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("out", "into", "drawn", "words"),
    [
        (5000, 1, 61, f"First {MANY} subject; there may be more."),
        (1, 5000, 61, f"First {MANY} object; there may be more."),
        (60, 60, 120, f"First {MANY} subject and as object; there may be more."),
        (59, 59, 118, ""),
    ],
)
def test_exploring_is_bounded(
    page: Page, served: Served, out: int, into: int, drawn: int, words: str
) -> None:
    """A node with many triples shows so many in each direction, and says that there may be more."""
    triples = [f":A :to :X{n} ." for n in range(out)] + [f":Y{n} :to :A ." for n in range(into - 1)]
    served.update(f"{PREFIX} DROP ALL ; INSERT DATA {{ {' '.join(triples)} :B :is :A }}")
    subscribe(page, PREFIX + "SELECT ?a { :B :is ?a }").get_by_role("button", name=":A").click()
    around = panel_of(page, "Around :A")
    expect(around.get_by_role("img", name=f"and {drawn} triples")).to_be_visible()
    expect(around.locator(".bound")).to_have_text(words)


@pytest.mark.hunted("the gate has the bounds of exploring")
def test_node_beyond_the_limits_of_the_server_is_refused(page: Page, watched: Watched) -> None:
    """The server keeps all triples of a node; the panel says which limit it is, and shows nothing else."""
    watched.allow("status of 403")
    with Served("--kept-rows", "1000") as served:
        triples = " ".join(f":A :to :X{n} ." for n in range(500))
        served.update(f"{PREFIX} INSERT DATA {{ {triples} :B :is :A }}")
        page.goto(served.url)
        subscribe(page, PREFIX + "SELECT ?a { :B :is ?a }").get_by_role("button", name=":A").click()
        around = panel_of(page, "Around :A")
        expect(around.locator(".lost")).to_contain_text("more than 1,000 rows to work out its answer")
        for part in (".canvas", "table", ".tools"):
            expect(around.locator(part)).to_be_hidden()


def test_triples_of_named_graphs_are_explored(page: Page, served: Served) -> None:
    """In whichever graph they are."""
    served.update(PREFIX + "INSERT DATA { GRAPH <urn:g> { :T1 :platform 5 } GRAPH <urn:h> { :T1 :delay 4 } }")
    subscribe(page).get_by_role("button", name=":T1", exact=True).click()
    around = panel_of(page, "Around :T1")
    expect_labels(around, [":T1", ":Train", '"Dunes"@en', "4", "5"])


def test_entailed_triples_are_explored(page: Page, served: Served) -> None:
    """What an answer over entailed triples has, is explored over them as well."""
    served.update(PREFIX + "INSERT DATA { :Train rdfs:subClassOf :Vehicle }")
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()  # the form is set up
    page.get_by_label("Entailment").select_option("rdfs")
    panel = subscribe(page, PREFIX + "SELECT ?x { ?x a :Vehicle }")
    panel.get_by_role("button", name=":T2", exact=True).click()
    around = panel_of(page, "Around :T2")
    expect(around.locator(".facts")).to_contain_text("RDFS entailment")
    expect_labels(around, [":T2", ":Train", ":Vehicle", "7"])


def test_hostile_nodes_are_text(page: Page, served: Served) -> None:
    """What cannot stand in a query is no button, and nothing that is drawn runs."""
    served.update(
        'DROP ALL ; INSERT DATA { <javascript:alert(1)> <urn:p> "<img src=x onerror=alert(2)>", <urn:ok> }'
    )
    panel = subscribe(page, "SELECT ?s ?o { ?s <urn:p> ?o }")
    panel.get_by_role("button", name="<javascript:alert(1)>").first.click()
    around = page.locator("article").first
    expect_labels(
        around,
        ["<javascript:alert(1)>", "<urn:ok>", '"<img src=x onerror=alert(2…'],
    )
    expect(around.locator("h3")).to_have_text("Around <javascript:alert(1)>")


EXPLORABLE = """async terms => terms.map((await import("/static/explore.js")).isExplorable)"""
AROUND = """async node =>
  (await import("/static/explore.js")).around(node, { prefixes: new Map(), entailment: "" }).query"""


def test_term_that_a_query_cannot_say_is_not_asked_for(page: Page, served: Served) -> None:
    """A graph may hold IRIs and labels that would be read as more of the query."""
    page.goto(served.url)
    iris = {"urn:x": True, "http://e/ü?q=1#f": True} | dict.fromkeys(
        ("urn:x> } ; DROP ALL #", "urn:a b", "urn:\\u003e", "relative", "urn:{x}"), False
    )
    terms: list[dict[str, Any]] = [{"type": "uri", "value": iri} for iri in iris]
    others = [{"type": "bnode", "value": "b 1"}, {"type": "literal", "value": "urn:x"}]
    assert page.evaluate(EXPLORABLE, terms + others) == [*iris.values(), True, False]
    first, second, *_ = page.evaluate(AROUND, {"type": "bnode", "value": "a\r\nASK {} #"}).splitlines()
    assert first == "# Around _:a  ASK {} #"
    assert second.startswith("CONSTRUCT {")


def test_picture_that_is_closed_while_it_loads_is_not_made(page: Page) -> None:
    """What draws comes when it is too late."""
    panel = subscribe(page, LATE_GRAPH)
    drawing = HeldBack(page, "**/graph.js")
    panel.get_by_role("button", name="Picture").click()
    drawing.wait()
    panel.get_by_role("button", name="Unsubscribe").click()
    expect(panel).to_have_count(0)
    drawing.release()
    page.evaluate("import('/static/graph.js').then(() => undefined)")
    assert page.locator("#__________cytoscape_stylesheet").count() == 0  # a picture makes it


def test_node_has_its_whole_iri_as_a_tooltip(page: Page) -> None:
    """An empty title within the button would hide it."""
    node = subscribe(page).get_by_role("button", name=":T1", exact=True)
    expect(node).to_have_attribute("title", "http://example.org/T1\nExplore this node")
    assert node.locator("[title]").count() == 0


def test_nodes_are_one_stop_of_tab(page: Page, served: Served) -> None:
    """Arrow keys lead from node to node, Enter explores, and one that goes leaves the focus to the table."""
    panel = subscribe(page, PREFIX + "SELECT ?train ?class ?minutes { ?train a ?class ; :delay ?minutes }")
    expect(panel.locator("tbody tr")).to_have_count(2)
    assert panel.locator("button.node[tabindex='0']").count() == 1
    panel.locator("th button").last.focus()
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    first = focused.text_content()
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_text(":Train")
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_text(":Train")
    page.keyboard.press("ArrowLeft")
    other = ":T2" if first == ":T1" else ":T1"
    expect(focused).to_have_text(other)
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_text(other)
    page.keyboard.press("ArrowUp")
    expect(focused).to_have_text(first or "")
    served.update(PREFIX + f"DELETE WHERE {{ {first} :delay ?x }}")
    expect(panel.locator(".scroller")).to_be_focused()
    panel.locator("th button").last.focus()
    page.keyboard.press("Tab")
    expect(focused).to_have_text(other)
    page.keyboard.press("Enter")
    expect(panel_of(page, f"Around {other}").locator("h3")).to_be_focused()


def test_page_without_what_draws_has_the_table(page: Page, served: Served, watched: Watched) -> None:
    """A package that was built without npm shows triples, and explores, as a table."""
    send_otherwise(page, served.url, 'data-graph="graph.js"', 'data-graph=""')
    panel = subscribe(page, LATE_GRAPH)
    expect(panel.locator("tbody tr")).to_have_count(4)
    expect(panel.get_by_role("button", name="Picture")).to_be_hidden()
    panel.get_by_role("button", name=":T2", exact=True).first.click()
    expect(panel_of(page, "Around :T2").locator("tbody tr")).to_have_count(2)


@pytest.mark.hunted("a browser with a touch screen; the gate has keys and mouse")
def test_finger_scrolls_the_page_past_a_picture(browser: Browser, served: Served) -> None:
    """A picture that is seen as a whole does not catch it; one that was made larger is moved."""
    size, touch = {"width": 390, "height": 600}, {"has_touch": True, "is_mobile": True}
    context = browser.new_context(base_url=served.url, viewport=size, **touch)  # type: ignore[arg-type]  # they fit
    context.add_init_script(VISITED)
    page = context.new_page()
    watched = Watched(page)
    panel = subscribe(page, LATE_GRAPH)
    panel.get_by_role("button", name="Picture").click()
    expect_labels(panel, [":T1", ":T2", ":Train", "4", "7"])
    page.evaluate("scrollTo(0, 0)")
    panel.locator("h3").scroll_into_view_if_needed()
    canvas = picture_of(panel)
    swipe(page, canvas)
    page.wait_for_function("scrollY > 50")
    expect(page.locator("article")).to_have_count(1)
    panel.get_by_role("button", name="Larger").click()
    canvas.scroll_into_view_if_needed()
    pan = "canvas => canvas._cyreg.cy.pan().y"
    page.wait_for_timeout(500)  # the picture comes to rest
    before, top = canvas.evaluate(pan), page.evaluate("scrollY")
    swipe(page, canvas)
    assert canvas.evaluate(pan) < before - 50
    assert page.evaluate("scrollY") == top
    assert watched.faults == []
    context.close()


def swipe(page: Page, element: Locator) -> None:
    """Move a finger over an element, a hundred pixels up."""
    box = element.bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    x, y = box["x"] + 20, box["y"] + 130
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 21):
        points = [{"x": x, "y": y - 5 * step}]
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
