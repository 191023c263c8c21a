"""The change log of an endpoint as a growing RDF Patch document."""

from __future__ import annotations

import io
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive.feeds import Entry, Line, read_entries, to_lines
from rdflive.feeds.entries import read_cursor, write_cursor
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.http import HttpFault, without_query
from rdflive_stores.endpoint.requests import EndpointAnswer, Requests, conditions

__all__ = ["PatchLog"]

PATCH_TYPES: Final = "application/rdf-patch, text/plain;q=0.5, */*;q=0.1"

_TAIL: Final = 1024
"""Number of bytes before a cursor that are compared with the earlier ones."""
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_CODE: Final = re.compile(r"[ \t]*([A-Z]+)")
_GONE: Final = frozenset({404, 410, 412})


class _LogPlace(NamedTuple):
    """A position after a byte and a line, with the CRC-32 of up to 1,024 bytes before it."""

    end: int = 0
    number: int = 0
    check: int = 0


class PatchLog:
    """Reads a log with GET, by byte range if the server supports it, otherwise in full.

    A cursor is that of a file, but with a checksum of 1,024 bytes. The bytes before it are fetched again and
    compared, so a truncated or rewritten log is detected. A last line without a line end, and a transaction
    without its TC, are read once they are complete.
    """

    def __init__(self, requests: Requests, url: str) -> None:
        self._requests = requests
        self._url = url
        self._name = without_query(url)
        self.seen_until: float | None = None

    def position(self) -> str:
        """Return the cursor at the end of the log; reads the full log to count lines."""
        answer = self._requests.attempt(
            self._url, lambda: self._requests.get(self._url, {"Accept": PATCH_TYPES}, (200,))
        )
        place = _LogPlace()
        for line in _complete(self._lines(answer.body, 0, place)):
            place = _LogPlace(line.end, line.number, line.check)
        return write_cursor(Line("", place.number, end=place.end, check=place.check))

    def behind(self, cursor: str) -> Iterator[Entry]:
        """Decode the current log after a cursor."""
        place = self._place(cursor)
        answer = self._requests.attempt(self._url, lambda: self._get(place, {}))
        yield from self._entries(answer, place)

    def follow(self, cursor: str, every: float | None) -> Iterator[Entry | None]:
        """Decode the log after a cursor every so many seconds (None: once); yield None before each look."""
        headers: dict[str, str] = {}
        while True:
            yield None
            place, look = self._place(cursor), time.monotonic()
            answer = self._requests.attempt(self._url, lambda: self._get(place, headers))  # noqa: B023 - called at once
            if answer.status != 304:
                for entry in self._entries(answer, place):
                    yield entry
                    cursor = entry.cursor
                # another cursor requests another range, for which this validator does not hold
                headers = conditions(answer.headers) if self._place(cursor) == place else {}
            self.seen_until = look
            if every is None:
                return
            self._requests.wait(every)

    def _place(self, cursor: str) -> _LogPlace:
        try:
            last = read_cursor(cursor)
        except RdfliveError as error:
            raise ResyncNeeded(self._name, f"{cursor!r} is not a position in an RDF Patch log") from error
        return _LogPlace(last.end, last.number, last.check)

    def _get(self, place: _LogPlace, headers: dict[str, str]) -> EndpointAnswer:
        headers = {"Accept": PATCH_TYPES, **headers}
        if place.end:
            headers["Range"] = f"bytes={_begin(place)}-"
        answer = self._requests.get(self._url, headers, (200, 206, 304, 416, *_GONE))
        if answer.status in _GONE:
            raise ResyncNeeded(self._name, f"the log is gone (HTTP {answer.status})")
        if answer.status == 416 and place.end:
            raise ResyncNeeded(self._name, f"the log ends before byte {place.end}, the position reached")
        if answer.status == 206:
            given = answer.headers.get("Content-Range", "")
            match = _RANGE.fullmatch(given)
            if match is None or int(match[1]) != _begin(place):
                raise HttpFault(f"it answers bytes={_begin(place)}- with {given!r}")
        return answer

    def _entries(self, answer: EndpointAnswer, place: _LogPlace) -> Iterator[Entry]:
        if answer.status == 416:
            return
        offset = 0 if answer.status == 200 else _begin(place)
        lines = self._lines(answer.body, offset, place)
        yield from read_entries(RDF_PATCH, _complete(lines), self._name)

    def _lines(self, body: bytes, offset: int, place: _LogPlace) -> Iterator[Line]:
        """Check the bytes before a position, and yield the lines after it with their checksums."""
        known = place.end - offset
        tail = body[max(0, known - _TAIL) : known]
        if len(body) < known or zlib.crc32(tail) != place.check:
            raise ResyncNeeded(
                self._name, f"the log has changed before byte {place.end}, the position reached"
            )
        # a last line without a line end is incomplete
        stream = io.BytesIO(body[: body.rfind(b"\n") + 1])
        stream.seek(known)
        for line in to_lines(stream, self._name, number=place.number, end=place.end):
            yield line._replace(check=zlib.crc32(body[max(0, line.end - offset - _TAIL) : line.end - offset]))


def _begin(place: _LogPlace) -> int:
    return max(0, place.end - _TAIL)


def _complete(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines of a transaction only once its end has arrived."""
    held: list[Line] = []
    for line in lines:
        match = _CODE.match(line.text)
        code = match[1] if match else ""
        if code == "TX":
            yield from held  # unfinished: the decoder refuses it
            held = [line]
        elif held and code not in ("TC", "TA"):
            held.append(line)
        else:
            yield from held
            yield line
            held = []
