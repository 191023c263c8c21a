"""The social network of TTC 2018, Q1: the three most discussed posts after each change, and back again."""

from __future__ import annotations

import gzip
import heapq
import json
from typing import Any

import pytest
from rdflib import Literal, URIRef

import rdflive
from rdflive.feeds import decode
from rdflive.feeds.rdf_patch import RDF_PATCH
from support.shared import shared
from support.worlds import KINDS

pytestmark = pytest.mark.shared

FOLDER = ("data", "ttc2018")
SIZES = ("s1", "s2")
STATES = 21


class Ranking:
    """The posts with their scores, known from deltas only."""

    def __init__(self, graph: Any) -> None:
        self.posts: dict[URIRef, tuple[int, Literal]] = {}
        self.deltas = 0
        query = shared(*FOLDER, "q1.rq").read_text(encoding="utf-8")
        self.subscription = rdflive.subscribe(graph, query, self._take, on_error=_fail)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas += 1
        for solution in delta.removed:
            assert self.posts.pop(solution.post) == scored(solution)
        for solution in delta.added:
            assert solution.post not in self.posts
            self.posts[solution.post] = scored(solution)

    def top(self) -> str:
        """Name the three best; the newer post wins a tie."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        best = heapq.nlargest(3, self.posts, key=lambda post: self.posts[post])
        return "|".join(post.rpartition("#s")[2] for post in best)


def scored(solution: rdflive.Solution) -> tuple[int, Literal]:
    """Score a post: ten for each comment below it, one for each like of such a comment."""
    comments, likes = (int(solution[name] or 0) for name in ("nc", "nl"))
    return 10 * comments + likes, solution.ts


def _fail(subscription: Any, error: Exception) -> None:
    raise error


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", ["graph", "oxigraph graph"])
@pytest.mark.parametrize("size", SIZES)
def test_q1_ranks_every_state_forward_and_backward(size: str, kind: str) -> None:
    """The deltas alone give the expected top three in all states, also while all changes are undone."""
    graph = KINDS[kind]()
    with gzip.open(shared(*FOLDER, size, "base.nt.gz")) as source:
        graph.parse(source, format="nt")
    expected = json.loads(shared(*FOLDER, size, "expected_q1.json").read_text(encoding="utf-8"))
    changes = shared(*FOLDER, size, "changes.rdfp.gz")
    with gzip.open(changes, "rt", encoding="utf-8") as lines:
        history = [batch.changes for batch in decode(RDF_PATCH, lines, str(changes))]
    assert len(history) + 1 == len(expected) == STATES
    ranking = Ranking(graph)
    start = dict(ranking.posts)
    tops = [ranking.top()]
    for batch in history:
        apply(graph, batch, undo=False)
        tops.append(ranking.top())
    assert tops == [expected[str(state)] for state in range(STATES)]
    for state, batch in reversed(list(enumerate(history))):
        apply(graph, batch, undo=True)
        assert ranking.top() == expected[str(state)]
    assert ranking.posts == start
    assert 2 * STATES - 1 >= ranking.deltas > STATES


def apply(graph: Any, changes: Any, *, undo: bool) -> None:
    with rdflive.batch(graph):
        for sign, quad in reversed(changes) if undo else changes:
            (graph.add if (sign > 0) is not undo else graph.remove)(tuple(quad)[:3])
