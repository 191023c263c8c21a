"""Subscriptions that are cheap until an update would make them exhaust memory or time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BOMBS", "Bomb"]

XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class Bomb:
    """A query over `<urn:bomb:…>`, an update, and a pattern of the final message ("" for none)."""

    query: str
    update: str
    told: str


def _chain(function: str, times: int, shown: str) -> str:
    """Write a query that applies a function to its own results `times` times."""
    binds = " ".join(f"BIND({function.replace('X', f'?x{i}')} AS ?x{i + 1})" for i in range(times))
    return f"SELECT ({shown.replace('X', f'?x{times}')} AS ?z) {{ ?s <urn:bomb:lit> ?x0 {binds} }}"


def _literal(text: str) -> str:
    return f'INSERT DATA {{ <urn:bomb:x> <urn:bomb:lit> "{text}" }}'


def _values(count: int, *, subjects: int = 1, predicate: str = "l1") -> str:
    return " ".join(f"<urn:bomb:{i % subjects}> <urn:bomb:{predicate}> {i} ." for i in range(count))


def _copies(times: int) -> str:
    """Repeat each `?k` as often as it has values, to the power of `times`."""
    return " ".join(f"{{ SELECT ?k {{ ?k <urn:bomb:l1> ?v{i} }} }}" for i in range(times))


STRINGS: Final = "make strings of more"
ROWS: Final = "make or compare more"
TIME: Final = "takes longer"
KEPT: Final = "keep more"
WORK: Final = f"{ROWS}|{TIME}"
"""The machine decides which limit is reached first."""
STAR: Final = " . ".join(f"?s <urn:bomb:l1> ?v{i}" for i in range(6))
PAIRS: Final = (
    f"INSERT DATA {{ {_values(5000, subjects=5000)} {_values(5000, subjects=5000, predicate='l2')} }}"
)
LONG: Final = _literal("a" * 800_000)

BOMBS: Final = {
    "regex": Bomb(
        'SELECT * { ?s <urn:bomb:lit> ?o FILTER REGEX(?o, "a*a*a*a*a*a*a*a*a*a*b") }', _literal("a" * 100), ""
    ),
    "concat": Bomb(_chain("CONCAT(X, X)", 27, "STRLEN(X)"), _literal("a" * 16), STRINGS),
    "square": Bomb(_chain("X * X", 40, "X > 5"), "INSERT DATA { <urn:bomb:x> <urn:bomb:lit> 7 }", ""),
    "product": Bomb("SELECT * { ?a <urn:bomb:l1> ?b . ?c <urn:bomb:l2> ?d }", PAIRS, ROWS),
    "replace": Bomb(
        f'SELECT (STRLEN(REPLACE(?o, "a", "{"b" * 4000}")) AS ?z) {{ ?s <urn:bomb:lit> ?o }}', LONG, STRINGS
    ),
    # in a filter of one pattern, which runs before the pattern keeps any row
    "filter": Bomb(
        "SELECT * { ?s <urn:bomb:lit> ?o FILTER(STRLEN("
        + "REPLACE(" * 9
        + "?o"
        + ', "a", "aaaaaaaa")' * 9
        + ") > 5) }",
        _literal("a" * 16),
        f"{STRINGS}|{TIME}",
    ),
    "zeros": Bomb(
        f"SELECT (STRLEN(STR(STRDT(?o, <{XSD}decimal>))) AS ?z) {{ ?s <urn:bomb:lit> ?o }}",
        _literal("1e999999999"),
        STRINGS,
    ),
    "groups": Bomb(
        f'SELECT (STRLEN(REPLACE(?o, "(.+)", "{"$1" * 5000}")) AS ?z) {{ ?s <urn:bomb:lit> ?o }}',
        LONG,
        STRINGS,
    ),
    # each match reads to the end of the text in vain
    "lookahead": Bomb('SELECT (STRLEN(REPLACE(?o, "a*b|a", "")) AS ?z) { ?s <urn:bomb:lit> ?o }', LONG, TIME),
    "joined copies": Bomb(
        f"SELECT (STRLEN(GROUP_CONCAT(?k)) AS ?z) {{ {_copies(6)} }}",
        f"INSERT DATA {{ {_values(60)} }}",
        KEPT,
    ),
    "star": Bomb(f"SELECT * {{ {STAR} }}", f"INSERT DATA {{ {_values(60)} }}", ROWS),
    "fruitless star": Bomb(
        f"SELECT * {{ {STAR} FILTER(?v0 + ?v1 + ?v2 + ?v3 + ?v4 + ?v5 < 0) }}",
        f"INSERT DATA {{ {_values(60)} }}",
        WORK,
    ),
    "path": Bomb(
        "SELECT * { ?a <urn:bomb:e>+ ?b }",
        "INSERT DATA {"
        + " ".join(f"<urn:bomb:{i}> <urn:bomb:e> <urn:bomb:{i + 1}> ." for i in range(3000))
        + "}",
        ROWS,
    ),
    "optional": Bomb(
        "SELECT (COUNT(*) AS ?n) "
        "{ ?a <urn:bomb:l1> ?x OPTIONAL { ?b <urn:bomb:l2> ?y FILTER(?x + 1 < ?y) } }",
        PAIRS,
        WORK,
    ),
    "copies": Bomb(f"SELECT ?k {{ {_copies(6)} }}", f"INSERT DATA {{ {_values(60)} }}", ROWS),
    "blank nodes": Bomb(
        f"CONSTRUCT {{ ?k <urn:bomb:new> [] }} {{ {_copies(6)} }}", f"INSERT DATA {{ {_values(60)} }}", ROWS
    ),
    "order": Bomb(
        f"SELECT ?s {{ ?s <urn:bomb:lit> ?o }} ORDER BY CONCAT({', '.join(['?o'] * 40)}) LIMIT 3",
        LONG,
        STRINGS,
    ),
    "decimal": Bomb(
        f"SELECT (SUM(?d) AS ?z) {{ ?s <urn:bomb:lit> ?o BIND(STRDT(?o, <{XSD}decimal>) AS ?d) }}",
        _literal("0." + "0" * 800_000 + "1"),
        "",
    ),
}
