"""The terms of stores as types and as Python values, and the terms of RDF 1.2 that rdflib lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from rdflib import XSD
from rdflib.term import BNode, Literal, Node, URIRef
from rdflib.xsd_datetime import Duration

__all__ = [
    "DirectionalString",
    "Foreign",
    "Term",
    "TermPattern",
    "Triple",
    "TripleTerm",
    "exact_literal",
    "is_beyond_python",
    "is_triple",
    "python_value",
]

_DATED: Final = frozenset(str(XSD[name]) for name in ("dateTime", "date", "time"))
_BEYOND: Final = re.compile("-|[0-9]{5}|0000|24:|[0-9]{4}-[0-9]{2}-[0-9]{2}T24:").match

Term: TypeAlias = Any
"""A term of a store, of the store's library: rdflib, pyoxigraph, or that of another adapter.

Terms are hashable, and equal if the store treats them as the same term. Only the adapter converts them from
and to rdflib terms (`to_native`, `to_rdflib`).
"""

Triple: TypeAlias = tuple[Term, Term, Term]
"""Subject, predicate and object."""

TermPattern: TypeAlias = tuple[Term | None, Term | None, Term | None]
"""A triple in which None matches anything."""

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


class DirectionalString(Literal):
    """A string with a language and a base direction, `ltr` or `rtl`.

    It is an rdflib literal, so that string functions accept it. It equals no literal without its direction.

    >>> DirectionalString("hi", "EN", "ltr").n3(), DirectionalString("hi", "en", "ltr") == Literal("hi", "en")
    ('"hi"@en--ltr', False)
    """

    __slots__ = ("direction",)

    direction: str

    def __new__(cls, characters: str, language: str, direction: str) -> DirectionalString:
        """Create the literal; languages ignore case and are kept in lower case."""
        made: DirectionalString = super().__new__(cls, str(characters), lang=language.lower())
        made.direction = direction
        return made

    def __eq__(self, other: object) -> bool:
        # Python calls the subclass first on either side of `==`, so no plain literal equals it
        return isinstance(other, DirectionalString) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # rdflib's method would lose the direction
        return DirectionalString, self._parts

    @property
    def _parts(self) -> tuple[str, str, str]:
        return str(self), str(self.language), self.direction

    def n3(self, *_: Any, **__: Any) -> str:
        """Return the SPARQL 1.2 syntax."""
        return f'"{self.translate(_ESCAPES)}"@{self.language}--{self.direction}'


class TripleTerm(Node):
    """A triple as a term; its object may be another triple term.

    >>> from rdflib import URIRef
    >>> TripleTerm(URIRef("urn:a"), URIRef("urn:b"), Literal(1)).n3()
    '<<( <urn:a> <urn:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer> )>>'
    """

    __slots__ = ("parts",)

    parts: tuple[Node, Node, Node]
    """Subject, predicate and object."""

    def __init__(self, s: Node, p: Node, o: Node) -> None:
        self.parts = s, p, o

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TripleTerm) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((TripleTerm, self.parts))

    def __repr__(self) -> str:
        return self.n3()

    def n3(self, *_: Any, **__: Any) -> str:
        """Return the SPARQL 1.2 syntax."""
        return f"<<( {' '.join(part.n3() for part in self.parts)} )>>"


def is_triple(s: Any, p: Any, o: Any) -> bool:
    """True if RDF 1.2 allows a triple of these terms.

    >>> is_triple(Literal("x"), URIRef("urn:p"), Literal("y"))
    False
    """
    is_allowed = isinstance(s, URIRef | BNode) and isinstance(p, URIRef)
    return is_allowed and (not isinstance(o, TripleTerm) or is_triple(*o.parts))


@dataclass(frozen=True, slots=True)
class Foreign(Node):
    """A store's term that SPARQL functions cannot interpret; it can be counted and equals itself.

    >>> Foreign("?") == Foreign("?"), Foreign("?") == Literal("?")
    (True, False)
    """

    native: Term

    def n3(self, *_: Any, **__: Any) -> str:
        """Return a text that differs for different terms."""
        return str(self.native)


def exact_literal(lexical: str, language: str | None = None, datatype: str | None = None) -> Literal:
    """Return a literal with exact spelling; rdflib would write "01" as 1 and drop a date's time zone.

    >>> exact_literal("01", datatype="http://www.w3.org/2001/XMLSchema#integer").n3()
    '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if language is not None or datatype is None:
        return Literal(lexical, lang=language)
    if not is_beyond_python(lexical, datatype):
        literal = Literal(lexical, datatype=URIRef(datatype), normalize=False)
        if str(literal) == lexical:
            return literal
    # as pickle does; otherwise rdflib collapses the white space of xsd:token and logs a warning for years
    # that Python does not support
    literal = Literal(lexical)
    literal.__setstate__((None, {"language": None, "datatype": URIRef(datatype)}))
    return literal


def is_beyond_python(lexical: str, datatype: str) -> bool:
    """True for a date or time with a year, or hour 24, that Python does not support."""
    return str(datatype) in _DATED and _BEYOND(lexical) is not None


_DIGITS: Final = "([0-9]+([.][0-9]*)?|[.][0-9]+)"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6}0*)?(Z|[+-][0-9]{2}:[0-9]{2})?"
_LENGTH: Final = "-?P(?=.{1,28}$)[0-9YMD]*(T[0-9HM]*([0-9]+([.][0-9]{1,6}0*)?S)?)?"
_EXACT: Final = {
    kind: re.compile(form)
    for kind, form in (
        (int, "[+-]?[0-9]+"),
        (Decimal, f"[+-]?{_DIGITS}"),
        (float, f"[+-]?({_DIGITS}([eE][+-]?[0-9]+)?|INF|inf)|NaN|nan"),
        (bytes, "[0-9A-Za-z+/ ]*={0,2}"),
        (datetime, f"{_DATE}T{_CLOCK}"),
        (date, _DATE),
        (time, _CLOCK),
        (timedelta, _LENGTH),
        (Duration, _LENGTH),
    )
}
"""The lexical forms that rdflib reads exactly; it also reads invalid forms such as 1_000, drops the time zone
of a date, and truncates after the microsecond.
"""


def python_value(term: Term | None) -> Any:
    """Return the value of a literal, the text of any other term, and None for None.

    A literal of an unknown datatype, or an ill-typed one, becomes its text. So does a time that Python's
    types cannot hold: beyond the years 1 to 9999, finer than a microsecond, or a date with a time zone.

    >>> python_value(Literal("1.50", datatype="http://www.w3.org/2001/XMLSchema#decimal"))
    Decimal('1.50')
    >>> python_value(Literal("soon", datatype="http://www.w3.org/2001/XMLSchema#integer"))
    'soon'
    >>> time = "http://www.w3.org/2001/XMLSchema#dateTime"
    >>> python_value(Literal("2024-05-01T12:00:00.123456789Z", datatype=time, normalize=False))
    '2024-05-01T12:00:00.123456789Z'
    """
    if term is None:
        return None
    if type(term).__name__ == "Literal" and not isinstance(term, Literal):  # pyoxigraph's
        if term.language is not None:
            return term.value
        term = exact_literal(term.value, datatype=term.datatype.value)
    if isinstance(term, Literal):
        value = term.toPython()
        exact = _EXACT.get(type(value))
        is_other = term.ill_typed or (exact is not None and exact.fullmatch(term) is None)
        return str(term) if is_other or isinstance(value, Literal) else value
    return term if type(term) is str else str(getattr(term, "value", term))
