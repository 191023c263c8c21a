"""The result of one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdflive.model import Header, Solution

__all__ = ["Match"]


class Match:
    """The solutions of a query over one event; true if there is any.

    `number` counts events from 0, `name` is the IRI of the event's graph (None without one) and `at` the
    instant that came with the event. Solutions are created when they are read.

    >>> found = Match(Header("SELECT", ("x",)), 0, [("a",), ("a",)])
    >>> bool(found), found.solutions
    (True, (Solution(x='a'), Solution(x='a')))
    """

    __slots__ = ("_header", "_held", "_removed", "_rows", "at", "name", "number")

    def __init__(
        self,
        header: Header,
        number: int,
        rows: Sequence[tuple[Any, ...]],
        removed: Sequence[tuple[Any, ...]] = (),
        name: Any = None,
        at: Any = None,
        held: int | None = None,
    ) -> None:
        self._header = header
        self.number = number
        self._rows = rows
        self._removed = removed
        self.name = name
        self.at = at
        self._held = held

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query in its order, including those that no solution binds; else none."""
        return self._header.variables

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """The solutions, with repetitions; none for CONSTRUCT."""
        return () if self._header.form == "CONSTRUCT" else self._shown(self._rows)

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """The solutions as plain tuples in the order of `names`, None where unbound. This is the fastest way
        to read them.

        >>> Match(Header("SELECT", ("x", "y")), 0, [("a", None)]).rows
        [('a', None)]
        """
        convert = self._header.convert
        if self._header.form != "SELECT":
            return ()
        if convert is None:
            return self._rows
        return [tuple(None if term is None else convert(term) for term in row) for row in self._rows]

    @property
    def removed(self) -> tuple[Any, ...]:
        """In a window, the solutions, or triples of CONSTRUCT, that the update removed from the answer."""
        return self._shown(self._removed)

    @property
    def triples(self) -> tuple[tuple[Any, Any, Any], ...]:
        """The triples that a CONSTRUCT query creates; none for other queries."""
        return self._shown(self._rows) if self._header.form == "CONSTRUCT" else ()

    @property
    def answer(self) -> bool | None:
        """The answer of an ASK query, in a window over all its events so far; None for other queries."""
        if self._header.form != "ASK":
            return None
        return bool(self._rows if self._held is None else self._held)

    def _shown(self, rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        return tuple(self._header.solutions(rows))

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name is not None else ""
        removed = f", {len(self._removed)} removed" if self._removed else ""
        return f"<Match {self.number}{name}: {len(self._rows)} found{removed}>"
