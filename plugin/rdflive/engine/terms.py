"""Ids as the terms that expressions compute with, and computed terms as ids."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import Any, Final

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.model import Term, TripleTerm
from rdflive.query.aggregates import integer
from rdflive.query.budget import Meter
from rdflive.query.terms import FALSE, TRUE, Foreign, blank_node, is_triple, to_text
from rdflive.values import Value, typed_value

__all__ = ["TermTable"]

_MOST: Final = 1024
"""Values that are kept."""


class TermTable:
    """Looks ids up as the terms that expressions compute with, and interns what they compute."""

    __slots__ = (
        "_counted", "_dictionary", "_to_content", "_to_native", "_to_value", "content", "lengths", "meter",
        "value",
    )  # fmt: skip

    value: Callable[[int], Any]
    """The term of an id for expressions, None for an unbound one."""
    content: Callable[[int], Value | None]
    """The value of an id whose term is a literal with a datatype, else None."""

    def __init__(
        self,
        dictionary: Dictionary,
        to_native: Callable[[Any], Term],
        to_value: Callable[[Term], Any] | None,
        to_content: Callable[[Term], Value | None] | None = None,
    ) -> None:
        self._dictionary = dictionary
        self._to_native = to_native
        self._to_value = to_value
        self.meter: Meter | None = None
        """Counts what expressions over these terms cost; None where nothing is counted."""
        self.lengths: dict[int, int] = {}
        """How long the strings are that were computed, until they are charged; see `metered`."""
        if to_value is None:
            # entry 0 is None, so an unbound id needs no test
            self.value = dictionary.terms.__getitem__
        else:
            self.value = _converted(dictionary, to_value)
        if to_content is None:
            to_content = typed_value if to_value is None else lambda term: typed_value(to_value(term))
        self._to_content = to_content
        # groups come to the same few counts again and again
        self._counted = lru_cache(_MOST)(lambda number: to_native(integer(number)))
        self.content = _remembered(dictionary, to_content)

    def constant(self, term: Any) -> Any:
        """Give the value of a constant in an expression: the store may spell it in another way."""
        if self._to_value is None:
            return term
        try:
            return self._to_value(self._to_native(term))
        except ValueError:  # it need not hold what is compared only
            return term

    def intern(self, term: Any) -> int:
        """Give the id of a computed term; unbound if the store cannot hold such a term."""
        try:
            # a term that is no value for expressions passes through them as it is
            native = term.native if isinstance(term, Foreign) else self._to_native(term)
            return self._dictionary.intern(native)
        except ValueError:
            return UNBOUND

    def count(self, number: int) -> int:
        """Give the id of a number as a term."""
        return self._dictionary.intern(self._counted(number))

    def number(self, given: Any) -> int:
        """Give the id of what a row holds: of an id itself."""
        number: int = given
        return number

    def mixed(self) -> TermTable:
        """Give a table for rows that hold terms of the store in the places of some ids."""
        return _Mixed(self)

    def metered(self, meter: Meter, *, measures: bool = False) -> TermTable:
        """Give the same table for the use of one plan, whose expressions are counted.

        It `measures` the strings that are computed if they are to be charged as long as they are kept.
        """
        table = copy(self)
        if measures:
            table = _Measuring(self._dictionary, self._to_native, self._to_value, self._to_content)
        table.meter = meter
        return table

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

    def triple(self, triple: tuple[int, int, int]) -> int:
        """Give the id of a triple as a term."""
        return self.intern(TripleTerm(*map(self.value, triple)))

    def text(self, number: int) -> str:
        """Write the term of an id such that different terms differ."""
        return to_text(self.value(number))


class _Measuring(TermTable):
    """The table of one plan with a budget, which notes how long computed strings are."""

    __slots__ = ()

    def intern(self, term: Any) -> int:
        """Give the id of a computed term."""
        number = super().intern(term)
        if isinstance(term, str):
            self.lengths[number] = len(term)
        return number


class _Mixed(TermTable):
    """Looks terms up as themselves, and ids as another table does; what it interns stays a term."""

    __slots__ = ()

    def __init__(self, table: TermTable) -> None:
        for name in TermTable.__slots__:
            setattr(self, name, getattr(table, name))
        value, content = table.value, table.content
        to_value, to_content = self._to_value or _same, self._to_content
        self.value = lambda given: value(given) if type(given) is int else to_value(given)
        self.content = lambda given: content(given) if type(given) is int else to_content(given)

    def number(self, given: Any) -> int:
        """Give the id of what a row holds; -1 for a term without one, which equals no term that has one."""
        return given if type(given) is int else self._dictionary.ids.get(given, -1)

    def intern(self, term: Any) -> Any:
        """Give a computed term as the store has it; unbound if it cannot hold such a term."""
        try:
            return term.native if isinstance(term, Foreign) else self._to_native(term)
        except ValueError:  # as in `TermTable`
            return UNBOUND


def _same(term: Any) -> Any:
    return term


def _remembered(
    dictionary: Dictionary, to_content: Callable[[Term], Value | None]
) -> Callable[[int], Value | None]:
    """Keep the numbers and moments that were read last: what others are compared with is read each time."""
    terms, kept = dictionary.terms, dict[int, tuple[Term, Value]]()

    def content(number: int) -> Value | None:
        term, found = terms[number], kept.get(number)
        # an id is used again for other terms
        if found is not None and found[0] is term:
            return found[1]
        value = None if term is None else to_content(term)
        if value is not None and value[0] != "string":
            if len(kept) >= _MOST:
                kept.clear()
            kept[number] = term, value
        return value

    return content


def _converted(dictionary: Dictionary, to_value: Callable[[Term], Any]) -> Callable[[int], Any]:
    terms = dictionary.terms

    def value(number: int) -> Any:
        term = terms[number]
        return None if term is None else to_value(term)

    return value
