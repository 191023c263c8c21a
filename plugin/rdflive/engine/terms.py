"""Ids as the terms that expressions compute with, and what they compute as ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdflive.dictionary import UNBOUND, Dictionary
from rdflive.query.terms import FALSE, TRUE, blank_node, foreign, is_foreign, is_triple, to_text

__all__ = ["TermTable"]


class TermTable:
    """Looks ids up as rdflib terms, and interns rdflib terms as the store's own."""

    __slots__ = ("_dictionary", "_to_native", "value")

    value: Callable[[int], Any]
    """The rdflib term of an id, None for an unbound one."""

    def __init__(
        self,
        dictionary: Dictionary,
        to_native: Callable[[Any], Any],
        to_rdflib: Callable[[Any], Any] | None,
    ) -> None:
        self._dictionary = dictionary
        self._to_native = to_native
        if to_rdflib is None:
            self.value = dictionary.terms.__getitem__
        else:
            self.value = _converted(dictionary, to_rdflib)

    def intern(self, term: Any) -> int:
        """Give the id of a computed term; unbound where the store can hold no such term."""
        if is_foreign(term):
            return UNBOUND
        try:
            return self._dictionary.intern(self._to_native(term))
        except ValueError:
            return UNBOUND

    @property
    def marks(self) -> tuple[int, int]:
        """The ids of false and true."""
        return self.intern(FALSE), self.intern(TRUE)

    def blank(self, label: str) -> int:
        """Give the id of the blank node with a label."""
        return self.intern(blank_node(label))

    def is_triple(self, triple: tuple[int, int, int]) -> bool:
        """Tell whether RDF allows the triple."""
        return is_triple(*map(self.value, triple))

    def text(self, number: int) -> str:
        """Write the term of an id such that different terms differ."""
        return to_text(self.value(number))


def _converted(dictionary: Dictionary, to_rdflib: Callable[[Any], Any]) -> Callable[[int], Any]:
    terms = dictionary.terms

    def value(number: int) -> Any:
        term = terms[number]
        try:
            return None if term is None else to_rdflib(term)
        except ValueError:
            return foreign(term)

    return value
