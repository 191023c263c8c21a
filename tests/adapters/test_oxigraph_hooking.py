"""An OxigraphStore is hooked while it is watched, and afterwards as it was."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
import rdflib

from rdflive.errors import UnsupportedStoreError

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from oxrdflib import OxigraphStore
from pyoxigraph import Store

from rdflive_stores.oxigraph import rdflive_attach
from support.oxigraph import EX, Follower, node

A, B, P, G = (rdflib.URIRef(EX + name) for name in "abpg")


class Mine(OxigraphStore):
    """A store of a user's own, whose `add` makes two native writes."""

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        super().add(triple, context, quoted)
        super().add((triple[2], triple[1], triple[0]), context, quoted)


@pytest.mark.parametrize("plain", [OxigraphStore, Mine])
def test_detaching_leaves_no_trace(plain: type[OxigraphStore]) -> None:
    """What a subclass does in one operation is one commit; afterwards the store is what it was."""
    native = Store()
    store = plain(store=native)
    before = dict(vars(store))
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    follower = Follower(adapter, native)
    assert isinstance(store, plain)
    rdflib.Graph(store, G).add((A, P, B))
    assert follower.check() == 1
    adapter.capture.listeners.clear()
    adapter.detach()
    assert type(store) is plain
    assert vars(store) == before
    assert store._store is native
    assert len(native) == (1 if plain is OxigraphStore else 2)


def test_copying_and_pickling_are_as_on_a_plain_store() -> None:
    """A copy is plain, its writes are seen; a pickle fails with the error of the native store."""
    store, plain = OxigraphStore(), OxigraphStore(store=Store())
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    follower = Follower(adapter, store._inner.native)
    twin = copy.copy(store)
    assert type(twin) is OxigraphStore
    assert vars(twin).keys() == vars(plain).keys()
    rdflib.Graph(twin, G).add((A, P, B))
    assert follower.check() == 1
    for attempt in (pickle.dumps, copy.deepcopy):
        errors = []
        for one in (store, plain):
            with pytest.raises(TypeError) as caught:
                attempt(one)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_closing_a_watched_store_unlocks_its_directory(tmp_path: Path) -> None:
    """`Graph.close` frees the native store also while its adapter is held, and no later detach fails."""
    graph = rdflib.Graph(OxigraphStore(), G)
    graph.open(str(tmp_path / "store"), create=True)
    adapter = rdflive_attach(store=graph.store)
    assert adapter is not None
    graph.add((A, P, B))
    graph.close()
    assert type(graph.store) is OxigraphStore
    assert len(Store(str(tmp_path / "store"))) == 1
    adapter.detach()
    with pytest.raises(UnsupportedStoreError, match="closed"):
        rdflive_attach(store=graph.store)


def test_detaching_waits_for_a_batch_of_another_thread() -> None:
    """The store stays hooked until the open batch has ended, so none of its changes is lost."""
    store = OxigraphStore()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    thread = threading.Thread(target=adapter.detach)
    with adapter.capture.batch() as capture:
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        rdflib.Graph(store, G).add((A, P, B))
        assert capture.pending(node("g"))
    thread.join()
    assert type(store) is OxigraphStore


def test_no_write_is_lost_while_a_store_is_attached_and_detached() -> None:
    """Threads write all the time; hooking and unhooking the store neither fails nor loses a quad."""
    store = OxigraphStore(store=Store())  # oxrdflib makes one lazily, and two threads may make two
    graph = rdflib.Graph(store, G)
    done = threading.Event()
    errors: list[Exception] = []

    def write(name: str) -> None:
        try:
            for number in range(400):
                triple = (rdflib.URIRef(f"{EX}{name}{number}"), P, A)
                graph.add(triple)
                if number % 2:
                    graph.remove((triple[0], None, None))
        except Exception as error:  # noqa: BLE001 - reported below
            errors.append(error)

    def toggle() -> None:
        while not done.is_set():
            adapter = rdflive_attach(store=store)
            assert adapter is not None
            adapter.detach()

    writers = [threading.Thread(target=write, args=(name,)) for name in "xyz"]
    toggler = threading.Thread(target=toggle)
    for thread in (toggler, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    toggler.join()
    assert not errors
    assert len(graph) == 600
    assert type(store) is OxigraphStore
