"""The change log of a served store on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import rdflib

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins import manager
from rdflive.store import DurableStore, History, StoredLog

__all__ = ["writing_ahead"]


@contextmanager
def writing_ahead(dataset: rdflib.Dataset, log: StoredLog) -> Iterator[History]:
    """Write each commit inside the block into an opened log before the store has it.

    The block gets the history of the store, for `make_app`. Every change must be made in this process, and
    after `rdflive` has hooked the store, as everywhere. After the block the store refuses changes until it is
    opened again.

    Raises `ChangeLogError` for a log that cannot be written, and `UnsupportedStoreError` for a store that
    cannot number its commits.
    """
    with manager.hooked(manager.store_of(dataset)) as adapter:
        if not isinstance(adapter, DurableStore):
            raise UnsupportedStoreError(f"{type(adapter).__name__} cannot keep the number of a commit")
        capture = adapter.capture
        with capture.reading():
            number = adapter.kept_number()
            log.resume(number)
            history = History(log.epoch, number=number, sequence=capture.sequence)
            adapter.write_ahead(log, history)
        try:
            yield history
        finally:
            with capture.reading():
                adapter.flush()
                # `capture.ahead` stays: a change that the log lacks would make it wrong
                log.close()
