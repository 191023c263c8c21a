"""The RDF Patch decoder."""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rdflib import BNode, Dataset, Literal, URIRef

from rdflive import Batch, Change, FeedError, feeds
from rdflive.feeds import to_lines
from rdflive.feeds.rdf_patch import RDF_PATCH, encode_rdf_patch
from support.effort import examples
from support.feeds import CHANGES, write_quad

S = "<http://e/s> <http://e/p> "
E = URIRef("http://e/o")


def decode(text: str) -> list[Batch]:
    lines = to_lines(text.encode().splitlines(keepends=True), "patch")
    return list(feeds.decode(RDF_PATCH, lines, "patch"))


def objects(text: str) -> list[list[tuple[int, object]]]:
    return [[(sign, quad.object) for sign, quad in batch.changes] for batch in decode(text)]


def decode_until_error(text: str) -> tuple[list[int], FeedError]:
    """Give the sizes of the batches before the error, and the error."""
    batches = feeds.decode(RDF_PATCH, text.splitlines(), "patch")
    sizes: list[int] = []
    with pytest.raises(FeedError) as caught:
        sizes.extend(len(batch.changes) for batch in batches)
    return sizes, caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"', Literal("a")),
        ('"a"@en-GB', Literal("a", lang="en-GB")),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', Literal(5)),
        ('""', Literal("")),
        ('"a#b . c"', Literal("a#b . c")),
        (r'"q\"\\\n\t\u00e9\U0001F600"', Literal('q"\\\n\té😀')),
        ('"\u2028\x85"', Literal("\u2028\x85")),
        ("<http://e/o>", E),
        (r"<http://e/\u006f>", E),
        ("<urn:x>", URIRef("urn:x")),
        ("_:b1", BNode("b1")),
        ("_:b.1-x", BNode("b.1-x")),
        ("<_:b1>", BNode("b1")),
    ],
)
@pytest.mark.parametrize(
    "tail", [" .", ".", "\t.  ", " . # said", " <http://e/g> .", " _:g .", "\t<_:g>.", " .\r\n"]
)
def test_a_row_takes_every_kind_of_object(text: str, expected: object, tail: str) -> None:
    """Every term of N-Triples is read, in front of any end of the row."""
    if text == "_:b1" and tail == ".":
        tail = " ."
    lines = [f"A {S}{text}{tail}"]
    (batch,) = feeds.decode(RDF_PATCH, lines)
    assert batch.changes[0].quad.object == expected
    graphs = {" <http://e/g> .": URIRef("http://e/g"), " _:g .": BNode("g"), "\t<_:g>.": BNode("g")}
    assert batch.changes[0].quad.graph == graphs.get(tail)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f'A {S}"a', "the object is a literal without its closing quote: '\"a'"),
        (f'A {S}"a" . x', "the row continues after its dot: 'x'"),
        (f'A {S}"a"', "the dot that ends the row is missing"),
        (f'A {S}"a" _:g _:h .', "expected the dot that ends the row, not '_:h .'"),
        (f'A "s" <http://e/p> {S}.', "the subject is the literal"),
        ("A _:s _:p _:o .", "the predicate is the blank node"),
        (f'A {S}"a" "g" .', "the graph is the literal"),
        (f'A {S}"a\\q" .', "the object has a bad escape"),
        (f'A {S}"\\uD800" .', "the object has an escape that is no character"),
        (f'A {S}"a"@en_US .', "the object has a malformed language tag"),
        (f'A {S}"a"x .', "the object has something after its closing quote"),
        (f'A {S}"a"^^xsd:int .', "the object is an IRI without its angle brackets: 'xsd:int .'"),
        (f'A {S}"a"^^<rel> <b:c> .', "the object is a relative IRI: '<rel>'"),
        (f"A {S}<a> <http://e/g> .", "the object is a relative IRI: '<a>'"),
        (f"A {S}<http://e/a b> .", "the object is not a valid absolute IRI"),
        (f"A {S}<http://e/a", "the object is an IRI without its angle brackets"),
        (f"A {S}<http://e/{{}}> .", "the object is not a valid absolute IRI"),
        (f"A {S}<<( _:a <a:b> _:c )>> .", "RDF-star is not supported"),
        (f"A {S}ex:o .", "the object must be an IRI in angle brackets, a blank node or a literal"),
        (f"A {S}5 .", "the object must be an IRI"),
        (f"A {S}<_:a b> .", "the object is not a valid blank node label"),
        (f"A {S}", "the object is missing"),
        ("A", "the subject is missing"),
        ("TX. x", "the row continues after its dot"),
        ("TXA .", "a row begins with one of H, TX, TC, TA, PA, PD, A and D, not 'TXA'"),
        ("a _:s <a:b> _:o .", "not 'a'"),
        ("H id .", "the header's value is missing"),
        ("H .", "the header's key must be a word or a string"),
        ("PA rdf .", "the prefix's IRI is missing"),
        ('PA rdf "x"@en .', "the prefix's IRI must be an IRI or a string"),
        ("PA rdf _:x .", "the prefix's IRI must be an IRI or a string"),
        ("PD .", "the prefix must be a word or a string"),
        ('PA rdf <a:b> "g" .', "the graph is the literal"),
        ("TC .", "TC without a TX"),
        ("TA .", "TA without a TX"),
        ("TX .\nA _:s <a:b> _:o .", "neither TC nor TA ends the transaction of line 4, so it is not applied"),
    ],
)
def test_a_bad_row_names_its_line_and_reason(row: str, reason: str) -> None:
    """The first bad row stops the feed; the transactions in front of it have been given."""
    sizes, error = decode_until_error(f"TX .\nA {S}_:o .\nTC .\n{row}")
    assert sizes == [1]
    assert reason in error.reason
    assert (error.source, error.line) == ("patch", 4 + row.count("\n"))
    assert str(error) == f"patch, line {error.line}: {error.reason}"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("", []),
        ("TX +1 -2 TC TX TC TX -1 TC", [["+1", "-2"], [], ["-1"]]),
        ("+0 TX +1 TA TX +2 TC", [["+0"], ["+2"]]),
        ("+1 TX +2 TC +3 +4 TX TC +5", [["+1"], ["+2"], ["+3", "+4"], [], ["+5"]]),
    ],
)
def test_a_transaction_is_a_batch(rows: str, expected: list[list[str]]) -> None:
    """TX … TC gives its changes in order, TA drops them; rows outside belong together up to the next TX."""
    signs = {"+": "A", "-": "D"}
    text = "".join(
        f"{word} .\n" if word.startswith("T") else f'{signs[word[0]]} {S}"{word[1:]}" .\n'
        for word in rows.split()
    )
    assert [[f"{'+-'[sign < 0]}{term}" for sign, term in changes] for changes in objects(text)] == expected
    assert [batch.sequence for batch in decode(text)] == list(range(1, len(expected) + 1))


def test_a_patch_without_transactions_is_atomic() -> None:
    """All rows are one batch, and a bad one leaves none."""
    assert objects(f'A {S}"1" .\nH id <uuid:1> .\nA {S}"2" .\n') == [[(1, Literal("1")), (1, Literal("2"))]]
    sizes, error = decode_until_error(f'A {S}"1" .\nnonsense\n')
    assert (sizes, error.line) == ([], 2)


@pytest.mark.parametrize(
    "row",
    [
        "",
        "   \t",
        "# A nothing",
        "H id <uuid:0686c69d-8f89-4496-acb5-744f0157a8db> .",
        'H "id" "one" .',
        'PA "rdf" "http://www.w3.org/1999/02/22-rdf-syntax-ns#" .',
        "PA rdf <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .",
        'PA "" <http://e/> <http://e/graph> .',
        "PD rdf .",
        'PD "rdf" <http://e/graph> .',
    ],
)
def test_headers_prefixes_and_comments_change_nothing(row: str) -> None:
    """They are checked, inside and outside of a transaction, and give no change."""
    assert decode(row) == []
    assert objects(f"{row}\nTX .\n{row}\nA {S}<http://e/o> .\n{row}\nTC .\n{row}") == [[(1, E)]]


@settings(max_examples=examples(100))
@given(st.lists(st.lists(CHANGES, max_size=5), max_size=5), st.booleans())
def test_what_was_written_is_read_again(batches: list[list[Change]], ascii_only: bool) -> None:
    """Random batches, written here and by other code, and decoded, are the same batches."""
    lines = ["# a patch", "H id <uuid:1> ."]
    for changes in batches:
        rows = (
            f"{'A' if sign > 0 else 'D'} {write_quad(quad, ascii_only=ascii_only)}" for sign, quad in changes
        )
        lines += ["TX .", *rows, "TC ."]
    assert [list(batch.changes) for batch in feeds.decode(RDF_PATCH, lines)] == batches
    encoded = "".join(encode_rdf_patch(Batch(tuple(changes))) for changes in batches)
    for text in ("\r\n".join(lines), encoded.replace("\n", "\r\n")):
        assert [list(batch.changes) for batch in decode(text)] == batches


def test_a_transaction_inside_another_leaves_the_first_unfinished() -> None:
    """The first TX is refused at its last line, and whoever skips it gets the second."""
    text = f'TX .\nA {S}"1" .\nTX .\nA {S}"2" .\nTC .'
    sizes, error = decode_until_error(text)
    assert (sizes, error.line) == ([], 2)
    assert "neither TC nor TA ends the transaction of line 1" in error.reason
    lines = to_lines(text.encode().splitlines(keepends=True), "patch")
    first, second = feeds.read_entries(RDF_PATCH, lines, "patch")
    assert (first.error is not None, second.batch.changes[0].quad.object) == (True, Literal("2"))


@example("\x0b")
@given(st.text(alphabet=' \t\n\x0b\x1c"\\<>_:.@^#AaDHTXCPu0-éx{', max_size=60))
def test_any_text_gives_batches_or_a_feed_error(text: str) -> None:
    """No text makes the decoder fail in another way."""
    with suppress(FeedError):
        list(feeds.decode(RDF_PATCH, text.split("\n")))


def test_a_batch_arrives_before_the_writer_closes() -> None:
    """A transaction is given as soon as its TC has been written to a pipe that stays open."""
    reading, writing = os.pipe()
    hung = threading.Timer(10, os.close, [writing])  # so that a failure is no deadlock
    hung.start()
    with os.fdopen(reading, "rb") as stream:
        batches = feeds.decode(RDF_PATCH, to_lines(stream, "pipe"))
        for number in range(3):
            os.write(writing, f'TX .\nA {S}"{number}" .\nTC .\nTX'.encode())
            assert next(batches).changes[0].quad.object == Literal(str(number))
            os.write(writing, b" .\nTA .\n")
        hung.cancel()
        assert hung.is_alive()
        os.close(writing)
        assert list(batches) == []


@settings(max_examples=examples(100))
@given(st.lists(st.lists(CHANGES, max_size=4), max_size=4))
def test_rdflib_reads_what_is_written(batches: list[list[Change]]) -> None:
    """rdflib's own patch parser makes of the text what the changes make."""
    changes = [change for batch in batches for change in batch]
    for term in (term for _, quad in changes for term in quad):
        # rdflib takes neither a colon in a label nor a space of Unicode in an IRI; N-Triples allows both
        assume(not (isinstance(term, BNode) and ":" in term))
        name = term.datatype if isinstance(term, Literal) else term
        assume(re.search(r"\s", name or "") is None)
    read, made = Dataset(), Dataset()
    text = "".join(encode_rdf_patch(Batch(tuple(batch))) for batch in batches)
    read.parse(data=text, format="patch")
    for sign, quad in changes:
        graph = made.default_graph if quad.graph is None else made.graph(quad.graph)
        (graph.add if sign > 0 else graph.remove)(quad[:3])
    assert set(read.quads()) == set(made.quads())
