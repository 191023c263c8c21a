"""The progress of a graph along a streaming query, by the offsets of the query's source.

The number of a micro-batch does not identify its content after a checkpoint was lost, copied or restored. So
a graph stores, in the same commit as the data, the offsets at which its last micro-batch ended, as in Spark's
offset log. Each micro-batch is compared with them before it is applied.

Example: the graph has `log.rdfp` up to byte 120. A new checkpoint brings a micro-batch from 0 to 200: its
rows below 120 are dropped, the others are applied. A micro-batch from 150 on is refused, because rows from
120 to 150 are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive_stores.spark.change_rows import stream_offsets

__all__ = [
    "BatchPlan",
    "Cursor",
    "Given",
    "Offsets",
    "StillHas",
    "resync",
    "step",
    "stream_ends",
    "without_cursor",
]

Offsets: TypeAlias = Sequence[Any]
"""An offset per source of a query, in the form of the source; None for a source without data so far."""

StillHas: TypeAlias = Callable[[str, int, int], bool]
"""True if a file, by its path, has at least this many bytes, the last of which have this checksum."""

_FORM: Final = 2
"""The version of the stored text."""
_DELTA: Final = "reservoirId"
"""A key in offsets of Delta Lake's own source, which name a version of a table."""
_MOVED: Final = " (if the checkpoint was moved, pass the name= that it had, by default its former path)"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The stored progress: the last applied micro-batch, and the offsets of its end."""

    query: str
    """The id of the query in the checkpoint."""
    batch: int
    offsets: Offsets
    ahead: Mapping[str, int] = field(default_factory=dict)
    """Streams that the graph has read further, because a new checkpoint reads them again."""
    repeats: bool = False
    """True while already applied records may come; they are recognised by their numbers."""

    def to_text(self) -> str:
        """Return the stored form."""
        more = {"ahead": dict(self.ahead)} if self.ahead else {}
        flag = {"repeats": True} if self.repeats else {}
        place = {"query": self.query, "batch": self.batch, "offsets": list(self.offsets)}
        return json.dumps({"form": _FORM, **place, **more, **flag})

    @classmethod
    def from_text(cls, text: str, name: str) -> Cursor:
        """Read the text stored under a name.

        Raises `RdfliveError` for another form, and for a text that is not a cursor.

        >>> Cursor.from_text(Cursor("a", 3, [{"log": 5}]).to_text(), "spark").batch
        3
        """
        try:
            kept = dict(json.loads(text))
            if (form := kept.pop("form")) != _FORM:
                raise RdfliveError(
                    f"the graph keeps under {name!r} a cursor of form {form!r}, but this rdflive reads form "
                    f"{_FORM}: use the version that made it, or mirror the source from its "
                    "beginning with a new checkpoint and another name into an empty graph"
                )
            return cls(**kept)
        except (ValueError, TypeError, KeyError) as error:
            raise RdfliveError(
                f"the graph keeps under {name!r} the cursor of a feed that is not mirrored through Spark: "
                f"{text[:60]!r}; pass another name= for this mirror"
            ) from error


@dataclass(frozen=True, slots=True)
class Given:
    """A micro-batch, as the checkpoint describes it."""

    query: str
    batch: int
    start: Offsets | None
    """The offsets of its start; None for the first micro-batch of a checkpoint."""
    end: Offsets


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The treatment of a micro-batch."""

    cursor: Cursor
    """The cursor to store with it."""
    applied: Mapping[str, int] = field(default_factory=dict)
    """Streams of which it repeats rows, with the offsets below which rows were applied before."""
    doubtful: Mapping[str, int] = field(default_factory=dict)
    """Those of them for which only the rows show the start of the micro-batch."""


def step(
    stored: Cursor | None,
    given: Given,
    name: str,
    *,
    is_positioned: bool,
    is_numbered: bool,
    still_has: StillHas,
) -> BatchPlan | None:
    """Compare a micro-batch with a graph's cursor; return None if it was applied before.

    `is_positioned` is true if rows have a stream and an offset, `is_numbered` if records have numbers, by
    which the decoder skips known ones. Before rows of a file are skipped, `still_has` checks that the file
    still begins with the applied bytes. Raises `ResyncNeeded` if changes between the two may be missing.
    """
    if is_positioned:
        return _step_of_streams(stored, given, name, still_has)
    if stored is None:
        if given.start is not None:
            raise resync(
                name,
                f"the graph has no cursor for the micro-batches before number {given.batch} of the "
                f"checkpoint{_MOVED}",
            )
        return BatchPlan(_after(given))
    if stored.query == given.query:
        # Spark runs a micro-batch again if it was stopped before recording it as done.
        if (stored.batch, stored.offsets) == (given.batch, given.end):
            return None
        if (stored.batch + 1, stored.offsets) == (given.batch, given.start):
            return BatchPlan(_after(given, repeats=stored.repeats))
    elif _are_places(stored.offsets):
        if stored.offsets == given.end:
            return None
        if stored.offsets == given.start:
            return BatchPlan(_after(given, repeats=stored.repeats))
    if is_numbered and given.start is None:
        return BatchPlan(_after(given, repeats=True))
    raise resync(
        name,
        f"micro-batch {given.batch} of query {given.query} does not follow micro-batch {stored.batch} of "
        f"query {stored.query}, the graph's last one, and its rows have no positions",
    )


def without_cursor(name: str) -> ResyncNeeded:
    """Return the error for a graph that has no cursor, and a checkpoint with applied micro-batches."""
    return resync(
        name,
        "the checkpoint records micro-batches as applied, and the graph has none of them, because it is "
        f"another graph or was in memory{_MOVED}",
    )


def stream_ends(offsets: Offsets | None) -> dict[str, int] | None:
    """Return the position up to which each stream was read; None if the sources do not have it.

    >>> stream_ends([{"log.rdfp": {"end": 120, "check": 7, "path": "/log.rdfp"}}, {"changes": {"0": 23}}])
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
            return None  # two sources of one name cannot be distinguished
        found.update(ends)
    return found


def resync(name: str, reason: str) -> ResyncNeeded:
    """Return the error that explains how to restart a mirror through Spark."""
    error = ResyncNeeded(name, reason)
    error.args = (
        f"the mirror {name!r} cannot continue: {reason}; resync: with a new checkpoint and another name "
        "mirror the source from its beginning into an empty graph, or from now into one with the full state",
    )
    return error


def _step_of_streams(stored: Cursor | None, given: Given, name: str, still_has: StillHas) -> BatchPlan | None:
    """Compare positions per stream, so that each row is applied once, with any checkpoint."""
    had = {} if stored is None else {**(stream_ends(stored.offsets) or {}), **stored.ahead}
    start, end = stream_ends(given.start) or {}, stream_ends(given.end) or {}
    if had and end and had.keys().isdisjoint(end):
        raise resync(name, f"the graph has followed {_listed(had)}, but the query reads {_listed(end)}")
    logs = _followed_logs(() if stored is None else stored.offsets, given.end)
    _check_logs(logs, given, name, still_has)
    for stream, begin in start.items():
        if begin > had.get(stream, 0):
            raise resync(
                name,
                f"micro-batch {given.batch} begins at {begin} of {stream!r}, but the graph has it up to "
                f"{had.get(stream, 0)}{'' if stored else _MOVED}",
            )
    if stored is not None and all(place <= had.get(stream, 0) for stream, place in end.items()):
        return None
    applied = {s: had[s] for s in end if start.get(s, 0) < had.get(s, 0)}
    # Without a start, the beginning of the source is unknown: it may be Kafka's startingOffsets.
    doubtful = {s: place for s, place in applied.items() if s not in start and end[s] > place}
    kept = [_furthest(log, offset) for log, offset in zip(logs, given.end, strict=True)]
    ends = stream_ends(kept) or {}
    ahead = {s: place for s, place in had.items() if place > ends.get(s, 0)}
    return BatchPlan(Cursor(given.query, given.batch, kept, ahead), applied, doubtful)


def _followed_logs(followed: Offsets, ends: Offsets) -> list[dict[str, Any]]:
    """Return the followed position of each log that a query reads, per file; empty for other sources.

    A log is recognised by its files, or if none of them is left, by its number among the sources.
    """
    logs: list[dict[str, Any]] = []
    for number, end in enumerate(ends):
        others = {name for n, offset in enumerate(ends) if n != number for name in offset or ()}
        others.update(name for log in logs for name in log)
        log: dict[str, Any] = {}
        for n, had in enumerate(followed):
            if _is_log(end) and _is_log(had):
                is_same = had.keys() & end.keys() or (n == number and not had.keys() & others)
                log.update((name, had[name]) for name in (had if is_same else ()) if name not in others)
        logs.append(log)
    return logs


def _check_logs(logs: Sequence[Mapping[str, Any]], given: Given, name: str, still_has: StillHas) -> None:
    """Raise `ResyncNeeded` unless the logs of a query are those that the graph has followed.

    A source compares a log only with its own checkpoint. So only the graph detects a log that was replaced,
    or that lost a file, while another checkpoint was in use.
    """
    starts = given.start or [None] * len(given.end)
    for had, start, end in zip(logs, starts, given.end, strict=True):
        last = max(had, default="")
        if had and last not in end and any(file > last for file in end):
            raise resync(name, f"the file {last!r} is gone, and may have had rows that were not applied")
        for file, place in end.items() if had else ():
            before = had.get(file, {"end": 0})
            if file < last and place["end"] > before["end"]:
                raise resync(
                    name,
                    f"{place['path']} has rows that were not applied, but {last!r}, which follows it by "
                    "name, was started",
                )
            if file in had and not _is_followed(before, (start or {}).get(file), place, still_has):
                raise resync(
                    name,
                    f"{place['path']} has changed before byte {before['end']}, the end of its applied part",
                )


def _is_followed(
    had: Mapping[str, Any], start: Mapping[str, Any] | None, end: Mapping[str, Any], still_has: StillHas
) -> bool:
    """True if a file begins with the bytes that were applied."""
    for place in (start, end):
        if place is not None and place["end"] == had["end"]:
            return bool(place["check"] == had["check"])
    if start is not None and start["end"] > had["end"]:
        return True  # the caller reports it as a gap
    return still_has(end["path"], had["end"], had["check"])


def _furthest(log: Mapping[str, Any], offset: Any) -> Any:
    """Return the offset of a source, extended by the parts of a log that the graph has beyond it."""
    if not log:
        return offset
    return {
        **offset,
        **{f: had for f, had in log.items() if f not in offset or had["end"] > offset[f]["end"]},
    }


def _is_log(offset: Any) -> bool:
    """True for an offset of the source "rdf_patch"."""
    return isinstance(offset, Mapping) and any(
        isinstance(place, Mapping) and "check" in place for place in offset.values()
    )


def _after(given: Given, *, repeats: bool = False) -> Cursor:
    return Cursor(given.query, given.batch, given.end, repeats=repeats)


def _are_places(offsets: Offsets) -> bool:
    """True for offsets with the same meaning in any checkpoint, False for counts of one query."""
    return all(
        offset is None
        or (isinstance(offset, Mapping) and _DELTA in offset)
        or (isinstance(offset, Mapping) and stream_ends([offset]) is not None)
        for offset in offsets
    )


def _listed(streams: Mapping[str, int]) -> str:
    return ", ".join(map(repr, sorted(streams)))[:200]
