"""The dataset of `rdflive serve --follow`: it begins as the snapshot of a primary, or where it ended."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import rdflib

from rdflive.api.target import GraphTarget
from rdflive.cli.load import load
from rdflive.cli.server_address import server_address
from rdflive.errors import RdfliveError
from rdflive.feeds import open_lines, read_nquads
from rdflive.http import Address, HttpFault, RetryPace
from rdflive.server.primary import CommitPlace, Primary
from rdflive.server.replica import REPLICA, kept_place, texts_of

__all__ = ["address_of_primary", "begin_following", "end_following"]

_LOADING: Final = "loading"
_PACE: Final = RetryPace()


def address_of_primary(args: argparse.Namespace) -> Address:
    """Return the address and the token of `--follow URL`; raise `RdfliveError`."""
    try:
        return server_address(args.follow, args.token_env)
    except RdfliveError as error:
        raise RdfliveError(f"--follow: {error}") from error


def begin_following(
    dataset: rdflib.Dataset, primary: Primary, store_path: str | None, *, is_known: bool = True
) -> CommitPlace:
    """Return the place of the primary that a dataset has, after the first snapshot if it has none.

    A store on disk has its place from the run before; `is_known` is False if other programs may have changed
    it since, so that it needs a snapshot. Waits for a primary that cannot be reached. Raises `RdfliveError`
    for a store with other data, and for a primary that refuses.
    """
    if store_path is None:
        return _fill(dataset, primary, None)
    place = kept_place(dataset)
    if place is None or not is_known:
        return _fill(dataset, primary, Path(os.path.realpath(store_path)).parent)
    return place


def end_following(dataset: rdflib.Dataset) -> None:
    """Make a store that was a replica one with data of its own, which may change by itself from now on.

    Raises `RdfliveError` for one with part of a snapshot.
    """
    target = GraphTarget(dataset)
    kept = target.kept(REPLICA)
    if _LOADING in kept:
        raise RdfliveError(
            f"the store has part of the snapshot of {kept[_LOADING]}: complete it by --follow, or remove the "
            "folder"
        )
    if kept:
        target.write((), (), REPLICA, dict.fromkeys(kept))


def _fill(dataset: rdflib.Dataset, primary: Primary, scratch: Path | None) -> CommitPlace:
    """Load the primary's snapshot; a store on disk is marked until it is complete."""
    target = GraphTarget(dataset)
    is_empty = next(dataset.quads(), None) is None
    if not is_empty and not target.kept(REPLICA):
        raise RdfliveError(
            "--follow: the store has data of its own, which a replica would replace; name a new folder with "
            "--store-path"
        )
    if scratch is not None:
        target.write((), (), REPLICA, {_LOADING: primary.url})
    with TemporaryDirectory(dir=scratch) as folder:
        file = Path(folder) / "snapshot.nq"
        place = _snapshot(primary, file)
        if is_empty:
            load(dataset, [str(file)])
        else:
            with open_lines(str(file)) as lines:
                target.replace(read_nquads(lines, primary.url), REPLICA, {})
    if scratch is not None:
        # together: a store that has neither would be one with data of its own
        target.write((), (), REPLICA, {_LOADING: None, **texts_of(place)})
    return place


def _snapshot(primary: Primary, file: Path) -> CommitPlace:
    tries = 0
    while True:
        try:
            return primary.snapshot(file)
        except HttpFault as fault:
            if not fault.passes:
                raise RdfliveError(f"--follow {primary.url}: {fault}") from fault
            tries += 1
            if tries == 1:
                print(f"{primary.url}: {fault}; waiting for it", file=sys.stderr, flush=True)
            primary.closed.wait(_PACE.pause(tries, fault.retry_after))
