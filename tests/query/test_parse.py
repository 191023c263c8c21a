"""What is refused, and where the refusal points."""

from __future__ import annotations

import pytest
from rdflib import Literal

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query.parse import parse_query

REFUSED = [
    ("SELECT ?s { ?s ?p ?o FILTER(?o > 3) }", "FILTER", 1, 22),
    ("SELECT ?s {\n ?s ?p ?o\n OPTIONAL { ?s ?q ?r } }", "OPTIONAL", 3, 2),
    ("SELECT ?s { { ?s ?p 1 } UNION { ?s ?p 2 } }", "UNION", 1, 25),
    ("SELECT ?s { ?s ?p ?o MINUS { ?s ?p 2 } }", "MINUS", 1, 22),
    ("SELECT ?s { GRAPH <u:g> { ?s ?p ?o } }", "GRAPH", 1, 13),
    ("SELECT ?s { SERVICE <u:g> { ?s ?p ?o } }", "SERVICE", 1, 13),
    ("SELECT ?s ?x { ?s ?p ?o BIND(1 AS ?x) }", "an expression (BIND or AS)", 1, 25),
    ("SELECT (COUNT(*) AS ?c) { ?s ?p ?o }", "an aggregate", 1, 9),
    ("SELECT ?s { ?s ?p ?o } GROUP BY ?s", "an aggregate", 1, 24),
    ("SELECT ?s { ?s ?p ?o } ORDER BY ?s", "ORDER BY", 1, 24),
    ("SELECT ?s { ?s ?p ?o } LIMIT 1", "LIMIT or OFFSET", 1, 24),
    ("SELECT ?s { ?s ?p ?o } VALUES ?s { 1 }", "VALUES or a subquery", 1, 24),
    ("SELECT ?s { ?s ?p ?o {\n SELECT ?s { ?s ?q 1 } } }", "VALUES or a subquery", 2, 2),
    ("SELECT ?s FROM <u:g> { ?s ?p ?o }", "FROM", 1, 11),
    ("SELECT ?s { ?s <u:p>/<u:q> ?o }", "a property path", 1, 21),
    ("SELECT * { ?s ^<u:p> ?o }", "a property path", 1, 15),
    ("SELECT * { ?s <u:p>* ?o }", "a property path", 1, 20),
    ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "CONSTRUCT", 1, 1),
    ("DESCRIBE <u:s>", "DESCRIBE", 1, 1),
    ("SELECT ?s { ?s <u:FILTER> 'OPTIONAL' # UNION\n . FILTER(true) }", "FILTER", 2, 4),
]


@pytest.mark.parametrize(("text", "construct", "line", "column"), REFUSED)
def test_refusal_points_at_the_clause(text: str, construct: str, line: int, column: int) -> None:
    """What cannot be maintained is named with its line and column, and an alternative."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        parse_query(text)
    error = caught.value
    assert (error.construct, error.line, error.column) == (construct, line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("SELECT", 1, 7), ("", 1, 1), ("ASK {\n ?s ex:p ?o }", 2, 5), ("SELECT ?s { ?s ?p }", 1, 13)],
)
def test_syntax_error_has_a_place(text: str, line: int, column: int) -> None:
    """What is not SPARQL, and an unknown prefix, come with their place."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_text_is_demanded() -> None:
    """Anything but text is refused by what it is."""
    with pytest.raises(QuerySyntaxError, match="NoneType"):
        parse_query(None)  # type: ignore[arg-type]


def test_select_star_is_in_the_order_of_the_text() -> None:
    """`SELECT *` lists the variables as they appear."""
    assert parse_query("SELECT * { ?z ?a ?m . ?m ?b ?z }").names == ("z", "a", "m", "b")


def test_blank_nodes_and_presets_become_what_they_stand_for() -> None:
    """Blank nodes are variables that cannot be projected; preset variables are constants."""
    query = parse_query("SELECT ?o { [] ?p ?o }", init_bindings={"p": Literal("x")})
    (pattern,) = query.bgp.patterns
    assert (str(pattern.subject), pattern.predicate, query.names) == ("_:b0", Literal("x"), ("o",))
