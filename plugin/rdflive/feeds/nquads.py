"""N-Quads, and N-Quads with a sign in front of each line as a change feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from rdflive.errors import FeedError
from rdflive.feeds.terms import RowError, RowReader
from rdflive.model import Batch, Change, Quad

__all__ = ["decode_nquads", "read_nquads"]

_SIGNS: Final[dict[str, Literal[1, -1]]] = {"+": 1, "-": -1}


def decode_nquads(lines: Iterable[str], source: str = "<lines>") -> Iterator[Batch]:
    """Decode lines `+ s p o [g] .` and `- s p o [g] .`: each is a batch of its own.

    Empty lines and comments (`#`) mean nothing and group nothing; use RDF Patch for changes that belong
    together. Blank nodes keep their labels.

    >>> [batch.changes[0].sign for batch in decode_nquads(["- _:b1 <http://e/p> <http://e/o> ."])]
    [-1]
    """
    for sequence, (number, row) in enumerate(_rows(lines), start=1):
        sign = _SIGNS.get(row.rest[0])
        try:
            if sign is None:
                raise RowError(f"a line begins with + or -, not {row.rest[:20]!r}")
            quad = RowReader(row.rest[1:]).quad()
        except RowError as error:
            raise FeedError(source, number, str(error)) from error
        yield Batch((Change(sign, quad),), sequence)


def read_nquads(lines: Iterable[str], source: str = "<lines>") -> Iterator[Quad]:
    """Read N-Triples or N-Quads; the blank nodes keep their labels, so that a feed can name them.

    >>> next(read_nquads(["_:b1 <http://e/p> <http://e/o> ."])).subject
    rdflib.term.BNode('b1')
    """
    for number, row in _rows(lines):
        try:
            yield row.quad()
        except RowError as error:
            raise FeedError(source, number, str(error)) from error


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, RowReader]]:
    """Number the lines that are neither empty nor comments."""
    for number, line in enumerate(lines, start=1):
        row = RowReader(line)
        if row.rest and not row.rest.startswith("#"):
            yield number, row
