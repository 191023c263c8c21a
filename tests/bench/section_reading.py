"""(y) Reading and planning a SPARQL text, beside rdflib's parser and its translation."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any, Final

from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery

from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.syntax.reader import read_query

_STAR: Final = "PREFIX : <http://e/> SELECT * { ?s a :T ; :p ?a ; :q ?b ; :r ?c ; :s ?d }"
_SHOP: Final = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX v: <http://e/vocabulary/>
PREFIX i: <http://e/instances/>
SELECT ?product ?label WHERE {
  ?product rdfs:label ?label ; a i:ProductType7 ; v:productFeature i:Feature12 ; v:propertyNumeric1 ?p1 .
  FILTER(?p1 > 120)
  ?product v:propertyNumeric3 ?p3 FILTER(?p3 < 500)
  OPTIONAL { ?product v:productFeature i:Feature44 ; rdfs:label ?other }
  FILTER(!BOUND(?other))
} ORDER BY ?label LIMIT 10
"""
_LINES: Final = (
    "  ?item p:P{0} ?v{0} . OPTIONAL {{ ?v{0} p:name ?n{0} FILTER(LANG(?n{0}) = 'en' || ?n{0} != '{0}') }}\n"
    "  {{ ?v{0} p:Q{0}/p:R{0}* ?w{0} }} UNION {{ ?v{0} ^p:S{0} ?w{0} BIND(STRLEN(?w{0}) AS ?x{0}) }}\n"
)
_LONG: Final = (
    "PREFIX p: <http://e/p/> SELECT DISTINCT ?item WHERE {\n"
    + "".join(map(_LINES.format, range(29)))
    + "} ORDER BY ?item"
)
_PAIRS: Final = " ".join(f"(<http://e/s{n}> {n})" for n in range(1000))
_ROWS: Final = f"SELECT * {{ ?x ?p ?y VALUES (?x ?y) {{ {_PAIRS} }} }}"
TEXTS: Final = {
    "star of 5 patterns": (_STAR, 200),
    "products of a shop, 11 lines": (_SHOP, 100),
    "60 lines": (_LONG, 5),
    "1,000 rows of VALUES": (_ROWS, 2),
}
"""Each with how often it is read at once."""

PAGE = Page(
    "y",
    "Reading a SPARQL text",
    "rdflive reads and plans a SPARQL text, without its caches of texts and plans.",
    "The last column divides the time of rdflib's parser by that of reading; times are CPU times.",
    "text read plan rdflib of_rdflib",
)


def run(sizes: Sizes) -> Section:
    """Measure reading alone, and reading and planning, in CPU time."""
    section = Section(
        "reading",
        "A text that was not seen before: milliseconds of CPU",
        len(TEXTS),
        "text | characters | read: read, ms | plan: read and planned, ms | rdflib: rdflib's parser, ms | "
        "algebra: rdflib's parser and translation, ms | of_rdflib: × as fast to read as rdflib",
        repeat=sizes.repeat,
    )
    for name, (text, times) in TEXTS.items():
        ways: dict[str, Callable[[], Any]] = {
            "read": lambda text=text: read_query(text),  # type: ignore[misc]
            "plan": lambda text=text: make_plan(parse_query(text)),  # type: ignore[misc]
            "rdflib": lambda text=text: parseQuery(text),  # type: ignore[misc]
            "algebra": lambda text=text: translateQuery(parseQuery(text)),  # type: ignore[misc]
        }
        seconds = interleave({way: _repeated(work, times) for way, work in ways.items()}, sizes.repeat)
        section.add(
            text=name,
            characters=len(text),
            of_rdflib=ratio(seconds["rdflib"], seconds["read"]),
            **{way: 1000 * middle(seconds[way]) for way in ways},
        )
    return section


def _repeated(work: Callable[[], Any], times: int) -> Callable[[int], float]:
    def measured(_: int) -> float:
        work()  # what is made at the first time is not measured
        return timed(lambda: [work() for _ in range(times)], process_time)[0] / times

    return measured
