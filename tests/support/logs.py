"""Random logs of RDF Patch, and their rows by the decoder alone."""

from __future__ import annotations

import io
from itertools import chain

from hypothesis import strategies as st

from rdflive.feeds import read_entries, to_lines
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.feeds.terms import write_term
from support.feeds import QUADS, write_quad

Row = tuple[str, str, str, str, str | None, int, int]
"""op, s, p, o, g, offset, part."""

ROW_TEXTS = st.builds(
    lambda op, quad, ascii_only: f"{op} {write_quad(quad, ascii_only=ascii_only)}",
    st.sampled_from("AD"),
    QUADS,
    st.booleans(),
)
_ASIDE = st.sampled_from(["", "# TX .", "  # TC", "H id <urn:x> .", 'PA "" <http://e/> .', "PD a ."])
_LOOSE = st.lists(st.one_of(ROW_TEXTS, _ASIDE), max_size=4)
_TRANSACTION = st.builds(
    lambda begin, rows, end: [begin, *rows, end],
    st.sampled_from(["TX .", "TX.", "  TX .", "\tTX . # begun"]),
    _LOOSE,
    st.sampled_from(["TC .", "TC .", " TC.", "TA .", "TA . # no"]),
)
_LINES = st.lists(st.one_of(_LOOSE, _TRANSACTION), max_size=8).map(lambda units: [*chain(*units)])


def _ended(lines: list[str], ends: list[str], bom: bool, last: bool) -> bytes:
    text = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    return ("\ufeff" * bom + (text if last else text.rstrip("\r\n"))).encode()


LOGS = st.builds(
    _ended,
    _LINES,
    st.sampled_from([["\n"], ["\n"], ["\r\n"], ["\r"], ["\n", "\r", "\r\n"]]),
    st.booleans(),
    st.booleans(),
)


def rows_of(content: bytes) -> list[Row]:
    """Read a log with the decoder of `rdflive.feeds`, and return each row with its position."""
    rows: list[Row] = []
    for entry in read_entries(RDF_PATCH, to_lines(io.BytesIO(content), "log"), "log"):
        if entry.error is not None:
            raise entry.error
        first = entry.frame[0]
        begun = first.text.lstrip().startswith("TX")
        places = [line for line in entry.frame if line.text.lstrip()[:1] in ("A", "D")]
        for line, (sign, quad) in zip(places, entry.batch.changes, strict=True):
            terms = [None if term is None else write_term(term) for term in quad]
            place = (first.start, line.number - first.number - 1) if begun else (line.start, 0)
            rows.append(("A" if sign > 0 else "D", *terms, *place))
    return rows
