"""Events in the forms that users pass: graphs and lists of triples, optionally with an instant."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from rdflib import Dataset, Graph, URIRef

from rdflive.errors import RdfliveError
from rdflive.matching.libraries import RDFLIB

__all__ = ["Event", "EventError", "read_background", "read_event"]


class EventError(RdfliveError, ValueError):
    """An event cannot be matched: `number` is its position, counted from 0."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"event {number}: {reason}")
        self.number = number
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        # sent by worker processes: by default only the argument of `super().__init__` would be pickled
        return EventError, (self.number, self.reason)


@dataclass(slots=True)
class Event:
    """One event: its triples, the name of its graph, and its instant as the user passed it."""

    triples: Sequence[Any]
    name: Any = None
    at: Any = None
    of_file: bool = False
    """True if solutions have rdflib's terms, whatever library read the triples."""


def read_event(event: Any, number: int) -> Event:
    """Read an event: an iterable of triples or an rdflib graph, or a pair of these and an instant.

    Raises `EventError`.
    """
    if type(event) is Event:  # of a file, see `streams.py`
        return event
    at = name = None
    # A pair of two triples is an event without an instant.
    if type(event) is tuple and len(event) == 2 and not _is_triple(event[1]):
        event, at = event
    if isinstance(event, Graph):
        if isinstance(event, Dataset):  # a Graph too, but it would list quads
            raise EventError(number, "a Dataset is many events; give it to rdflive.match as the events")
        name = event.identifier if type(event.identifier) is URIRef else None
    # the usual case is not copied; iterators and sets are, because triples are read by position
    elif type(event) is list or type(event) is tuple:
        return Event(event, None, at)
    try:
        triples = list(event)
    except TypeError as error:
        accepted = "give an rdflib Graph, or an iterable of triples"
        raise EventError(number, f"{event!r} is not a graph; {accepted}") from error
    return Event(triples, name, at)


def _is_triple(value: Any) -> bool:
    return isinstance(value, tuple) or hasattr(value, "predicate")


def read_background(given: Any) -> list[Any]:
    """List the triples of a background: an rdflib graph, or a sequence of triples in rdflib's terms.

    Raises `TypeError` and `ValueError`.
    """
    accepted = "give an rdflib Graph, or a list of triples in its terms"
    if given is None:
        return []
    if isinstance(given, Dataset):
        raise TypeError(
            "background is a Dataset, many graphs; give one of them, or a Graph of all their triples"
        )
    if isinstance(given, str | os.PathLike):  # str is a Collection too
        raise TypeError(f"background is {given!r}; parse the file, and {accepted}")
    # `Matcher.refresh` reads it again, which an iterator does not allow
    if not isinstance(given, Graph | Collection):
        raise TypeError(f"background is {given!r}, which cannot be read again; {accepted}")
    triples = list(given)
    for triple in triples:
        try:
            RDFLIB.check(triple)
        except ValueError as error:
            raise ValueError(f"background: {error}") from error
    return triples
