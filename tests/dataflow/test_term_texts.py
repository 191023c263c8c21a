"""Terms read from their text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdflive.feeds.terms import RowError, RowReader
from rdflive_stores.spark.mirroring.term_texts import TermTexts
from support.feeds import QUADS, TEXTS, write_quad, write_term


@given(QUADS, st.booleans())
def test_a_quad_is_read_as_by_a_reader_of_rows(quad: object, ascii_only: bool) -> None:
    """Terms, their types and their spelling are the same, whether the fast way is taken or not."""
    texts = [None if term is None else write_term(term, ascii_only=ascii_only) for term in quad]
    found = TermTexts().quad(*texts)
    expected = RowReader(write_quad(quad)).quad()
    assert found == expected
    assert [(type(a), str(a)) for a in found] == [(type(b), str(b)) for b in expected]


@given(
    st.sampled_from(['"{}"', "<{}>", "<http://e/{}>", '"x"@{}', '"x"^^<{}>', '"x"^^<urn:{}>', "_:{}", "{}"]),
    TEXTS,
)
@example("{}", '"a"@EN-gb')
@example("{}", '"01"^^<http://www.w3.org/2001/XMLSchema#integer>')
@example("{}", '" a "^^<http://www.w3.org/2001/XMLSchema#token>')
@example("{}", '"a\tb"')
@example("{}", '"a"b"')
@example("{}", "<_:b>")
@example("{}", "<urn:a> ")
@example("{}", "<urn:a> .")
def test_any_text_is_a_term_or_refused_as_by_a_reader_of_rows(form: str, text: str) -> None:
    """What one of them takes the other takes for the same term."""
    given_text = form.format(text)
    try:
        reader = RowReader(given_text)
        expected = reader.term("object")
        is_good = not reader.rest
    except RowError:
        is_good = False
    if is_good:
        found = TermTexts().quad("<urn:s>", "<urn:p>", given_text, None).object
        assert (found, type(found), str(found)) == (expected, type(expected), str(expected))
    else:
        with pytest.raises(RowError, match="the object"):
            TermTexts().quad("<urn:s>", "<urn:p>", given_text, None)


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (('"s"', "<urn:p>", "<urn:o>", None), 'the subject is the literal .*"s"'),
        (("<urn:s>", "_:p", "<urn:o>", None), "the predicate is the blank node"),
        (("<urn:s>", '"p"', "<urn:o>", None), "the predicate is the literal"),
        (("<urn:s>", "<urn:p>", "<urn:o>", '"g"'), "the graph is the literal"),
        (("<urn:s>", "<urn:p>", "", None), "the object is missing"),
        (("<urn:s>", "<urn:p>", "<urn:o> <urn:g>", None), "the object has text after its term"),
    ],
)
def test_a_term_at_the_wrong_place_is_refused(terms: tuple[str, str, str, str | None], reason: str) -> None:
    """The error names the place and what may stand there; so it does when the term is known."""
    known = TermTexts()
    for _ in range(2):
        with pytest.raises(RowError, match=reason):
            known.quad(*terms)


def test_only_the_last_terms_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded however many terms there are."""
    monkeypatch.setattr("rdflive_stores.spark.mirroring.term_texts._MOST", 10)
    known = TermTexts()
    for number in range(100):
        quad = known.quad(f"<urn:{number}>", "<urn:p>", "<urn:o>", None)
        assert str(quad.subject) == f"urn:{number}"
        assert len(known._terms) <= 10
