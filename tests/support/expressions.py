"""Expressions for tests: parsing, evaluation and random examples."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyoxigraph as ox
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Literal, URIRef
from rdflib.term import Node, Variable

from rdflive.query.expressions import Expression, replace
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree
from rdflive.values import Value, typed_value

PREFIXES = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX ex: <http://example.org/> "


class Numbers:
    """Terms by number, as in a dictionary; 0 is no term."""

    meter = None

    def __init__(self) -> None:
        self.terms: list[Node | None] = [None]

    def value(self, number: int, /) -> Node | None:
        return self.terms[number]

    def content(self, number: int, /) -> Value | None:
        return typed_value(self.value(number))

    def constant(self, term: Node, /) -> Node:
        return term

    def intern(self, term: Node, /) -> int:
        if term not in self.terms:
            self.terms.append(term)
        return self.terms.index(term)


@cache
def node(text: str) -> Any:
    """Parse an expression into the node that a query has for it."""
    algebra = algebra_of(read_query(f"{PREFIXES} SELECT ({text} AS ?result) {{}}"))
    while algebra.name != "Extend":
        algebra = algebra.p
    return algebra.expr


def row(terms: Numbers, bindings: dict[str, Node | None]) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return the columns and the row of bindings."""
    ids = tuple(0 if term is None else terms.intern(term) for term in bindings.values())
    return {name: place for place, name in enumerate(bindings)}, ids


def evaluate(expression: Any, **bindings: Node | None) -> Node | None:
    """Evaluate an expression, given as text or as a node."""
    terms = Numbers()
    columns, ids = row(terms, bindings)
    parsed = node(expression) if type(expression) is str else expression
    return Expression(parsed).term(columns, terms)(ids)


def term(text: str) -> Node:
    """Parse a term and keep its lexical form."""
    read: Any = node(text)
    assert not isinstance(read, Tree)
    return read


def comparable(value: Node | None) -> Any:
    """Make a value of rdflib comparable with one of Oxigraph: numbers by 10 digits, dates by value."""
    if value is None or isinstance(value, BNode):
        return value and "_:"
    if not isinstance(value, Literal):
        return str(value)
    datatype = value.datatype or (RDF.langString if value.language else XSD.string)
    if datatype in (XSD.decimal, XSD.double):
        return f"{float(value) + 0:.10g}", str(datatype)
    if datatype in (XSD.dateTime, XSD.dayTimeDuration):
        return value.value, str(datatype)
    return str(value), str(datatype), (value.language or "").lower()


def ask_oxigraph(text: str, bindings: dict[str, str]) -> Node | None:
    """Evaluate the text of an expression with Oxigraph, over the texts of terms."""
    names, values = " ".join(f"?{n}" for n in bindings), " ".join(bindings.values())
    query = f"{PREFIXES} SELECT ({text} AS ?result) {{ VALUES ({names}) {{ ({values}) }} }}"
    solutions = ox.Store().query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    value = next(solutions)["result"]
    if value is None or isinstance(value, ox.NamedNode):
        return None if value is None else URIRef(value.value)
    assert isinstance(value, ox.Literal)
    if value.language:
        return Literal(value.value, lang=value.language)
    return Literal(value.value, datatype=URIRef(value.datatype.value))


NUMBERS = ["0", "1", '"-3"^^xsd:integer', "1.5", "2.5e0"]
STRINGS = ['""', '"a"', '"ab"', '"1"', '"true"', '"x"^^xsd:string']
TAGGED = ['"a"@en', '"ab"@en', '"B"@fr']
MOMENTS = [
    '"2020-01-01T00:00:00Z"^^xsd:dateTime',
    '"2020-01-01T10:00:00"^^xsd:dateTime',
    '"2020-01-03T00:00:00+02:00"^^xsd:dateTime',
    '"2020-01-01"^^xsd:date',
]
OTHERS = [
    "true",
    "false",
    "<http://example.org/a>",
    '"x"^^ex:unknown',
    '"y"^^ex:unknown',
    '"abc"^^xsd:integer',
]
TERMS = [*NUMBERS, *STRINGS, *OTHERS]

VARIABLES = [*["?a", "?b", "?c"] * 3, "?nowhere"]


def _calls(names: str, arguments: str = "?_1") -> list[str]:
    return [f"{name}({arguments})" for name in names.split()]


EQUALITY = ["?_1 = ?_2", "?_1 != ?_2", "?_1 IN (?_2, ?_3)", "?_1 NOT IN (?_2, ?_3)"]
ORDER = [f"?_1 {operator} ?_2" for operator in ("<", ">", "<=", ">=")]
LOGIC = [
    *EQUALITY,
    *ORDER,
    *["?_1 && ?_2", "?_1 || ?_2", "! ?_1"],
    *["IF(?_1, ?_2, ?_3)", "COALESCE(?_1, ?_2)", "sameTerm(?_1, ?_2)", "BOUND(?a)", "BOUND(?nowhere)"],
    *_calls("isIRI isLITERAL isBLANK isNUMERIC"),
]
SUMS = ["?_1 + ?_2", "?_1 - ?_2"]
ARITHMETIC = [*SUMS, "?_1 * ?_2", "?_1 / ?_2", *_calls("- + ABS CEIL FLOOR ROUND")]
TEXTS = [
    *_calls("STRLEN UCASE LCASE LANG DATATYPE MD5 ENCODE_FOR_URI"),
    *_calls("CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER CONCAT", "?_1, ?_2"),
    *[
        "SUBSTR(?_1, 1)",
        "SUBSTR(?_1, 2)",
        "SUBSTR(?_1, 1, 2)",
        'LANGMATCHES(?_1, "EN")',
        'REGEX(?_1, "^A", "i")',
    ],
    'REPLACE(?_1, "(.)b", "[$1]")',
]
CASTS = _calls("xsd:integer xsd:decimal xsd:double xsd:boolean")
TIMES = _calls("YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE")


def fill(template: str, *parts: Any) -> Any:
    """Replace ?_1, ?_2, ... of a template by nodes, as the parser is slow on nested expressions."""
    places = {Variable(f"_{place}"): part for place, part in enumerate(parts, 1)}
    return replace(node(template), lambda part: places.get(part) if isinstance(part, Variable) else None)


def _is_fair(chosen: tuple[str, Any, Any, Any]) -> bool:
    """Return True if the engines agree by definition.

    Oxigraph does not order booleans, and rewrites `x < x` to false where it is an error. So one side of a
    comparison by order must be a constant of an ordered datatype.
    """
    template, _, other, _ = chosen
    if template not in ORDER:
        return True
    return isinstance(other, Literal) and other.datatype != XSD.boolean and other.ill_typed is False


def expressions(templates: list[str], atoms: list[str], *, leaves: int = 6) -> Any:
    """Draw expressions (nodes) from templates over atoms: constants and variables."""
    return st.recursive(
        st.sampled_from(atoms).map(node),
        lambda part: (
            st.tuples(st.sampled_from(templates), part, part, part)
            .filter(_is_fair)
            .map(lambda chosen: fill(*chosen))
        ),
        max_leaves=leaves,
    )


def bindings(terms: list[str]) -> st.SearchStrategy[dict[str, str]]:
    """Draw the texts of the terms of ?a, ?b and ?c."""
    return st.fixed_dictionaries(dict.fromkeys("abc", st.sampled_from(terms)))


def terms_of(texts: dict[str, str]) -> dict[str, Node | None]:
    """Parse the terms of drawn bindings."""
    return {name: None if text == "UNDEF" else term(text) for name, text in texts.items()}
