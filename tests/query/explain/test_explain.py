"""What explanations say about a plan: each operator, its columns, what it keeps and costs."""

from __future__ import annotations

import re

import pytest
import rdflib
from rdflib import XSD

import rdflive
from rdflive.query import algebra
from rdflive.query.explain import Explanation
from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.words import describe
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan

PREFIX = "PREFIX : <u:> "
PATH = "SELECT ?a ?c { ?a :p ?b . ?b :q ?c }"

OPERATORS = {
    "Values": ("SELECT * { VALUES (?a ?b) { (1 2) (3 UNDEF) } ?a :p ?c }", "Values of ?a, ?b: 2 rows"),
    "Join": ("SELECT * { ?a :p ?b { SELECT DISTINCT ?b { ?b :q ?c } } }", "Join on ?b"),
    "LeftJoin": (
        "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?b > ?c) } }",
        "LeftJoin (OPTIONAL) on ?a, if ?b > ?c",
    ),
    "Minus": ("SELECT * { ?a :p ?b MINUS { ?a :q ?c } }", "Minus on ?a"),
    "Exists": ("SELECT * { ?a :p ?b FILTER NOT EXISTS { ?a :q ?c } }", "Filter NOT EXISTS on ?a"),
    "Union": ("SELECT * { { ?a :p ?b } UNION { ?a :q ?c } }", "Union of 2"),
    "Filter": (
        "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?c } FILTER(?c > 1) }",
        "Filter ?c > 1",
    ),
    "Clocked": (
        f"SELECT * {{ ?a :p ?b FILTER('2999-01-01T00:00:00Z'^^<{XSD.dateTime}> > NOW() || ?b = 1) }}",
        "Clocked column",
    ),
    "Extend": ("SELECT * { ?a :p ?b BIND(?b + 1 AS ?c) }", "Extend (BIND) ?c := ?b + 1"),
    "Project": ("SELECT * { GRAPH ?g { ?a :p ?b } }", "?g := graph of GRAPH ?g"),
    "Distinct": ("SELECT DISTINCT ?a { { ?a :p ?b } UNION { ?a :q ?c } }", "Distinct ?a"),
    "Group": (
        "SELECT ?a (SUM(?b) AS ?n) { ?a :p ?b } GROUP BY ?a",
        "keeps per group its row, an exact sum for SUM",
    ),
    "Slice": (
        "SELECT ?a { ?a :p ?b } ORDER BY DESC(?b) LIMIT 3 OFFSET 2",
        "Slice OFFSET 2 LIMIT 3 by DESC(?b)",
    ),
    "Closure": ("SELECT * { ?a :p ?b . ?b :q+ ?c }", "Path + ?b → ?c by steps _:from → _:to, from its seeds"),
    "Construct": (
        "CONSTRUCT { ?a :r [] } WHERE { ?a :p ?b }",
        "keeps the count of each solution, for the template's blank nodes",
    ),
}
"""Per operator of the algebra a query and what its explanation says."""


def explain(text: str) -> Explanation:
    return Explanation(make_plan(parse_query(PREFIX + text)))


def operators() -> list[type[algebra.Node]]:
    kinds = (getattr(algebra, name) for name in algebra.__all__)
    nodes = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, algebra.Node)]
    # a member of a family is explained with its constants in the places of the parameters
    return [kind for kind in nodes if kind not in (algebra.Node, algebra.Parameters)]


@pytest.mark.parametrize("kind", operators(), ids=lambda kind: kind.__name__)
def test_every_operator_has_words(kind: type[algebra.Node]) -> None:
    """Each operator of the algebra occurs in an explained query, and is described there in readable names."""
    text, said = OPERATORS.get(kind.__name__, (PATH, "class: var-connected"))
    plan = make_plan(parse_query(PREFIX + text, clock=True))
    assert any(type(step.node) is kind for step in plan.steps)
    explanation = Explanation(plan)
    assert said in str(explanation)
    for shown in (str(explanation), explanation.mermaid(), explanation.svg()):
        assert shown
        assert "·" not in shown, "a name that the planner made up"
        assert "__agg" not in shown, "a name that rdflib made up"


@pytest.mark.parametrize("query", [text for text, _ in OPERATORS.values()])
def test_what_operators_keep_is_said(query: str) -> None:
    """An operator that is said to keep nothing does, and one that is said to keep something does too."""
    graph = rdflib.Dataset()
    for n in (1, 2):
        for p in "pqr":
            triple = tuple(rdflib.URIRef(f"u:{part}") for part in (n, p, n + 1))
            graph.add(triple)
            graph.graph(rdflib.URIRef("u:g")).add(triple)
    with rdflive.subscribe(graph, PREFIX + query) as subscription:
        state = subscription._use.query  # the operators are no part of the API
        names = VariableNames(state.plan)
        for step, operator in zip(state.plan.steps, state.operators, strict=True):
            if operator is not None:
                keeps = describe(step, state.plan, names).keeps
                assert any(operator.containers()) == (keeps != "nothing"), keeps


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT DISTINCT ?a { ?a :p ?b }", "SELECT DISTINCT ?a\n"),
        ("SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } }", "\n├─ [2] BGP\n"),
        ("SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } }", "\n│        p1: ?a <u:p> ?b\n"),
        ("SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } }", "\n└─ [3] BGP\n"),
        (
            "SELECT * { ?a :p ?b . ?b :q ?c . FILTER(?b > 1 && ?a < ?c) }",
            "p2: ?b <u:q> ?c\n    filter ?b > 1, before anything is cached",
        ),
        (
            "SELECT * { ?a :p ?b . ?b :q ?c . FILTER(?b > 1 && ?a < ?c) }",
            "f1: filter ?a < ?c, where the last variable is bound",
        ),
        ("SELECT * { ?a :p ?b . ?b :q ?c . FILTER(?b > 1 && ?a < ?c) }", "p1: ?c by p2, test f1"),
        (r'ASK { ?a :p "one\ntwo\u001b[2J" }', r"one\ntwo\u001B[2J"),
        ("SELECT DISTINCT ?a { ?a :p ?b }", "above the segments: the count of each distinct row is kept"),
        ("SELECT ?a { { SELECT DISTINCT ?a { ?a :p ?b } } }", "SELECT ?a\n"),
        ("ASK { ?a :p ?b }", "above the segments: a count of solutions"),
        ("ASK { :a :p :b }", "above the segments: nothing is kept"),
        ("SELECT * { ?a :p ?b . ?c :q ?d }", "algorithm: product of 2 segments (Algorithm 3)"),
        ("SELECT * { ?a :p ?b . ?c :q ?d }", "above the segments: the rows of each segment are kept"),
        ("SELECT * { ?a :p ?b } ORDER BY ?b DESC(?a)", "ORDER BY ?b DESC(?a): the answers and each"),
        ("SELECT * { ?a :p ?b } ORDER BY (?b + 1)", "ORDER BY (?b + 1): "),
        ("SELECT ?a ?none { ?a :p ?b }", "note: no pattern binds ?none\n"),
        ("CONSTRUCT { ?a :r ?b . ?b :s ?a } WHERE { ?a :p ?b }", "{ ?a <u:r> ?b . ?b <u:s> ?a }"),
        ("SELECT * { GRAPH :g { ?a :p ?b } }", "BGP in the graph <u:g>"),
        ("SELECT * FROM :g { ?a :p ?b }", "BGP in the graph <u:g>"),
        ("CONSTRUCT { ?a :r [] , [] } WHERE { ?a :p ?b }", "{ ?a <u:r> _:new . ?a <u:r> _:new2 }"),
        ("SELECT * FROM :g FROM :h { ?a :p ?b }", "BGP in each of the graphs <u:g>, <u:h> (graph)"),
        ("SELECT (1 AS ?a) {}", "Values of one row without columns"),
        ("SELECT * { GRAPH ?g { ?a :p ?b } }", "BGP in every named graph (graph of GRAPH ?g)"),
        ("SELECT * { ?a :p ?b { SELECT * { ?c :q ?d } LIMIT 1 } }", "Join of every pair of rows"),
        ("SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } ?d :r ?c }", "Join on ?c where both sides bind it"),
        ("SELECT (COUNT(*) AS ?n) { ?a :p ?b }", "Group of all rows: COUNT(*)"),
        (
            "SELECT (GROUP_CONCAT(DISTINCT ?b; SEPARATOR='|') AS ?n) { ?a :p ?b } GROUP BY ?a",
            'by ?a: GROUP_CONCAT(DISTINCT ?b; SEPARATOR="|")',
        ),
        (
            "SELECT (GROUP_CONCAT(?b) AS ?n) (COUNT(*) AS ?m) { ?a :p ?b } GROUP BY ?a",
            "of each aggregate per touched group, for which GROUP_CONCAT joins all terms of the group again",
        ),
        (
            "SELECT (SAMPLE(?b) AS ?n) { ?a :p ?b } GROUP BY ?a",
            "one result of each aggregate per touched group\n",
        ),
        ("SELECT (COUNT(?a) AS ?n) { ?a :p ?b } GROUP BY STR(?b)", "Group by STR(?b): COUNT(?a)"),
        ("SELECT ?a { ?a :p ?b } GROUP BY ?a HAVING(MAX(?b) > 2)", "Filter MAX(?b) > 2"),
        ("SELECT * { ?a :p/:q ?b }", "p1: ?a <u:p> _:v\n"),
        ("SELECT * { ?a :p* ?b }", "Path * ?a → ?b by steps _:from → _:to, from its seeds"),
        ("SELECT * { ?a :p* ?b }", "?a [] []\n"),
        ("SELECT * { :a :p+ ?b }", "Path + _:start → ?b"),
        ("SELECT * { ?a !(:p|:q) ?b }", "filter _:v NOT IN (<u:p>, <u:q>), before anything is cached"),
        ("SELECT * { ?a :p ?b FILTER(?b > 1 || EXISTS { ?a :q ?c }) }", "Filter (?b > 1) || EXISTS\n"),
        (
            "SELECT * { ?a :p ?b FILTER(EXISTS { ?a :q 1 } || NOT EXISTS { ?b :q 1 } || EXISTS { ?b a 1 }) }",
            "Filter EXISTS || NOT EXISTS || EXISTS #2\n",
        ),
        ("SELECT * { ?a :p 1.50 , true , 'x'@en }", "?a <u:p> 1.50\n"),
        (
            "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } FILTER EXISTS { ?a :r ?d FILTER(?d < ?c) } }",
            "Filter EXISTS on ?a, with ?d < ?c\n",
        ),
        (
            "SELECT * { ?a :p ?b FILTER EXISTS { ?a :r ?d FILTER(?d < ?b) } }",
            "keeps the left rows by these columns in the order of ?b, those with a match apart from the "
            "others; the right rows by these columns in the order of ?d\n",
        ),
        (
            "SELECT * { ?a :p ?b FILTER NOT EXISTS { ?c :p ?d FILTER(?d < ?b + 5 && ?c != ?a) } }",
            "in the order of ?b + 5, a match of each that has any; the right rows in the order of ?d\n",
        ),
        (
            "SELECT * { ?a :p ?b ; :q ?c FILTER EXISTS { ?a :r ?d . ?c :r ?e FILTER(?e > ?b) } }",
            "Distinct ?a, ?b, ?c",  # not all pairs of :r
        ),
        (
            "SELECT * { ?a :p ?b FILTER EXISTS { ?c :p ?d FILTER(?c != ?a) } }",
            "keeps the left rows, a match of each that has any; the right rows\n",
        ),
        (
            "SELECT * { ?a :p ?b OPTIONAL { ?c :p ?d FILTER(?d > ?b) } FILTER(!BOUND(?c)) }",
            "Filter NOT EXISTS of any row, with ?d > ?b\n",
        ),
        (
            "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?d FILTER(?d > ?b) } }",
            "keeps the rows of both sides by these columns in the order of ?b and ?d; the number of matches",
        ),
        (
            "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } FILTER EXISTS { ?a :r ?d BIND(?d + ?c AS ?e) } }",
            "Filter EXISTS on ?a, ?c of the outer solution, and ?c where both sides bind it",
        ),
    ],
)
def test_text_says(query: str, said: str) -> None:
    """Forms, modifiers, graphs, paths and made variables are told in the words of SPARQL."""
    assert said in str(explain(query)) + "\n"


def test_initbindings_are_shown() -> None:
    """A variable that initBindings fixes is named with its value."""
    text = str(rdflive.explain("SELECT * { ?a ?p ?b }", initBindings={"p": rdflib.URIRef("u:p")}))
    assert "initBindings: ?p is <u:p>" in text
    assert "no pattern binds" not in text


def test_a_shared_step_is_drawn_once() -> None:
    """What several operators read is described under the first, and called by its number elsewhere."""
    text = str(explain("SELECT * { ?a :p ?b . ?b :q* ?c }"))
    numbers = re.findall(r"\[(\d+)\] (?!.*as above)", text)
    assert numbers == [str(i + 1) for i in range(len(numbers))]
    (again,) = re.findall(r"\[(\d+)\] BGP, as above", text)
    assert text.count("p1: ") == 1
    assert text.index(f"[{again}] BGP\n") < text.index("as above")


def test_class_and_algorithm_are_those_of_the_only_pattern() -> None:
    """With several basic graph patterns there is no one class, and the tuples list them in order."""
    one = explain(PATH)
    assert (one.pattern_class, one.algorithm) == ("var-connected", "connected")
    assert repr(one) == "<Explanation: var-connected, connected>"
    several = explain("SELECT * { ?a :p ?b OPTIONAL { ?b a :C } }")
    assert (several.pattern_class, several.algorithm) == (None, None)
    assert several.pattern_classes == ("var-connected", "simple var-centric star")
    assert several.algorithms == ("connected", "star")
    assert repr(several) == "<Explanation: 1 operator over 2 basic graph patterns>"
    above = explain("SELECT * { ?a :p ?b BIND(?b + 1 AS ?c) }")
    assert (above.pattern_class, above.algorithm) == ("var-connected", "connected")
    assert explain("SELECT * { VALUES ?a { 1 } }").pattern_class is None


def test_a_mermaid_chart_defines_what_it_links() -> None:
    """Every operator is a box with a quoted label, and arrows lead from the inputs to it."""
    chart = explain("SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c } FILTER(?c > 1) }").mermaid()
    lines = [line.strip() for line in chart.splitlines()]
    assert lines[0] == "flowchart BT"
    assert lines[1].startswith('O1["1 Filter ?c #gt; 1')
    assert lines[2].startswith('O2["2 LeftJoin (OPTIONAL) on ?a<br>keeps ')
    assert {'subgraph O3["3 BGP"]', 'subgraph O4["4 BGP"]'} <= set(lines)
    assert lines[-3:] == ["O2 --> O1", "O3 --> O2", "O4 --> O2"]
    assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end")


def test_mermaid_labels_are_escaped() -> None:
    """Characters that Mermaid reads as its own are written as entities."""
    chart = explain(r'ASK { ?a <u:x#y> "a \"b\" `c` & <d>\n" }').mermaid()
    assert '"#lt;u:x#35;y#gt;"' in chart
    labels = re.findall(r'"(.*?)"(?=[\])]| -->)', chart)
    assert labels
    assert not any(set('"<>&`\\') & set(label) for label in labels)


def test_one_pattern_is_one_mermaid_box() -> None:
    """A query without operators shows its segments, left to right."""
    chart = explain(PATH).mermaid()
    assert chart.startswith('flowchart LR\n  subgraph S1["connected stars')
    assert "BGP" not in chart
