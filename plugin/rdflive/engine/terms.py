"""The terms of ids for expressions, and ids of computed terms."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import Any, Final

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.model import Term, TripleTerm
from rdflive.query.aggregates import integer
from rdflive.query.budget import Meter
from rdflive.query.recent import recent
from rdflive.query.terms import FALSE, TRUE, Foreign, blank_node, is_triple, to_text
from rdflive.values import Value, typed_value

__all__ = ["TermTable"]

_MOST: Final = 1024
"""Most values that are cached."""


class TermTable:
    """Looks up the terms of ids for expressions, and interns computed terms."""

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
        if to_value is not None:
            to_value = recent(to_value)
        self._dictionary = dictionary
        self._to_native = to_native
        self._to_value = to_value
        self.meter: Meter | None = None
        """Counts the costs of expressions over these terms; None if nothing is counted."""
        self.lengths: dict[int, int] = {}
        """Lengths of computed strings, until they are charged; see `metered`."""
        if to_value is None:
            # entry 0 is None, so an unbound id needs no test
            self.value = dictionary.terms.__getitem__
        else:
            self.value = _converted(dictionary, to_value)
        if to_content is None:
            to_content = typed_value if to_value is None else lambda term: typed_value(to_value(term))
        self._to_content = to_content
        # many groups have the same few counts
        self._counted = lru_cache(_MOST)(lambda number: to_native(integer(number)))
        self.content = _remembered(dictionary, to_content)

    def constant(self, term: Any) -> Any:
        """Return the value of a constant in an expression, which the store may spell in another way."""
        if self._to_value is None:
            return term
        try:
            return self._to_value(self._to_native(term))
        except ValueError:  # the store need not hold a term that is only compared
            return term

    def intern(self, term: Any) -> int:
        """Return the id of a computed term; unbound if the store cannot hold such a term."""
        try:
            # a term that has no value for expressions passes through them unchanged
            native = term.native if isinstance(term, Foreign) else self._to_native(term)
            return self._dictionary.intern(native)
        except ValueError:
            return UNBOUND

    def count(self, number: int) -> int:
        """Return the id of a number as a term."""
        return self._dictionary.intern(self._counted(number))

    def number(self, given: Any) -> int:
        """Return the id of an entry of a row: here the entry itself."""
        number: int = given
        return number

    def mixed(self) -> TermTable:
        """Return a table for rows that hold terms of the store in place of some ids."""
        return _Mixed(self)

    def metered(self, meter: Meter, *, measures: bool = False) -> TermTable:
        """Return the same table for the use of one plan, whose expressions are counted.

        It `measures` computed strings that are charged while they are kept.
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
        """Return the id of the blank node with a label."""
        return self.intern(blank_node(label))

    def is_triple(self, triple: tuple[int, int, int]) -> bool:
        """Return True if RDF allows the triple."""
        return is_triple(*map(self.value, triple))

    def triple(self, triple: tuple[int, int, int]) -> int:
        """Return the id of a triple as a term."""
        return self.intern(TripleTerm(*map(self.value, triple)))

    def text(self, number: int) -> str:
        """Write the term of an id so that different terms differ."""
        return to_text(self.value(number))


class _Measuring(TermTable):
    """The table of one plan with a budget, which records the lengths of computed strings."""

    __slots__ = ()

    def intern(self, term: Any) -> int:
        """Return the id of a computed term."""
        number = super().intern(term)
        if isinstance(term, str):
            self.lengths[number] = len(term)
        return number


class _Mixed(TermTable):
    """Maps terms to themselves, and ids as another table does; interned terms stay terms."""

    __slots__ = ()

    def __init__(self, table: TermTable) -> None:
        for name in TermTable.__slots__:
            setattr(self, name, getattr(table, name))
        value, content = table.value, table.content
        to_value, to_content = self._to_value or _same, self._to_content
        self.value = lambda given: value(given) if type(given) is int else to_value(given)
        self.content = lambda given: content(given) if type(given) is int else to_content(given)

    def number(self, given: Any) -> int:
        """Return the id of an entry of a row; -1 for a term without one, which equals no term that has
        one.
        """
        return given if type(given) is int else self._dictionary.ids.get(given, -1)

    def intern(self, term: Any) -> Any:
        """Return a computed term as the store writes it; unbound if the store cannot hold such a term."""
        try:
            return term.native if isinstance(term, Foreign) else self._to_native(term)
        except ValueError:  # as in `TermTable`
            return UNBOUND


def _same(term: Any) -> Any:
    return term


def _remembered(
    dictionary: Dictionary, to_content: Callable[[Term], Value | None]
) -> Callable[[int], Value | None]:
    """Cache recently read numbers and moments, because constants of comparisons are read each time."""
    terms, kept = dictionary.terms, dict[int, tuple[Term, Value]]()

    def content(number: int) -> Value | None:
        term, found = terms[number], kept.get(number)
        # an id may be used again for another term
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
