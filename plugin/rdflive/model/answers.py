"""The full answer of a query at one time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice, repeat
from typing import Any, ClassVar, Generic, TypeVar

from rdflive.model.delta import Delta
from rdflive.model.rows import Rows
from rdflive.model.solution import Header, Terms
from rdflive.model.tables import CELL, SHOWN, TableLine, html_table, text_table
from rdflive.model.term_text import TermWriter

__all__ = ["Answers", "Glimpse"]

Row = TypeVar("Row")


class Answers(Rows[Row], Generic[Row]):
    """The rows of an answer, with the variables of the query and a display as a table.

    It equals a list of the same rows. The printed text and the notebook table use prefixed names and end
    after 20 rows. An unpickled answer has no prefixes.

    >>> from rdflib import URIRef
    >>> header = Header("SELECT", ("train", "stop"), prefixes=lambda: {"": "http://example.org/"})
    >>> answers = Answers(header, [(URIRef("http://example.org/T101"), None)])
    >>> answers
    <Answers: 1 solution of ?train ?stop>
    >>> print(answers)
    ?train  ?stop
    :T101
    """

    __slots__ = ()

    @property
    def form(self) -> str:
        """The form of the query: SELECT, ASK or CONSTRUCT."""
        return self._header.form

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of a SELECT query in order; empty for other forms."""
        return self._header.variables

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes used to display terms, with their namespaces."""
        return dict(self._header.prefixes())

    def __repr__(self) -> str:
        if self.form == "ASK":
            return f"<Answers: {self._caption}>"
        return f"<Answers: {self._caption} of {' '.join(self._header.titles)}>"

    def __str__(self) -> str:
        if self.form == "ASK" or not self:
            return self._caption
        return text_table(self._header.titles, self._lines, TermWriter(self.prefixes, most=CELL), self._more)

    def _repr_html_(self) -> str:
        if self.form == "ASK":
            return html_table(self._caption, [], [], TermWriter({}))
        return html_table(
            self._caption, self._header.titles, self._lines, TermWriter(self.prefixes, most=CELL), self._more
        )

    @property
    def _caption(self) -> str:
        return self._header.counted(len(self))

    @property
    def _lines(self) -> list[TableLine]:
        rows: Any = self[:SHOWN]
        return [TableLine(tuple(row)) for row in rows]

    @property
    def _more(self) -> str:
        return f"… and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""


class Glimpse:
    """The first solutions of a possibly long answer, in the terms of the store."""

    most: ClassVar[int] = SHOWN + 1
    """Number of solutions kept: one more than shown, to detect that there are more."""

    def __init__(self, header: Header, listed: Iterable[tuple[Terms, int]]) -> None:
        repeated = chain.from_iterable(repeat(terms, weight) for terms, weight in listed)
        self._rows = list(islice(repeated, self.most))
        self.header = header

    def __str__(self) -> str:
        if self.header.form == "ASK" or not self._rows:
            return self.header.counted(len(self._rows))
        lines = [TableLine(terms) for terms in self._rows[:SHOWN]]
        more = "… and more" if len(self._rows) > SHOWN else ""
        return text_table(self.header.titles, lines, self._write, more)

    def html(self, delta: Delta | None, title: str) -> str:
        """Return an HTML table; rows that the delta added are green, and removed rows follow in red."""
        caption = f"{title}: {self.caption(delta)}"
        return html_table(caption, self.header.titles, self.lines(delta), self._write)

    def caption(self, delta: Delta | None) -> str:
        """Return the number of shown solutions and the commits of the delta."""
        caption = self.header.counted(len(self._rows[:SHOWN]))
        if len(self._rows) > SHOWN:
            caption = f"the first {caption}"
        return caption if delta is None else f"{caption}, {delta._number}"

    def lines(self, delta: Delta | None) -> list[TableLine]:
        """List the shown solutions, with a + if the delta added them, then the removed ones."""
        if self.header.form == "ASK":
            return []
        changed = {} if delta is None else delta._weights
        lines = [TableLine(terms, "+" if changed.get(terms, 0) > 0 else "") for terms in self._rows[:SHOWN]]
        return lines if delta is None else [*lines, *(TableLine(terms, "−") for terms in delta._first(-1))]

    @property
    def _write(self) -> TermWriter:
        return TermWriter(self.header.prefixes(), most=CELL)
