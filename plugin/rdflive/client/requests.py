"""Requests to a server, for one document or an endless stream of messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import inf
from typing import Any, Final, NamedTuple

from rdflive.client.failures import MalformedEvent, ServerError, refused
from rdflive.client.question import ServedQuestion
from rdflive.feeds import Line, to_lines
from rdflive.feeds.event_stream import EVENT_STREAM, StreamEvent, read_events
from rdflive.http import Address, Exchange, Http, HttpFault, media_type

__all__ = ["Message", "document", "messages", "open_stream", "read_messages"]


class Message(NamedTuple):
    """One event."""

    id: str
    """The id to resume after this event; empty if that is impossible."""
    kind: str
    """initial, update, resync, heartbeat or end."""
    members: dict[str, Any]


def read_messages(lines: Iterable[Line], last: str = "") -> Iterator[Message]:
    """Yield messages; raise `MalformedEvent` for data that are no JSON object.

    >>> lines = ["id: 3-ab", "event: heartbeat", 'data: {"sequence": 3}', ""]
    >>> list(read_messages(Line(text, 0) for text in lines))
    [Message(id='3-ab', kind='heartbeat', members={'sequence': 3})]
    """
    for event in read_events(lines, last):
        # an event without data has only an id, which the next event has too
        if event.frame:
            yield Message(event.id, event.kind, _members(event))


def _members(event: StreamEvent) -> dict[str, Any]:
    fault = next((line.fault for line in event.frame if line.fault), None)
    if fault:
        raise MalformedEvent(fault)
    try:
        # Decimal: `member`, which checks types, has no name for a float
        members = json.loads(
            "\n".join(line.text for line in event.frame), parse_float=Decimal, parse_constant=Decimal
        )
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise MalformedEvent(f"not JSON: {error}") from error
    if not isinstance(members, dict):
        raise MalformedEvent(f"expected a JSON object, got {type(members).__name__}")
    return members


_ERROR_BYTES: Final = 1 << 16
"""The longest part of a refusal, in bytes, that is read."""


def open_stream(
    http: Http, address: Address, question: ServedQuestion, last: str, timeout: float
) -> Exchange:
    """Subscribe to a query, after the message with the id `last` if given.

    Raises `ServerError`, `QuerySyntaxError` or `UnsupportedQueryError`.
    """
    headers = {"Accept": EVENT_STREAM, **({"Last-Event-ID": last} if last else {})}
    stream = _send(http, address, "/subscribe", question, headers, timeout)
    if (kind := media_type(stream.headers)) != EVENT_STREAM:
        stream.close()
        url = address.url("/subscribe")
        raise ServerError(f"{url}: the response is {kind}, not {EVENT_STREAM}; is it a server of rdflive?")
    return stream


def messages(url: str, stream: Exchange, last: str) -> Iterator[Message]:
    """Yield messages up to the end of a stream; `last` is the id of the message before.

    Raises `ServerError` for a connection that is lost or silent for too long, and `MalformedEvent`.
    """
    try:
        # a full answer is one line of any length
        yield from read_messages(to_lines(stream, url, longest=inf), last)
    except HttpFault as fault:
        raise ServerError(f"{url}: the connection was lost: {fault}") from fault


def document(
    address: Address, path: str, question: ServedQuestion | None, timeout: float, *, method: str = "GET"
) -> dict[str, Any]:
    """Return a JSON object, by POST of a query if given; raise `ServerError`."""
    accepted = {"Accept": "application/json"}
    try:
        with _send(Http(), address, path, question, accepted, timeout, method=method) as answer:
            found = json.loads(answer.read())
        if not isinstance(found, dict):
            raise ValueError("it is not a JSON object")
    except (HttpFault, ValueError, RecursionError) as error:
        raise ServerError(f"{address.url(path)}: the response cannot be read: {error}") from error
    return found


def _send(
    http: Http,
    address: Address,
    path: str,
    question: ServedQuestion | None,
    headers: Mapping[str, str],
    timeout: float,
    *,
    method: str = "GET",
) -> Exchange:
    """Send a request and return its successful response."""
    url, target, body, prologue = address.url(path), address.url(path), None, ""
    if question is not None:
        # by POST: a query may exceed the length of a URL
        target, method, body, prologue = question.target(url), "POST", question.body, question.prologue
        headers = {"Content-Type": "application/sparql-query", **headers}
    try:
        answer = http.send(
            method, target, timeout=timeout, headers={**address.headers(), **headers}, body=body
        )
        if answer.status == 200:
            return answer
        with answer:
            said = answer.read(_ERROR_BYTES)
    except HttpFault as fault:
        raise ServerError(
            f"{url} cannot be reached: {fault}; check that the server runs (rdflive serve) and is "
            "reachable from here"
        ) from fault
    text = "" if question is None else question.text
    raise refused(url, answer.status, answer.headers, said, text=text, prologue=prologue)
