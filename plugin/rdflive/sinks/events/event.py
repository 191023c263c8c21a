"""One event of a server, and its text as a server-sent event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

__all__ = ["LONGEST_PIECE", "Kind", "ServedEvent", "heartbeat"]

Kind: TypeAlias = Literal["initial", "update", "resync", "end"]

LONGEST_PIECE: Final = 1 << 16
"""Bytes of events that are sent at once."""
_PIECE: Final = 1000
"""Solutions in one piece of text."""


@dataclass(frozen=True)
class ServedEvent:
    """A message to clients: the full answer, a change of it, or the reason for having neither.

    `added` and `removed` are solutions as JSON, repeated by multiplicity; an ASK query has `boolean` instead.
    `id` is empty if no client can resume after this event.
    """

    kind: Kind
    id: str = ""
    sequence: int = 0
    first_sequence: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] | None = None
    """Pairs of old and new solutions as JSON, for a subscription with a key."""
    boolean: bool | None = None
    about: str = ""
    """Members of the data in front of the solutions, as JSON without braces."""

    @property
    def rows(self) -> int:
        """Number of solutions in the event."""
        return len(self.added) + len(self.removed) + 2 * len(self.changed or ())

    def pieces(self) -> Iterator[bytes]:
        """Yield the text of the event, up to 1000 solutions at a time."""
        # a short text is cached for all clients; caching a long one would double its memory
        if self.rows <= _PIECE:
            yield self._whole
            return
        yield self._head().encode()
        yield from _listed('"added": [', self.added)
        yield from _listed('], "removed": [', self.removed)
        if self.changed is not None:
            yield from _listed('], "changed": [', self.changed)
        yield b"]}\n\n"

    @cached_property
    def chunk(self) -> bytes | None:
        """The text of a short event as a chunk of HTTP/1.1, one for all clients; None for a long event."""
        if self.rows > _PIECE or len(self._whole) > LONGEST_PIECE:
            return None
        return b"%x\r\n%b\r\n" % (len(self._whole), self._whole)

    @cached_property
    def _whole(self) -> bytes:
        if self.kind in ("resync", "end"):
            return f"{self._head()}}}\n\n".encode()
        if self.boolean is not None:
            return f'{self._head()}"boolean": {json.dumps(self.boolean)}}}\n\n'.encode()
        lists = f'"added": [{", ".join(self.added)}], "removed": [{", ".join(self.removed)}]'
        if self.changed is not None:
            lists += f', "changed": [{", ".join(self.changed)}]'
        return f"{self._head()}{lists}}}\n\n".encode()

    def _head(self) -> str:
        name = f"id: {self.id}\n" if self.id else ""
        return f"{name}event: {self.kind}\ndata: {{{self._members()}"

    def _members(self) -> str:
        if self.kind in ("resync", "end"):
            return self.about
        first = f'"first_sequence": {self.first_sequence}, ' if self.kind == "update" else ""
        initial = json.dumps(self.kind == "initial")
        return f'"sequence": {self.sequence}, {first}"initial": {initial}, {self.about}'


def heartbeat(name: str, sequence: int) -> bytes:
    """Return an event that shows that the connection is alive, and a reader's place."""
    place = f"id: {name}\n" if name else ""
    return f'{place}event: heartbeat\ndata: {{"sequence": {sequence}}}\n\n'.encode()


def _listed(begin: str, texts: tuple[str, ...]) -> Iterator[bytes]:
    for start in range(0, len(texts), _PIECE):
        piece = ", ".join(texts[start : start + _PIECE])
        yield f"{begin if not start else ', '}{piece}".encode()
    # an empty list still needs its name
    if not texts:
        yield begin.encode()
