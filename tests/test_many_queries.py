"""Many different queries on one graph, which begin at the same patterns and come and go."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from rdflib import Graph, URIRef

import rdflive
from support.effort import drawn_from, rounds

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}> "
NODES = [f":n{i}" for i in range(9)]


def a_query(random: Random, predicates: int) -> str:
    """A path, a star or a tree of up to four patterns with constants at some of its ends, and some more."""
    count = random.randint(1, 4)
    form = random.choice(("path", "star", "tree"))
    begin = {"path": lambda i: i, "star": lambda _: 0, "tree": lambda i: random.randint(0, i)}[form]
    ends = [f"?v{i + 1}" if random.random() < 0.7 else random.choice(NODES) for i in range(count)]
    nodes = ["?v0", *ends]
    patterns = []
    for i, end in enumerate(ends):
        triple = [nodes[begin(i)], f":p{random.randrange(predicates)}", end]
        patterns.append(" ".join(triple if random.random() < 0.6 else reversed(triple)))
    patterns = [p for p in patterns if p.split()[1].startswith(":p")]
    inner = [p for p in patterns[1:] if random.random() < 0.15]
    text = " . ".join(p for p in patterns if p not in inner)
    text += "".join(f" OPTIONAL {{ {p} }}" for p in inner)
    if random.random() < 0.2:
        text += f" FILTER(?v0 != {random.choice(NODES)})"
    return f"{PREFIX}SELECT * {{ {text} }}"


class Followed:
    """A subscription, and what its deltas add up to."""

    def __init__(self, graph: Graph, random: Random) -> None:
        self.graph, self.text = graph, a_query(random, 3)
        self.answer: Counter[Any] = Counter()
        budget = rdflive.Budget() if random.random() < 0.15 else None
        self.subscription = rdflive.subscribe(graph, self.text, self.take, budget=budget)

    def take(self, delta: rdflive.Delta) -> None:
        """Add a delta up."""
        for rows, sign in ((delta.added, 1), (delta.removed, -1)):
            for row in rows:
                self.answer[frozenset(row.asdict().items())] += sign

    def check(self) -> None:
        """Compare with what rdflib finds."""
        found = self.graph.query(self.text)
        expected = Counter(frozenset((str(k), v) for k, v in row.asdict().items()) for row in found)
        assert +self.answer == expected, self.text


@pytest.mark.parametrize("number", range(rounds(24, share=8)))
def test_each_of_many_queries_is_told_what_a_query_again_would_find(number: int) -> None:
    """Texts of known shapes with other names and constants, walks behind gates, and members of families."""
    random = drawn_from("many queries", number)
    graph = Graph()
    followed: list[Followed] = []

    def term(name: str) -> URIRef:
        return URIRef(E + name.removeprefix(":"))

    for most in (50, 80, 8, 60):
        for gone in random.sample(followed, max(0, len(followed) - most)):
            gone.subscription.close()
            followed.remove(gone)
        while len(followed) < most:
            followed.append(Followed(graph, random))
        for _ in range(40):
            triple = (term(random.choice(NODES)), term(f"p{random.randrange(3)}"), term(random.choice(NODES)))
            if triple in graph and random.random() < 0.7:
                graph.remove(triple)
            else:
                graph.add(triple)
        for each in followed:
            each.check()
    graph.remove((None, None, None))
    for each in followed:
        each.check()
        each.subscription.close()
