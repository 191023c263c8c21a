"""What is refused, and where the refusal points."""

from __future__ import annotations

import pytest
from rdflib import RDF, Graph, Literal

import rdflive
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query.algebra import Basic, Construct, Project
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
    ("SELECT DISTINCT ?s { ?s ?p ?o }\nORDER BY ?o", "ORDER BY", 2, 10),
    ("SELECT ?s { ?s <u:NOW> 'RAND()' # UUID()\n . FILTER(?s < NOW()) }", "NOW()", 2, 16),
]

FORBIDDEN = [
    ("SELECT (COUNT(COUNT(?s)) AS ?n) { ?s ?p ?o }", "an aggregate cannot contain another", 1, 15),
    (
        "SELECT * { { SELECT (SUM(1 +\n MAX(?s)) AS ?n) {} } }",
        "an aggregate cannot contain another",
        2,
        2,
    ),
    ("SELECT (SUM(IF(EXISTS { ?s ?p ?o }, COUNT(?s), 0)) AS ?n) {}", "cannot contain another", 1, 37),
    ("SELECT ?s { ?s ?p ?o FILTER(COUNT(?o) > 1) }", "aggregates are allowed in SELECT", 1, 29),
    ("SELECT (COUNT(?s) AS ?n) { BIND(1 + SUM(?o) AS ?x) }", "aggregates are allowed in SELECT", 1, 37),
    ("SELECT (1 AS ?x) { ?s ?p ?o } GROUP BY (COUNT(?s) AS ?n)", "aggregates are allowed in SELECT", 1, 41),
    ("SELECT (1 AS ?x) {} HAVING(EXISTS { ?s ?p ?o FILTER(MAX(?o) > 1) })", "are allowed in SELECT", 1, 53),
    ("SELECT * { BIND(1 AS ?x) ?s ?p ?o BIND(2 AS ?x) }", r"\?x already has a value here", 1, 35),
    ("SELECT (1 AS ?s) { ?s ?p ?o }", r"\?s already has a value here", 1, 8),
    ("SELECT (1 AS ?x) (2 AS ?x) { ?s ?p ?o }", r"\?x already has a value here", 1, 18),
    ("SELECT ?p { ?s ?p ?o } GROUP BY (1 AS ?s)", r"\?s already has a value here", 1, 33),
    ("SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }", r"\?s is neither grouped nor aggregated", 1, 8),
    ("SELECT (?s AS ?x) { ?s ?p ?o } GROUP BY ?o", r"\?s is neither grouped nor aggregated", 1, 8),
    ("SELECT ?n { ?s ?p ?o { SELECT ?q ?r { ?q ?r ?n } GROUP BY ?q } }", r"\?r is neither grouped", 1, 34),
    ("SELECT * { ?s ?p ?o } GROUP BY ?s", r"SELECT \* cannot be grouped", 1, 1),
    ("SELECT * { VALUES (?x ?y) { (1) } }", "a row of VALUES has 1 values for 2 variables", 1, 29),
    ("SELECT * { VALUES (?x ?x) { (1 2) } }", r"VALUES has \?x twice", 1, 25),
    ("SELECT ?s (1 AS ?n) { ?s ?p ?o } VALUES ?n { 2 }", r"\?n already has a value here", 1, 11),
    (
        "ASK { { SELECT * { ?s ?p ?o } VALUES ?n { 1 } } BIND(2 AS ?n) }",
        r"\?n already has a value here",
        1,
        49,
    ),
    ("SELECT * { ?s ?p ?o } HAVING(COUNT(*) > 1)", r"SELECT \* cannot be grouped", 1, 1),
    ("CONSTRUCT { ?s <urn:p>+ ?o } { ?s ?p ?o }", "a template and data cannot have property paths", 1, 23),
    ("CONSTRUCT WHERE { ?s (<urn:p>) ?o }", "a template and data cannot have property paths", 1, 30),
    (f"SELECT * {{ ?s ?p ?o }} LIMIT {'9' * 5000}", "the number is too large", 1, 29),
    ("SELECT * { _:x ?p ?o OPTIONAL { _:x ?q ?r } }", "_:x is also used in another group of patterns", 1, 33),
]
"""What SPARQL's grammar lets stand, and its notes do not."""


def test_forms_without_columns_may_be_grouped() -> None:
    """ASK and CONSTRUCT show none."""
    assert parse_query("ASK { ?s ?p ?o } GROUP BY ?s HAVING(COUNT(*) > 1)").form == "ASK"
    assert parse_query("CONSTRUCT { ?s a 1 } { ?s ?p ?o } GROUP BY ?s").form == "CONSTRUCT"


@pytest.mark.parametrize(("text", "said", "line", "column"), FORBIDDEN)
def test_what_sparql_forbids_is_no_sparql(text: str, said: str, line: int, column: int) -> None:
    """It is refused with its place."""
    with pytest.raises(QuerySyntaxError, match=said) as caught:
        parse_query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


TEMPLATES = [
    "CONSTRUCT { [] :p ?x . [] :q ?x . [ :p [] ; :q 'a'@en, 1 ] :p ?y } WHERE { ?x :p ?y }",
    "CONSTRUCT { ?x a [], [], [ :p ?y ], [ :p 2 ], (?y ?x), (3), () ; <r> _:a . _:b <r> _:a } { ?x :p ?y }",
    "CONSTRUCT { _:a :q ?x , ?y } WHERE { [] :p ?x . [] :p ?y }",
    "CONSTRUCT WHERE { [] :p ?y . [] :p ?x . [ :q ?z ] :p [ :p ?y ] }",
]


@pytest.mark.parametrize("text", TEMPLATES)
def test_blank_nodes_of_a_template_are_called_the_same_in_every_run(text: str) -> None:
    """Templates and the solutions that they read are equal whenever a text is parsed."""
    roots = [parse_query(f"BASE <urn:base> PREFIX : <urn:> {text}").root for _ in range(8)]
    made = [construct for root in roots for construct in root.inputs if isinstance(construct, Construct)]
    assert len(made) == 8
    assert len({(construct.template, construct.input.columns) for construct in made}) == 1


@pytest.mark.parametrize(("text", "construct", "line", "column"), REFUSED)
def test_refusal_points_at_the_clause(text: str, construct: str, line: int, column: int) -> None:
    """What cannot be maintained is named with its line and column, and an alternative."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        parse_query(text)
    error = caught.value
    assert (error.construct, error.line, error.column) == (construct, line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT", 1, 7),
        ("", 1, 1),
        ("ASK {\n ?s ex:p ?o }", 2, 5),
        ("SELECT ?s { ?s ?p }", 1, 19),
        ("SELECT ?s { ?s ?p ?o }\nORDER BY EXISTS { ?s ex:p ?o }", 2, 22),
        ("SELECT * {\n\t\t?s ?p ?o ;; 5 }", 2, 15),
        ("SELECT * WHERE {\t?s\t?p\t?o ?z }", 1, 27),
    ],
)
def test_syntax_error_has_a_place(text: str, line: int, column: int) -> None:
    """What is not SPARQL, and an unknown prefix, come with their place in the text; a tab is one column."""
    with pytest.raises(QuerySyntaxError, match=f"column {column}") as caught:
        parse_query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("path", ["!(a|^<urn:b>)", "!^<urn:b>"])
def test_syntax_error_quotes_what_was_written(path: str) -> None:
    """An error after a negated property set, which is parsed in other words, has the text's own place."""
    line = f"SELECT * {{ ?s {path} ?o . ?x }}"
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(line)
    with pytest.raises(QuerySyntaxError) as plain:
        parse_query(line.replace(path, "<urn:p>".ljust(len(path))))
    assert (caught.value.line, caught.value.column) == (plain.value.line, plain.value.column)
    assert line in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (SUM(?x) AS ?n) { { SELECT (COUNT(?s) AS ?x) { ?s ?p ?o FILTER(?o > 1) } GROUP BY ?p } }",
        "SELECT (MAX(IF(EXISTS { SELECT (COUNT(?z) AS ?c) { ?s ?q ?z } }, 1, 0)) AS ?n) { ?s ?p ?o }",
        "SELECT ?s { FILTER(?s > 1) { SELECT (COUNT(?x) AS ?s) { ?x ?p ?o } } } ORDER BY ?s",
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(COUNT(?o) > 1) ORDER BY (COUNT(?o) + MAX(?o))",
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(EXISTS { ?s <u:COUNT> 'MAX(' FILTER(?s != <u:x>) })",
    ],
)
def test_aggregates_stand_where_sparql_allows_them(text: str) -> None:
    """Only what stands in another aggregate, a FILTER, a BIND or a GROUP BY is refused."""
    assert parse_query(text).form == "SELECT"


@pytest.mark.parametrize(
    "place", ["ORDER BY {0}", "ORDER BY DESC({0})", "GROUP BY ?s HAVING({0})", "GROUP BY ({0} AS ?e)"]
)
@pytest.mark.parametrize(
    "pattern",
    [
        "?s ex:q ?z",
        "?s ex:p/^ex:q* 'x'^^ex:t ; !(ex:p|^a) [] FILTER(?z > 1 && EXISTS { ?z ex:q+ ?s FILTER(?s != ?z) })",
        "{ ?s ex:q ?z } UNION { GRAPH ?g { ?s ex:q ?z } } MINUS { ?s ex:p ?z } VALUES ?z { ex:a UNDEF }",
        "SELECT ?s (COUNT(?z) AS ?n) { ?s ex:q ?z } GROUP BY ?s HAVING(NOT EXISTS { ?s ^ex:p ?y })",
        "SELECT ?s { ?s ex:q ?z } ORDER BY EXISTS { ?s ^ex:p ?y FILTER EXISTS {} } LIMIT 1",
    ],
)
def test_exists_may_stand_in_every_modifier(place: str, pattern: str) -> None:
    """Whatever pattern EXISTS has in a solution modifier, it is translated as in a FILTER."""
    head = "PREFIX ex: <urn:ex:> SELECT (1 AS ?one) { ?s ex:p ?o } "
    assert parse_query(head + place.format(f"EXISTS {{ {pattern} }}")).names == ("one",)


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


@pytest.mark.parametrize("constant", ["false", "0", "0.0", '""', "((false))"])
def test_a_filter_that_is_a_false_constant_lets_nothing_through(constant: str) -> None:
    """rdflib takes it for no filter."""
    graph = Graph()
    graph.add((RDF.type, RDF.type, RDF.type))
    with rdflive.subscribe(graph, f"SELECT * {{ ?s ?p ?o FILTER({constant}) }}") as subscription:
        assert subscription.answers() == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT ?s { ?s ?p ?o } ORDER BY STR(?o)",
        "SELECT DISTINCT (STR(?o) AS ?x) { ?s ?p ?o } ORDER BY ?o",
        "SELECT DISTINCT ?s { ?s ?p ?o } ORDER BY EXISTS { ?s ?q ?z }",
        "SELECT DISTINCT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY MAX(?o)",
        "SELECT DISTINCT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY COUNT(DISTINCT ?o)",
    ],
)
def test_distinct_refuses_an_order_that_its_rows_do_not_have(text: str) -> None:
    """What is not projected, nor made of what is, has no single value per distinct row."""
    with pytest.raises(UnsupportedQueryError, match="ORDER BY"):
        parse_query(text)


def test_order_reads_the_projected_column() -> None:
    """An aggregate that is projected is sorted by where it stands, without a column of its own."""
    query = parse_query("SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY DESC(COUNT(?o)) ?n")
    assert [condition.expression.variables for condition in query.order] == [("n",), ("n",)]
    assert len(query.root.columns) == 2


def test_an_aggregate_of_an_expression_beside_an_order_by_name() -> None:
    """What HAVING samples need not be a variable for ORDER BY to find the names of SELECT."""
    text = (
        "SELECT DISTINCT (COUNT(DISTINCT *) AS ?u) { ?s ?p ?o } HAVING(SAMPLE(?o + 1) > 1) ORDER BY DESC(?u)"
    )
    assert parse_query(text).names == ("u",)


def test_a_variable_may_be_called_as_it_likes() -> None:
    """The variables of aggregates have names that no text can spell."""
    graph = Graph().parse(data="@prefix : <http://e/> . :s :q 1, 2 ; :p 3 .", format="turtle")
    text = "SELECT ?__agg_1__ (SUM(?x) AS ?z) { ?s :q ?x ; :p ?__agg_1__ } GROUP BY ?__agg_1__"
    with rdflive.subscribe(graph, f"PREFIX : <http://e/> {text}") as subscription:
        assert [tuple(map(int, row)) for row in subscription.answers()] == [(3, 3)]
