"""Golden feeds of every format, whole and damaged, and what is no feed at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef

from rdflive import Batch, Change, Quad
from rdflive.feeds import Entry, feed_format, read_entries, to_lines
from rdflive.feeds.sparql_update import encode_sparql_update
from support.decoders import show
from support.effort import examples
from support.formats import FORMATS, GOLDEN, golden_inputs
from support.fuzz import check_any_bytes


def read(name: str, text: bytes) -> list[Entry]:
    return list(read_entries(feed_format(name), to_lines(text.splitlines(keepends=True), "feed"), "feed"))


@pytest.mark.parametrize(
    "path", ["rdf-patch.rdfp", "nquads.nq", "sparql-update.ru", "neptune.jsonl", "wikidata.jsonl"]
)
def test_a_golden_file_is_read(path: str) -> None:
    """A feed gives the entries that lie beside it, which were checked by hand."""
    entries = read(path.partition(".")[0], (GOLDEN / path).read_bytes())
    assert show(entries) == (GOLDEN / path).with_suffix(".expected").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["rdf-patch.rdfp", "nquads.nq"])
def test_a_golden_file_is_written(path: str) -> None:
    """What was read is written as the other file has it, and that is read as the same."""
    name = path.partition(".")[0]
    batches = [entry.batch for entry in read(name, (GOLDEN / path).read_bytes()) if entry.error is None]
    encode = feed_format(name).encode
    assert encode is not None
    written = "".join(map(encode, batches))
    assert written == (GOLDEN / f"{name}.written").read_text(encoding="utf-8")
    assert [entry.batch for entry in read(name, written.encode())] == batches


def test_a_batch_is_written_as_an_update() -> None:
    """As the golden file has it."""
    subject, predicate, graph = (URIRef(f"http://e/{name}") for name in "spg")
    quads = [
        Quad(subject, predicate, Literal("\\u0041\t", lang="en")), Quad(subject, predicate, Literal(5), graph)
    ]  # fmt: skip
    written = encode_sparql_update(Batch((Change(1, quads[0]), Change(-1, quads[1]))))
    assert written == (GOLDEN / "sparql-update.written").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_golden_feeds_are_decoded_whole(name: str) -> None:
    """There is a golden feed of every format, with entries, and a reading can go on behind any of them."""
    inputs = golden_inputs(name)
    assert inputs
    assert all(check_any_bytes(FORMATS[name], content) > 1 for content in inputs)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_damaged_feed_gives_entries_or_a_feed_error(name: str, data: st.DataObject) -> None:
    """Pieces cut out, doubled or replaced anywhere never crash a decoder nor change what comes behind."""
    content = data.draw(st.sampled_from(golden_inputs(name)))
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        end = min(end, start + 200)
        piece = data.draw(
            st.one_of(
                st.binary(max_size=4), st.sampled_from([content[start:end] * 2, b"\n", b"null", b"{", b'"'])
            )
        )
        content = content[:start] + piece + content[end:]
    check_any_bytes(FORMATS[name], content)


@given(st.binary(max_size=80))
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_any_bytes_give_entries_or_a_feed_error(name: str, content: bytes) -> None:
    """What is no feed at all is refused in the same way."""
    check_any_bytes(FORMATS[name], content)
