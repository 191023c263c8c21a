"""(aa) A call of REGEX, REPLACE or a function with an IRI, beside Python's `re` or Oxigraph."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import count
from time import process_time
from typing import Any, Final

import pyoxigraph as ox
from rdflib import Literal, URIRef
from rdflib.term import Node

from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from rdflive.query.expressions.functions import regex, replace
from rdflive.query.expressions.geosparql import GeoSparql
from rdflive.regex import compiled

_WORDS: Final = [Literal(f"Item {n} of Élan_{n % 7}") for n in range(200)]
_GEO: Final = "http://www.opengis.net/def/function/geosparql/"
_WKT: Final = "http://www.opengis.net/ont/geosparql#wktLiteral"
_METRE: Final = "http://www.opengis.net/def/uom/OGC/1.0/metre"
_NEW: Final = count()
CALLS: Final[dict[str, tuple[str, str, str]]] = {
    "REGEX, ^Item [0-9]+": ("^Item [0-9]+", "", "^Item [0-9]+"),
    "REGEX, flag i": ("ITEM [0-9]+", "i", "(?i)ITEM [0-9]+"),
    r"REGEX, \p{Lu}\p{Ll}+$": (r"\p{Lu}\p{Ll}+_[0-9]$", "", "[A-ZÀ-Þ][a-zß-ÿ]+_[0-9]$"),
    "REPLACE, [0-9]+": ("[0-9]+", "", "[0-9]+"),
}
"""For each the pattern and the flags, and what Python's `re` is given, which means about the same."""

PAGE = Page(
    "aa",
    "Calls of functions",
    "Expressions call functions on 200 terms, in turns with Python's `re` on a similar pattern, or with "
    "Oxigraph on two points.",
    "Most of the time of a call goes into its terms.",
    "call micros bare of_bare",
)


def run(sizes: Sizes) -> Section:
    """Measure calls on terms, in CPU time, and the work of the first call."""
    section = Section(
        "calls",
        "A call of a function: µs of CPU",
        len(_WORDS),
        "call | micros: µs per call | bare: µs of Python's re or of Oxigraph | of_bare: call / bare",
        repeat=sizes.repeat,
    )
    for name, (pattern, flags, own) in CALLS.items():
        given, matcher = (Literal(pattern), Literal(flags)), re.compile(own)
        if name.startswith("REGEX"):
            _add(section, name, lambda word: regex(word, *given), matcher.search, _WORDS)  # noqa: B023 - run here
        else:
            call = lambda word: replace(word, given[0], Literal("-"))  # noqa: E731, B023 - as above
            _add(section, name, call, lambda word: matcher.sub("-", word), _WORDS)  # noqa: B023 - as above
    distance, store = GeoSparql(URIRef(f"{_GEO}distance")), ox.Store()
    query = f"SELECT ?a ?b ?c (<{_GEO}distance>(?a, ?b, ?c) AS ?x) {{ }}"

    def asked(terms: tuple[Node, ...]) -> Any:
        native = (
            ox.NamedNode(term) if isinstance(term, URIRef) else ox.Literal(term, datatype=ox.NamedNode(_WKT))
            for term in terms
        )
        bound = {ox.Variable(name): term for name, term in zip("abc", native, strict=True)}
        return next(iter(store.query(query, substitutions=bound)))["x"]

    same = _points()
    _add(section, "geof:distance, of new points", lambda terms: distance(*terms), asked, _points)
    _add(section, "geof:distance, of the same points", lambda terms: distance(*terms), asked, lambda: same)
    for name, code in {
        "the first pattern with a category": r"compiled(r'\p{Lu}')",
        "the first with the flag i": "compiled('a', 'i')",
        "the first with a block": r"compiled(r'\p{IsGreek}')",
    }.items():
        section.notes.append(f"{name}: {_in_child(code):.0f} ms of CPU.")
    compiled.cache_clear()
    seconds = timed(lambda: compiled(r"[\w-[A]]+"), process_time)[0]
    section.notes.append(f"A class of all letters compiled again: {1000 * seconds:.1f} ms of CPU.")
    return section


def _points() -> list[tuple[Node, ...]]:
    """Give pairs of points that were not there before."""
    numbers = [next(_NEW) / 1e6 for _ in _WORDS]
    here = Literal("POINT(4.9 52.4)", datatype=URIRef(_WKT))
    return [(Literal(f"POINT({n} 50)", datatype=URIRef(_WKT)), here, URIRef(_METRE)) for n in numbers]


def _add(
    section: Section,
    name: str,
    call: Callable[[Any], Any],
    bare: Callable[[Any], Any],
    given: Sequence[Any] | Callable[[], Sequence[Any]],
) -> None:
    def each(function: Callable[[Any], Any]) -> Callable[[int], float]:
        def measured(_: int) -> float:
            items = given() if callable(given) else given
            function(items[0])
            return timed(lambda: [function(item) for item in items], process_time)[0] / len(items)

        return measured

    seconds = interleave({"call": each(call), "bare": each(bare)}, section.repeat)
    section.add(
        call=name,
        micros=1e6 * middle(seconds["call"]),
        bare=1e6 * middle(seconds["bare"]),
        of_bare=ratio(seconds["call"], seconds["bare"]),
    )


def _in_child(code: str) -> float:
    """Give the milliseconds that something takes in a new process, where nothing was made yet."""
    text = (
        "from time import process_time\nfrom rdflive.regex import compiled\nstart = process_time()\n"
        f"{code}\nprint(1000 * (process_time() - start))"
    )
    return float(subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout)
