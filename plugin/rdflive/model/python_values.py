"""Values of Python that terms stand for."""

from __future__ import annotations

from typing import Any

from rdflib import Literal

from rdflive.model.terms import Term

__all__ = ["python_value"]


def python_value(term: Term | None) -> Any:
    """Give the value of a literal, the text of any other term, and None for None.

    A literal without a value of its own (of an unknown datatype, or ill-typed) is its text.

    >>> python_value(Literal("1.50", datatype="http://www.w3.org/2001/XMLSchema#decimal"))
    Decimal('1.50')
    >>> python_value(Literal("soon", datatype="http://www.w3.org/2001/XMLSchema#integer"))
    'soon'
    """
    if term is None:
        return None
    if type(term).__name__ == "Literal" and not isinstance(term, Literal):  # pyoxigraph's
        if term.language is not None:
            return term.value
        term = Literal(term.value, datatype=term.datatype.value)
    if isinstance(term, Literal):
        value = term.toPython()
        return str(value) if isinstance(value, Literal) else value
    return term if type(term) is str else str(getattr(term, "value", term))
