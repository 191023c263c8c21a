"""N-Triples texts as ids, and as rdflib terms for expressions."""

from __future__ import annotations

from typing import Any, Final

from rdflive.feeds.terms import RowReader, UnwritableError, write_term
from rdflive.values import Value, typed_value

__all__ = ["TextTerms"]

_UNBOUND: Final = 0


class TextTerms:
    """Numbers texts in order of arrival; 0 is unbound.

    >>> terms = TextTerms()
    >>> terms.value(terms.id('"7"'))
    rdflib.term.Literal('7')
    """

    __slots__ = ("_ids", "_terms", "_texts")
    meter = None  # expressions are not metered

    def __init__(self) -> None:
        self._ids: dict[str | None, int] = {None: _UNBOUND}
        self._texts: list[str | None] = [None]
        self._terms: list[Any] = [None]

    def id(self, text: str | None) -> int:
        """Return the number of a text; None is unbound."""
        number = self._ids.get(text)
        if number is None:
            number = self._ids[text] = len(self._texts)
            self._texts.append(text)
            self._terms.append(None)
        return number

    def text(self, number: int) -> str | None:
        """Return the text of a number."""
        return self._texts[number]

    def value(self, number: int, /) -> Any:
        """Return the rdflib term of a number; None if unbound."""
        term, text = self._terms[number], self._texts[number]
        if term is None and text is not None:
            term = self._terms[number] = RowReader(text).term("term")
        return term

    def content(self, number: int, /) -> Value | None:
        """Return the value of a number whose text is a literal with a datatype."""
        return typed_value(self.value(number))

    def constant(self, term: Any, /) -> Any:
        """Return a constant unchanged, because values are rdflib terms."""
        return term

    def intern(self, term: Any, /) -> int:
        """Return the id of a computed term; unbound if no text can represent it."""
        try:
            return self.id(write_term(term))
        except UnwritableError:
            return _UNBOUND
