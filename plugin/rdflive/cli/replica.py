"""The dataset of `rdflive serve --follow`: it begins as the snapshot of a primary, or where it ended."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import rdflib

from rdflive.api.target import GraphTarget
from rdflive.cli.load import load
from rdflive.errors import RdfliveError
from rdflive.feeds import open_lines, read_nquads
from rdflive.http import Address, HttpFault, RetryPace
from rdflive.server.primary import Place, Primary
from rdflive.server.replica import REPLICA, Replica, keep_place, kept_place

__all__ = ["address_of_primary", "end_following", "open_replica"]

_LOADING: Final = "loading"
_PACE: Final = RetryPace()


def address_of_primary(args: argparse.Namespace) -> Address:
    """Return the address and the token of `--follow URL`; raise `RdfliveError`."""
    token = None if args.token_env is None else os.environ.get(args.token_env)
    if args.token_env is not None and not token:
        raise RdfliveError(f"the environment variable {args.token_env}, the token of --token-env, is not set")
    try:
        return Address.parse(args.follow, token)
    except ValueError as error:
        reason = str(error).replace("give token= instead", "name a variable with its token by --token-env")
        raise RdfliveError(f"--follow: {reason}") from error


def open_replica(dataset: rdflib.Dataset, address: Address, store_path: str | None) -> Replica:
    """Return the replica in a dataset, after its first snapshot; wait for a primary that cannot be reached.

    A store on disk with a place of the primary goes on from there, also while the primary is away. Raises
    `RdfliveError` for a store with other data, and for a primary that refuses.
    """
    primary = Primary(address)
    scratch = None if store_path is None else Path(os.path.realpath(store_path)).parent
    place = None if store_path is None else kept_place(dataset)
    if place is None:
        place = _fill(dataset, primary, scratch)
    older: list[tuple[int, str]] = []
    # without them, clients with older ids have to read the whole answer again
    with suppress(HttpFault, RdfliveError):
        older = list(primary.kept(place))
    return Replica(dataset, primary, place, older=older, scratch=scratch)


def end_following(dataset: rdflib.Dataset) -> None:
    """Make a store on disk that was a replica one with data of its own, as it may now change by itself."""
    target = GraphTarget(dataset)
    kept = target.kept(REPLICA)
    if _LOADING in kept:
        raise RdfliveError(
            f"the store has part of the snapshot of {kept[_LOADING]}: complete it by --follow, or remove the "
            "folder"
        )
    if kept:
        target.write((), (), REPLICA, dict.fromkeys(kept))


def _fill(dataset: rdflib.Dataset, primary: Primary, scratch: Path | None) -> Place:
    """Load the primary's snapshot; a store on disk is marked until it is complete."""
    target = GraphTarget(dataset)
    is_empty = next(dataset.quads(), None) is None
    if not is_empty and _LOADING not in target.kept(REPLICA):
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
        target.write((), (), REPLICA, {_LOADING: None})
        keep_place(dataset, place)
    return place


def _snapshot(primary: Primary, file: Path) -> Place:
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
