"""Random calls of SPARQL's functions over terms of every datatype, with Oxigraph as a second opinion.

Where the two differ, a deviation of Oxigraph has to have a name here; `docs/conformance.md` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pytest
from rdflib import XSD, Literal, URIRef

from rdflive.model import exact_literal, to_ntriples
from rdflive.values import number, value_of
from support.effort import drawn_from, rounds
from support.expressions import PREFIXES, evaluate
from support.random_values import INTEGERS, random_call

ox = pytest.importorskip("pyoxigraph")


class Case(NamedTuple):
    """A call and what it gave here and there, with no value for an error."""

    text: str
    own: Any
    other: Any

    @property
    def kinds(self) -> list[str]:
        """The datatypes of its literals."""
        return re.findall(r'"\^\^xsd:(\w+)', self.text)

    @property
    def refused(self) -> bool:
        """Whether only Oxigraph has an error."""
        return self.own is not None and self.other is None


_DERIVED: Final = {*INTEGERS[1:], "dateTimeStamp"}
_DURATIONS: Final = {"duration", "yearMonthDuration", "dayTimeDuration"}
_MOMENTS: Final = {"dateTime", "dateTimeStamp", "date", "time"}
_ORDER: Final = re.compile(r'[">\w] (<|>|<=|>=) ["<]')


def _is_near(case: Case) -> bool:
    """Tell whether two decimals differ behind the 17th place."""
    one, other = (value_of(term) if isinstance(term, Literal) else None for term in case[1:])
    return (
        one is not None
        and other is not None
        and isinstance(one[1], Decimal)
        and isinstance(other[1], Decimal)
        and abs(one[1] - other[1]) <= Decimal("1e-17") * max(1, abs(other[1]))
    )


DEVIATIONS: Final[dict[str, Callable[[Case], bool]]] = {
    "derived types count as what they are derived from, without their ranges": (
        lambda case: (
            not _DERIVED.isdisjoint(case.kinds) or re.search(f"xsd:(?:{'|'.join(_DERIVED)})", case.text)
        )
    ),
    "decimals have 18 places": _is_near,
    "an xsd:decimal of a float or double has digits behind those that it needs": (
        lambda case: case.text.startswith("xsd:decimal(") and case.kinds in (["float"], ["double"])
    ),
    "a float or double has no exponent as an xsd:string": (
        lambda case: case.text.startswith("xsd:string(") and case.kinds in (["float"], ["double"])
    ),
    "SUBSTR begins in the text": lambda case: case.refused and case.text.startswith("SUBSTR("),
    "language tags are in lower case": lambda case: case.text.startswith("LANG(") and "@EN" in case.text,
    "zero is not divided by a decimal with places": (
        lambda case: case.refused and "/" in case.text and number(case.own) == 0
    ),
    "integers have 64 bits": lambda case: "9" * 20 in case.text,
    "NaN has an error for an order": lambda case: (
        case.refused and "NaN" in case.text and _ORDER.search(case.text)
    ),
    "NaN may have a sign": lambda case: "+NaN" in case.text,
    "booleans have no order": lambda case: case.refused and case.kinds == ["boolean"] * 2,
    "an ill-formed number has no truth": (lambda case: case.refused and case.text.startswith(("!(", "IF("))),
    "an order of a term with itself is not evaluated": (
        lambda case: case.own is None and re.fullmatch(r"(.+) (?:<|>|<=|>=) \1", case.text)
    ),
    "29 February is no xsd:gMonthDay": lambda case: "--02-29" in case.text,
    "months and durations are not added to every moment": (
        lambda case: (
            case.refused
            and re.search(" [+-] ", case.text)
            and not _DURATIONS.isdisjoint(case.kinds)
            and not _MOMENTS.isdisjoint(case.kinds)
        )
    ),
    "a time has months taken off it": (
        lambda case: case.own is None and "time" in case.kinds and not _DURATIONS.isdisjoint(case.kinds)
    ),
    "a cast of a duration drops no months or seconds": (
        lambda case: (
            case.refused and case.text.startswith("xsd:") and case.kinds and set(case.kinds) <= _DURATIONS
        )
    ),
    "dates of which one has a time zone are unequal": (
        lambda case: (
            case.own is None and case.kinds == ["date"] * 2 and re.search(r" (?:=|!=|IN|NOT IN) ", case.text)
        )
    ),
    "a cast ignores no white space": lambda case: case.refused and re.match(r'xsd:\w+\(" 5 "', case.text),
    "xsd:gYearMonth and xsd:gMonthDay have casts": (
        lambda case: case.own is None and re.match(r'xsd:g\w+\("[^"]*"\^\^xsd:g', case.text)
    ),
}


def ask(text: str) -> Any:
    """Ask Oxigraph for the value of an expression."""
    solutions = ox.Store().query(f"{PREFIXES} SELECT ({text} AS ?x) {{}}")
    value = next(iter(solutions))["x"]
    if isinstance(value, ox.Literal):
        kind = None if value.datatype.value == str(XSD.string) else value.datatype.value
        return exact_literal(value.value, value.language, None if value.language else kind)
    return value and URIRef(value.value)


def comparable(term: Any) -> Any:
    """Give what two engines have to agree on: the value and the datatype, or the term."""
    if not isinstance(term, Literal):
        return term
    kind = term.datatype or XSD.string
    value = value_of(term)
    if term.language or value is None:
        return str(term), (term.language or "").lower(), kind
    return ("NaN" if value[1] != value[1] else repr(value[1])), kind


def canonical(text: str) -> str:
    """Spell the literals of a call as Oxigraph keeps them."""
    return re.sub(r'"[^"]*"\^\^xsd:\w+', lambda match: to_ntriples(ask(match[0])), text)


def test_functions_have_the_values_that_oxigraph_gives() -> None:
    """Or a deviation has a name."""
    random = drawn_from("calls", 11)
    unnamed = []
    for _ in range(rounds(6000)):
        text = random_call(random)
        case = Case(text, evaluate(text), ask(text))
        if comparable(case.own) == comparable(case.other):
            continue
        # functions of the characters see those that Oxigraph keeps
        if comparable(evaluate(canonical(text))) == comparable(case.other):
            continue
        if not any(deviates(case) for deviates in DEVIATIONS.values()):
            unnamed.append(case)
    assert unnamed == []
