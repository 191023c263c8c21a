"""Solutions as tables: `weight`, then a text column `v0`… per variable, NULL if unbound; texts as ids
and terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.feeds.terms import RowReader, UnwritableError, write_term
from rdflive.query.planning import Columns, Condition
from rdflive.values import Value, typed_value
from rdflive_stores.spark.dataflow.packing import mix
from rdflive_stores.spark.dataflow.runs import Numbers

__all__ = ["Cells", "TextTerms", "Texts", "hash_rows", "net", "pick", "solutions", "texts_of", "width"]

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


Texts: TypeAlias = tuple[str | None, ...]
"""The texts of some columns of one row."""


def solutions(weight: Any, columns: Iterable[Any]) -> pa.Table:
    """Build a table of solutions from weights and columns of texts."""
    return pa.table({"weight": weight} | {f"v{place}": texts for place, texts in enumerate(columns)})


def width(rows: pa.Table) -> int:
    """Count the columns of texts."""
    return len(rows.column_names) - 1


def net(rows: pa.Table) -> pa.Table:
    """Add the weights of equal rows and drop those with sum 0.

    >>> net(solutions([1, 2, -1, 1], [["a", None, "a", None]])).to_pydict()
    {'weight': [3], 'v0': [None]}
    """
    names = rows.column_names[1:]
    summed = rows.group_by(names, use_threads=False).aggregate([("weight", "sum")])
    # for a table without columns and rows, Arrow returns one sum, NULL
    summed = summed.filter(pc.fill_null(pc.not_equal(summed["weight_sum"], 0), False))
    return solutions(summed["weight_sum"], (summed[name] for name in names))


def pick(rows: pa.Table, places: Sequence[int | None]) -> pa.Table:
    """Return the columns at some positions, an unbound column for None; add rows that become equal.

    >>> pick(solutions([1, 2], [["a", "a"], ["b", "c"]]), [0, None]).to_pydict()
    {'weight': [3], 'v0': ['a'], 'v1': [None]}
    """
    unbound = pa.nulls(rows.num_rows, pa.string())
    picked = solutions(rows["weight"], (unbound if place is None else rows[f"v{place}"] for place in places))
    return picked if {*range(width(rows))}.issubset(places) else net(picked)


def hash_rows(rows: pa.Table, places: Iterable[int | None]) -> Numbers:
    """Hash the texts at some positions of each row, unbound for None, with one result in all processes.

    Python's `hash` of a string differs between processes, but rows must meet across them.
    """
    unbound = np.full(rows.num_rows, _hash(None))
    hashes = (unbound if place is None else _numbers(rows[f"v{place}"], _hash) for place in places)
    return mix(hashes, rows.num_rows)


def texts_of(rows: pa.Table, places: Iterable[int]) -> Iterable[Texts]:
    """Return the texts at some positions, row by row."""
    columns = [rows[f"v{place}"].to_pylist() for place in places]
    return zip(*columns, strict=True) if columns else repeat((), rows.num_rows)


class Cells:
    """The cells of rows that expressions read, as ids."""

    __slots__ = ("_read", "_terms", "places")

    def __init__(self, columns: Columns, expressions: Iterable[Condition], terms: TextTerms) -> None:
        names = {name for expression in expressions for name in expression.variables}
        read = {v.name: place for place, v in enumerate(columns) if v.readable and v.name in names}
        self._read = tuple(read.values())
        self._terms = terms
        self.places = {name: place for place, name in enumerate(read)}
        """Positions in the rows of ids, by the name of the variable."""

    def rows(self, rows: pa.Table) -> Iterator[tuple[int, ...]]:
        """Return the ids row by row."""
        columns = [_numbers(rows[f"v{place}"], self._terms.id).tolist() for place in self._read]
        return zip(*columns, strict=True) if columns else repeat((), rows.num_rows)


def _numbers(texts: pa.ChunkedArray, number: Callable[[str | None], int]) -> Numbers:
    """Return the id of each text, with one look-up per distinct text."""
    # NULL gets a number too: unbound
    encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    numbers = np.fromiter(map(number, encoded.dictionary.to_pylist()), np.int64, len(encoded.dictionary))
    found: Numbers = numbers[encoded.indices.to_numpy()]
    return found


def _hash(text: str | None) -> int:
    digest = blake2b((text or "").encode(), digest_size=8).digest()  # no term's text is empty
    return int.from_bytes(digest, "little", signed=True)
