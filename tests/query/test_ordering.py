"""The order of terms: total, finer than SPARQL's `<`, equal for equal terms only."""

from __future__ import annotations

from decimal import Decimal, FloatOperation, Inexact, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Literal, URIRef
from rdflib.term import Node

from rdflive.query.ordering import descending, term_key
from rdflive.values import number


def typed(lexical: str, name: str) -> Literal:
    return Literal(lexical, datatype=XSD[name])


ASCENDING: list[Node | None] = [
    None,
    BNode("a"),
    BNode("b"),
    URIRef("urn:a"),
    URIRef("urn:b"),
    Literal("x", datatype=URIRef("http://a.example/type")),
    typed("false", "boolean"),
    typed("true", "boolean"),
    typed("maybe", "boolean"),
    Literal("2020-01-01+05:00", datatype=XSD.date, normalize=False),
    typed("2020-01-01", "date"),
    Literal("2020-01-01Z", datatype=XSD.date, normalize=False),
    Literal("2020-01-01-05:00", datatype=XSD.date, normalize=False),
    typed("0001-01-01T00:00:00+14:00", "dateTime"),
    typed("2020-01-01T05:00:00+06:00", "dateTime"),
    typed("2020-01-01T00:00:00", "dateTime"),
    typed("2020-01-01T00:00:00Z", "dateTime"),
    typed("2020-01-01T00:00:00.5", "dateTime"),
    typed("2020-01-01T00:00:01Z", "dateTime"),
    typed("2020-01-01T00:00:00-01:00", "dateTime"),
    typed("9999-12-31T23:59:59-14:00", "dateTime"),
    typed("yesterday", "dateTime"),
    typed("P1D", "dayTimeDuration"),
    typed("P30D", "duration"),
    typed("P1M", "duration"),
    typed("P1M", "yearMonthDuration"),
    typed("P31D", "duration"),
    typed("P1Y", "duration"),
    typed("P1Y", "yearMonthDuration"),
    typed("-INF", "double"),
    Literal(-(10**30)),
    Literal(-1),
    Literal(0),
    Literal(0.1, datatype=XSD.decimal),
    Literal(0.1),  # a double a little above a tenth
    typed("1.0", "decimal"),
    Literal(1.0),
    typed("1.0", "float"),
    Literal("01", datatype=XSD.integer, normalize=False),
    Literal(1),
    Literal(2**53),
    Literal(2**53 + 1),
    typed("INF", "double"),
    typed("NaN", "double"),
    typed("NaN", "float"),
    typed("one", "integer"),
    Literal("a"),
    typed("a", "string"),
    Literal("b"),
    Literal("a", lang="de"),
    Literal("a", lang="en"),
    Literal("b", lang="en"),
    typed("10:00:00+02:00", "time"),
    typed("09:00:00", "time"),
]

XSD_NAMES = """integer byte unsignedLong decimal float double boolean string date dateTime time duration
dayTimeDuration yearMonthDuration gYear"""
DATATYPES = [*(XSD[name] for name in XSD_NAMES.split()), RDF.langString, URIRef("http://a.example/type")]
FORMS = """0 1 -1 01 300 1.0 -1.50 0.1 1e3 1e400 -0.0 NaN INF -INF inf true false a abc P1D P1M P1Y2M PT36H
2020-01-01 2020-01-01Z 2020-01-01-05:00 2020-01-01T10:00:00 2020-01-01T10:00:00.5+14:00
10:00:00 10:00:00Z -0044-03-15 99999-01-01 2020 1_0"""
LEXICALS = [*FORMS.split(), "", " 1 "]
READ = st.builds(
    lambda lexical, datatype, normalize: Literal(lexical, datatype=datatype, normalize=normalize),
    st.sampled_from(LEXICALS),
    st.sampled_from(DATATYPES),
    st.booleans(),
)
MADE = st.builds(
    lambda value, datatype: Literal(value, datatype=datatype),
    st.integers(-300, 300) | st.sampled_from([0.1, 1.0, 1e300, True, Decimal("0.10"), Decimal("NaN")]),
    st.sampled_from([None, *DATATYPES[:7]]),
)
NUMBERS = st.one_of(
    st.integers().map(Literal),
    st.floats(allow_nan=False, allow_infinity=False).map(Literal),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9).map(
        Literal
    ),
)
TERMS: st.SearchStrategy[Node | None] = st.one_of(
    st.none(),
    READ,
    MADE,
    NUMBERS,
    st.sampled_from(ASCENDING),
    st.builds(Literal, st.text(max_size=2), lang=st.sampled_from([None, "en", "EN", "en-GB", "de"])),
    st.text(max_size=2).map(BNode),
    st.text("abc", max_size=3).map(URIRef),
)


def test_term_key_differs_along_the_table() -> None:
    """Each term of the table is less than the next."""
    for lesser, greater in pairwise(map(term_key, ASCENDING)):
        assert lesser < greater
        assert not greater < lesser


@given(TERMS, TERMS)
def test_term_key_is_equal_for_equal_terms_only(one: Node | None, other: Node | None) -> None:
    """Two keys are equal where the terms are, and one is less than the other where they are not."""
    left, right = term_key(one), term_key(other)
    assert (left == right) == (one == other)
    assert (left < right) + (right < left) + (one == other) == 1


@given(TERMS, TERMS, TERMS)
def test_term_key_is_transitive(a: Node | None, b: Node | None, c: Node | None) -> None:
    """Of three terms in order, the first is not greater than the last."""
    first, second, third = (term_key(term) for term in (a, b, c))
    if first <= second and second <= third:
        assert first <= third


@given(TERMS)
def test_term_key_depends_on_the_lexical_form(term: Node | None) -> None:
    """A literal made from a Python object has the key of the same literal read from text."""
    if isinstance(term, Literal):
        again = Literal(str(term), lang=term.language, datatype=term.datatype, normalize=False)
        assert term_key(again) == term_key(term)


@given(NUMBERS, NUMBERS)
def test_term_key_compares_numbers_exactly(one: Literal, other: Literal) -> None:
    """Numbers of all types sort by their exact value."""
    left, right = number(one), number(other)
    assert left is not None
    assert right is not None
    if Fraction(left) != Fraction(right):
        assert (term_key(one) < term_key(other)) == (Fraction(left) < Fraction(right))


@given(st.lists(READ | NUMBERS, max_size=12))
def test_term_key_never_contradicts_less_than(terms: list[Literal]) -> None:
    """Where Oxigraph's `<` holds between two literals, the order says so too."""
    ox = pytest.importorskip("pyoxigraph")
    kept = [term for term in terms if not term.ill_typed]
    values = " ".join(f"({index} {term.n3()})" for index, term in enumerate(kept))
    query = f"SELECT ?i ?j {{ VALUES (?i ?a) {{ {values} }} VALUES (?j ?b) {{ {values} }} FILTER(?a < ?b) }}"
    for solution in ox.Store().query(query):
        i, j = (int(solution[name].value) for name in "ij")
        assert term_key(kept[i]) < term_key(kept[j])


def test_moments_with_a_time_zone_follow_those_without() -> None:
    """Where they seem to be at one instant, whatever is behind: `.0` is a later spelling than none."""
    without, zoned = typed("2024-05-01T10:00:00", "dateTime"), typed("2024-05-01T10:00:00Z", "dateTime")
    elsewhere = Literal("2024-05-01T08:00:00-02:00", datatype=XSD.dateTime, normalize=False)
    later = Literal("2024-05-01T10:00:00.0", datatype=XSD.dateTime, normalize=False)
    assert sorted([zoned, later, elsewhere, without], key=term_key) == [without, later, elsewhere, zoned]


def test_numbers_are_ordered_whatever_decimal_context_a_thread_has() -> None:
    """One that forbids to compare decimals with floats, too."""
    terms = [typed("1.4", "double"), typed("1.5", "decimal"), typed("1.6", "float"), Literal(2)]
    backwards = terms[::-1]
    with localcontext(prec=1, traps=[FloatOperation, Inexact]):
        assert sorted(backwards, key=term_key) == terms


@given(TERMS, TERMS)
def test_descending_reverses(one: Node | None, other: Node | None) -> None:
    """A wrapped key is less where the key is greater, and equal with the same hash where it is equal."""
    left, right = term_key(one), term_key(other)
    assert (descending(left) < descending(right)) == (right < left)
    assert (descending(left) >= descending(right)) == (left <= right)
    assert (descending(left) == descending(right)) == (left == right)
    if left == right:
        assert hash(descending(left)) == hash(descending(right))
