"""Checks of an adapter's named graphs: quads, their listeners, and snapshots."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from rdflive.api.live import batch
from rdflive.errors import UnsupportedStoreError
from rdflive.model import Term
from rdflive.plugins import manager
from rdflive.store import NAMED, Adapter
from rdflive.store.snapshot import committed_quads, committed_triples
from rdflive.testing.operations import NAMES, World, term

__all__ = ["QuadWatch", "check_named_graphs", "check_patterns", "check_snapshot"]

ANYTHING: Final = (None, None, None)


class QuadWatch:
    """Listens to the quads of all graphs, and compares them with the graphs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.faults: list[str] = []
        self.commits: list[int] = []
        self._applied = False
        with manager.locked(world.store) as adapter:
            self.adapter = adapter
            self.content = set(adapter.quads(ANYTHING))
            adapter.capture.listeners[NAMED] = self

    @property
    def changed(self) -> bool:
        """True after changes since the last check."""
        return bool(self.commits)

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Take one change of a quad."""
        # inserting a present quad, or deleting an absent one, is no change
        if (change in self.content) is (sign > 0):
            self.faults.append(f"{change} has sign {sign}")
        (self.content.add if sign > 0 else self.content.discard)(change)
        self._applied = True
        return True

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Take the changes of a commit."""
        for sign, change in changes:
            self.apply(sign, change)
        return True

    def wanted(self) -> None:
        """Return None, to receive every quad."""

    def pass_by(self, count: int) -> None:
        """Fail if any change is left out."""
        self.faults.append(f"{count} changes were left out")

    def commit(self, sequence: int) -> None:
        """Take the end of a batch."""
        if not self._applied or sequence in self.commits:
            self.faults.append(f"commit {sequence} is without a change, or repeated")
        self._applied = False
        self.commits.append(sequence)

    def renew(self, sequence: int) -> None:
        """Read the quads again."""
        self.content = set(self.adapter.quads(ANYTHING))
        self.commits.append(sequence)

    def check(self, commits: int | None) -> None:
        """Compare the sum of the changes with the graphs, and discard the commits."""
        held = set(_held(self.world, self.adapter))
        if self.faults or self._applied or self.content != held:
            raise AssertionError(
                f"the reported quads lack {held - self.content} and have {self.content - held} too many; "
                f"{'a commit is missing' if self._applied else 'all is committed'}; {self.faults}"
            )
        if commits is not None and len(self.commits) > commits:
            raise AssertionError(
                f"the quads were reported in {len(self.commits)} commits instead of {commits}"
            )
        self.commits.clear()

    def close(self) -> None:
        """Stop listening."""
        with self.adapter.capture.reading():
            del self.adapter.capture.listeners[NAMED]
            manager.release(self.adapter)


def _held(world: World, adapter: Adapter) -> Iterator[tuple[Any, ...]]:
    """Yield the quads from rdflib's triples of each graph."""
    names: set[Any] = {world.graph.identifier}
    if world.graph_aware:
        # some stores yield graphs here, others their names
        names |= {getattr(context, "identifier", context) for context in world.store.contexts()}
        names.add(DATASET_DEFAULT_GRAPH_ID)
    for name in names:
        graph = rdflib.Graph(world.store, name)
        for triple in graph:
            yield (*map(adapter.to_native, triple), adapter.graph_key(graph))


def _patterns(quads: set[tuple[Any, ...]]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every pattern that the triples of `quads` match, and some patterns without matches."""
    for s, p, o in {quad[:3] for quad in quads}:
        yield from itertools.product((s, None), (p, None), (o, None))
        yield o, p, s


def _compare(
    what: str,
    listed: Callable[[tuple[Any, Any, Any]], Iterator[tuple[Any, ...]]],
    expected: set[tuple[Any, ...]],
) -> None:
    for pattern in (ANYTHING, *_patterns(expected)):
        found = list(listed(pattern))
        matching = {
            change
            for change in expected
            if all(want in (None, part) for want, part in zip(pattern, change[:3], strict=True))
        }
        if len(found) != len(matching) or set(found) != matching:
            raise AssertionError(f"{what} for {pattern}: {found} instead of {matching}")


def check_patterns(world: World) -> None:
    """Check `quads` against the graphs for every shape of pattern, and the conversion of terms."""
    world.prepare()
    with manager.locked(world.store) as adapter:
        held = set(_held(world, adapter))
        _compare("quads", adapter.quads, held)
        to_rdflib = adapter.to_rdflib() or (lambda native: native)
        for native in {part for quad in held for part in quad[:3]}:
            back = to_rdflib(native)
            if not isinstance(back, rdflib.term.Node) or adapter.to_native(back) != native:
                raise AssertionError(f"to_rdflib makes {back!r} of {native!r}")


def check_named_graphs(world: World) -> None:
    """Check `default_graph` and the keys of graphs against the store's own answer to `GRAPH ?g`."""
    world.prepare()
    with manager.locked(world.store) as adapter:
        try:
            key = adapter.default_graph(world.graph)
        except UnsupportedStoreError:
            pass
        else:
            raise AssertionError(f"a single graph is no dataset, but its default graph is {key!r}")
        if not world.graph_aware:
            return
        quads = set(adapter.quads(ANYTHING))
        for union in (False, True):
            dataset = rdflib.Dataset(world.store, default_union=union)
            default = adapter.default_graph(dataset)
            answer = {
                tuple(adapter.to_native(row[name]) for name in "spog")
                for row in _rows(dataset, "SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")
            }
            if answer != {quad for quad in quads if quad[3] != default}:
                raise AssertionError(f"GRAPH ?g returns {answer}, not {quads} without those of {default}")
        for name in NAMES:
            if adapter.graph_key(rdflib.Graph(world.store, name)) != adapter.to_native(name):
                raise AssertionError(f"the key of graph {name} is not the native term of its name")


def _rows(dataset: rdflib.Dataset, query: str) -> list[dict[str, Any]]:
    return [row.asdict() for row in dataset.query(query)]  # type: ignore[union-attr]  # rows of a SELECT


def check_snapshot(world: World) -> None:
    """Check that snapshots inside a batch, of quads and of a graph, have the state before the batch."""
    world.prepare()
    with batch(world.graph), manager.locked(world.store) as adapter:
        key = adapter.graph_key(world.graph)
        quads, triples = set(adapter.quads(ANYTHING)), set(adapter.triples(key, ANYTHING))
        world.graph.remove(term("a p b"))
        world.graph.remove((None, term("b q 1")[1], None))
        world.graph.add(term("a p new"))
        # cancels out with the next line
        world.graph.add(term("new p b"))
        world.graph.remove(term("new p b"))
        if world.dataset is not None:
            world.dataset.graph(NAMES[1]).add(term("a p c"))
            world.dataset.graph(NAMES[1]).remove(term("a p b"))
            everywhere: Any = (None, None, term("x p y")[2], None)
            world.dataset.remove(everywhere)
        if set(adapter.quads(ANYTHING)) == quads:
            raise AssertionError("quads does not see the changes of an open batch")
        _compare("the quads of the last commit", committed_quads(adapter), quads)
        _compare("the triples of the last commit", committed_triples(adapter, key), triples)
