"""The validation on the page: its results live, those of a refused update, and previews of updates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.axe import violations_in_all_colours
from support.browser import Page, Watched, expect, panel_of, subscribe
from support.browser import write as write_query
from support.served import Served

PREFIX = "PREFIX : <http://example.org/> "
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://example.org/> .
:OnTime a sh:NodeShape ; sh:targetClass :Train ;
    sh:property [ sh:path :delay ; sh:maxInclusive 5 ; sh:severity sh:Warning ; sh:message "too late" ] .
:OnLine a sh:NodeShape ; sh:targetClass :Train ; sh:property :Line .
:Line a sh:PropertyShape ; sh:path :line ; sh:minCount 1 ; sh:message "has no line" ."""
TRAINS = (
    "DROP ALL ; INSERT DATA { :T1 a :Train ; :line :S1 ; :delay 4 . :T2 a :Train ; :line :S1 ; :delay 7 }"
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    shapes = tmp_path_factory.mktemp("shapes") / "shapes.ttl"
    shapes.write_text(SHAPES)
    with Served("--shapes", shapes, "--guard") as served:
        yield served


@pytest.fixture
def served(guarded: Served) -> Served:
    """A guarded server with a train that is late, which is a warning only."""
    guarded.update(PREFIX + TRAINS)
    return guarded


def open_form(page: Page, text: str) -> None:
    """Unfold the form for updates, and write one."""
    page.get_by_text("Update the graph").click()
    write(page, text)


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Update").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(PREFIX + text)


def visit(page: Page, served: Served) -> None:
    """Open the page, and unfold the validation."""
    page.goto(served.url)
    page.locator("#validation-fold > summary").click()


def test_results_are_shown_by_shape_and_focus_node(page: Page, served: Served) -> None:
    """Live: what comes and goes is marked, counted and said."""
    visit(page, served)
    panel = page.get_by_role("region", name="Validation", exact=True)
    expect(panel.locator(".state")).to_have_text("Connected")
    expect(panel.locator(".facts")).to_contain_text("1 warning · 1 shape · 1 focus node")
    shape = panel.locator("details details")
    expect(shape.locator("summary")).to_have_text(
        "Shape of <http://example.org/delay> 1 result at 1 focus node"
    )
    focus = shape.get_by_role("button", name="<http://example.org/T2>")
    expect(shape.locator("li li")).to_have_text(
        "Warning <http://example.org/delay>: 7 too late (MaxInclusive)"
    )
    served.update(PREFIX + "DELETE { ?t :delay ?d } INSERT { ?t :delay 9 } WHERE { ?t :delay ?d }")
    expect(panel.locator("li.came")).to_have_count(2)
    expect(panel.locator(".facts")).to_contain_text("2 warnings · 1 shape · 2 focus nodes")
    expect(page.locator("#announced")).to_contain_text("Validation: 2 results added, 1 removed; 2 results.")
    expect(panel.locator("li.gone")).to_have_count(0)
    served.update(PREFIX + "DELETE WHERE { ?t :delay ?d }")
    expect(panel.locator(".facts")).to_contain_text("Conforms")
    expect(panel.locator("details details")).to_have_count(0)
    expect(focus).to_have_count(0)


def test_shapes_without_targets_validate_nothing(page: Page, tmp_path: Path) -> None:
    """The panel does not say that the data conform."""
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(SHAPES.replace("sh:targetClass :Train ;", ""))
    with Served("--shapes", shapes) as served:
        page.goto(served.url)
        facts = page.get_by_role("region", name="Validation", exact=True).locator(".facts")
        expect(facts).to_contain_text("Nothing is validated: no shape has both a target")


def test_a_focus_node_is_explored_by_keys(page: Page, served: Served) -> None:
    """All nodes are one stop of Tab, arrows lead on, Enter explores; the focus stays as results change."""
    served.update(
        PREFIX + "INSERT DATA { :T3 a :Train ; :line :S1 ; :delay 8 . :T4 a :Train ; :line :S1 ; :delay 8 }"
    )
    visit(page, served)
    nodes = page.locator("#validation-results button")
    expect(nodes).to_have_count(3)
    assert nodes.evaluate_all("all => all.map(node => node.tabIndex)") == [0, -1, -1]
    page.locator("#validation-results summary").focus()
    page.keyboard.press("Tab")
    expect(nodes.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(nodes.nth(2)).to_be_focused()
    served.update(PREFIX + "DELETE DATA { :T2 :delay 7 } ; INSERT DATA { :T2 :delay 12 }")
    expect(page.locator("#validation-results li.came")).to_have_count(1)
    expect(nodes.nth(2)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(panel_of(page, "Around <http://example.org/T3>")).to_be_visible()


def test_answer_is_in_sight_beside_shapes(page: Page, served: Served) -> None:
    """The validation is one line until it is unfolded, which the browser remembers."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(served.url)
    panel = subscribe(page)
    expect(panel.locator("tbody tr").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0
    expect(page.locator("#validation .facts")).to_be_in_viewport()
    expect(page.locator("#validation li")).to_have_count(2)
    expect(page.locator("#validation li").first).to_be_hidden()
    page.locator("#validation-fold > summary").click()
    # the browser reports the toggle in a later task
    page.wait_for_function("localStorage['rdflive.validation'] === 'true'")
    page.reload()
    expect(page.locator("#validation li").first).to_be_visible()


def test_what_folds_stays_folded(page: Page, served: Served) -> None:
    """A change of the results does not open a shape again."""
    visit(page, served)
    summary = page.locator("#validation-results summary")
    summary.click()
    expect(page.locator("#validation-results li li")).to_be_hidden()
    served.update(PREFIX + "INSERT DATA { :T2 :delay 12 }")
    expect(summary).to_contain_text("2 results at 1 focus node")
    expect(page.locator("#validation-results li li").first).to_be_hidden()


def test_refused_update_says_its_results(page: Page, served: Served, watched: Watched) -> None:
    """At the form, aloud; another text takes them away, and nothing has changed."""
    watched.allow("status of 422")
    before = served.query("SELECT * { ?s ?p ?o }")
    page.goto(served.url)
    open_form(page, "INSERT DATA { :T5 a :Train . :T6 a :Train ; :line :S2 ; :delay 11 }")
    page.keyboard.press("Control+Enter")
    problem = page.locator("#update-problem")
    expect(problem).to_have_attribute("role", "alert")
    expect(problem).to_contain_text("the commit is refused, because it would add 1 result:")
    expect(problem.locator("li")).to_have_text(":T5 Violation :line: has no line (MinCount)")
    assert served.query("SELECT * { ?s ?p ?o }") == before
    write(page, "INSERT DATA { :T6 a :Train ; :line :S2 }")
    expect(problem).to_be_empty()
    page.get_by_role("button", name="Update", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Done, commit ")).to_be_visible()


def test_preview_says_what_would_change(page: Page, served: Served) -> None:
    """Quads, subscriptions and the validation; nothing changes, and another text takes it away."""
    before = served.query("SELECT * { ?s ?p ?o }")
    panel = subscribe(page)
    open_form(page, "DELETE { ?t :delay ?d } INSERT { ?t :delay 9 } WHERE { ?t :delay ?d }")
    page.get_by_role("button", name="Preview", exact=True).click()
    shown = page.get_by_role("region", name="Preview")
    expect(shown.locator("h4")).to_have_text(["The graph +2 −2", "Validation +2 −1", "Late trains +2 −2"])
    expect(shown.locator("p.came").first).to_have_text("+ :T1 :delay 9")
    expect(shown).to_contain_text("− :T2 Warning :delay: 7 too late (MaxInclusive)")
    said = "Preview: would add 2 quads and remove 2 quads."
    expect(page.get_by_role("status").filter(has_text=said)).to_be_visible()
    assert served.query("SELECT * { ?s ?p ?o }") == before
    expect(panel.locator("tr.came")).to_have_count(0)
    write(page, "CLEAR DEFAULT # never")
    expect(shown).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text=said)).to_have_count(0)


def test_preview_says_what_would_be_refused(page: Page, served: Served, watched: Watched) -> None:
    """With the results; an update that cannot be run is a problem, as without a preview."""
    watched.allow("status of 400")
    page.goto(served.url)
    open_form(page, "INSERT DATA { :T5 a :Train }")
    page.get_by_role("button", name="Preview", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="the update would be refused.")).to_be_visible()
    expect(page.get_by_role("region", name="Preview").locator("li")).to_contain_text("has no line")
    write(page, "INSERT DATA { :a :b }")
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.locator("#update-problem")).to_contain_text("line 1")
    expect(page.get_by_role("textbox", name="Update")).to_be_focused()


@pytest.mark.hunted("the gate has validation itself")
def test_validation_is_no_query_that_is_live(page: Page, served: Served) -> None:
    """It is not in the list of those, and takes one of the connections that panels may have."""
    visit(page, served)
    expect(page.locator("#validation .facts")).to_contain_text("sequence")
    expect(page.locator("#server")).to_have_text("Connected")
    expect(page.locator("#served")).not_to_contain_text("SHACL")
    for number in range(4):
        subscribe(page, f"SELECT ?s{number} {{ ?s{number} ?p ?o }}")
    write_query(page, "SELECT ?more { ?more ?p ?o }")
    page.get_by_role("button", name="Subscribe", exact=True).click()
    expect(page.locator("#open-limit")).to_contain_text("4 subscriptions are open")


def test_validation_is_accessible(page: Page, served: Served, watched: Watched) -> None:
    """axe-core finds nothing serious, with results, a refusal and a preview, wide and narrow."""
    watched.allow("status of 422")
    page.emulate_media(reduced_motion="reduce")
    visit(page, served)
    open_form(page, "INSERT DATA { :T5 a :Train . :T2 :delay 12 }")
    for name, where in (("Update", "#update-problem li"), ("Preview", "#update-previewed h4")):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(where).first).to_be_visible()
        assert violations_in_all_colours(page, 1280, 360) == []


def test_page_without_shapes_has_no_validation(page: Page, server: Served) -> None:
    """Nothing is asked for that is not there."""
    page.goto(server.url)
    expect(page.locator("#server")).to_have_text("Connected")
    expect(page.locator("#validation")).to_be_hidden()


@pytest.mark.hunted("the gate has the page without shapes")
def test_without_the_right_to_subscribe_there_is_no_validation(
    page: Page, tmp_path: Path, watched: Watched
) -> None:
    """And previews say whether an update would be done."""
    watched.allow("status of 40[13]")
    (tmp_path / "tokens.toml").write_text('[u]\ntoken = "a-token-that-updates"\nrights = ["update"]\n')
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    with Served("--tokens", tmp_path / "tokens.toml", "--shapes", tmp_path / "shapes.ttl") as served:
        page.goto(served.url)
        page.get_by_label("Token").fill("a-token-that-updates")
        page.keyboard.press("Enter")
        open_form(page, "INSERT DATA { :a a :Train }")
        expect(page.locator("#validation")).to_be_hidden()
        page.get_by_role("button", name="Preview", exact=True).click()
        done = "Preview: the update would run."
        expect(page.get_by_role("status").filter(has_text=done)).to_be_visible()
