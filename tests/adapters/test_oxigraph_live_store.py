"""A LiveStore behaves as the store it stands for, and keeps the promises of the capture."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rdflive.store.deliveries import Delivering

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from pyoxigraph import Quad, RdfFormat, Store

from rdflive_stores.oxigraph import LiveStore
from support.oxigraph import KNOWN, NEW, OLD, followed, node, quad


def test_an_unheard_bulk_operation_keeps_nothing_in_memory() -> None:
    """The native bulk loader receives the iterable itself without a subscription, else a list."""

    class Loader:
        def contains_named_graph(self, name: Any) -> bool:
            return False

        def bulk_extend(self, quads: Any) -> None:
            self.given = quads

    live, loader, quads = LiveStore(), Loader(), iter([NEW])
    live.native = loader  # type: ignore[assignment]  # records what the native method would get
    live.bulk_extend(quads)
    assert loader.given is quads


def test_callbacks_run_outside_the_lock_and_may_write() -> None:
    """A delivery sees the finished write, other threads can write meanwhile, and it may write itself."""
    live, follower = followed()
    seen: list[int] = []

    def delivery() -> None:
        other = threading.Thread(target=live.add, args=(quad("t p t g"),))
        other.start()
        other.join(5)
        assert not other.is_alive()
        live.update("INSERT DATA { <urn:example:c> <urn:example:p> <urn:example:b> }")
        seen.append(len(live))

    for write in (
        lambda: live.add(NEW),
        lambda: live.load("<urn:a> a <urn:b> .", RdfFormat.TURTLE),
        live.clear,
    ):
        with live.capture.lock:
            live.capture.enqueue(Delivering(delivery))
        write()
        assert follower.check()
    assert len(seen) == 3


def test_an_iterable_may_read_and_write_the_store_itself() -> None:
    """The quads are all taken before the first one is written, so their source may use the store."""
    live, follower = followed()

    def quads() -> Iterator[Quad]:
        yield OLD
        live.remove(OLD)
        yield quad("n p n -")

    live.extend(quads())
    live.bulk_extend(Quad(*q.triple, node("copy")) for q in live)
    assert OLD in live
    follower.check()


def test_the_stand_in_has_the_signatures_of_the_store() -> None:
    """Every public name of `pyoxigraph.Store` is there with the same parameters."""
    for name in (name for name in dir(Store) if not name.startswith("_")):
        mine, native = (inspect.signature(getattr(kind, name)).parameters for kind in (LiveStore, Store))
        shown = [[(p.name, p.kind, p.default) for p in list(part.values())[1:]] for part in (mine, native)]
        assert shown[0] == shown[1], name


def test_the_stand_in_keeps_the_store(tmp_path: Path) -> None:
    """It is flushed, optimized and backed up as the store is, and stands for no other stand-in."""
    native = Store(str(tmp_path / "store"))
    native.extend(KNOWN)
    live = LiveStore(native)
    live.flush()
    live.optimize()
    live.backup(tmp_path / "copy")
    assert len(live.read_only(str(tmp_path / "copy"))) == len(live) == len(KNOWN)
    assert (str(live), repr(native) in repr(live), bool(LiveStore())) == (str(native), True, False)
    with pytest.raises(TypeError, match=r"pyoxigraph\.Store"):
        LiveStore(live)  # type: ignore[arg-type]  # the error under test


class Interrupted:
    """A native store whose bulk loader stops half way, as a full disk may make it."""

    def __init__(self, native: Store) -> None:
        self._native = native

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def __contains__(self, one: object) -> bool:
        return one in self._native

    def bulk_extend(self, quads: list[Quad]) -> None:
        self._native.extend(quads[: len(quads) // 2])
        raise OSError("disk full")


def test_a_bulk_operation_that_stops_half_way_records_what_got_in() -> None:
    """After a failure the captured quads are those that the store really took."""
    live, follower = followed()
    live.native = Interrupted(live.native)  # type: ignore[assignment]  # stands in for a failing disk
    with pytest.raises(OSError, match="disk full"):
        live.bulk_extend([quad(f"n p {number} g") for number in range(10)])
    assert follower.check() == 1
    assert len(follower.quads) == len(KNOWN) + 5
