"""Decoding of quads on the executors, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

from rdflive import Change, Quad
from rdflive.feeds import FeedFormat, feed_format
from rdflive.feeds.formats import Decoded, StatelessDecoder
from rdflive.feeds.neptune import NEPTUNE
from rdflive.feeds.terms import write_term
from rdflive.model import Batch
from rdflive_stores.spark.mirroring.decoding import decode_neptune, decode_texts
from support.decoders import read
from support.effort import examples
from support.feeds import CHANGES, TEXTS
from support.feeds import write_quad as write_any_quad
from support.spark_mirrors import arrow_rows, to_changes

ROWS = st.lists(st.lists(CHANGES, max_size=4), max_size=6)
NQUADS, RDF_PATCH = feed_format("nquads"), feed_format("rdf-patch")


def decoded(form: FeedFormat, *values: Any) -> list[dict[str, Any]]:
    return [row for batch in decode_texts([arrow_rows(values)], form=form) for row in batch.to_pylist()]


def faults(rows: Iterable[dict[str, Any]]) -> list[list[Any]]:
    notes = (json.loads(row["note"]) for row in rows if row["note"] is not None)
    return [note["fault"] for note in notes if "fault" in note]


def line(change: Change, signs: str, ascii_only: bool = False) -> str:
    return f"{signs[change.sign < 0]} {write_any_quad(change.quad, ascii_only=ascii_only)}"


@settings(max_examples=examples(60))
@given(ROWS, st.booleans(), st.booleans(), st.booleans())
def test_rows_of_text_give_the_changes_of_the_feed(
    rows: list[list[Change]], is_patch: bool, is_binary: bool, ascii_only: bool
) -> None:
    """Lines or transactions, in text or bytes, are read as a decoder reads them below each other."""
    form = RDF_PATCH if is_patch else NQUADS
    texts = [
        "".join(
            [
                *(["TX .\n"] if is_patch else []),
                *(f"{line(change, 'AD' if is_patch else '+-', ascii_only)}\n" for change in changes),
                *(["TC .\n"] if is_patch else []),
            ]
        )
        for changes in rows
    ]
    expected = [change for entry in read(form, "".join(texts)) for change in entry.batch.changes]
    found = decoded(form, *(text.encode() if is_binary else text for text in texts))
    assert faults(found) == []
    assert to_changes(found) == expected
    for row in found:
        for name in "spog":
            if row[name] is not None and not row[name].startswith("_:"):
                (change,) = to_changes([row])
                assert row[name] == write_term(change.quad["spog".index(name)])


def test_a_row_of_one_line_is_taken_apart_at_once() -> None:
    """Rows that stand there as they would be written mean the same as those that do not."""
    plain = [
        "+ <urn:s> <urn:p> _:o <urn:g> .",
        '- _:s <urn:p> "o"@en .\n',
        '+ <urn:s> <urn:p> "1"^^<urn:t> .',
    ]
    odd = [f"  {text.strip()} # a comment" for text in plain]
    assert to_changes(decoded(NQUADS, *plain)) == to_changes(decoded(NQUADS, *odd))
    assert [row["op"] for row in decoded(NQUADS, *plain)] == ["A", "D", "A"]
    assert [row["g"] for row in decoded(NQUADS, *plain)] == ["<urn:g>", None, None]


@pytest.mark.parametrize(
    "value", [None, "", " \n\n", "# nothing", "TX .\nTC .\n", "TX .\nA <a:s> <a:p> <a:o> .\nTA ."]
)
def test_a_row_may_mean_nothing(value: str | None) -> None:
    """Tombstones, comments and what was aborted give no rows."""
    assert decoded(RDF_PATCH, value) == []


@pytest.mark.parametrize(
    ("form", "value", "line", "reason"),
    [
        (NQUADS, "+ <urn:s> <urn:p> .", 1, "the object is missing"),
        (NQUADS, "+ <urn:s> <urn:p> <urn:o> .\nnonsense\n", 2, "a line begins with"),
        (NQUADS, b'+ <urn:s> <urn:p> "\xff" .', 1, "not UTF-8"),
        (RDF_PATCH, "TX .", 1, "each row must hold whole transactions"),
        (RDF_PATCH, "TC .", 1, "each row must hold whole transactions"),
        (RDF_PATCH, "TX .\nA <urn:s> <urn:p> <urn:o> .", 2, "each row must hold whole transactions"),
        (RDF_PATCH, "TX .\nA <urn:s> <urn:p> o .\nTC .\n", 2, "the object must be"),
    ],
)
def test_a_bad_unit_is_a_note(form: FeedFormat, value: Any, line: int, reason: str) -> None:
    """It says which line of the row is wrong and why; other units and rows are decoded."""
    good = "+ <urn:a> <urn:b> <urn:c> ." if form is NQUADS else "A <urn:a> <urn:b> <urn:c> ."
    good, value = (text.encode() if isinstance(text, str) else text for text in (good, value))
    found = decoded(form, good, value, good)
    ((number, text, unit),) = faults(found)
    assert number == line
    assert reason in text
    assert unit in value.decode(errors="replace")
    assert len(to_changes(found)) == (3 if b"\nnonsense" in value else 2)


def test_an_update_is_no_change_of_rows() -> None:
    """A format of a plugin that has updates is told that executors cannot evaluate them."""

    class Updates(StatelessDecoder):
        def decode(self, frame: Any) -> Decoded:
            return Decoded((), (frame[0].text,))

    found = decoded(FeedFormat("updates", (), Updates), "CLEAR ALL")
    assert "only a graph can evaluate" in faults(found)[0][1]


def record(commit: int, operation: int, change: Change, is_last: bool) -> dict[str, Any]:
    data = {"stmt": write_any_quad(change.quad)}
    event = {"commitNum": commit, "opNum": operation}
    op = "ADD" if change.sign > 0 else "REMOVE"
    return {"eventId": event, "data": data, "op": op} | ({"isLastOp": True} if is_last else {})


@settings(max_examples=examples(40))
@given(st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=5), st.data())
def test_neptune_records_are_placed_by_their_numbers(
    commits: list[list[Change]], data: st.DataObject
) -> None:
    """In any order, repeated, as responses or not, they give the changes of the log in order."""
    records = [
        record(commit, number, change, number == len(changes))
        for commit, changes in enumerate(commits, start=1)
        for number, change in enumerate(changes, start=1)
    ]
    log = "".join(f"{json.dumps(one)}\n" for one in records)
    expected = [change for entry in read(NEPTUNE, log) for change in entry.batch.changes]
    shuffled = data.draw(st.permutations(records))
    values = [json.dumps(one) for one in shuffled]
    if shuffled and data.draw(st.booleans()):
        values = [json.dumps({"records": shuffled}), *values[:1]]
    (batch,) = decode_neptune([arrow_rows(values)])
    found = {(row["offset"], row["part"]): row for row in batch.to_pylist() if row["note"] is None}
    assert to_changes(found.values()) == expected
    notes = [json.loads(row["note"]) for row in batch.to_pylist() if row["note"] is not None]
    told = {
        commit: (set(operations), set(ends)) for note in notes for commit, operations, ends in note["commits"]
    }
    assert told == {n: (set(range(1, len(c) + 1)), {len(c)}) for n, c in enumerate(commits, start=1)}


@given(
    st.sampled_from([NQUADS, RDF_PATCH, NEPTUNE]),
    st.lists(st.one_of(TEXTS, st.binary(max_size=20)), max_size=4),
)
def test_anything_is_decoded_or_a_note(form: FeedFormat, values: list[Any]) -> None:
    """No value makes a decoder fail in another way."""
    values = [value.encode() if isinstance(value, str) else value for value in values]
    rows = arrow_rows(values) if values else arrow_rows([b""])
    found = list(decode_neptune([rows]) if form is NEPTUNE else decode_texts([rows], form=form))
    assert sum(batch.num_rows for batch in found) >= 0


def test_a_label_that_only_n_triples_allows_is_kept() -> None:
    """A blank node has the label that it has in the feed, in the graph too."""
    (row,) = decoded(NQUADS, "+ _:a\u00b7b <urn:p> _:c .")
    assert row["s"] == "_:a\u00b7b"
    assert to_changes([row]) == [Change(1, Quad(BNode("a\u00b7b"), URIRef("urn:p"), BNode("c")))]


def test_an_odd_literal_keeps_its_spelling() -> None:
    """Escapes and types come through as rdflib holds them."""
    (row,) = decoded(NQUADS, '+ <urn:s> <urn:p> "\\u0041\\n01"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    (change,) = to_changes([row])
    assert str(change.quad.object) == "A\n01"
    assert isinstance(change.quad.object, Literal)
    assert Batch((change,)).added == (change.quad,)
