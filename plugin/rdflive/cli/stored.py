"""The dataset that `rdflive watch` works on: loaded anew, or on disk and loaded once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import rdflib

from rdflive.cli.load import load, open_dataset
from rdflive.errors import RdfliveError
from rdflive.target import GraphTarget

__all__ = ["load_once", "opened"]

_NAME: Final = "rdflive watch"
"""Under this name it is kept with the data that a load was complete."""


@contextmanager
def opened(store: str, path: str | None, *, union: bool) -> Iterator[rdflib.Dataset]:
    """Open a dataset in memory, or the one on disk; another process that has it open is an error."""
    dataset = open_dataset(store, union=union)
    if path is None:
        yield dataset
        return
    try:
        dataset.open(path)
    except (OSError, ValueError) as error:
        raise RdfliveError(f"{path}: cannot be opened as a store of Oxigraph: {error}") from error
    try:
        yield dataset
    finally:
        dataset.close()


def load_once(
    dataset: rdflib.Dataset, paths: Sequence[str], *, store_path: str | None, feed: str | None
) -> None:
    """Load the files, unless the store on disk holds them, and the changes of the feed, since an earlier run.

    A store that holds something else, or what a killed run loaded of them, is an error.
    """
    if store_path is None:
        load(dataset, paths)
        return
    target = GraphTarget(dataset)
    going_on = feed is not None and bool(target.kept(feed))
    if going_on:
        print(f"{store_path} holds what {feed} said before: going on behind it", file=sys.stderr)
    if going_on or target.kept(_NAME):
        if paths:
            print(f"{store_path} is loaded: {' '.join(paths)} not loaded again", file=sys.stderr)
        return
    if paths and next(target.quads(), None) is not None:
        raise RdfliveError(
            f"{store_path}: holds data already, of another program or of a load that was cut short; leave "
            "DATA out to go on with what it holds, or remove it"
        )
    load(dataset, paths)
    target.write((), (), _NAME, {"loaded": "yes"})
