"""RDF files that are followed as they are edited; each edit is one commit."""

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
"""Syntaxes whose blank nodes keep their labels."""
_State: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""The modification time, size and inode of each file; None for a missing file."""


class EditedFiles:
    """Keeps a dataset equal to the union of files.

    The files are checked every `every` seconds for changes of time, size and inode. After a change all files
    are read again, once two checks agree, so that an editor may write in two steps. Files that cannot be read
    are reported once, and leave the data as they were.
    """

    def __init__(self, dataset: rdflib.Dataset, paths: Sequence[str], every: float) -> None:
        for path in paths:
            if is_stream(path):
                raise RdfliveError(f"{path}: is not a file that can be edited; give changes with --changes")
        self._dataset = dataset
        self._paths = paths
        self._every = every
        self._seen = self._state()

    def load(self) -> None:
        """Read the files for the first time; raise their errors."""
        self._seen = self._state()
        whole = self._dataset
        quads = [
            (s, p, normal(o), whole.default_graph if name is None else whole.graph(name))
            for s, p, o, name in self._quads()
        ]
        # not by `_take`, which would make the load a numbered commit
        whole.store.addN(quads)

    def looks(self) -> Iterator[None]:
        """Check for edits without end, yield before each check, and print errors to standard error."""
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
                print(f"{reason(error)}; the earlier data stay", file=sys.stderr, flush=True)
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
        """Apply an edit; report an edit that a guard refuses, which leaves the data as they were."""
        try:
            GraphTarget(self._dataset).replace(quads, "", {})
        except ValidationError as error:
            print(f"{error}\nthe earlier data stay", file=sys.stderr, flush=True)
        except ValueError as error:
            raise RdfliveError(f"the store refuses a term: {error}") from error


def _found(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:  # an editor that replaces a file may remove it for a moment
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
