"""Small pyoxigraph stores, and a follower that compares captured changes with their content."""

from __future__ import annotations

from typing import Any

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

from rdflive.store import UNION
from rdflive_stores.oxigraph import LiveStore, rdflive_attach

EX, XSD = "urn:example:", "http://www.w3.org/2001/XMLSchema#"
GRAPHS: dict[str, Any] = {"-": DefaultGraph(), "g": NamedNode(EX + "g"), "h": BlankNode("h")}


def node(name: str) -> NamedNode:
    return NamedNode(EX + name)


def typed(value: str, datatype: str = "integer") -> Literal:
    return Literal(value, datatype=NamedNode(XSD + datatype))


def quad(text: str) -> Quad:
    """Make a quad from four names; a number is an integer literal as spelled, `-` the default graph."""
    s, p, o, g = text.split()
    return Quad(node(s), node(p), typed(o) if o.isdigit() else node(o), GRAPHS[g])


KNOWN = [quad(text) for text in ("a p b -", "a p b g", "a p b h", "a p c -", "b q 1 g", "c p d h")]
OLD, NEW = KNOWN[3], quad("n p m g")


class Follower:
    """Follows graphs, the union and all batches, and checks them against the native store."""

    def __init__(self, adapter: Any, native: Store) -> None:
        self.capture, self.native = adapter.capture, native
        self.content: dict[Any, set[Any]] = {}
        self.commits: list[int] = []
        for key in (*GRAPHS.values(), UNION):
            self.content[key] = set(adapter.triples(key, (None, None, None)))
            self.capture.listeners[key] = _Listener(self.content[key], self.commits)
        self.quads = set(native)
        self.capture.on_batch = self._take

    def _take(self, batch: Any) -> None:
        for sign, changed in batch.changes:
            one = Quad(*changed)
            assert (one in self.quads) is (sign < 0), f"{sign} of {one}"
            (self.quads.add if sign > 0 else self.quads.remove)(one)

    def check(self) -> int:
        """Compare all content with the store, and return the number of commits since the last check."""
        held = set(self.native)
        assert self.quads == held
        for key, content in self.content.items():
            graph = {tuple(q.triple) for q in held if key in (UNION, q.graph_name)}
            assert content == graph, key
        commits = len(set(self.commits))
        self.commits.clear()
        return commits


class _Listener:
    def __init__(self, content: set[Any], commits: list[int]) -> None:
        self.content, self.commits = content, commits

    def apply(self, sign: int, triple: Any) -> bool:
        assert (triple in self.content) is (sign < 0), f"{sign} of {triple}"
        (self.content.add if sign > 0 else self.content.remove)(triple)
        return True

    def apply_all(self, changes: Any) -> bool:
        return max(tuple(self.apply(*change) for change in changes))

    def commit(self, sequence: int) -> None:
        self.commits.append(sequence)


def followed(native: Store | None = None) -> tuple[LiveStore, Follower]:
    live = LiveStore(native)
    if native is None:
        live.extend(KNOWN)
    return live, Follower(rdflive_attach(store=live), live.native)
