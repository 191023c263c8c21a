"""The dataset that `rdflive watch` works on: loaded anew, or on disk and loaded once."""

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

__all__ = ["RESERVED_NAME", "load_once", "opened"]

RESERVED_NAME: Final = "rdflive watch"
"""Under this name it is kept with the data whether a load has begun and whether it was complete."""


@contextmanager
def opened(store: str, path: str | None, *, union: bool) -> Iterator[rdflib.Dataset]:
    """Open a dataset in memory, or the one on disk; another process that has it open is an error."""
    dataset = open_dataset(store, union=union)
    if path is None:
        yield dataset
        return
    _check_folder(path)
    try:
        dataset.open(path)
    except (OSError, ValueError) as error:
        if "lock file" in str(error) or "lock hold" in str(error):  # as RocksDB says it
            raise RdfliveError(
                f"{path}: is open in another program; end that, or name another folder"
            ) from error
        raise RdfliveError(f"{path}: cannot be opened as a store of Oxigraph: {error}") from error
    try:
        yield dataset
    finally:
        dataset.close()


def _check_folder(path: str) -> None:
    """Refuse a folder that holds other things, among which Oxigraph would put its files."""
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, "CURRENT")):
        raise RdfliveError(f"{path}: is no store of Oxigraph and not empty; name a new folder")


def load_once(
    dataset: rdflib.Dataset,
    paths: Sequence[str],
    *,
    store_path: str | None,
    feed: str | None,
    is_snapshot: bool = False,
) -> bool:
    """Load the files, unless the store on disk holds them since an earlier run, and tell whether it did.

    A store that holds something else, or what a run that was cut short loaded, is an error.
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
        print(f"{store_path} holds what {feed} said before: going on behind it", file=sys.stderr)
    if "loaded" in kept:
        _tell_loaded(kept["loaded"].split("\n"), paths, store_path)
        return False
    if going_on and (is_snapshot or not paths):
        return False
    if going_on or next(dataset.quads(), None) is not None:
        _check_foreign(kept.get("loading"), paths, store_path)
    if paths:
        # before the load: it stays if the run is killed in it
        target.write((), (), RESERVED_NAME, {"loading": " ".join(paths)})
    load(dataset, paths)
    # a run without DATA leaves it to a later one to load some
    names = "\n".join(map(os.path.realpath, paths))
    loaded = {"loaded": names, "prefixes": _prefixes(dataset)} if paths else {}
    target.write((), (), RESERVED_NAME, {"loading": None, **loaded})
    return True


def _prefixes(dataset: rdflib.Dataset) -> str:
    """Write the prefixes that files have declared, which no store of Oxigraph keeps."""
    return json.dumps(own_prefixes(dataset))


def _tell_loaded(loaded: Sequence[str], paths: Sequence[str], store_path: str) -> None:
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
            f"{store_path}: is in use already, and {names} was never loaded into it; leave {names} out to go "
            "on with what it holds, or name another folder"
        )
