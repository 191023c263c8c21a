"""The dataset of a command: in memory, or on disk and loaded once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import rdflib

from rdflive.api.target import GraphTarget
from rdflive.cli.load import load, open_dataset
from rdflive.errors import RdfliveError
from rdflive.syntax.prefixes import own_prefixes

__all__ = ["RESERVED_NAME", "check_folder", "load_once", "opened"]

RESERVED_NAME: Final = "rdflive watch"
"""The name under which the store keeps the state of the load: begun or complete."""


@contextmanager
def opened(store: str, path: str | None, *, union: bool) -> Iterator[rdflib.Dataset]:
    """Open a dataset in memory, or the one on disk; raise an error if another process has it open."""
    dataset = open_dataset(store, union=union)
    if path is None:
        yield dataset
        return
    check_folder(path)
    try:
        dataset.open(path)
    except (OSError, ValueError) as error:
        if "lock file" in str(error) or "lock hold" in str(error):  # the messages of RocksDB
            raise RdfliveError(
                f"{path}: is open in another program; end that, or name another folder"
            ) from error
        raise RdfliveError(f"{path}: cannot be opened as an Oxigraph store: {error}") from error
    try:
        yield dataset
    finally:
        dataset.close()


def check_folder(path: str) -> None:
    """Refuse a folder with other files, to which Oxigraph would add its own."""
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, "CURRENT")):
        raise RdfliveError(f"{path}: is not an Oxigraph store and not empty; name a new folder")


def load_once(
    dataset: rdflib.Dataset,
    paths: Sequence[str],
    *,
    store_path: str | None,
    feed: str | None,
    is_snapshot: bool = False,
) -> bool:
    """Load the files unless the store on disk has them from an earlier run; return True if it loaded them.

    A store with other data, or with an incomplete load, is an error.
    """
    if store_path is None:
        load(dataset, paths)
        return True
    target = GraphTarget(dataset)
    kept = target.kept(RESERVED_NAME)
    for prefix, namespace in json.loads(kept.get("prefixes", "{}")).items():
        dataset.bind(prefix, namespace, replace=True)
    going_on = feed is not None and bool(target.kept(feed))
    if going_on:
        print(f"{store_path} holds earlier changes of {feed}: resuming after them", file=sys.stderr)
    if "loaded" in kept:
        _report_loaded(kept["loaded"].split("\n"), paths, store_path)
        return False
    if going_on and (is_snapshot or not paths):
        return False
    cut = kept.get("loading")
    # a load that was cut short before its first quad can be repeated, but not be taken for one of no data
    if going_on or next(dataset.quads(), None) is not None or (cut is not None and not paths):
        _check_foreign(cut, paths, store_path)
    if paths:
        # before the load: it stays if the run is killed during the load
        target.write((), (), RESERVED_NAME, {"loading": " ".join(paths)})
    load(dataset, paths)
    # after a run without DATA a later run may load DATA
    names = "\n".join(map(os.path.realpath, paths))
    loaded = {"loaded": names, "prefixes": _prefixes(dataset)} if paths else {}
    target.write((), (), RESERVED_NAME, {"loading": None, **loaded})
    return True


def _prefixes(dataset: rdflib.Dataset) -> str:
    """Return the prefixes of the files as JSON; Oxigraph does not keep them."""
    return json.dumps(own_prefixes(dataset))


def _report_loaded(loaded: Sequence[str], paths: Sequence[str], store_path: str) -> None:
    names = " ".join(paths)
    if paths and [os.path.realpath(path) for path in paths] == loaded:
        print(f"{store_path} is loaded: {names} not loaded again", file=sys.stderr)
    elif paths:
        print(f"{store_path} was loaded from {' '.join(loaded)}: {names} not loaded", file=sys.stderr)


def _check_foreign(cut: str | None, paths: Sequence[str], store_path: str) -> None:
    if cut is not None:
        raise RdfliveError(
            f"{store_path}: the load of {cut} was cut short; remove the folder {store_path} to load it again"
        )
    if paths:
        names = " ".join(paths)
        raise RdfliveError(
            f"{store_path}: is in use already, and {names} was never loaded into it; leave {names} out to "
            "use its data, or name another folder"
        )
