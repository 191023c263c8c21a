"""`rdflive backup`: a copy of a store on disk, by its server or while no program has it open."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Final
from urllib.parse import quote

from rdflive.api.backup import StoreIsOpen, back_up_closed
from rdflive.cli.server_address import server_address
from rdflive.errors import RdfliveError
from rdflive.http import Http, HttpFault

__all__ = ["EXAMPLES", "TEXT", "add_backup_options", "run"]

TEXT: Final = """\
Copy an Oxigraph store on disk, with the positions of its feeds. A server makes the copy while it serves; it
needs --backups DIR. Where no program has the store open, the command makes the copy itself.

The copy is checked, and appears in one step when it is complete. On the disk of the store it shares files
with it, so it takes a moment and little room; copy it to another disk or machine too. It is a store: to
restore it, serve the folder, or move it to the place of the lost one."""

EXAMPLES: Final = """\
examples:
  rdflive backup http://127.0.0.1:8000 2026-11-30 --token-env BACKUP_TOKEN
  rdflive backup railway.db /backups/railway-2026-11-30.db
  rdflive serve /backups/railway-2026-11-30.db"""

_SECONDS: Final = 3600.0
"""The longest wait for a server, which may have to copy a large store to another disk."""
_LONGEST: Final = 1 << 16


def add_backup_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive backup`."""
    command.add_argument(
        "store", metavar="STORE_OR_URL", help="the folder of a store, or the URL of its server"
    )
    command.add_argument(
        "target",
        metavar="TARGET",
        help="the new folder; for a URL the name of a folder, in the folder of the server's --backups",
    )
    command.add_argument(
        "--token-env",
        metavar="VARIABLE",
        help="the environment variable with the token, which needs the right to backup",
    )


def run(args: argparse.Namespace) -> None:
    """Make the backup, and print where it is."""
    if args.store.startswith(("http://", "https://")):
        _ask_server(args)
        return
    if args.token_env is not None:
        raise RdfliveError("--token-env goes with the URL of a server")
    if not os.path.exists(os.path.join(args.store, "CURRENT")):
        raise RdfliveError(f"{args.store}: is not the folder of an Oxigraph store")
    try:
        back_up_closed(Path(args.store), Path(args.target))
    except StoreIsOpen as error:
        raise RdfliveError(f"{error}; back it up by its server: rdflive backup URL NAME") from error
    print(f"{args.target} has a copy of {args.store}: rdflive serve {args.target}", file=sys.stderr)


def _ask_server(args: argparse.Namespace) -> None:
    address = server_address(args.store, args.token_env)
    url = address.url(f"/backup?name={quote(args.target, safe='')}")
    try:
        with Http().send("POST", url, timeout=_SECONDS, headers=address.headers(), body=b"") as answer:
            status, said = answer.status, answer.read(_LONGEST)
    except HttpFault as fault:
        raise RdfliveError(f"{args.store}: {fault}") from fault
    if status != 201:
        raise RdfliveError(f"{args.store}: {_detail(said) or f'HTTP {status}'}")
    print(f"the server has made the backup {args.target}", file=sys.stderr)


def _detail(said: bytes) -> str:
    try:
        return str(json.loads(said)["detail"])
    except (ValueError, KeyError, TypeError):
        return ""
