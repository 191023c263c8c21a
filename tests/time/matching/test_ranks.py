"""Sorted entries against comparing each: values of every kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef

from rdflive.matching.ranks import Ranked
from rdflive.values import compare

BIG = 2**53
VALUES = [
    *[Literal(n) for n in (0, 1, 2, -1, BIG, BIG + 1)],
    *[Literal(text, datatype=XSD.double) for text in ("1.0", "NaN", "INF", "-INF", str(float(BIG)))],
    *[Literal(text, datatype=XSD.decimal) for text in ("1.0", "0.1", "9007199254740993.5")],
    Literal("x", datatype=XSD.integer),
    *map(Literal, ("a", "b", "", True, False)),
    *[Literal(text, lang=tag) for text in "ab" for tag in ("en", "de")],
    *[
        Literal(f"2020-01-01T{hour}:00:00{zone}", datatype=XSD.dateTime)
        for hour in ("00", "06", "23")
        for zone in ("", "Z", "+14:00")
    ],
    *[
        Literal(text, datatype=XSD.dateTime)
        for text in ("9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+14:00")
    ],
    *[Literal(text, datatype=XSD.date) for text in ("2020-01-01", "2020-01-02Z", "2019-12-31")],
    *[Literal(text, datatype=XSD.time) for text in ("01:00:00", "02:00:00Z", "23:00:00")],
    *[Literal(text, datatype=XSD.duration) for text in ("P1M", "P30D", "P1Y")],
    URIRef("http://e/a"),
]


@given(
    st.lists(st.sampled_from(VALUES), max_size=40),
    st.sampled_from(VALUES),
    st.sampled_from(["<", "<=", ">", ">="]),
)
def test_ranked_finds_what_comparing_finds(terms: list[Literal], term: Literal, operator: str) -> None:
    """For every operator and value the entries beyond it are those of which the comparison holds."""
    expected = [i for i, other in enumerate(terms) if compare(operator, term, other) is True]
    found = Ranked((other, i) for i, other in enumerate(terms)).beyond(operator, term)
    assert sorted(found) == expected
