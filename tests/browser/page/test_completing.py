"""Completion in the editor: what is offered where, by keys, and told to assistive technology."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.axe import violations_in_all_colours
from support.browser import Locator, Page, Watched, expect
from support.effort import examples
from support.served import Served

FEW = settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
PREFIX = "PREFIX : <http://example.org/>"
PLACES = """async texts => {
  const { placeOf } = await import("/static/places.js");
  return texts.map(text => { const place = placeOf(text); return place && [place.word, place.slot]; });
}"""
COMPLETE = """async ([text, position, isAsked, vocabulary]) => {
  const { completionsAt } = await import("/static/completion.js");
  return completionsAt(text, position, isAsked, vocabulary)?.options.map(({ label }) => label) ?? [];
}"""
KNOWN = {
    "predicates": [
        {"iri": "http://example.org/delay", "uses": 9},
        {"iri": "http://example.org/label", "uses": 4},
        {"iri": "http://elsewhere.example/x#label", "uses": 2},
        {"iri": "http://www.w3.org/2000/01/rdf-schema#label", "uses": 1},
        {"iri": "http://lap.example/zone", "uses": 1},
    ],
    "classes": [{"iri": "http://example.org/Train", "uses": 3}, {"iri": "urn:tram", "uses": 1}],
}


@pytest.fixture
def loaded(page: Page, served: Served) -> Page:
    served.count(6)
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    return page


def type_into(page: Page, text: str) -> Locator:
    """Type a text in place of what is there, and give the offered completions."""
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    return page.get_by_role("listbox").get_by_role("option")


def text_of(page: Page) -> str:
    return "\n".join(page.locator("#query .cm-line").all_text_contents())


WORDS = [
    ("sel", "SELECT"),
    ("PREFIX fo", "PREFIX foaf: <http://xmlns.com/foaf/0.1/>"),
    (PREFIX + " ASK { ?x a :T", PREFIX + " ASK { ?x a :Train"),
    (PREFIX + " ASK { ?x :d", PREFIX + " ASK { ?x :delay"),
    (PREFIX + " ASK { ?x dela", PREFIX + " ASK { ?x :delay"),
    ("ASK { ?x rdfs:la", "ASK { ?x rdfs:label"),
    ("ASK { ?x <http://example.org/d", "ASK { ?x <http://example.org/delay>"),
    ("SELECT ?minutes { ?train ?b ?mi", "SELECT ?minutes { ?train ?b ?minutes"),
    ("SELECT (cou", "SELECT (COUNT("),
    ("ASK { ?x ?y ?z opt", "ASK { ?x ?y ?z OPTIONAL"),
]


def test_word_is_completed_by_keys(loaded: Page, watched: Watched) -> None:
    """Keywords, functions, prefixes, classes, predicates and variables are offered, and Enter takes one."""
    watched.allow("status of 400")  # who types slowly has half a query checked
    for text, taken in WORDS:
        offered = type_into(loaded, text)
        expect(offered.first).to_have_attribute("aria-selected", "true")
        loaded.wait_for_timeout(100)  # the editor takes no key in the moment in which the list comes
        loaded.keyboard.press("Enter")
        expect(offered).to_have_count(0)
        assert text_of(loaded) == taken


def test_predicates_are_offered_by_use(page: Page, served: Served, watched: Watched) -> None:
    """The most used one is first, each with its number, and Ctrl with Space offers all."""
    watched.allow("status of 400")
    served.update("INSERT DATA { <urn:a> <urn:often> 1, 2, 3, 4, 5, 6, 7 ; <urn:seldom> 1 }")
    served.count(14)
    page.goto(served.url)
    expect(page.locator("#query-form")).not_to_be_empty()
    offered = type_into(page, "ASK { ?x ")
    expect(offered).to_have_count(0)
    page.keyboard.press("Control+Space")
    expect(offered.first).to_have_text("<urn:often>7 uses")
    expect(offered.filter(has_text="<urn:seldom>")).to_have_text("<urn:seldom>1 use")


def test_nothing_is_offered_in_comments_and_strings(loaded: Page, watched: Watched) -> None:
    """There no word is completed, not even by key."""
    watched.allow("status of 400")
    for text in ("# sel", 'ASK { ?x ?y "sel', "ASK { ?x ?y '''sel", "ASK { ?x ?y 5"):
        offered = type_into(loaded, text)
        loaded.keyboard.press("Control+Space")
        loaded.wait_for_timeout(200)
        expect(offered).to_have_count(0)


def test_tab_and_escape_leave_the_offer_alone(loaded: Page, watched: Watched) -> None:
    """Tab leaves the editor as ever, Escape closes the list, and neither writes anything."""
    watched.allow("status of 400")
    offered = type_into(loaded, "ASK { ?x rdfs:la")
    expect(offered.first).to_be_visible()
    loaded.keyboard.press("Escape")
    expect(offered).to_have_count(0)
    loaded.keyboard.press("Control+Space")
    expect(offered.first).to_be_visible()
    loaded.keyboard.press("Tab")
    expect(loaded.get_by_role("textbox", name="Query")).not_to_be_focused()
    expect(offered).to_have_count(0)
    assert text_of(loaded) == "ASK { ?x rdfs:la"


def test_offer_is_told_to_assistive_technology(loaded: Page, watched: Watched) -> None:
    """The editor names the option that the arrows have led to, and axe-core finds nothing serious."""
    watched.allow("status of 400")
    loaded.emulate_media(reduced_motion="reduce")
    offered = type_into(loaded, "ASK { ?x ?y ?z . ?z ")
    loaded.keyboard.press("Control+Space")
    expect(offered.nth(1)).to_be_visible()
    loaded.wait_for_timeout(100)
    loaded.keyboard.press("ArrowDown")
    expect(offered.nth(1)).to_have_attribute("aria-selected", "true")
    name = offered.nth(1).get_attribute("id")
    expect(loaded.get_by_role("textbox", name="Query")).to_have_attribute("aria-activedescendant", str(name))
    assert violations_in_all_colours(loaded) == []


def test_completion_does_not_wait_for_the_server(page: Page, served: Served, watched: Watched) -> None:
    """While the server does not tell the vocabulary, keywords and variables are offered."""
    watched.allow("status of 400")
    page.route("**/vocabulary", lambda route: None)
    page.goto(served.url)
    expect(page.locator(".cm-editor")).to_be_visible()
    offered = type_into(page, "ASK { ?first ?y ?z FILTER(?fi")
    expect(offered).to_have_text(["?first"])
    page.unroute_all(behavior="ignoreErrors")


PLACED = [
    ("", ["", "outside"]),
    ("SEL", ["SEL", "outside"]),
    ("PREFIX ", ["", "prefix"]),
    ("PREFIX ex: <http://e/> SELECT ?a", ["?a", "outside"]),
    ("ASK { ", ["", "subject"]),
    ("ASK { ?a ", ["", "predicate"]),
    ("ASK { ?a ex:p", ["ex:p", "predicate"]),
    ("ASK { ?a ex:p/ex:q", ["ex:q", "predicate"]),
    ("ASK { ?a ^", ["", "predicate"]),
    ("ASK { ?a a ", ["", "class"]),
    ("ASK { ?a rdf:type ", ["", "class"]),
    ("ASK { ?a <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ", ["", "class"]),
    ("ASK { ?a a ex:C, ", ["", "class"]),
    ("ASK { ?a ex:p ", ["", "object"]),
    ("ASK { ?a ex:p 'x', ", ["", "object"]),
    ("ASK { ?a ex:p 'x'@en ; ", ["", "predicate"]),
    ("ASK { ?a ex:p 5 . ", ["", "subject"]),
    ("ASK { ?a ex:p [ ", ["", "predicate"]),
    ("ASK { ?a ex:p [ ex:q ?b ] ; ", ["", "predicate"]),
    ("ASK { [ ex:q ?b ] ", ["", "predicate"]),
    ("ASK { ?a ex:p true . ?b ", ["", "predicate"]),
    ("ASK { ?a ?b ?c FILTER(", ["", "expression"]),
    ("ASK { ?a ?b ?c FILTER(?a < ?b && str", ["str", "expression"]),
    ("ASK { ?a ?b ?c FILTER EXISTS { ?a ", ["", "predicate"]),
    ("ASK { ?a ?b ?c FILTER(EXISTS { ?a ", ["", "predicate"]),
    ("ASK { ?a ?b ?c FILTER(EXISTS { ?a ?b ?c }) ?d ", ["", "predicate"]),
    ("ASK { ?a ?b ?c OPTIONAL { ?a ", ["", "predicate"]),
    ("ASK { { ?a ?b ?c } UNION { ", ["", "subject"]),
    ("SELECT * { ?a ?b ?c } ORDER ", ["", "outside"]),
    ("SELECT (COUNT(?a) AS ", ["", "expression"]),
    ("ASK { ?a <http://e", ["<http://e", "predicate"]),
    ("ASK { ?a ex:p ?b } # ", None),
    ("ASK { ?a ex:p ?b # x\n ; ", ["", "predicate"]),
    ("ASK { ?a ex:p 'x' ", ["", "subject"]),
    ('ASK { ?a ex:p "', None),
    ('ASK { ?a ex:p "x\\"', None),
    ('ASK { ?a ex:p """x"', None),
    ("ASK { ?a ex:p 'x'^^", ["", "object"]),
    ("ASK { ?a ex:p 'x'^^ex:d ", ["", "subject"]),
    ("ASK { ?a ex:p _:b", None),
]


def test_place_in_a_pattern_is_found(loaded: Page) -> None:
    """Whether a subject, predicate, class or object is being written, and which word."""
    found = loaded.evaluate(PLACES, [text for text, _ in PLACED])
    assert list(zip([text for text, _ in PLACED], found, strict=True)) == PLACED


@FEW
@given(text=st.text(alphabet=st.sampled_from(list("a:?<>{}()[].;,'\"\\#@^_- \n5é\U0001f686")), max_size=40))
def test_place_is_found_in_any_text(loaded: Page, text: str) -> None:
    """Nothing that can be typed stops completion, and the word is the end of the text."""
    (place,) = loaded.evaluate(PLACES, [text])
    assert place is None or text.endswith(place[0])


LIKELIEST = [
    (
        PREFIX + " ASK { ?x |",
        [":delay", ":label", "<http://elsewhere.example/x#label>", "rdfs:label"],
    ),
    (PREFIX + " ASK { ?x lab|", [":label", "<http://elsewhere.example/x#label>", "rdfs:label"]),
    (PREFIX + " ASK { ?x rdfs:l|", ["rdfs:label"]),
    ("PREFIX lap: <http://lap.example/> ASK { ?x la|", ["lap:zone", "<http://example.org/label>"]),
    (PREFIX + " ASK { ?x a |", [":Train", "<urn:tram>", "?x"]),
    (PREFIX + " ASK { ?x :delay| }", []),
    (PREFIX + " ASK { ?x :Delay| }", [":delay"]),
    ("PREFIX e: <http://example.org/> ASK { ?x del|", ["e:delay"]),
    ("PREFIX rail: <http://r/> ASK { ?x rai|", ["rail:"]),
    ("SELECT ?b { ?a ?| ?c }", ["?b", "?a", "?c"]),
    ("SELECT|", []),
    ("ASK { ?x :p 1 FILTER(?x <|", []),
]


def test_likeliest_is_offered_first(loaded: Page) -> None:
    """What fits the place, by use; a name that begins so before one that has the letters in it."""
    for text, first in LIKELIEST:
        position, whole = text.index("|"), text.replace("|", "")
        is_asked = whole[:position].endswith(" ")
        offered = loaded.evaluate(COMPLETE, [whole, position, is_asked, KNOWN])
        assert offered[: len(first)] == first, text
        assert first or not offered, text


def test_offer_is_bounded(loaded: Page) -> None:
    """Of a thousand predicates a hundred are offered, and any of them can be found by its letters."""
    many = [{"iri": f"http://example.org/p{number}x", "uses": 1} for number in range(1000)]
    known = {"predicates": many, "classes": []}
    text = "ASK { ?x "
    assert len(loaded.evaluate(COMPLETE, [text, len(text), True, known])) == 100
    text += "p777"
    assert loaded.evaluate(COMPLETE, [text, len(text), False, known]) == ["<http://example.org/p777x>"]
