"""How far a graph has followed a streaming query, by the offsets of the query's source.

The number of a micro-batch says nothing of its content once a checkpoint was lost, copied or put back. So a
graph keeps, in the same commit as the data, the offsets at which the last micro-batch ended, as Spark's
offset log has them; each micro-batch is compared with that before it is applied.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive_stores.spark.rows import stream_offsets

__all__ = ["Cursor", "Given", "Offsets", "Step", "resync", "step", "stream_ends"]

Offsets: TypeAlias = Sequence[Any]
"""An offset per source of a query, each as its source writes it; None for a source without data so far."""

_DELTA: Final = "reservoirId"
"""Is in the offsets of Delta Lake's own source, which name a version of a table."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a graph keeps: the micro-batch that it took last, and where that ended."""

    query: str
    """The id that the checkpoint gives its query."""
    batch: int
    offsets: Offsets
    ahead: Mapping[str, int] = field(default_factory=dict)
    """Streams of which the graph has more than that: those that a new checkpoint reads again."""
    repeats: bool = False
    """True where records may still come that were applied before, to be told by their numbers."""

    def to_text(self) -> str:
        """Write it as it is kept."""
        more = {"ahead": dict(self.ahead)} if self.ahead else {}
        flag = {"repeats": True} if self.repeats else {}
        return json.dumps(
            {"query": self.query, "batch": self.batch, "offsets": list(self.offsets), **more, **flag}
        )

    @classmethod
    def from_text(cls, text: str, name: str) -> Cursor:
        """Read what is kept under a name; raises `RdfliveError` where something else has kept it.

        >>> Cursor.from_text(Cursor("a", 3, [{"log": 5}]).to_text(), "spark").batch
        3
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise RdfliveError(
                f"the graph keeps under {name!r} the cursor of a feed that is not mirrored through Spark: "
                f"{text[:60]!r}; give this mirror another name="
            ) from error


@dataclass(frozen=True, slots=True)
class Given:
    """A micro-batch as the checkpoint has it."""

    query: str
    batch: int
    start: Offsets | None
    """Where it begins; None for the first one of a checkpoint."""
    end: Offsets


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with a micro-batch."""

    cursor: Cursor
    """What is kept with it."""
    applied: Mapping[str, int] = field(default_factory=dict)
    """Of which streams it repeats rows: those below these offsets were applied before."""
    doubtful: Mapping[str, int] = field(default_factory=dict)
    """Those of them of which nobody knows where the micro-batch begins, unless its rows tell."""


def step(
    stored: Cursor | None, given: Given, name: str, *, is_positioned: bool, is_numbered: bool
) -> Step | None:
    """Compare a micro-batch with what a graph has followed; None where it was applied before.

    `is_positioned` says that rows tell their stream and offset, `is_numbered` that records have numbers of
    their own, by which the decoder passes over those that it knows. Raises `ResyncNeeded` where changes
    between the two may be missing.
    """
    if is_positioned:
        return _step_of_streams(stored, given, name)
    if stored is None:
        if given.start is not None:
            raise resync(
                name, f"nothing is kept of the micro-batches before number {given.batch} of the checkpoint"
            )
        return Step(_after(given))
    if stored.query == given.query:
        if (stored.batch, stored.offsets) == (given.batch, given.end):
            return None
        if (stored.batch + 1, stored.offsets) == (given.batch, given.start):
            return Step(_after(given, repeats=stored.repeats))
    elif _are_places(stored.offsets):
        if stored.offsets == given.end:
            return None
        if stored.offsets == given.start:
            return Step(_after(given, repeats=stored.repeats))
    if is_numbered and given.start is None:
        return Step(_after(given, repeats=True))
    raise resync(
        name,
        f"micro-batch {given.batch} of query {given.query} does not follow on micro-batch {stored.batch} of "
        f"query {stored.query}, which the graph took last, and its rows do not say where they stand",
    )


def stream_ends(offsets: Offsets | None) -> dict[str, int] | None:
    """Tell up to where each stream has been read; None where the sources do not say so.

    >>> stream_ends([{"log.rdfp": {"end": 120, "check": 7}}, {"changes": {"0": 23}}])
    {'log.rdfp': 120, 'changes/0': 23}
    >>> stream_ends([{"logOffset": 3}])
    """
    found: dict[str, int] = {}
    for offset in offsets or ():
        try:
            ends = stream_offsets(offset) if isinstance(offset, Mapping) else {}
        except RdfliveError:
            return None
        if (offset is not None and not isinstance(offset, Mapping)) or found.keys() & ends.keys():
            return None  # two sources of one name could not be told apart
        found.update(ends)
    return found


def resync(name: str, reason: str) -> ResyncNeeded:
    """Make the error that says how a mirror through Spark starts anew."""
    error = ResyncNeeded(name, reason)
    error.args = (
        f"the mirror {name!r} cannot go on: {reason}; resync: with a new checkpoint and another name mirror "
        "the source from its beginning into an empty graph, or from now into one that has the whole state",
    )
    return error


def _step_of_streams(stored: Cursor | None, given: Given, name: str) -> Step | None:
    """Compare by where each stream stands: whatever the checkpoint, each row is applied once."""
    had = {} if stored is None else {**(stream_ends(stored.offsets) or {}), **stored.ahead}
    start, end = stream_ends(given.start) or {}, stream_ends(given.end) or {}
    if had and end and had.keys().isdisjoint(end):
        raise resync(name, f"the graph has followed {_listed(had)}, and the query reads {_listed(end)}")
    for stream, begin in start.items():
        if begin > had.get(stream, 0):
            raise resync(
                name,
                f"micro-batch {given.batch} begins at {begin} of {stream!r}, and the graph has it up to "
                f"{had.get(stream, 0)}",
            )
    if stored is not None and all(place <= had.get(stream, 0) for stream, place in end.items()):
        return None
    applied = {s: had[s] for s in end if start.get(s, 0) < had.get(s, 0)}
    doubtful = {s: place for s, place in applied.items() if s not in start and end[s] > place}
    ahead = {s: place for s, place in had.items() if place > end.get(s, 0)}
    return Step(Cursor(given.query, given.batch, given.end, ahead), applied, doubtful)


def _after(given: Given, *, repeats: bool = False) -> Cursor:
    return Cursor(given.query, given.batch, given.end, repeats=repeats)


def _are_places(offsets: Offsets) -> bool:
    """Tell offsets that mean the same in any checkpoint from such as count what a query has seen."""
    return all(
        offset is None
        or (isinstance(offset, Mapping) and _DELTA in offset)
        or (isinstance(offset, Mapping) and stream_ends([offset]) is not None)
        for offset in offsets
    )


def _listed(streams: Mapping[str, int]) -> str:
    return ", ".join(map(repr, sorted(streams)))[:200]
