"""The server that a replica follows: its snapshot, and its change log as a stream of events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from rdflive.errors import ResyncNeeded
from rdflive.feeds import read_entries, to_lines
from rdflive.feeds.event_stream import EVENT_STREAM, StreamEvent, read_events
from rdflive.feeds.rdf_patch import RDF_PATCH, encode_rdf_patch
from rdflive.http import Address, Exchange, Http, HttpFault, media_type
from rdflive.model import Batch, Change

__all__ = ["CommitPlace", "Primary", "PrimaryCommit"]

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_NQUADS: Final = "application/n-quads"
_SILENCE: Final = 45.0
"""Seconds of silence after which a connection is lost; a server sends a heartbeat every 15 seconds."""
_START: Final = "start"
_GONE: Final = frozenset({410, 412})


class CommitPlace(NamedTuple):
    """A state of a dataset: the one after a commit of a history.

    >>> str(CommitPlace(7, "0badcafe"))
    '7-0badcafe'
    """

    sequence: int
    """The number of the commit."""
    epoch: str
    """The name of the history."""

    @classmethod
    def parse(cls, text: str) -> CommitPlace:
        """Return the place of an event's id; raise `HttpFault` for any other text."""
        match = _ID.fullmatch(text)
        if match is None:
            raise HttpFault(f"it sends {text[:50]!r}, which is no id of rdflive; is it a server of rdflive?")
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.sequence}-{self.epoch}"


class PrimaryCommit(NamedTuple):
    """An event of the primary's log."""

    place: CommitPlace
    """The place after the event."""
    changes: tuple[Change, ...] | None
    """The changes of a commit; None if the event only says where the log is."""
    last: int
    """The number of the primary's last commit, as far as the event shows."""


class Primary:
    """Requests to a primary; failures raise `HttpFault`. Any thread may call `close`."""

    def __init__(self, address: Address) -> None:
        self._http = Http(address.headers(), redirects=True, proxies=True)
        self._address = address
        self.url = address.url()
        """The URL for messages; it has no secrets."""
        self.closed = self._http.closed
        """Set by `close`."""

    def close(self) -> None:
        """End all requests, including later ones."""
        self._http.close()

    def snapshot(self, path: Path) -> CommitPlace:
        """Write the whole dataset to a file of N-Quads; return the place of exactly that state."""
        with self._get("/store", {"Accept": _NQUADS}) as answer, path.open("wb") as file:
            if (kind := media_type(answer.headers)) != _NQUADS:
                raise HttpFault(f"its /store is {kind}, not {_NQUADS}; is it a server of rdflive?")
            place = CommitPlace.parse(answer.headers.get("Last-Event-ID", ""))
            file.writelines(answer)
        return place

    def kept(self, until: CommitPlace) -> Iterator[tuple[int, str]]:
        """Yield the number and the patch of each commit that the primary still has, up to a place."""
        for number, commit in enumerate(self.follow(None)):
            if commit.place.epoch != until.epoch or commit.place.sequence > until.sequence:
                return
            if commit.changes is not None:
                yield commit.place.sequence, encode_rdf_patch(Batch(commit.changes))
            elif number:  # a heartbeat: there are no more
                return
            if commit.place.sequence == until.sequence:
                return

    def follow(self, after: CommitPlace | None) -> Iterator[PrimaryCommit]:
        """Yield the events after a place, or after the oldest place that the log has, as they arrive.

        Raises `ResyncNeeded` if the log does not reach back to the place, or belongs to another history.
        """
        headers = {"Accept": EVENT_STREAM, **({} if after is None else {"Last-Event-ID": str(after)})}
        path = f"/changes?since={_START}" if after is None else "/changes"
        last = 0
        with self._get(path, headers, accepted=(200, *_GONE)) as answer:
            self._check(answer)
            for event in read_events(to_lines(answer, self.url), "" if after is None else str(after)):
                if event.kind == "resync":
                    raise ResyncNeeded(self.url, "its change log does not reach back to this replica's state")
                if event.kind == "behind":
                    last = _number(event)
                else:
                    place = CommitPlace.parse(event.id)
                    last = max(last, place.sequence)
                    yield PrimaryCommit(place, self._changes(event), last)

    def _check(self, answer: Exchange) -> None:
        if answer.status in _GONE:
            raise ResyncNeeded(self.url, "its change log no longer has this replica's state")
        if (kind := media_type(answer.headers)) != EVENT_STREAM:
            raise HttpFault(f"its /changes is {kind}, not {EVENT_STREAM}; is it a server of rdflive?")

    def _changes(self, event: StreamEvent) -> tuple[Change, ...] | None:
        if event.kind != "patch":
            return None
        entries = list(read_entries(RDF_PATCH, event.frame, self.url))
        for entry in entries:
            if entry.error is not None:
                raise entry.error
        return tuple(chain.from_iterable(entry.batch.changes for entry in entries))

    def _get(self, path: str, headers: dict[str, str], accepted: tuple[int, ...] = (200,)) -> Exchange:
        answer = self._http.send("GET", self._address.url(path), timeout=_SILENCE, headers=headers)
        if answer.status in accepted:
            return answer
        raise answer.refusal()


def _number(event: StreamEvent) -> int:
    text = "".join(line.text for line in event.frame)
    return int(text) if text.isascii() and text.isdigit() else 0
