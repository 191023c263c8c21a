"""N-Quads, and signed N-Quads as a change feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from rdflive.errors import FeedError
from rdflive.feeds.formats import Decoded, FeedFormat, Frame, StatelessDecoder, meaningful
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError, RowReader, write_quad
from rdflive.model import Batch, Change, Quad

__all__ = ["NQUADS", "SignedNQuadsDecoder", "encode_nquads", "read_nquads"]

_SIGNS: Final[dict[str, Literal[1, -1]]] = {"+": 1, "-": -1}


class SignedNQuadsDecoder(StatelessDecoder):
    """Decodes lines `+ s p o [g] .` and `- s p o [g] .`; each line is a unit.

    Empty lines and comments (`#`) are skipped and do not group changes; RDF Patch has transactions. Blank
    nodes keep their labels.
    """

    def decode(self, frame: Frame) -> Decoded:
        """Decode one line."""
        text = frame[0].text.lstrip(" \t")
        sign = _SIGNS.get(text[:1])
        if sign is None:
            raise RowError(f"a line begins with + or -, not {text[:20]!r}")
        return Decoded((Change(sign, RowReader(text[1:]).quad()),))


def encode_nquads(batch: Batch) -> str:
    """Write each change as a signed line; the result does not mark the batch.

    >>> from rdflib import BNode, URIRef
    >>> quad = Quad(BNode("b"), URIRef("http://e/p"), BNode("c"))
    >>> encode_nquads(Batch((Change(-1, quad),)))
    '- _:b <http://e/p> _:c .\\n'
    """
    return "".join(f"{'+' if sign > 0 else '-'} {write_quad(quad)}\n" for sign, quad in batch.changes)


def read_nquads(lines: Iterable[Line], source: str = "<lines>") -> Iterator[Quad]:
    """Read N-Triples or N-Quads; blank nodes keep their labels, so that later changes can refer to them.

    >>> next(read_nquads([Line("_:b1 <http://e/p> <http://e/o> .", 1)])).subject
    rdflib.term.BNode('b1')
    """
    for line in meaningful(lines):
        try:
            if line.fault:
                raise RowError(line.fault)
            yield RowReader(line.text).quad()
        except RowError as error:
            raise FeedError(source, line.number, str(error), offset=line.start) from error


NQUADS: Final = FeedFormat("nquads", (".nq", ".nquads"), SignedNQuadsDecoder, encode_nquads)
"""Signed N-Quads."""
