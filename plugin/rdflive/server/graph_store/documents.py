"""Documents in requests: received into a file, and parsed by a process of their own."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from starlette.requests import ClientDisconnect, Request

from rdflive.errors import FeedError
from rdflive.feeds import read_nquads, to_lines
from rdflive.feeds.lines import to_pieces
from rdflive.server.failures import Problem
from rdflive.server.graph_store import parsing
from rdflive.server.graph_store.parsing import ParsingOrder
from rdflive.server.settings import Limits
from rdflive.server.sparql.formats import DATASETS, GRAPHS, RDF_XML, TURTLE
from rdflive.server.sparql.operations import media_type
from rdflive.values import normal

__all__ = ["Document", "Row", "received"]

Row: TypeAlias = tuple[Any, Any, Any, Any]
"""A quad in terms of the store; the graph is None for the default graph."""

_READABLE: Final = frozenset({*GRAPHS, *DATASETS})
_ALIASES: Final = {"application/x-turtle": TURTLE, "application/xml": RDF_XML, "text/xml": RDF_XML}
_ENCODINGS: Final = {"": False, "identity": False, "gzip": True, "x-gzip": True}
_PROGRESS: Final = 65_536
"""Bytes that must arrive within the time limit of a body."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that has arrived."""

    file: IO[bytes]
    kind: str
    """The media type."""
    is_gzip: bool

    @property
    def is_dataset(self) -> bool:
        """True for a format that names graphs."""
        return self.kind in DATASETS

    @contextmanager
    def rows(self, limits: Limits, native: Any, base: str, *, is_dataset: bool) -> Iterator[Iterator[Row]]:
        """Parse the document, and yield its quads in terms of the store inside the block.

        `native` is the native store that takes terms of Oxigraph; with None the terms are rdflib's. `base`
        is the base of relative IRIs. Only with `is_dataset` may the document have named graphs. The iterator
        raises `Problem` 400 and 413. All is used in one thread.
        """
        order = ParsingOrder(
            self.kind,
            base,
            self.is_gzip,
            is_dataset and self.is_dataset,
            limits.store_bytes,
            limits.query_bytes,
            limits.query_seconds,
        )
        process = subprocess.Popen(  # noqa: S603 - this Python itself
            [sys.executable, "-P", parsing.__file__, order.text()],
            stdin=self.file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            try:
                yield _checked(process, _rdflib_rows if native is None else _native_rows)
            finally:
                process.kill()


def _checked(process: subprocess.Popen[bytes], read: Callable[[Any], Iterator[Row]]) -> Iterator[Row]:
    """Yield the quads that a parser writes, and raise its error at the end."""
    try:
        yield from read(process.stdout)
    except (SyntaxError, FeedError):
        # the parser may have ended in the middle of a line
        _check_end(process)
        raise
    _check_end(process)


def _check_end(process: subprocess.Popen[bytes]) -> None:
    """Raise the error of the document, if the parser has found one."""
    assert process.stderr is not None  # noqa: S101 - a pipe
    said = process.stderr.read().decode(errors="replace")
    status = process.wait()
    if not status:
        return
    if status == 1:
        # Python's warnings may come before
        members = json.loads(said.rpartition("\n")[2])
        raise Problem(members["status"], members["detail"], line=members["line"], column=members["column"])
    limit = "time" if status == -signal.SIGPROF else "memory"
    raise Problem(413, f"the document cannot be parsed within the {limit} of a query")


def _native_rows(stream: Any) -> Iterator[Row]:
    from pyoxigraph import DefaultGraph, RdfFormat, parse

    default = DefaultGraph()
    for quad in parse(stream, RdfFormat.N_QUADS):
        graph = quad.graph_name
        yield quad.subject, quad.predicate, quad.object, None if graph == default else graph


def _rdflib_rows(stream: Any) -> Iterator[Row]:
    for s, p, o, graph in read_nquads(to_lines(to_pieces(stream), "the document"), "the document"):
        # as the parsers of rdflib do
        yield s, p, normal(o), graph


async def received(request: Request, folder: Path | None) -> Document:
    """Receive the document of a request into a file without a name, in a folder.

    Raises `Problem` 415 for another format, 413 for a large document, and 408 for a slow one: its time limit
    is for each 64 KiB.
    """
    limits: Limits = request.app.state.service.limits
    kind, is_gzip = _declared(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.store_bytes:
        raise _too_large(limits)
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the document closes it
    try:
        await _fill(file, request, limits)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return Document(file, kind, is_gzip)


async def _fill(file: IO[bytes], request: Request, limits: Limits) -> None:
    size, due = 0, _PROGRESS
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(limits.body_seconds) as limit:
            async for piece in request.stream():
                size += len(piece)
                if size > limits.store_bytes:
                    raise _too_large(limits)
                file.write(piece)
                if size >= due:
                    due = size + _PROGRESS
                    limit.reschedule(clock() + limits.body_seconds)
    except TimeoutError as error:
        raise Problem(
            408, f"no {_PROGRESS:,} bytes of the body arrived within {limits.body_seconds:g} s"
        ) from error
    except ClientDisconnect as error:
        raise Problem(400, "the connection was closed in the middle of the body") from error


def _declared(request: Request) -> tuple[str, bool]:
    """Return the media type of a document, and True if it is compressed."""
    given, charset = media_type(request.headers.get("content-type", ""))
    kind = _ALIASES.get(given, given)
    if kind not in _READABLE:
        raise Problem(415, f"the body is {given}; send one of {', '.join(sorted(_READABLE))}")
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Problem(415, f"the body is in {charset!r}; send UTF-8")
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise Problem(415, f"the body is compressed by {encoding!r}; send it as it is, or by gzip")
    return kind, _ENCODINGS[encoding]


def _too_large(limits: Limits) -> Problem:
    # the rest of the body stays unread, so the connection cannot be reused
    return Problem(
        413, f"the document is larger than {limits.store_bytes:,} bytes", headers={"Connection": "close"}
    )
