"""What is refused, and where the refusal points."""

from __future__ import annotations

import pytest
from rdflib import Literal

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query.algebra import Basic, Project
from rdflive.query.parse import parse_query

REFUSED = [
    ("SELECT ?s { SERVICE <u:g> { ?s ?p ?o } }", "SERVICE", 1, 13),
    ("SELECT ?s { ?s ?p ?o OPTIONAL {\n SERVICE SILENT <u:g> { ?s ?p ?o } } }", "SERVICE", 2, 2),
    ("DESCRIBE <u:s>", "DESCRIBE", 1, 1),
    ("DESCRIBE ?s { ?s ?p ?o }", "DESCRIBE", 1, 1),
    ("SELECT ?s ?x { ?s ?p ?o BIND(now() AS ?x) }", "NOW()", 1, 30),
    ("SELECT ?s { ?s ?p ?o FILTER(?o < 1 && RAND() < 0.5) }", "RAND()", 1, 39),
    ("SELECT (UUID() AS ?u) {}", "UUID()", 1, 9),
    ("SELECT (STRUUID() AS ?u) {}", "STRUUID()", 1, 9),
    ("SELECT (BNODE() AS ?b) { ?s ?p ?o }", "BNODE()", 1, 9),
    ("SELECT ?s { ?s ?p ?o } ORDER BY RAND()", "RAND()", 1, 33),
    ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(RAND() < 0.5)", "RAND()", 1, 43),
    ("SELECT ?s { ?s ?p ?o FILTER EXISTS { ?s ?q ?r FILTER(?r < NOW()) } }", "NOW()", 1, 59),
    ("SELECT DISTINCT ?s { ?s ?p ?o }\nORDER BY ?o", "ORDER BY", 2, 1),
    ("SELECT * { BIND(1 AS ?x) ?s ?p ?o BIND(2 AS ?x) }", "an assignment to a variable in use", 1, 42),
    ("SELECT ?s { ?s <u:NOW> 'RAND()' # UUID()\n . FILTER(?s < NOW()) }", "NOW()", 2, 16),
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
    assert isinstance(query.root, Project)
    assert isinstance(query.root.input, Basic)
    (pattern,) = query.root.input.patterns
    assert (str(pattern.subject), pattern.predicate, query.names) == ("_:b0", Literal("x"), ("o",))
