"""What the reader makes of texts: terms, places, prefixes; long and deep texts; several threads."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from rdflib import RDF, XSD, BNode, Literal, URIRef, Variable

from rdflive.errors import QuerySyntaxError
from rdflive.model import DirectionalString, TripleTerm
from rdflive.syntax.reader import read_query, read_update
from rdflive.syntax.tree import Tree, place_of, walk
from rdflive.syntax.writing import write

E = "http://e/"
REIFIES = URIRef(f"{RDF}reifies")


def triples(text: str, **options: Any) -> tuple[Any, ...]:
    """Read the triples of a group."""
    found: tuple[Any, ...] = (
        read_query(f"PREFIX : <{E}> ASK {{ {text} }}", **options).query.where.part[0].triples
    )
    return found


TERMS = [
    ("<http://e/\\u00e9>", URIRef("http://e/é")),
    (r":Paris\,_Texas", URIRef(E + "Paris,_Texas")),
    (":a%41", URIRef(E + "a%41")),
    (":a.b", URIRef(E + "a.b")),
    ("foaf:name", URIRef("http://xmlns.com/foaf/0.1/name")),
    ("'a\tb'", Literal("a\tb")),
    (r'"\t\n\r\b\f\"\'\\"', Literal("\t\n\r\b\f\"'\\")),
    (r'"""a "quoted" \u0041"""', Literal('a "quoted" A')),
    ("'chat'@fr-BE", Literal("chat", lang="fr-BE")),
    ("'x'@ar--rtl", DirectionalString("x", "ar", "rtl")),
    (
        "'01'^^<http://www.w3.org/2001/XMLSchema#integer>",
        Literal("01", datatype=XSD.integer, normalize=False),
    ),
    ("-0.12", Literal("-0.12", datatype=XSD.decimal)),
    ("+5", Literal("5", datatype=XSD.integer)),
    ("1e3", Literal("1e3", datatype=XSD.double)),
    ("true", Literal(True)),
    ("()", RDF.nil),
    ("<<( :a :p 1 )>>", TripleTerm(URIRef(E + "a"), URIRef(E + "p"), Literal(1))),
]


@pytest.mark.parametrize(("text", "term"), TERMS)
def test_a_term_is_read_as_it_is_written(text: str, term: Any) -> None:
    """Its escapes undone, its prefix resolved, its lexical form kept."""
    read = triples(f":s :p {text}")[0][2]
    assert read == term
    assert str(read) == str(term)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("?s :p [ :q ?x ; :r () ]", ["?s :p _0", "_0 :q ?x", "_0 :r nil"]),
        ("[ :p 1 ] :q 2", ["_0 :p 1", "_0 :q 2"]),
        (
            "(1 [ :p 2 ]) :q 3",
            ["_0 first 1", "_0 rest _1", "_1 first _2", "_2 :p 2", "_1 rest nil", "_0 :q 3"],
        ),
        (":s :p :o ~ :r", [":s :p :o", ":r reifies <<( :s :p :o )>>"]),
        (":s :p :o {| :q 1 |}", [":s :p :o", "_0 reifies <<( :s :p :o )>>", "_0 :q 1"]),
        ("<< :s :p :o ~ ?r >> :q 1", ["?r reifies <<( :s :p :o )>>", "?r :q 1"]),
        (":s :p +5", [":s :p 5"]),
        ("_:a :p _:b ; :q _:a", ["_0 :p _1", "_0 :q _0"]),
    ],
)
def test_what_is_short_is_read_as_triples(text: str, read: list[str]) -> None:
    """Blank nodes are called by their order in the text."""

    def short(term: Any) -> str:
        if isinstance(term, BNode):
            return f"_{int(term[1:])}"
        if isinstance(term, TripleTerm):
            return f"<<( {' '.join(map(short, term.parts))} )>>"
        if isinstance(term, Variable):
            return f"?{term}"
        return str(term).replace(E, ":").replace(str(RDF), "")

    assert [" ".join(map(short, triple)) for triple in triples(text)] == read


def test_two_prefixes_may_stand_for_one_namespace() -> None:
    """Declared in the text, or given; the text's own come before those given."""
    text = "PREFIX a: <http://e/> PREFIX b: <http://e/> ASK { a:x b:p c:y }"
    read = read_query(text, {"a": "urn:no:", "c": "http://e/"}).query.where.part[0].triples
    assert read == ((URIRef(E + "x"), URIRef(E + "p"), URIRef(E + "y")),)


def test_nodes_know_their_places() -> None:
    """Where they begin and end, in characters, and in lines and columns."""
    text = "ASK {\n  ?s ?p ?o\n  FILTER(?o > 3 && BOUND(?s)) OPTIONAL { ?s ?q ?r } }"
    places = {node.name: node for node in walk(read_query(text))}
    assert text[places["Filter"].begin : places["Filter"].end] == "FILTER(?o > 3 && BOUND(?s))"
    assert text[places["Builtin_BOUND"].begin : places["Builtin_BOUND"].end] == "BOUND(?s)"
    assert text[places["RelationalExpression"].begin : places["RelationalExpression"].end] == "?o > 3"
    assert text[places["OptionalGraphPattern"].begin :] == "OPTIONAL { ?s ?q ?r } }"
    assert place_of(text, places["Filter"].begin)[:2] == (3, 3)


WRITTEN = {
    "SELECT (?a -1 AS ?b) { }": "SELECT  ((?a - 1) AS ?b) WHERE { }",
    "SELECT (1-1 AS ?b) { }": "SELECT  ((1 - 1) AS ?b) WHERE { }",
    "SELECT (-?a+-1 AS ?b) { }": "SELECT  (((- (?a)) + -1) AS ?b) WHERE { }",
    "ASK { FILTER(!?a IN (1, ?b)) }": "ASK WHERE { FILTER (((! (?a)) IN (1, ?b))) }",
    "ASK { FILTER(?a || ?c NOT IN ()) }": "ASK WHERE { FILTER ((?a || (?c NOT IN ()))) }",
    "ASK { FILTER(1 < 2 = true) }": None,
    "ASK { FILTER NOT EXISTS { ?s ?p ?o } }": "ASK WHERE { FILTER (NOT EXISTS { ?s ?p ?o . }) }",
    "ASK { ?s !(a|^<urn:p>)/<urn:q>? ?o }": None,
    "SELECT (GROUP_CONCAT(DISTINCT ?o; SEPARATOR='\t') AS ?x) { ?s ?p ?o } GROUP BY (STR(?s) AS ?k)": None,
    "DESCRIBE *": None,
}
"""Queries, and how they are written, with numbers as short as SPARQL has them."""


@pytest.mark.parametrize("text", WRITTEN)
def test_a_tree_is_written_as_it_was_meant(text: str) -> None:
    """Each operation has its brackets; what is written is read as the same."""
    try:
        tree = read_query(text)
    except QuerySyntaxError:
        assert "= true" in text  # comparisons do not follow one another
        return
    short = write(tree).replace(f"^^<{XSD.integer}>", "").replace('"', "")
    assert WRITTEN[text] in (None, short)
    assert read_query(write(tree)) == tree


def test_a_tree_cannot_be_changed() -> None:
    """It is a value: equal without regard to places, hashable, and a copy of it is another."""
    one, other = read_query("ASK { ?s ?p 1 }"), read_query("ASK  {?s ?p 1}")
    assert one == other
    assert hash(one) == hash(other)
    assert one != read_query("ASK { ?s ?p 2 }")
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError, match="cannot be changed"):
        one.name = "Update"
    assert one.changed(base="urn:x").base == "urn:x"
    assert one.base == ""


def test_the_constants_of_a_text_are_listed() -> None:
    """As terms, in the order of the text, without what only declares or counts."""
    constants: list[Any] = []
    read_query(
        "BASE <http://e/> PREFIX : <#> SELECT (GROUP_CONCAT(?o; SEPARATOR=',') AS ?x) FROM <g> "
        "{ ?s :p 'a'@en, 'b'^^:d, -1 FILTER(?o -1 > 2) } LIMIT 5",
        constants=constants,
    )
    names = [URIRef("http://e/g"), URIRef("http://e/#p"), Literal("a", lang="en")]
    assert constants == [
        *names,
        Literal("b", datatype=URIRef("http://e/#d")),
        Literal(-1),
        Literal(1),
        Literal(2),
    ]


def test_sparql_1_1_escapes_outside_strings_are_refused() -> None:
    """As in SPARQL 1.2: they are read in strings and IRIs alone."""
    with pytest.raises(QuerySyntaxError, match="line 1, column 1: met"):
        read_query("\\u0041SK { }")
    with pytest.raises(QuerySyntaxError, match=r"the escape \\uD800 is no character"):
        read_query("ASK { ?s ?p '\\uD800' }")


COUNTS = {
    "triples": ("ASK {" + "?s ?p ?o . " * 100_000 + "}", 1),
    "nested OPTIONAL": ("ASK {" + "?s ?p ?o OPTIONAL {" * 1000 + "}" * 1001, 1001),
    "UNION": ("ASK {" + " UNION ".join(["{ ?s ?p ?o }"] * 10_000) + "}", 10_001),
    "brackets": ("ASK { FILTER(" + "(" * 10_000 + "1" + ")" * 10_000 + ") }", 1),
    "negations": ("ASK { FILTER(" + "!" * 10_000 + "true) }", 1),
    "blank nodes": ("ASK { ?s ?p " + "[ ?p " * 5000 + "1" + "]" * 5000 + " }", 1),
    "collections": ("ASK { ?s ?p " + "(" * 5000 + "1" + ")" * 5000 + " }", 1),
    "path": ("ASK { ?s " + "(" * 5000 + "<p>" + ")+" * 300 + ")" * 4700 + " ?o }", 1),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_text_may_be_long_and_deep(name: str) -> None:
    """Nothing calls itself for each level, to read, to walk and to write."""
    text, groups = COUNTS[name]
    tree = read_query(text, base="urn:")
    assert sum(node.name == "GroupGraphPattern" for node in walk(tree)) == groups
    if name != "path":  # what rdflib makes of a path calls itself
        assert write(tree).startswith("BASE <urn:> ASK")


def test_threads_read_at_once() -> None:
    """Each reads its own text."""
    texts = [f"PREFIX : <urn:{n}:> SELECT ?a{n} {{ ?a{n} :p {n} FILTER(?a{n} > :x) }}" for n in range(40)]
    alone = [read_query(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read_query, texts * 10)) == alone * 10


def test_an_update_is_read_with_its_operations() -> None:
    """What may follow a semicolon, prefixes between operations, data and templates."""
    tree = read_update(
        "PREFIX : <urn:> INSERT DATA { :a :p 1 . GRAPH :g { :b :p 2 } } ;\n"
        "PREFIX : <urn:x:> DELETE WHERE { :a :p ?o } ; WITH :g DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"
    )
    names = [operation.name for operation in tree.request]
    assert names == ["InsertData", "DeleteWhere", "Modify"]
    assert tree.request[1].quads.part[0].triples[0][0] == URIRef("urn:x:a")
    assert tree.request[2].withClause == URIRef("urn:x:g")
    assert isinstance(tree, Tree)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("INSERT DATA { ?s <urn:p> 1 }", r"line 1, column 15: \?s is a variable, which DATA does not allow"),
        ("DELETE DATA { _:b <urn:p> 1 }", "line 1, column 15: deleted triples cannot have blank nodes"),
        (
            "DELETE { [] <urn:p> 1 } WHERE { }",
            "line 1, column 10: deleted triples cannot have blank nodes",
        ),
        (
            "INSERT DATA { _:b <urn:p> 1 } ; INSERT DATA { _:b <urn:p> 2 }",
            "line 1, column 47: _:b is also used in",
        ),
        (
            "INSERT DATA { <urn:a> <urn:p>/<urn:q> 1 }",
            "line 1, column 31: a template and data cannot have property",
        ),
        ("DELETE WHERE { ?s (<urn:p>) ?o }", "a template and data cannot have property paths"),
        ("INSERT { ?s ^<urn:p> ?o } WHERE { }", "a template and data cannot have property paths"),
        ("INSERT { } ", "expected USING or WHERE"),
        ("CLEAR", "expected SILENT, DEFAULT, NAMED, ALL or GRAPH"),
        ("SELECT * { ?s ?p ?o }", "expected BASE, PREFIX, VERSION, an operation such as INSERT DATA"),
    ],
)
def test_a_wrong_update_is_refused_with_its_place(text: str, said: str) -> None:
    """And with what was expected there."""
    with pytest.raises(QuerySyntaxError, match=said):
        read_update(text)
