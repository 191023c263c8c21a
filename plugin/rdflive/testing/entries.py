"""Entries of feeds for tests: their writer, and random entries over a small universe."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypeAlias
from unittest import SkipTest

import rdflib
from rdflib.store import Store

from rdflive.api.live import batch
from rdflive.errors import UnsupportedStoreError
from rdflive.plugins import manager
from rdflive.store import Transaction, Writable
from rdflive.testing.operations import NAMES, World, term

__all__ = ["ODD", "Changes", "RandomEntries", "Writer"]

Changes: TypeAlias = Mapping[tuple[Any, Any], Literal[1, -1]]
"""Triples of rdflib's terms with the name of their graph (None: the default graph), and +1 or -1."""

NAME: Final = "a feed"
ODD: Final = ("", "cursor", "ключ 🙂", "a\0b\r\n\t'''\"\"\" \\u0041 }", "urn:x-rdflive:kept", "é%20+")
"""Names, keys and texts that must be read back unchanged."""

_UPDATES: Final = (
    "INSERT { {t} } WHERE {}",
    "DELETE { ?s :p ?o } INSERT { ?o :r ?s } WHERE { ?s :p ?o FILTER(isIRI(?o)) }",
    "PREFIX x: <urn:example:> DELETE { ?s x:q ?o } WHERE { ?s x:q ?o } # nothing more",
    "DELETE { {t} } INSERT { {u} } WHERE {} ;",
)
_DATASET_UPDATES: Final = (
    "INSERT DATA { GRAPH :g1 { {t} } GRAPH :g2 { {u} } }",
    "DELETE { GRAPH ?g {?s :p ?o} } INSERT { GRAPH ?g {?s :q ?o} } WHERE { GRAPH ?g {?s :p ?o} }",
    "PREFIX : <urn:example:> DELETE DATA { GRAPH :g1 { {t} } }",
    "CLEAR SILENT GRAPH :g1",
    "CLEAR ALL",
    "MOVE SILENT :g1 TO :g2 ; ADD SILENT :g2 TO :g3",
)


class Writer:
    """Writes entries to the store of a world, as a feed would, and reads the kept texts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.target = world.graph if world.dataset is None else world.dataset

    @classmethod
    def over(cls, make_store: Callable[[], Store]) -> Writer:
        """Return the writer of a new store; raise `SkipTest` if its adapter is not `Writable`."""
        writer = cls(World(make_store()))
        with manager.locked(writer.world.store) as adapter:
            if not isinstance(adapter, Writable):
                raise SkipTest(
                    f"{type(adapter).__name__} has no `write` and `kept`: feeds cannot write to it"
                )
        return writer

    def write(
        self,
        changes: Changes,
        *,
        updates: Sequence[str] = (),
        name: str = NAME,
        keep: Mapping[str, str | None] | None = None,
    ) -> None:
        """Write one entry."""
        # in a batch, as mirrors write
        with batch(self.target), self._adapter() as adapter:
            native = {self._native(adapter, *quad): sign for quad, sign in changes.items()}
            adapter.write(self.target, Transaction(native, updates=updates, name=name, keep=keep or {}))

    def kept(self, name: str = NAME) -> dict[str, str]:
        """Return the texts kept under a name."""
        with self._adapter() as adapter:
            kept: dict[str, str] = adapter.kept(name)
            return kept

    def can_update(self) -> bool:
        """Return True if the store runs updates of this graph; only then it may not refuse them."""
        try:
            self.write({}, updates=["INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }"])
        except UnsupportedStoreError:
            return False
        return True

    @contextmanager
    def _adapter(self) -> Iterator[Any]:
        with manager.locked(self.world.store) as adapter:
            yield adapter

    def _native(self, adapter: Any, triple: Any, graph: Any) -> tuple[Any, ...]:
        if graph is None and self.world.dataset is not None:
            key = adapter.default_graph(self.world.dataset)
        else:
            key = adapter.graph_key(
                self.world.graph if graph is None else rdflib.Graph(self.world.store, graph)
            )
        # None, which no store can hold, is for entries that must fail
        return (*(part if part is None else adapter.to_native(part) for part in triple), key)

    def content(self) -> list[set[Any]]:
        """Return the triples of each graph."""
        return [set(graph) for graph in self.world.views()]

    def fail(self, changes: Changes, **entry: Any) -> Exception:
        """Write an entry that must fail, and return its error."""
        try:
            self.write(changes, **entry)
        except Exception as error:  # noqa: BLE001 - any error of the store
            return error
        raise AssertionError(f"an entry that must fail was written: {changes}, {entry}")


class RandomEntries:
    """Random entries over a small universe, with blank nodes and present triples."""

    def __init__(self, seed: str, writer: Writer) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a seeded test
        has_names = writer.world.dataset is not None
        self._graphs = (None, *NAMES, rdflib.BNode("h")) if has_names else (None,)
        self._updates = (*_UPDATES, *_DATASET_UPDATES) if has_names else _UPDATES
        self._counts = (0, 0, 1, 2) if writer.can_update() else (0,)

    def triple(self, *, blank: bool = True) -> Any:
        """Return a random triple, with blank nodes in place of some terms."""
        choose = self._random.choice
        s, p, o = term(f"{choose('abc')} {choose('pq')} {choose('abc12')}")
        parts = [
            rdflib.BNode("b" + str(part)[-1]) if blank and choose("01") == "1" else part for part in (s, o)
        ]
        return parts[0], p, parts[1]

    def changes(self) -> Changes:
        """Return random inserts and deletes of quads, or none."""
        choose = self._random.choice
        return {(self.triple(), choose(self._graphs)): choose((1, 1, -1)) for _ in range(choose((0, 1, 6)))}

    def updates(self) -> list[str]:
        """Return random SPARQL updates, or none."""
        return [self._update() for _ in range(self._random.choice(self._counts))]

    def _update(self) -> str:
        text = self._random.choice(self._updates)
        for name in ("{t}", "{u}"):
            # no blank nodes: each run of an update creates others, which cannot be compared with the twin's
            text = text.replace(name, " ".join(part.n3() for part in self.triple(blank=False)))
        return text

    def keep(self) -> dict[str, str | None]:
        """Return random keys with texts to keep, or None to remove."""
        choose = self._random.choice
        return {choose(ODD): choose((*ODD, None)) for _ in range(choose((0, 1, 2)))}
