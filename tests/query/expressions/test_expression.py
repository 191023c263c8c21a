"""What an expression says about itself, and how it is taken apart."""

from __future__ import annotations

import pytest
from rdflib import Literal, URIRef
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.term import Variable

from rdflive.errors import UnsupportedQueryError
from rdflive.model import TripleTerm
from rdflive.query.expressions import Expression, conjuncts, exists_parts, replace, volatile
from rdflive.syntax.tree import Tree
from support.expressions import Numbers, evaluate, node

XSD_ = "http://www.w3.org/2001/XMLSchema#"
TEXTS = [
    ("?x>1", "?x > 1"),
    ("?x=1&&?y=2||!BOUND(?z)", "((?x = 1) && (?y = 2)) || (!BOUND(?z))"),
    ("-(-?x) + 2.50 * 1e0", f'(-(-?x)) + (2.50 * "1.0"^^<{XSD_}double>)'),
    ("?x NOT IN ()", "?x NOT IN ()"),
    ("?x IN (ex:a, 'b'@EN)", '?x IN (<http://example.org/a>, "b"@EN)'),
    ("uri(?x)", "IRI(?x)"),
    ("xsd:integer(?x)", f"<{XSD_}integer>(?x)"),
    ("concat()", "CONCAT()"),
    (r'if(?x, "a", "a\n\"")', r'IF(?x, "a", "a\n\"")'),
    ('"1"^^xsd:short', f'"1"^^<{XSD_}short>'),
    ("substr(?x, 1, 2)", "SUBSTR(?x, 1, 2)"),
    ("isTriple(<<( ?s ex:p 1 )>>)", "isTRIPLE(TRIPLE(?s, <http://example.org/p>, 1))"),
    ("haslangdir('a'@ar--rtl)", 'hasLANGDIR("a"@ar--rtl)'),
]


@pytest.mark.parametrize(("text", "canonical"), TEXTS)
def test_text_is_canonical(text: str, canonical: str) -> None:
    """The text has full IRIs, one spelling of everything, and reads back as the same expression."""
    expression = Expression(node(text))
    assert expression.text == canonical
    assert Expression(node(canonical)) == expression
    assert hash(Expression(node(canonical))) == hash(expression)


def test_variables_are_in_order_of_first_use_without_those_of_exists() -> None:
    """The pattern of an EXISTS keeps its variables to itself."""
    expression = Expression(node("?z + ?a > ?z && EXISTS { ?s ?p ?o }"))
    assert expression.variables == ("z", "a")


def test_patterns_of_exists_and_the_case_of_tags_tell_expressions_apart() -> None:
    """The text of an EXISTS tells its pattern, and LANG the case of a tag."""
    for texts in (("EXISTS { ?s ex:p ?o }", "EXISTS { ?s ex:q ?o }"), ("LANG('a'@EN)", "LANG('a'@en)")):
        one, other = (Expression(node(text)) for text in texts)
        assert one != other


def test_a_triple_term_that_a_binding_gives_is_written_with_its_parts() -> None:
    """Also where a part has a text that SPARQL could not read."""
    one, other = (TripleTerm(URIRef(f"urn:{name}"), URIRef("urn:p"), Literal(1)) for name in ("a", "a b"))
    assert Expression(one).text == "<<( <urn:a> <urn:p> 1 )>>" != Expression(other).text


def test_parts_are_the_outermost() -> None:
    """`&&` is flattened, however nested; `||` stays whole. An EXISTS within another is not listed."""
    parts = conjuncts(node("?a && (?b && (?c || ?d)) && !?e"))
    assert [Expression(part).text for part in parts] == ["?a", "?b", "?c || ?d", "!?e"]
    parts = exists_parts(
        node("!EXISTS { ?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s } } || NOT EXISTS { ?a ?b ?c }")
    )
    assert [part.name for part in parts] == ["Builtin_EXISTS", "Builtin_NOTEXISTS"]


def test_replace_leaves_the_original_alone() -> None:
    """A constant takes the place of a variable in the copy; BOUND of a constant is true."""
    original = node("BOUND(?x) && ?x IN (?x, ?y)")
    copy = replace(original, lambda part: Literal(1) if part == Variable("x") else None)
    assert Expression(copy).text == "BOUND(1) && (1 IN (1, ?y))"
    assert Expression(original).variables == ("x", "y")
    assert evaluate(copy) == Literal(True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("?x > NOW()", "Builtin_NOW"),
        ("CONCAT(STR(UUID()), STRUUID())", "Builtin_UUID"),
        ("RAND()", "Builtin_RAND"),
        ("BNODE(?x)", "Builtin_BNODE"),
        ("ABS(?x)", None),
        ("EXISTS { ?s ?p ?o FILTER(?o > NOW()) }", None),
    ],
)
def test_volatile_function_is_found(text: str, name: str | None) -> None:
    """The first function whose value changes by itself is given."""
    found = volatile(node(text))
    assert (found and found.name) == name


def test_value_and_condition_give_ids_and_truth() -> None:
    """A value is an id, 0 for an error; a condition is true only for a true value."""
    terms = Numbers()
    seven = terms.intern(Literal(7))
    columns = {"x": 0, "y": 1}
    assert Expression(node("?x")).value(columns, terms)((seven, 0)) == seven
    assert Expression(node("?nowhere")).value(columns, terms)((seven, 0)) == 0
    assert terms.value(Expression(node("?x + 1")).value(columns, terms)((seven, 0))) == Literal(8)
    assert Expression(node("?x + ?y")).value(columns, terms)((seven, 0)) == 0
    for text, truth in [("?x", True), ("?x = ?y", False), ("!(?x = ?y)", False), ("BOUND(?y)", False)]:
        assert Expression(node(text)).condition(columns, terms)((seven, 0)) is truth


def test_base_resolves_relative_references() -> None:
    """IRI() resolves by the base of the query, which is part of the identity."""
    based = Expression(node("IRI('a')"), base="http://example.org/x/")
    assert based.term({}, Numbers())(()) == URIRef("http://example.org/x/a")
    assert based != Expression(node("IRI('a')"))
    assert Expression(node("?x + 1"), base="http://example.org/") == Expression(node("?x + 1"))


def test_exists_has_to_be_replaced_and_a_true_filter_holds() -> None:
    """An EXISTS that is left cannot be compiled; what an OPTIONAL without a filter has is true."""
    with pytest.raises(TypeError, match="replaced by a variable"):
        Expression(node("EXISTS { ?s ?p ?o }")).condition({}, Numbers())
    always = Expression(Tree("TrueFilter", {}))
    assert always.text == "true"
    assert always.condition({}, Numbers())(()) is True


def test_registered_function_is_called() -> None:
    """A function registered with rdflib is called with terms, or raw with expression and solution."""
    plain, raw, broken = (URIRef(f"http://example.org/{name}") for name in ("plain", "raw", "broken"))
    register_custom_function(plain, lambda x, y: Literal(f"{x}-{y}"))
    register_custom_function(raw, lambda e, ctx: Literal(f"{e.expr[0]} {ctx.get(Variable('x'))}"), raw=True)
    register_custom_function(broken, lambda x: 1 // 0)
    try:
        assert evaluate("ex:plain(?x, 1 + 1)", x=Literal("a")) == Literal("a-2")
        assert evaluate("ex:plain(?x)", x=Literal("a")) is None
        assert evaluate("ex:raw(?x)", x=Literal("a")) == Literal("a a")
        assert evaluate("ex:broken(?x)", x=Literal("a")) is None
    finally:
        for iri in (plain, raw, broken):
            unregister_custom_function(iri)
    with pytest.raises(UnsupportedQueryError, match=r"<.*plain> is not a known function"):
        evaluate("ex:plain(?x, 2)", x=Literal("a"))
