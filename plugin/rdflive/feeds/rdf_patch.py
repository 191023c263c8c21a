"""RDF Patch, the change format of Apache Jena: https://jena.apache.org/documentation/rdf-patch/ ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from rdflib.term import Literal as RdfLiteral
from rdflib.term import URIRef

from rdflive.feeds.formats import Decoded, FeedFormat, Frame, StatelessDecoder, meaningful
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError, RowReader, plain_quad, write_quad
from rdflive.model import Batch, Change, Quad

__all__ = ["RDF_PATCH", "RdfPatchDecoder", "encode_rdf_patch"]

_WORD: Final = re.compile(r"[^\W\d_](?:[\w.\-]*[\w\-])?")
_CODE: Final = re.compile(r"[ \t]*([A-Z]+)")
_SIGNS: Final[dict[str, Literal[1, -1]]] = {"A": 1, "D": -1}
_PLAIN_SIGNS: Final[dict[str, Literal[1, -1]]] = {"A ": 1, "D ": -1}
_ACCEPTED: Final = "H, TX, TC, TA, PA, PD, A and D"


class RdfPatchDecoder(StatelessDecoder):
    """Decodes RDF Patch; a transaction (`TX` … `TC`) is a unit, and one that `TA` aborts has no effect.

    Rows outside of transactions form one unit up to the next `TX` or the end, so a patch without
    transactions is atomic, as Jena documents. Headers and prefixes are checked but have no effect. Blank
    nodes keep their labels. An unfinished transaction is an error.
    """

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield transactions, and the rows between them."""
        frame: list[Line] = []
        for line in meaningful(lines):
            match = _CODE.match(line.text)
            code = match[1] if match else ""
            # `decode` refuses only the unfinished transaction; a reader may skip it and continue here
            if code == "TX" and frame:
                yield tuple(frame)
                frame = []
            frame.append(line)
            if code in ("TC", "TA"):
                yield tuple(frame)
                frame = []
        if frame:
            yield tuple(frame)

    def decode(self, frame: Frame) -> Decoded | None:
        """Decode the rows of a transaction, or the rows between transactions."""
        changes: list[Change] = []
        begun = code = ""
        for line in frame:
            sign = _PLAIN_SIGNS.get(line.text[:2])
            plain = None if sign is None else plain_quad(line.text, 2)
            if sign is not None and plain is not None:  # the most frequent rows
                code = "A"
                changes.append(Change(sign, plain))
                continue
            try:
                code, quad = _read_row(RowReader(line.text))
                if code in ("TC", "TA") and not begun:
                    raise RowError(f"{code} without a TX")
            except RowError as error:
                raise RowError(str(error), line.number) from error
            if code == "TX":
                begun = f"the transaction of line {line.number}"
            if quad is not None:
                changes.append(Change(_SIGNS[code], quad))
        if begun and code not in ("TC", "TA"):
            raise RowError(f"neither TC nor TA ends {begun}, so it is not applied", frame[-1].number)
        # an empty transaction is a commit; headers alone and aborted transactions are not
        return Decoded(tuple(changes)) if code == "TC" or (changes and not begun) else None


def encode_rdf_patch(batch: Batch) -> str:
    r"""Write a batch as a transaction.

    >>> encode_rdf_patch(Batch((Change(1, Quad(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"))),)))
    'TX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n'
    """
    rows = (f"{'A' if sign > 0 else 'D'} {write_quad(quad)}\n" for sign, quad in batch.changes)
    return "".join(["TX .\n", *rows, "TC .\n"])


def _read_row(row: RowReader) -> tuple[str, Quad | None]:
    start = row.rest
    code = row.take(_WORD)
    match code:
        case "A" | "D":
            return code, row.quad()
        case "TX" | "TC" | "TA":
            row.end()
        case "H":
            _read_word(row, "header's key")
            row.term("header's value")
            row.end()
        case "PA" | "PD":
            _read_prefix(row, code)
        case _:
            raise RowError(f"a row begins with one of {_ACCEPTED}, not {start.partition(' ')[0][:20]!r}")
    return code, None


def _read_prefix(row: RowReader, code: str) -> None:
    """Read `PA prefix iri [graph]` or `PD prefix [graph]`; the IRI may be a string, as Jena writes it."""
    _read_word(row, "prefix")
    if code == "PA":
        iri = row.term("prefix's IRI")
        if not isinstance(iri, URIRef) and (not isinstance(iri, RdfLiteral) or iri.datatype or iri.language):
            raise RowError(f"the prefix's IRI must be an IRI or a string, not {iri.n3()}")
    if row.has_term:
        row.node("graph")
    row.end()


def _read_word(row: RowReader, role: str) -> None:
    """Read a bare word or a string."""
    if row.rest.startswith('"'):
        row.term(role)
    elif row.take(_WORD) is None:
        raise RowError(f"the {role} must be a word or a string")


RDF_PATCH: Final = FeedFormat("rdf-patch", (".rdfp", ".patch"), RdfPatchDecoder, encode_rdf_patch)
"""RDF Patch in its text form."""
