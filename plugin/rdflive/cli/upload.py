"""`rdflive load`: RDF files into the graphs of a server."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from typing import Final
from urllib.parse import urlencode

from rdflive.cli.changes import check_readable
from rdflive.cli.load import CountedFile, advancing, showing_progress, syntax_of
from rdflive.cli.server_address import server_address
from rdflive.client.failures import refused
from rdflive.errors import RdfliveError
from rdflive.http import Address, Exchange, Http, HttpFault, media_type

__all__ = ["DESCRIPTION", "EXAMPLES", "add_load_options", "run"]

DESCRIPTION: Final = """\
Send RDF files to a server (`rdflive serve`), which adds them to a graph. Triples go into the default graph or
that of --graph, and quads (.nq .trig) into the graphs that they name.

Each file is one commit, all or nothing, and followers of the server receive one delta for it. With --commit N
each N triples are a commit, and the server needs less memory: if such a file is refused or cut off, its
earlier commits stay. With --replace the files together replace what was there."""

EXAMPLES: Final = """\
examples:
  rdflive load http://127.0.0.1:8000 railway.ttl
  rdflive load http://127.0.0.1:8000 stations.nt.gz --graph http://example.org/stations --replace
  rdflive load https://example.org:8443 dataset.nq.gz --commit 100000 --token-env TOKEN

A refused file ends the run with its line and reason and exit code 2; files before it are written. After
Ctrl-C, exit code 130, nothing of a file that was not yet sent is written. A file that is sent again adds only
triples that are missing, except those with blank nodes, which are new nodes each time."""

_KINDS: Final = {
    "turtle": "text/turtle",
    "nt": "application/n-triples",
    "xml": "application/rdf+xml",
    "json-ld": "application/ld+json",
    "nquads": "application/n-quads",
    "trig": "application/trig",
}
"""The media types by rdflib's names of formats."""
_DATASETS: Final = frozenset({"nquads", "trig"})
_PATIENCE: Final = 24 * 3600.0
"""Seconds that the server may take to write a file."""
_SAID: Final = 1 << 16


def add_load_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive load`."""
    add = command.add_argument
    add("url", metavar="URL", help="the URL of a server, such as http://127.0.0.1:8000")
    add("files", nargs="+", metavar="FILE", help="RDF files: .ttl .nt .nq .trig .rdf .jsonld, also .gz")
    add("--graph", metavar="IRI", help="the graph to write (default: the default graph; not for .nq .trig)")
    add("--replace", action="store_true", help="replace the graph; with .nq and .trig the whole dataset")
    add(
        "--commit",
        type=_number,
        metavar="N",
        help="make a commit of each N triples, in place of one per file",
    )
    add("--token-env", metavar="VARIABLE", help="the environment variable with the token for the server")


def run(args: argparse.Namespace) -> None:
    """Send the files in order; raise `RdfliveError` for the first one that is refused."""
    syntaxes = [_syntax(path, args.graph) for path in args.files]
    for path in args.files:
        check_readable(path)
    address = server_address(args.url, args.token_env)
    replaced: set[bool] = set()
    with showing_progress() as progress:
        for path, syntax in zip(args.files, syntaxes, strict=True):
            is_dataset = syntax in _DATASETS
            # the files together replace what was there
            method = "PUT" if args.replace and is_dataset not in replaced else "POST"
            replaced.add(is_dataset)
            target = _target(address, args, is_dataset=is_dataset)
            size = os.path.getsize(path)
            task = progress.add_task(f"sending {path}", total=size or 1)
            with io.BufferedReader(CountedFile(path, advancing(progress, task, size))) as file:
                sequence = _send(address, method, target, file, path, _KINDS[syntax])
            progress.update(task, total=1, completed=1)
            print(f"{path}: written, commit {sequence}", flush=True)


def _syntax(path: str, graph: str | None) -> str:
    syntax = syntax_of(path)
    if syntax not in _KINDS:
        raise RdfliveError(f"{path}: servers read no {syntax}; known: .ttl .nt .nq .trig .rdf .jsonld")
    if graph is not None and syntax in _DATASETS:
        raise RdfliveError(f"{path}: a dataset names its graphs; leave --graph out")
    return syntax


def _target(address: Address, args: argparse.Namespace, *, is_dataset: bool) -> str:
    fields = {"graph": args.graph} if args.graph is not None else {} if is_dataset else {"default": ""}
    if args.commit is not None:
        fields["commit"] = str(args.commit)
    # `default` has no value
    query = urlencode(fields).replace("default=", "default")
    return address.url("/store") + (f"?{query}" if query else "")


def _send(
    address: Address, method: str, url: str, file: io.BufferedReader[CountedFile], path: str, kind: str
) -> str:
    """Send a file, and return the number of its last commit."""
    size = os.path.getsize(path)
    headers = {**address.headers(), "Content-Type": kind, "Content-Length": str(size)}
    if path.endswith(".gz"):
        headers["Content-Encoding"] = "gzip"
    try:
        with Http().send(method, url, timeout=_PATIENCE, headers=headers, body=file) as answer:
            if answer.status in (201, 204):
                return answer.headers.get("Rdflive-Sequence", "?")
            raise _refused(url, path, answer)
    except HttpFault as fault:
        raise RdfliveError(f"{path}: {url} cannot be reached: {fault}") from fault
    except KeyboardInterrupt:
        if file.raw.count >= size:
            print(f"{path} has been sent, and the server may still write it", file=sys.stderr)
        raise


def _refused(url: str, path: str, answer: Exchange) -> RdfliveError:
    body = answer.read(_SAID)
    if media_type(answer.headers) == "application/problem+json":
        hint = "; name a variable with its token by --token-env" if answer.status == 401 else ""
        return RdfliveError(f"{path}: {json.loads(body).get('detail')}{hint}")
    error = refused(url, answer.status, answer.headers, body)
    return RdfliveError(f"{path}: {error}")


def _number(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number of triples from 1, not {text!r}")
    return number
