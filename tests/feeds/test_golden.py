"""Golden files of the formats in plain text, in both directions."""

from __future__ import annotations

import pytest

from rdflive.feeds import Entry, feed_format, read_entries, to_lines
from support.decoders import show
from support.formats import GOLDEN


def read(name: str, text: bytes) -> list[Entry]:
    return list(read_entries(feed_format(name), to_lines(text.splitlines(keepends=True), "feed"), "feed"))


@pytest.mark.parametrize("path", ["rdf-patch.rdfp", "nquads.nq"])
def test_a_golden_file_is_read_and_written(path: str) -> None:
    """A feed gives the entries that lie beside it, and they are written as the other file has it."""
    name = path.partition(".")[0]
    entries = read(name, (GOLDEN / path).read_bytes())
    assert show(entries) == (GOLDEN / f"{name}.expected").read_text(encoding="utf-8")
    encode = feed_format(name).encode
    assert encode is not None
    written = "".join(encode(entry.batch) for entry in entries if entry.error is None)
    assert written == (GOLDEN / f"{name}.written").read_text(encoding="utf-8")
    again = [entry.batch for entry in read(name, written.encode())]
    assert again == [entry.batch for entry in entries if entry.error is None]
