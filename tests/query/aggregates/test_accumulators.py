"""Set functions: tables of SPARQL's results, and every history against a fresh start."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from rdflive.query.aggregates import SetFunction, make_accumulator
from rdflive.values import number
from rdflive.values.numbers import to_single

FUNCTIONS: tuple[SetFunction, ...] = get_args(SetFunction)
ERROR = None


def typed(lexical: str, name: str) -> Literal:
    return Literal(lexical, datatype=XSD[name])


NUMERALS = st.one_of(
    st.integers(-5, 5).map(Literal),
    st.integers().map(Literal),
    st.integers(-5, 5).map(lambda value: Literal(value, datatype=XSD.int)),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99).map(Literal),
    st.floats(allow_nan=False, allow_infinity=False).map(Literal),
    st.floats(-9, 9, width=16).map(lambda value: Literal(value, datatype=XSD.float)),
)


def double(lexical: str) -> Literal:
    return Literal(lexical, datatype=XSD.double, normalize=False)


INFINITE = st.sampled_from([Literal(math.inf), Literal(-math.inf), Literal(math.nan)])
OTHERS = st.sampled_from(
    [
        ERROR,
        BNode("b"),
        URIRef("urn:a"),
        Literal("a"),
        typed("a", "string"),
        Literal("a", lang="en"),
        Literal(True),
        typed("one", "integer"),
        typed("2020-01-01", "date"),
    ]
)
VALUES: st.SearchStrategy[Node | None] = NUMERALS | INFINITE | OTHERS


def result(
    name: SetFunction, values: Iterable[Node | None], *, distinct: bool = False, separator: str = " "
) -> Node | None:
    accumulator = make_accumulator(name, distinct=distinct, separator=separator)()
    for value in values:
        accumulator.add(value, 1)
    return accumulator.result()


def spelling(term: Node | None) -> str | None:
    """A term as text; unlike `==` it tells xsd:string from a plain literal and NaN from nothing."""
    return None if term is None else repr(term)


EXAMPLES: list[tuple[SetFunction, list[Node | None], Node | None]] = [
    ("COUNT", [], Literal(0)),
    ("COUNT", [ERROR], Literal(0)),
    ("COUNT", [Literal(1), Literal(1), ERROR, BNode("b")], Literal(3)),
    ("SUM", [], Literal(0)),
    ("SUM", [Literal(1), Literal(2)], Literal(3)),
    ("SUM", [typed("5", "byte")], Literal(5)),
    ("SUM", [Literal(1), typed("2.0", "decimal")], typed("3.0", "decimal")),
    ("SUM", [Literal(1), typed("2.5", "float")], typed("3.5", "float")),
    ("SUM", [typed("0.5", "decimal"), typed("2.5", "float"), Literal(1.0)], Literal(4.0)),
    ("SUM", [Literal(1e16), Literal(1), Literal(-1e16), Literal(0.1)], Literal(1.1)),
    ("SUM", [Literal(math.inf), Literal(1)], double("INF")),
    ("SUM", [Literal(math.inf), Literal(-math.inf)], double("NaN")),
    ("SUM", [Literal(2**64), Literal(1)], Literal(2**64 + 1)),
    ("SUM", [Literal(1), ERROR], ERROR),
    ("SUM", [Literal(1), Literal("2")], ERROR),
    ("SUM", [Literal(1), typed("one", "integer")], ERROR),
    ("SUM", [Literal(1), URIRef("urn:a")], ERROR),
    ("SUM", [Literal(10**4299 * 9)] * 2, ERROR),
    ("AVG", [], Literal(0)),
    ("AVG", [Literal(1), Literal(2)], typed("1.5", "decimal")),
    ("AVG", [Literal(1), Literal(0), Literal(1)], typed("0." + "6" * 27 + "7", "decimal")),
    ("AVG", [typed("1", "float"), typed("2.5", "decimal")], typed("1.75", "float")),
    ("AVG", [Literal(1.7e308)] * 2, Literal(1.7e308)),
    ("AVG", [Literal(5e-324)] * 2, Literal(5e-324)),
    ("SUM", [Literal(-1.7e308)] * 2, double("-INF")),
    ("SUM", [Literal(math.nan), Literal(math.inf)], double("NaN")),
    ("AVG", [Literal(1), BNode("b"), Literal(3)], ERROR),
    ("MIN", [], ERROR),
    ("MIN", [Literal(2), Literal(1.5), typed("1.75", "decimal")], Literal(1.5)),
    ("MIN", [Literal(2), Literal("a"), URIRef("urn:a")], URIRef("urn:a")),
    ("MIN", [Literal(2), BNode("b")], BNode("b")),
    ("MIN", [Literal(2), ERROR], ERROR),
    ("MAX", [], ERROR),
    ("MAX", [Literal(2), Literal(2.5), Literal(-3)], Literal(2.5)),
    ("MAX", [Literal(2), Literal("a"), URIRef("urn:a")], Literal("a")),
    ("MAX", [Literal(2), ERROR], ERROR),
    ("SAMPLE", [], ERROR),
    ("SAMPLE", [ERROR], ERROR),
    ("SAMPLE", [Literal(2), ERROR, Literal(1)], Literal(1)),
    ("GROUP_CONCAT", [], Literal("")),
    ("GROUP_CONCAT", [Literal("b"), Literal("a"), Literal("b")], Literal("a b b")),
    ("GROUP_CONCAT", [Literal("1", lang="en"), Literal("2", lang="fr")], Literal("1 2")),
    ("GROUP_CONCAT", [Literal("b"), Literal(10), Literal(9), URIRef("urn:a")], Literal("urn:a 9 10 b")),
    ("GROUP_CONCAT", [Literal("b"), BNode("b")], ERROR),
    ("GROUP_CONCAT", [Literal("b"), ERROR], ERROR),
]


@pytest.mark.parametrize(("name", "values", "expected"), EXAMPLES)
def test_set_function_gives_the_example(
    name: SetFunction, values: list[Node | None], expected: Node | None
) -> None:
    """Each function gives the example's term, spelled as rdflib spells it."""
    assert spelling(result(name, values)) == spelling(expected)
    assert spelling(result(name, reversed(values))) == spelling(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("COUNT", Literal(4)), ("SUM", ERROR), ("MAX", Literal("a")), ("GROUP_CONCAT", Literal("1.0 1 1 a"))],
)
def test_distinct_goes_by_term(name: SetFunction, expected: Node | None) -> None:
    """DISTINCT tells 1 from 1.0, and drops repetitions only."""
    values = [Literal(1), typed("1.0", "decimal"), Literal(1), Literal("1"), Literal("a"), Literal("a")]
    assert result(name, values, distinct=True) == expected


def test_make_accumulator_refuses_unknown_functions() -> None:
    """An unknown name is refused with those that there are."""
    with pytest.raises(ValueError, match="'MEDIAN' is unknown: use one of COUNT, SUM"):
        make_accumulator("MEDIAN", distinct=False)  # type: ignore[arg-type]  # refused for just that


@given(
    st.sampled_from(FUNCTIONS),
    st.booleans(),
    st.lists(VALUES, max_size=8),
    st.lists(VALUES, max_size=8),
    st.randoms(use_true_random=False),
)
def test_result_depends_on_what_is_there_alone(
    name: SetFunction, distinct: bool, kept: list[Node | None], gone: list[Node | None], random: Any
) -> None:
    """Whatever entered and left, in whatever order, the result is that of a fresh accumulator."""
    accumulator = make_accumulator(name, distinct=distinct)()
    for value in shuffled([*kept, *gone], random):
        accumulator.add(value, 1)
        accumulator.result()
    for value in shuffled(gone, random):
        accumulator.add(value, -1)
        accumulator.result()
    assert spelling(accumulator.result()) == spelling(result(name, kept, distinct=distinct))
    for value in shuffled(kept, random):
        accumulator.add(value, -1)
    assert spelling(accumulator.result()) == spelling(result(name, []))
    assert not any(leftovers(accumulator))


def shuffled(values: list[Node | None], random: Random) -> list[Node | None]:
    return random.sample(values, len(values))


def leftovers(kept: Any) -> list[Any]:
    """Every container and count inside an accumulator, however deep."""
    settings = {"add", "_place", "_separator", "_changed", "_joined"}
    slots = [name for kind in type(kept).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = [getattr(kept, name) for name in slots if name not in settings]
    return [found for part in parts for found in leftovers(part)] if parts else [kept]


@given(st.lists(NUMERALS, min_size=1))
def test_sum_and_average_round_the_exact_value_once(values: list[Literal]) -> None:
    """SUM and AVG are the exact fraction, rounded once to the widest type present."""
    exact = sum((Fraction(number(value) or 0) for value in values), Fraction())
    total, mean = result("SUM", values), result("AVG", values)
    assert isinstance(total, Literal)
    assert isinstance(mean, Literal)
    types = {value.datatype for value in values}
    widest = next((name for name in (XSD.double, XSD.float, XSD.decimal) if name in types), XSD.integer)
    assert total.datatype == widest
    assert mean.datatype == (XSD.decimal if widest == XSD.integer else widest)
    if widest in (XSD.double, XSD.float):
        rounded = nearest if widest == XSD.double else to_single
        assert number(total) == rounded(exact)
        assert number(mean) == rounded(exact / len(values))
    else:
        assert Fraction(total.value) == exact
        quotient = exact / len(values)
        ratio = Context(prec=28).divide(Decimal(quotient.numerator), Decimal(quotient.denominator))
        assert mean.value == ratio


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


SMALL = st.one_of(
    st.integers(-1000, 1000).map(Literal),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99).map(Literal),
    st.floats(-1e6, 1e6, width=32).map(Literal),
)


@given(st.lists(SMALL, min_size=1, max_size=8), st.sampled_from(["SUM", "AVG", "MIN", "MAX"]))
def test_set_function_agrees_with_the_engines(values: list[Literal], name: SetFunction) -> None:
    """On numbers rdflib and Oxigraph give the same datatype and, but for rounding, the same value."""
    ox = pytest.importorskip("pyoxigraph")
    rows = " ".join(f'"{value}"^^<{value.datatype}>' for value in values)
    query = f"SELECT ({name}(?x) AS ?r) {{ VALUES ?x {{ {rows} }} }}"
    ours = result(name, values)
    assert isinstance(ours, Literal)
    theirs = next(iter(ox.Store().query(query)))["r"]
    rdflibs: Any = next(iter(Graph().query(query)))[0]  # type: ignore[index]  # a row of a SELECT
    for found in (Literal(theirs.value, datatype=theirs.datatype.value), rdflibs):
        # equal values of several types are one extremum to SPARQL, whichever comes first
        assert name in ("MIN", "MAX") or found.datatype == ours.datatype
        assert math.isclose(float(found), float(ours), rel_tol=1e-9, abs_tol=1e-9)
