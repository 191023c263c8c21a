"""The change history of schema.org's vocabulary, written in each format that can be, and mirrored."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import rdflive
from rdflive.api.target import GraphTarget
from rdflive.feeds import feed_format, feed_formats
from support.history import History, history
from support.worlds import KINDS

pytestmark = pytest.mark.shared

WRITTEN = sorted(name for name, form in feed_formats().items() if form.encode is not None)
GROUPING = {"nquads": False}
"""Formats whose entries are not the batches that were written."""
LABELS = "SELECT ?term ?label { ?term <http://www.w3.org/2000/01/rdf-schema#label> ?label }"


def test_formats_that_are_written_are_known() -> None:
    """There is more than one, and RDF Patch is among them."""
    assert {"rdf-patch", "nquads", "sparql-update"} <= set(WRITTEN)


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", ["dataset", "oxigraph dataset", "live store"])
@pytest.mark.parametrize("name", WRITTEN)
def test_history_end_to_end(tmp_path: Path, name: str, kind: str) -> None:
    """Encoded, mirrored in two runs: the state of the history, its cursor kept, and deltas that add up."""
    form, written = feed_format(name), history(name, kind)
    assert form.encode is not None
    batches, expected = written.batches, written.states()
    path = tmp_path / f"log{form.endings[0]}"
    half = len(batches) // 2
    dataset: Any = KINDS[kind]()
    total: Counter[Any] = Counter()
    commits = 0

    def add_up(delta: rdflive.Delta) -> None:
        nonlocal commits
        commits += 1
        total.update(delta.weights())

    start, _ = written.files(tmp_path)
    with rdflive.subscribe(dataset, LABELS, add_up, initial=False) as subscription:
        for part, end in ((batches[:half], half), (batches[half:], len(batches))):
            with path.open("a", encoding="utf-8", newline="\n") as stream:
                stream.writelines(map(form.encode, part))
            done = rdflive.mirror(dataset, path, snapshot=start)
            assert done.entries == (
                len(part) if GROUPING.get(name, True) else sum(len(b.changes) for b in part)
            )
            assert set(GraphTarget(dataset).quads()) == expected[end - 1]
        assert Counter(subscription.answers()) == +total
    if GROUPING.get(name, True):
        assert commits == 1 + _changing(written, expected)


def _changing(written: History, states: list[frozenset[rdflive.Quad]]) -> int:
    """Count the batches that change some label."""
    labels = [{q for q in state if q.predicate.endswith("#label")} for state in (written.base, *states)]
    return sum(a != b for a, b in pairwise(labels))
