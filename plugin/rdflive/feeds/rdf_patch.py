"""RDF Patch, the change format of Apache Jena: https://jena.apache.org/documentation/rdf-patch/ ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from rdflib.term import Literal as RdfLiteral
from rdflib.term import URIRef

from rdflive.errors import FeedError
from rdflive.feeds.terms import RowError, RowReader
from rdflive.model import Batch, Change, Quad

__all__ = ["decode_rdf_patch"]

_WORD: Final = re.compile(r"[^\W\d_](?:[\w.\-]*[\w\-])?")
_SIGNS: Final[dict[str, Literal[1, -1]]] = {"A": 1, "D": -1}
_ACCEPTED: Final = "H, TX, TC, TA, PA, PD, A and D"


def decode_rdf_patch(lines: Iterable[str], source: str = "<lines>") -> Iterator[Batch]:
    """Decode RDF Patch: a transaction (`TX` … `TC`) is a batch, and one that `TA` aborts is none.

    Rows outside of any transaction are one batch up to the next `TX` or the end, so that a patch without
    transactions is atomic, as Jena documents. Headers and prefixes are checked and change no answer.
    Blank nodes keep their labels. A transaction that the feed does not end is an error.

    >>> patch = ["TX .", "A <http://e/s> <http://e/p> _:b1 .", "TC ."]
    >>> [change.quad.object for batch in decode_rdf_patch(patch) for change in batch.changes]
    [rdflib.term.BNode('b1')]
    """
    changes: list[Change] = []
    sequence, begun, number = 0, 0, 0  # begun: the line of the open TX, 0 outside of transactions
    for number, line in enumerate(lines, start=1):
        try:
            code, quad = _read_row(RowReader(line))
            _check_turn(code, begun)
        except RowError as error:
            raise FeedError(source, number, str(error)) from error
        if quad is not None:
            changes.append(Change(_SIGNS[code], quad))
        elif code in ("TX", "TC", "TA"):
            if code == "TC" or (code == "TX" and changes):
                sequence += 1
                yield Batch(tuple(changes), sequence)
            changes = []
            begun = number if code == "TX" else 0
    if begun:
        reason = f"the feed ends inside the transaction of line {begun}; without its TC it is not applied"
        raise FeedError(source, number, reason)
    if changes:
        yield Batch(tuple(changes), sequence + 1)


def _read_row(row: RowReader) -> tuple[str, Quad | None]:
    """Read one row; the code of an empty line or comment is the empty string."""
    if not row.rest or row.rest.startswith("#"):
        return "", None
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
            raise RowError(f"a row begins with one of {_ACCEPTED}, not {start.split()[0][:20]!r}")
    return code, None


def _check_turn(code: str, begun: int) -> None:
    """Refuse a transaction in a transaction, and an end without a beginning."""
    if code == "TX" and begun:
        raise RowError(f"TX inside the transaction of line {begun}, which neither TC nor TA has ended")
    if code in ("TC", "TA") and not begun:
        raise RowError(f"{code} without a TX")


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
