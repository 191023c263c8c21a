"""Values that flow: what a delta says of itself."""

from __future__ import annotations

import pickle

import pytest
import rdflib
from rdflib import XSD

import rdflive
from rdflive.model import Delta, Header
from rdflive.model.datatypes import is_well_formed

DATA = "@prefix e: <http://e/> . e:a e:p e:b ."


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT ?o ?none ?s { ?s ?p ?o OPTIONAL { ?s <http://e/q> ?none } }", ("o", "none", "s")),
        ("SELECT * { ?s ?p ?o }", ("s", "p", "o")),
        ("ASK { ?s ?p ?o }", ()),
        ("CONSTRUCT { ?o ?p ?s } { ?s ?p ?o }", ()),
    ],
)
def test_delta_names_the_variables_of_a_select(query: str, names: tuple[str, ...]) -> None:
    """They come in the order of the query, bound or not, and other queries have none."""
    graph = rdflib.Graph().parse(data=DATA)
    with rdflive.subscribe(graph, query) as subscription:
        delta = next(subscription.deltas())
    assert delta.names == names
    assert pickle.loads(pickle.dumps(delta)).names == names


def test_a_delta_without_solutions_has_its_names() -> None:
    """The names do not depend on what is in the delta."""
    assert Delta(Header("SELECT", ("x",)), {}, sequence=3).names == ("x",)


@pytest.mark.parametrize(
    ("datatype", "good", "bad"),
    [
        ("byte", ["-128", "127", "+7", "007"], ["128", "-129", "1.0", "", "x"]),
        ("unsignedByte", ["0", "255"], ["256", "-1"]),
        ("positiveInteger", ["1", "99999999999999999999"], ["0", "-1"]),
        ("decimal", ["1", "-1.", ".5"], ["1e3", ".", "INF"]),
        ("double", ["1e3", "INF", "NaN", "-INF"], ["1e", "inf", "Infinity"]),
        ("boolean", ["true", "false", "0", "1"], ["True", "yes", ""]),
        (
            "date",
            ["2024-02-29", "-0001-01-01", "2024-01-01Z", "2024-01-01+14:00"],
            ["2023-02-29", "2024-13-01"],
        ),
        ("time", ["24:00:00", "23:59:59.5Z"], ["24:00:01", "7:00:00"]),
        ("dateTime", ["2024-01-01T24:00:00", "2024-01-01T00:00:00.1"], ["2024-01-01", "2024-01-01T25:00:00"]),
        ("string", ["", "x"], []),
    ],
)
def test_literals_are_well_formed_as_xsd_has_them(datatype: str, good: list[str], bad: list[str]) -> None:
    """By their form, and by the range of their type."""
    for texts, is_good in ((good, True), (bad, False)):
        for text in texts:
            literal = rdflib.Literal(text, datatype=XSD[datatype], normalize=False)
            assert is_well_formed(literal) is is_good, text
