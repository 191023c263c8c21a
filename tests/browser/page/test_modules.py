"""The page's own modules, in the browser that runs them."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.browser import Page
from support.effort import examples
from support.served import Served

FEW = settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXT = (
    ': a comment\r\n\r\nid: 1-ab\nevent: initial\r\ndata: {"a":\rdata: 1}\n\n'
    "data:without a space\nretry: 5\nunknown: x\nnofield\n\n"
    "event: only\n\nid: 2\x00\nevent: update\ndata\n\ndata: lost"
)
EVENTS = [
    {"type": "initial", "data": '{"a":\n1}', "id": "1-ab"},
    {"type": "message", "data": "without a space", "id": None},
    {"type": "update", "data": "", "id": None},
]
PARSE = """async pieces => {
  const { EventParser } = await import("/static/events.js");
  const parser = new EventParser();
  return pieces.flatMap(piece => [...parser.take(piece)]);
}"""
ANSWER = """async events => {
  const { Answer } = await import("/static/answer.js");
  const answer = new Answer();
  return events.map(event => {
    const change = event.initial ? answer.begin(event) : answer.take(event);
    return { change, all: [...answer.bindings()], size: answer.size };
  });
}"""
SHORTEN = """async ({ query, iris }) => {
  const { prefixesOf, shorten } = await import("/static/terms.js");
  return iris.map(iri => shorten(iri, prefixesOf(query)));
}"""
WRITTEN = """async terms => {
  const { keyOf } = await import("/static/pairs.js");
  const { textOf } = await import("/static/terms.js");
  return terms.map(term => [keyOf({ term }, ["term"]), textOf(term, new Map())]);
}"""
TURTLE = """async ([names, triple]) => {
  const { turtleOf } = await import("/static/turtle.js");
  return turtleOf([triple], new Map(Object.entries(names)));
}"""
CUT = """async ([text, longest]) => (await import("/static/elements.js")).cut(text, longest)"""
WIDE = """async ({ rows, columns }) => {
  const { Answer } = await import("/static/answer.js");
  const { AnswerTable } = await import("/static/table.js");
  const answer = new Answer();
  const vars = [...Array(columns).keys()].map(i => `x${i}`);
  const term = text => ({ type: "literal", value: text });
  const added = [...Array(rows).keys()].map(i => Object.fromEntries(vars.map(x => [x, term(`${x}n${i}`)])));
  answer.begin({ form: "SELECT", head: { vars }, added });
  const listener = { title: "wide", onChoice: () => table.draw(), onExplore() {} };
  const table = new AnswerTable(answer, new Map(), listener);
  table.draw();
  const count = what => table.element.querySelectorAll(what).length;
  const parts = ["tbody tr", "th button", "td bdi"];
  const shown = () => [...parts.map(count), table.element.lastChild.textContent];
  const all = shown();
  const filter = table.filter.querySelector("input");
  filter.value = `x${columns - 1}n${rows - 1}`;
  filter.dispatchEvent(new Event("input"));
  return [all, shown()];
}"""


@pytest.fixture
def loaded(page: Page, served: Served) -> Page:
    page.goto(served.url)
    return page


def row(value: int) -> dict[str, Any]:
    return {"x": {"type": "literal", "value": str(value)}}


@FEW
@given(cuts=st.lists(st.integers(1, len(TEXT) - 1), unique=True).map(sorted))
def test_events_do_not_depend_on_where_the_text_is_cut(loaded: Page, cuts: list[int]) -> None:
    """Pieces of any size, and each of the three ends of lines, give the events of the standard."""
    places = [0, *cuts, len(TEXT)]
    assert loaded.evaluate(PARSE, [TEXT[a:b] for a, b in pairwise(places)]) == EVENTS


@FEW
@given(answers=st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=6), data=st.data())
def test_answer_is_what_its_events_come_to(
    loaded: Page, answers: list[list[int]], data: st.DataObject
) -> None:
    """Whole answers and deltas lead to the same bag, and the difference shown for a whole one is the net."""
    events: list[dict[str, Any]] = []
    for before, after in zip([[], *answers], answers, strict=False):
        if not events or data.draw(st.booleans(), label="resync"):
            added, removed = after, []
        else:
            added = list((Counter(after) - Counter(before)).elements())
            removed = list((Counter(before) - Counter(after)).elements())
        event = {"added": list(map(row, added)), "removed": list(map(row, removed))}
        is_whole = added is after
        events.append({**event, "initial": is_whole, "form": "SELECT", "head": {"vars": ["x"]}})
    states = loaded.evaluate(ANSWER, events)
    for before, after, state in zip([[], *answers], answers, states, strict=False):
        assert bag(state["all"]) == Counter(after)
        assert state["size"] == len(after)
        assert bag(state["change"]["added"]) == Counter(after) - Counter(before)
        assert bag(state["change"]["removed"]) == Counter(before) - Counter(after)


def bag(bindings: list[Any]) -> Counter[int]:
    return Counter(int(binding["x"]["value"]) for binding in bindings)


def test_answer_refuses_what_does_not_fit(loaded: Page) -> None:
    """Removing a row that is not there is a misfit, for which the stream asks for the whole answer."""
    events = [
        {"initial": True, "form": "SELECT", "head": {"vars": ["x"]}, "added": []},
        {"removed": [row(1)]},
    ]
    failed = loaded.evaluate(f"events => ({ANSWER})(events).catch(error => error.constructor.name)", events)
    assert failed == "Misfit"


def test_iris_are_shortened_by_the_longest_prefix(loaded: Page) -> None:
    """A name that would have to be escaped stays in brackets, and so does what no prefix fits."""
    query = "prefix : <http://e/>\nPREFIX ab: <http://e/a/> PREFIX x: <javascript:> SELECT * {}"
    query = f"PREFIX _u: <http://e/u/> {query}"
    names = {
        "http://e/a/b": "ab:b",
        "http://e/c": ":c",
        "http://e/c/d": "<http://e/c/d>",
        "http://e/": "<http://e/>",
        "http://e/u/b": "<http://e/u/b>",
        "http://e/c.": "<http://e/c.>",
        "http://www.w3.org/2001/XMLSchema#int": "xsd:int",
        "javascript:alert(1)": "<javascript:alert(1)>",
    }
    shown = loaded.evaluate(SHORTEN, {"query": query, "iris": list(names)})
    assert json.dumps(shown) == json.dumps(list(names.values()))


def test_direction_is_part_of_a_text(loaded: Page) -> None:
    """Two literals that differ in it are two terms, and the mark of the language says it."""
    marks = [{}, {"its:dir": "ltr"}, {"its:dir": "rtl"}]
    terms = [{"type": "literal", "value": "x", "xml:lang": "ar", **mark} for mark in marks]
    keys, texts = zip(*loaded.evaluate(WRITTEN, terms), strict=True)
    assert len(set(keys)) == 3
    assert texts == ('"x"@ar', '"x"@ar--ltr', '"x"@ar--rtl')


def test_turtle_has_only_names_that_it_takes(loaded: Page) -> None:
    """A prefix that begins with a line is none there, and its IRIs stay whole."""
    names = {"_u": "http://e/u/", "v": "http://e/v/"}
    parts = {"subject": "u", "predicate": "v", "object": "w"}
    triple = {part: {"type": "uri", "value": f"http://e/{name}/x"} for part, name in parts.items()}
    text = loaded.evaluate(TURTLE, [names, triple])
    assert text == "PREFIX v: <http://e/v/>\n\n<http://e/u/x> v:x <http://e/w/x> .\n"


def test_long_text_is_cut_between_characters(loaded: Page) -> None:
    """What is left has no half of a character at its end."""
    for text, longest, shown in (("abc", 3, "abc"), ("abcd", 3, "ab…"), ("ab🚆cd", 4, "ab…"), ("", 3, "")):
        assert loaded.evaluate(CUT, [text, longest]) == shown


REST = "filter and downloads use all."


CUT_OFF = "rows; filter to find others."
TABLES = [
    (500, 40, (500, 40), ""),
    (501, 40, (500, 40), f"First 500 of 501 {CUT_OFF}"),
    (20_000, 1, (500, 1), f"First 500 of 20,000 {CUT_OFF}"),
    (400, 50, (400, 50), ""),
    (401, 50, (400, 50), f"First 400 of 401 {CUT_OFF}"),
    (3, 51, (3, 50), f"First 50 of 51 columns; {REST}"),
    (500, 1000, (400, 50), f"First 400 of 500 {CUT_OFF} First 50 of 1,000 columns; {REST}"),
]


def test_table_shows_the_first_rows_and_columns(loaded: Page) -> None:
    """At most 20,000 cells are in the page, the words count the rest, and a filter looks at all columns."""
    for rows, columns, shown, note in TABLES:
        whole, filtered = loaded.evaluate(WIDE, {"rows": rows, "columns": columns})
        assert whole == [*shown, shown[0] * shown[1], note]
        assert filtered[:3] == [1, shown[1], shown[1]]
        assert filtered[3].startswith(f"1 of {rows:,} rows match.")
