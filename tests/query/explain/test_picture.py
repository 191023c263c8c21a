"""Drawings of plans: well-formed, the same each time, and nothing covers anything else."""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias
from xml.etree import ElementTree

import pytest

from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.panel import Panel
from rdflive.query.explain.picture import draw
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan

Box: TypeAlias = tuple[float, float, float, float]
SVG = "{http://www.w3.org/2000/svg}"
PREFIX = "PREFIX : <u:> "
STAR = "SELECT * { ?a :p ?b ; :q ?c ; :r ?d ; :loop ?a ; a :T . ?b :q ?a . ?e :s ?f }"
CROWDED = (
    "SELECT * { ?expression :a_long_predicate ?condition ; :another_predicate ?score ; :sequence ?sequence . "
    "?condition a :Expression ; :a_long_predicate ?anatomy . ?anatomy :label ?name ; a :AnatomicalEntity . "
    "?sequence :organism ?organism ; a :Sequence ; :a_long_predicate 'human' ; :label ?expression }"
)
QUERIES = [
    STAR,
    CROWDED,
    "ASK { :a :p :b }",
    "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?b > ?c) } }",
    "SELECT DISTINCT ?a { { ?a :p ?b } UNION { ?a :q* ?c . ?c :r ?d , ?e } UNION { GRAPH ?g { ?a :s ?f } } }",
    "SELECT (COUNT(?a) AS ?n) { ?a :p ?b FILTER(?b > 1 || EXISTS { ?a :q ?b }) MINUS { ?b :r 5 } } LIMIT 3",
    "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } FILTER NOT EXISTS { ?a :r ?d FILTER(?d < ?c) } ?b :p+ ?e }",
    "CONSTRUCT { ?a :r ?b } WHERE { VALUES ?a { 1 2 } ?a :p ?b . ?c :q 'a <b> & \"c\"' }",
]


def plan(query: str) -> Plan:
    return make_plan(parse_query(PREFIX + query))


def boxes(image: ElementTree.Element) -> list[Box]:
    """Give the boxes of operators and leaves."""
    found = []
    for rect in image.iter(f"{SVG}rect"):
        if rect.get("class") in ("box", "leaf", "again"):
            x, y, width, height = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("query", QUERIES)
def test_nothing_covers_anything_else(query: str) -> None:
    """Each step has one box, inside the image, that covers no other and has room for its lines; in a panel
    no label covers a term or another label.
    """
    steps = plan(query)
    image = ElementTree.fromstring(draw(steps))
    assert draw(plan(query)) == draw(steps)
    found = boxes(image)
    assert not [pair for pair in combinations(found, 2) if overlap(*pair)]
    width, height = float(image.get("width", 0)), float(image.get("height", 0))
    assert all(x >= 0 and y >= 0 and u <= width and v <= height for x, y, u, v in found)
    drawn = [rect.get("class") for rect in image.iter(f"{SVG}rect")]
    assert drawn.count("box") == len(steps.steps) - len(steps.basics)
    assert drawn.count("leaf") == (len(steps.basics) if len(steps.steps) > 1 else 0)
    lines = [text for text in image.iter(f"{SVG}text") if (text.get("class") or "").startswith("words")]
    assert all(len(text.text or "") * 6.62 < 290 for text in lines)
    assert bool(lines) == (len(steps.steps) > 1)
    names = VariableNames(steps)
    for segment in (segment for basic in steps.basics for segment in basic.segments):
        panel = Panel(segment, names)
        panel.draw()
        assert not [pair for pair in combinations(panel.taken, 2) if overlap(*pair)]


def test_a_thick_rim_marks_a_match_state() -> None:
    """Only centres that keep a match state have the class of one."""
    image = ElementTree.fromstring(draw(plan(STAR)))
    rims = [e.get("class") for e in image.iter(f"{SVG}ellipse")]
    assert sorted(rims) == ["variable"] * 5 + ["variable state"]


def test_the_style_stays_inside_the_image() -> None:
    """A notebook shows several images: every rule names the class of this one."""
    style = ElementTree.fromstring(draw(plan(STAR))).findtext(f"{SVG}style") or ""
    rules = [rule for rule in style.split("}") if rule]
    assert rules
    assert all(rule.startswith(".rdflive-plan ") for rule in rules)
