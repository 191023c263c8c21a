"""What (k) and (x) run on Spark: streams of inserts and deletes in N-Triples, queries and rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from bench.histories import DATA
from bench.stream import SEED

__all__ = [
    "ENDS", "FAMILY", "LUBM", "LUBM_LOAD", "LUBM_SMALL", "OPERATORS", "QUERIES", "RULED", "RULES", "WINDOW",
    "Update", "updates",
]  # fmt: skip

Update: TypeAlias = tuple[str, str, str, str]
"""A or D, and a triple in N-Triples."""

LUBM: Final = DATA / "lubm"
LUBM_LOAD: Final = 50_000
"""The triples of a micro-batch that loads."""
LUBM_SMALL: Final = 1_000
"""The changes of a micro-batch behind the load."""
NODES: Final = 40_000
_DELETES: Final = 0.3
_KNOWS: Final = [f"<http://example.org/predicate/{number}>" for number in range(3)]
QUERIES: Final = {
    "star": f"SELECT * {{ ?a {_KNOWS[0]} ?b . ?a {_KNOWS[1]} ?c . ?a {_KNOWS[2]} ?d }}",
    "path": f"SELECT * {{ ?a {_KNOWS[0]} ?b . ?b {_KNOWS[1]} ?c . ?c {_KNOWS[2]} ?d }}",
    "triangle": f"SELECT * {{ ?a {_KNOWS[0]} ?b . ?b {_KNOWS[1]} ?c . ?c {_KNOWS[2]} ?a }}",
}
ENDS: Final = {"star": ("ab", "ac", "ad"), "path": ("ab", "bc", "cd"), "triangle": ("ab", "bc", "ca")}
"""The variables at the ends of their patterns."""
_FIRST: Final = f"?a {_KNOWS[0]} ?b"
_DERIVED: Final = "<http://example.org/ruled>"
RULES: Final = (
    f"{{ ?a {_KNOWS[0]} ?b }} => {{ ?b {_DERIVED} ?a }} . {{ ?a {_KNOWS[1]} ?b }} => {{ ?a {_DERIVED} ?b }} ."
)
"""Rules that only one query reads."""
_GRAPHS: Final = [f"<http://example.org/graph/{number}>" for number in range(2)]
RULED: Final = "rules"
FAMILY: Final = "parameters, 1,000 rows"
WINDOW: Final = "window"
_START: Final = "<http://example.org/node/0>"


def _within(steps: int) -> str:
    """Ask for what is at most so many steps from a node: each step goes on from what those before reach."""
    first = f"{_START} {_KNOWS[0]} ?x"
    text = f"SELECT DISTINCT ?x {{ {first} }}"
    for step in range(2, steps + 1):
        before = text.replace("?x", f"?x{step}")
        further = f"{{ {before} }} ?x{step} {_KNOWS[0]} ?x"
        text = f"SELECT DISTINCT ?x {{ {{ {first} }} UNION {{ {further} }} }}"
    return text


def _in_a_row(count: int) -> str:
    """Ask for so many patterns one after the other from a node."""
    nodes = [_START, *(f"?x{number}" for number in range(1, count + 1))]
    return " . ".join(f"{s} {_KNOWS[0]} {o}" for s, o in pairwise(nodes))


OPERATORS: Final = {
    "one pattern": f"SELECT * {{ {_FIRST} }}",
    "two patterns": f"SELECT * {{ {_FIRST} . ?a {_KNOWS[1]} ?c }}",
    "OPTIONAL": f"SELECT * {{ {_FIRST} OPTIONAL {{ ?a {_KNOWS[1]} ?c }} }}",
    "UNION": f"SELECT * {{ {{ {_FIRST} }} UNION {{ ?a {_KNOWS[1]} ?b }} }}",
    "MINUS": f"SELECT * {{ {_FIRST} MINUS {{ ?a {_KNOWS[1]} ?c }} }}",
    "EXISTS": f"SELECT * {{ {_FIRST} FILTER EXISTS {{ ?a {_KNOWS[1]} ?c }} }}",
    "NOT EXISTS, correlated":
        f"SELECT * {{ {_FIRST} FILTER NOT EXISTS {{ ?a {_KNOWS[1]} ?c FILTER(?c != ?b) }} }}",
    "VALUES":
        f"SELECT * {{ VALUES ?b {{ {_START} <http://example.org/node/1> }} {_FIRST} }}",
    "DISTINCT": f"SELECT DISTINCT ?a {{ {_FIRST} }}",
    "GROUP BY, HAVING": f"SELECT ?a (COUNT(*) AS ?n) {{ {_FIRST} }} GROUP BY ?a HAVING(COUNT(*) > 2)",
    "subquery":
        f"SELECT * {{ {_FIRST} {{ SELECT ?a (COUNT(*) AS ?n) {{ ?a {_KNOWS[1]} ?c }} GROUP BY ?a }} }}",
    "ORDER BY, LIMIT 10": f"SELECT * {{ {_FIRST} }} ORDER BY ?b ?a LIMIT 10",
    "ASK": f"ASK {{ {_FIRST} . ?b {_KNOWS[1]} ?a }}",
    "CONSTRUCT": f"CONSTRUCT {{ ?b {_KNOWS[2]} ?a }} WHERE {{ {_FIRST} }}",
    RULED: f"SELECT * {{ ?a {_DERIVED} ?b }}",
    **{f"{steps} steps of a constant at most": _within(steps) for steps in (2, 4, 8)},
    "8 patterns in a row from a constant": f"SELECT * {{ {_in_a_row(8)} }}",
    "GRAPH ?g": f"SELECT * {{ GRAPH ?g {{ {_FIRST} . ?a {_KNOWS[1]} ?c }} }}",
    "two graphs":
        f"SELECT * {{ GRAPH {_GRAPHS[0]} {{ {_FIRST} }} GRAPH {_GRAPHS[1]} {{ ?a {_KNOWS[1]} ?c }} }}",
    FAMILY: f"SELECT * {{ {_FIRST} . ?a {_KNOWS[1]} ?c }}",
    WINDOW: f"SELECT * {{ {_FIRST} . ?a {_KNOWS[1]} ?c }}",
}  # fmt: skip
"""A query for each operator, whose answers are of one size or smaller."""


def updates(count: int, nodes: int = NODES) -> Iterator[Update]:
    """Give updates, each of which changes the graph: 30 % deletes of what is there, once there is any."""
    rng = random.Random(SEED)
    live: list[tuple[int, int, int]] = []
    known: set[tuple[int, int, int]] = set()
    for _ in range(count):
        if live and rng.random() < _DELETES:
            place = rng.randrange(len(live))
            triple, live[place] = live[place], live[-1]
            live.pop()
            known.discard(triple)
            yield ("D", *_texts(triple))
            continue
        triple = rng.randrange(nodes), rng.randrange(3), rng.randrange(nodes)
        while triple in known:
            triple = rng.randrange(nodes), rng.randrange(3), rng.randrange(nodes)
        known.add(triple)
        live.append(triple)
        yield ("A", *_texts(triple))


def _texts(triple: tuple[int, int, int]) -> tuple[str, str, str]:
    subject, predicate, object_ = triple
    return f"<http://example.org/node/{subject}>", _KNOWS[predicate], f"<http://example.org/node/{object_}>"
