"""Values that flow: what a delta says of itself."""

from __future__ import annotations

import pytest
import rdflib
from rdflib import XSD

from rdflive.values import is_well_formed


@pytest.mark.parametrize(
    ("datatype", "good", "bad"),
    [
        ("byte", ["-128", "127", "+7", "007"], ["128", "-129", "1.0", "", "x"]),
        ("unsignedByte", ["0", "255"], ["256", "-1"]),
        ("positiveInteger", ["1", "99999999999999999999"], ["0", "-1"]),
        ("decimal", ["1", "-1.", ".5"], ["1e3", ".", "INF"]),
        ("double", ["1e3", "INF", "NaN", "-INF", "inf"], ["1e", "Infinity", "+nan"]),
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
