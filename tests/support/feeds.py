"""Random RDF terms and changes, and a writer of N-Triples terms that shares no code with rdflive."""

from __future__ import annotations

from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from rdflive import Change, Quad

_IRI_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='<>"{}|^`\\ '), max_size=8
)
_NAME = st.text("abcXYZ019_", min_size=1, max_size=5)

IRIS = st.builds(lambda text: URIRef(f"http://example.org/{text}"), _IRI_TEXT)
BLANK_NODES = st.builds(
    BNode, st.builds(lambda a, b: f"{a}{b}", _NAME, st.sampled_from(["", "-1", ".x", ":2"]))
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
LITERALS = st.one_of(
    st.builds(Literal, TEXTS),
    st.builds(lambda text, lang: Literal(text, lang=lang), TEXTS, st.sampled_from(["en", "de-AT", "x-1"])),
    st.builds(lambda text: Literal(text, datatype=XSD.string), TEXTS),
    st.builds(lambda number: Literal(number), st.integers()),
    st.builds(lambda text, datatype: Literal(text, datatype=datatype), TEXTS, IRIS),
)
NODES = st.one_of(IRIS, BLANK_NODES)
QUADS = st.builds(Quad, NODES, IRIS, st.one_of(NODES, LITERALS), st.one_of(st.none(), NODES))
CHANGES = st.builds(Change, st.sampled_from([1, -1]), QUADS)

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def write_term(term: URIRef | BNode | Literal, *, ascii_only: bool = False) -> str:
    """Write a term as N-Triples; `ascii_only` escapes all other characters."""
    if isinstance(term, URIRef):
        return f"<{_escape(str(term), ascii_only)}>"
    if isinstance(term, BNode):
        return f"_:{term}"
    lexical = "".join(_ESCAPES.get(char, char) for char in term)
    suffix = f"@{term.language}" if term.language else ""
    if term.datatype is not None:
        suffix = f"^^<{_escape(str(term.datatype), ascii_only)}>"
    return f'"{_escape(lexical, ascii_only)}"{suffix}'


def write_quad(quad: Quad, *, ascii_only: bool = False) -> str:
    """Write a quad as a line of N-Quads without the line end."""
    terms = [write_term(term, ascii_only=ascii_only) for term in quad if term is not None]
    return " ".join([*terms, "."])


def _escape(text: str, ascii_only: bool) -> str:
    if not ascii_only:
        return text
    return "".join(
        char if ord(char) < 0x7F else f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"
        for char in text
    )
