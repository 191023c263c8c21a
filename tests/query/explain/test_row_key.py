"""Which variables tell the rows of an answer apart, whatever the data."""

from __future__ import annotations

from collections import Counter

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import rdflive

GROUPED = "SELECT ?a (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (GROUPED, ("a",)),
        ("SELECT (COUNT(?b) AS ?n) ?c ?a { ?a <u:p> ?b . ?a <u:q> ?c } GROUP BY ?a ?c", ("c", "a")),
        (GROUPED + " HAVING (COUNT(?b) > 1) ORDER BY ?n LIMIT 3", ("a",)),
        ("SELECT DISTINCT ?k (SUM(?b) AS ?n) { ?a <u:p> ?b } GROUP BY (STR(?a) AS ?k)", ("k",)),
        (f"SELECT * {{ {{ {GROUPED} }} BIND(?n + 1 AS ?more) }}", ("a",)),
        ("SELECT (SUM(?b) AS ?n) (MAX(?b) AS ?most) { ?a <u:p> ?b }", ()),
        # what is grouped by is not shown
        ("SELECT (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a", None),
        ("SELECT (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a ORDER BY ?a LIMIT 3", None),
        ("SELECT ?a (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a ?b ORDER BY ?b", None),
        ("SELECT (STR(?a) AS ?name) { ?a <u:p> ?b } GROUP BY ?a ORDER BY ?a", None),
        ("SELECT ?a (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a STR(?b)", None),
        # ?a outside is another variable than the one that is grouped by
        ("SELECT ?a ?n { { SELECT (COUNT(?b) AS ?n) { ?a <u:p> ?b } GROUP BY ?a } BIND(1 AS ?a) }", None),
        # a join may repeat a group
        (f"SELECT ?a ?n {{ {{ {GROUPED} }} ?a <u:q> ?c }}", None),
        ("SELECT ?a ?b { ?a <u:p> ?b }", None),
        ("SELECT DISTINCT ?a { ?a <u:p> ?b }", None),
        ("ASK { ?a <u:p> ?b }", None),
        ("CONSTRUCT { ?a <u:q> ?b } WHERE { ?a <u:p> ?b }", None),
    ],
)
def test_key_is_what_group_by_says(query: str, key: tuple[str, ...] | None) -> None:
    """Nothing is guessed from names or from data."""
    assert rdflive.explain(query).key == key


TRIPLES = st.lists(st.tuples(*[st.sampled_from(range(3))] * 3), max_size=8)


@given(triples=TRIPLES)
def test_no_two_rows_share_a_key(triples: list[tuple[int, int, int]]) -> None:
    """In no answer are there two rows with the same terms in it."""
    graph = rdflib.Graph()
    for s, p, o in triples:
        graph.add((rdflib.URIRef(f"u:{s}"), rdflib.URIRef(f"u:{'pqr'[p]}"), rdflib.Literal(o)))
    for query in (
        GROUPED,
        "SELECT ?a ?c (COUNT(*) AS ?n) { ?a <u:p> ?b OPTIONAL { ?a <u:q> ?c } } GROUP BY ?a ?c",
        "SELECT (SUM(?b) AS ?n) { ?a <u:p> ?b }",
    ):
        key = rdflive.explain(query).key
        assert key is not None
        with rdflive.subscribe(graph, query, initial=False) as subscription:
            keys = Counter(tuple(getattr(row, name) for name in key) for row in subscription.answers())
        assert all(count == 1 for count in keys.values())
