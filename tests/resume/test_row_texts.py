"""Terms and rows as text: what is written is read again, to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from rdflive.delivery.resume.row_texts import OxigraphTexts, RdflibTexts, read_row, row_key, write_row
from support.effort import examples

LITERALS = st.one_of(
    st.builds(Literal, st.text()),
    st.builds(Literal, st.text(), lang=st.sampled_from(["en", "EN-gb", "de"])),
    st.builds(
        lambda text, name: Literal(text, datatype=XSD[name], normalize=False),
        st.text(),
        st.sampled_from(["integer", "token", "string", "normalizedString", "dateTime", "anyURI"]),
    ),
    st.builds(lambda iri: Literal("x", datatype=URIRef(f"urn:{iri}")), st.text()),
    st.just(Literal('\ud800\0\t\n\\u0041"@en')),
)
TERMS = st.one_of(
    st.none(), LITERALS, st.builds(URIRef, st.text()), st.builds(BNode, st.text(min_size=1)), LITERALS
)


@given(st.lists(TERMS, max_size=4))
@settings(max_examples=examples(300))
def test_rows_of_rdflib_terms_are_read_as_they_were_written(terms: list[Any]) -> None:
    """Any row comes back with its spellings, and its key is that of any equal row."""
    texts, row = RdflibTexts(), tuple(terms)
    text = write_row(texts, row)
    again = read_row(texts, text, len(row))
    assert again == row
    for before, after in zip(row, again, strict=True):
        assert (type(before), str(before)) == (type(after), str(after))
        if isinstance(before, Literal):
            assert (before.language, before.datatype) == (after.language, after.datatype)
    lowered = tuple(
        Literal(str(t), lang=t.language.lower()) if isinstance(t, Literal) and t.language else t for t in row
    )
    assert row_key(text) == write_row(texts, lowered)
    text.replace("\t", "").encode()  # SQLite takes it


def test_a_key_has_languages_in_lower_case() -> None:
    """Rows that differ in the case of a language have one key; in that of anything else they have two."""
    texts, iri = RdflibTexts(), URIRef("urn:A@B")
    one, other = (write_row(texts, (Literal("A@B", lang=tag), None, iri)) for tag in ("EN-gb", "en-GB"))
    assert one != other
    assert row_key(one) == row_key(other) == f'"A@B"@en-gb\t\t<{iri}>'
    assert row_key(write_row(texts, (Literal("A@B"), None, iri))) == f'"A@B"\t\t<{iri}>'


def test_a_literal_keeps_its_value_and_its_blanks() -> None:
    """A literal that is not in canonical form has its value in Python, and blanks that rdflib collapses."""
    texts = RdflibTexts()
    literal = texts.read(texts.write(Literal("01", datatype=XSD.integer, normalize=False)))
    assert (str(literal), literal.value) == ("01", 1)
    assert str(texts.read(f'" a  b "^^<{XSD.token}>')) == " a  b "


LENIENT = [rf"urn:a\u{ord(character):04X}b" for character in '\t\n\r\0 <>"{}|^`\\']


@pytest.mark.parametrize("iri", [*LENIENT, "urn:é", r"a\U0001F600"])
def test_any_iri_of_pyoxigraph_is_read_as_it_was_written(iri: str) -> None:
    """What only a lenient parser lets in comes back as a term, a datatype, and inside triple terms."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    inner = f'<<( <{iri}> <{iri}> "x\\t\\\\\\""^^<{iri}> )>>'
    terms = (f"<{iri}>", f'"^^<y>"^^<{iri}>', inner, f"<<( _:a <{iri}> {inner} )>>")
    lines = "".join(f"<urn:s> <urn:p> {term} .\n" for term in terms)
    row = tuple(quad.object for quad in ox.parse(lines, format=ox.RdfFormat.N_TRIPLES, lenient=True))
    assert len(row) == len(terms)
    texts = OxigraphTexts()
    assert read_row(texts, write_row(texts, row), len(row)) == row


def test_rows_of_pyoxigraph_terms_are_read_as_they_were_written() -> None:
    """Triple terms, directions and what only a lenient parser lets in come back."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    store = ox.Store()
    lenient = (
        rb'<urn:a\u003Eb> <urn:a\u0009b> "\t\"@en"@EN--rtl . <urn:\u005C> <urn:x\u0020y> "01"^^<urn:d> .'
    )
    store.load(lenient.replace(b" . ", b" .\n"), format=ox.RdfFormat.N_TRIPLES, lenient=True)
    terms = {term for quad in store for term in quad.triple}
    inner = ox.Triple(ox.BlankNode("a.b"), ox.NamedNode("urn:é"), ox.Literal("\u2028\x00\n\t"))
    terms |= {inner, ox.Triple(ox.BlankNode("0"), ox.NamedNode("urn:p"), inner), ox.Literal("")}
    row = (*terms, None)
    texts = OxigraphTexts()
    text = write_row(texts, row)
    assert read_row(texts, text, len(row)) == row
    for bad in ("<urn:a", "?x", '"x"^^'):
        with pytest.raises(ValueError, match="is not a term"):
            texts.read(bad)
        with pytest.raises(ValueError, match="is not a term"):
            RdflibTexts().read(bad)
    with pytest.raises(ValueError, match="a row of 2 columns has 1"):
        read_row(texts, "<urn:a>", 2)
