"""RDF files that are followed as they are edited: each edit is one commit with what it changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import rdflib

from rdflive.api.target import GraphTarget
from rdflive.cli.blank_nodes import named_by_content
from rdflive.cli.changes import is_stream
from rdflive.cli.load import load
from rdflive.cli.out_file import reason
from rdflive.errors import RdfliveError, ValidationError
from rdflive.model import Quad
from rdflive.values import normal

__all__ = ["EditedFiles"]

_LABELLED: Final = (".nt", ".nq", ".nt.gz", ".nq.gz")
"""Syntaxes whose blank nodes have labels that stay."""
_State: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""When each file was written, its size, and its number in the file system, which a replaced file has not."""


class EditedFiles:
    """Keeps a dataset equal to what files hold together.

    All are read again when one has changed, by its time and size. They are looked at every so many seconds,
    and read when they look the same twice: an editor that writes in two steps is not met in between. What
    cannot be read is reported once, and what was there before stays.
    """

    def __init__(self, dataset: rdflib.Dataset, paths: Sequence[str], every: float) -> None:
        for path in paths:
            if is_stream(path):
                raise RdfliveError(f"{path}: is no file that could be edited; give changes with --changes")
        self._dataset = dataset
        self._paths = paths
        self._every = every
        self._seen = self._state()

    def load(self) -> None:
        """Read them for the first time; raises what is wrong."""
        self._seen = self._state()
        whole = self._dataset
        quads = [
            (s, p, normal(o), whole.default_graph if name is None else whole.graph(name))
            for s, p, o, name in self._quads()
        ]
        # not by `_take`, whose commit would be the first one of a graph without subscriptions
        whole.store.addN(quads)

    def looks(self) -> Iterator[None]:
        """Look for edits, for ever, and apply each; what could not be applied is told on standard error."""
        before = self._seen
        while True:
            yield
            time.sleep(self._every)
            now = self._state()
            if now == self._seen or now != before:
                before = now
                continue
            self._seen = now
            try:
                quads = self._quads()
            except (RdfliveError, OSError) as error:
                print(f"{reason(error)}; what was read before stays", file=sys.stderr, flush=True)
                continue
            if self._state() == now:
                self._take(quads)

    def _state(self) -> _State:
        return tuple(map(_found, self._paths))

    def _quads(self) -> list[Quad]:
        read = rdflib.Dataset()
        load(read, self._paths)
        for prefix, namespace in read.namespaces():
            self._dataset.bind(prefix, namespace, replace=True)
        quads = [Quad(s, p, o, graph) for s, p, o, graph in read.quads()]
        return quads if all(path.endswith(_LABELLED) for path in self._paths) else named_by_content(quads)

    def _take(self, quads: list[Quad]) -> None:
        """Apply an edit, unless a guard refuses it; that is reported, and what was there before stays."""
        try:
            GraphTarget(self._dataset).replace(quads, "", {})
        except ValidationError as error:
            print(f"{error}\nwhat was read before stays", file=sys.stderr, flush=True)
        except ValueError as error:
            raise RdfliveError(f"the store refuses a term: {error}") from error


def _found(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:  # an editor that replaces a file takes it away for a moment
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
