"""How far a graph has followed a streaming query, by the offsets of the query's source.

The number of a micro-batch says nothing about its content once a checkpoint was lost, copied or restored. So
a graph keeps, in the same commit as the data, the offsets at which its last micro-batch ended, as Spark's
offset log has them. Each micro-batch is compared with that before it is applied.

Example: the graph has `log.rdfp` up to byte 120. A new checkpoint gives a micro-batch from 0 to 200: its rows
below 120 are dropped, the others are applied. A micro-batch from 150 on is refused, because rows from 120 to
150 are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive_stores.spark.change_rows import stream_offsets

__all__ = ["BatchPlan", "Cursor", "Given", "Offsets", "StillHas", "resync", "step", "stream_ends"]

Offsets: TypeAlias = Sequence[Any]
"""An offset per source of a query, as its source writes it; None for a source without data so far."""

StillHas: TypeAlias = Callable[[str, int, int], bool]
"""Tells whether a file, by its path, has at least this many bytes, the last of which have this checksum."""

_FORM: Final = 2
"""The version of the text that a graph keeps."""
_DELTA: Final = "reservoirId"
"""A key in offsets of Delta Lake's own source, which name a version of a table."""
_MOVED: Final = " (if the checkpoint was moved, give the name= that it had, by default its former path)"


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a graph keeps: the micro-batch that it took last, and the offsets where that ended."""

    query: str
    """The id that the checkpoint gives its query."""
    batch: int
    offsets: Offsets
    ahead: Mapping[str, int] = field(default_factory=dict)
    """Streams of which the graph has more than that, because a new checkpoint reads them again."""
    repeats: bool = False
    """True while records may come that were applied before; they are recognised by their numbers."""

    def to_text(self) -> str:
        """Write it as it is kept."""
        more = {"ahead": dict(self.ahead)} if self.ahead else {}
        flag = {"repeats": True} if self.repeats else {}
        place = {"query": self.query, "batch": self.batch, "offsets": list(self.offsets)}
        return json.dumps({"form": _FORM, **place, **more, **flag})

    @classmethod
    def from_text(cls, text: str, name: str) -> Cursor:
        """Read what is kept under a name, also in form 1, which did not tell its form.

        Raises `RdfliveError` for a later form, and if something else has written it.

        >>> Cursor.from_text(Cursor("a", 3, [{"log": 5}]).to_text(), "spark").batch
        3
        """
        try:
            kept = dict(json.loads(text))
            if (form := kept.pop("form", 1)) not in (1, _FORM):
                raise RdfliveError(
                    f"the graph keeps under {name!r} a cursor of form {form!r}, and this rdflive knows "
                    f"{_FORM} and before: use the version that made it, or mirror the source from its "
                    "beginning with a new checkpoint and another name into an empty graph"
                )
            return cls(**kept)
        except (ValueError, TypeError) as error:
            raise RdfliveError(
                f"the graph keeps under {name!r} the cursor of a feed that is not mirrored through Spark: "
                f"{text[:60]!r}; give this mirror another name="
            ) from error


@dataclass(frozen=True, slots=True)
class Given:
    """A micro-batch, as the checkpoint describes it."""

    query: str
    batch: int
    start: Offsets | None
    """Where it begins; None for the first micro-batch of a checkpoint."""
    end: Offsets


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What to do with a micro-batch."""

    cursor: Cursor
    """The cursor to keep with it."""
    applied: Mapping[str, int] = field(default_factory=dict)
    """Streams of which it repeats rows, with the offsets below which rows were applied before."""
    doubtful: Mapping[str, int] = field(default_factory=dict)
    """Those of them for which only the rows themselves can tell where the micro-batch begins."""


def step(
    stored: Cursor | None,
    given: Given,
    name: str,
    *,
    is_positioned: bool,
    is_numbered: bool,
    still_has: StillHas,
) -> BatchPlan | None:
    """Compare a micro-batch with what a graph has followed; None if it was applied before.

    `is_positioned` tells that rows have a stream and an offset, `is_numbered` that records have numbers, by
    which the decoder skips those that it knows. Before rows of a file are skipped, `still_has` is asked
    whether they are the rows that were applied. Raises `ResyncNeeded` if changes between the two may be
    missing.
    """
    if is_positioned:
        return _step_of_streams(stored, given, name, still_has)
    if stored is None:
        if given.start is not None:
            raise resync(
                name,
                f"nothing is kept of the micro-batches before number {given.batch} of the checkpoint{_MOVED}",
            )
        return BatchPlan(_after(given))
    if stored.query == given.query:
        # Spark runs a micro-batch again if it was stopped before noting it as done.
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
        f"micro-batch {given.batch} of query {given.query} does not follow on micro-batch {stored.batch} of "
        f"query {stored.query}, which the graph took last, and its rows do not say where they stand",
    )


def stream_ends(offsets: Offsets | None) -> dict[str, int] | None:
    """Tell up to where each stream has been read; None where the sources do not say so.

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
            return None  # two sources of one name could not be told apart
        found.update(ends)
    return found


def resync(name: str, reason: str) -> ResyncNeeded:
    """Make the error that explains how to start a mirror through Spark again."""
    error = ResyncNeeded(name, reason)
    error.args = (
        f"the mirror {name!r} cannot go on: {reason}; resync: with a new checkpoint and another name mirror "
        "the source from its beginning into an empty graph, or from now into one that has the whole state",
    )
    return error


def _step_of_streams(stored: Cursor | None, given: Given, name: str, still_has: StillHas) -> BatchPlan | None:
    """Compare positions per stream, so that each row is applied once, whatever the checkpoint."""
    had = {} if stored is None else {**(stream_ends(stored.offsets) or {}), **stored.ahead}
    start, end = stream_ends(given.start) or {}, stream_ends(given.end) or {}
    if had and end and had.keys().isdisjoint(end):
        raise resync(name, f"the graph has followed {_listed(had)}, and the query reads {_listed(end)}")
    logs = _followed_logs(() if stored is None else stored.offsets, given.end)
    _check_logs(logs, given, name, still_has)
    for stream, begin in start.items():
        if begin > had.get(stream, 0):
            raise resync(
                name,
                f"micro-batch {given.batch} begins at {begin} of {stream!r}, and the graph has it up to "
                f"{had.get(stream, 0)}{'' if stored else _MOVED}",
            )
    if stored is not None and all(place <= had.get(stream, 0) for stream, place in end.items()):
        return None
    applied = {s: had[s] for s in end if start.get(s, 0) < had.get(s, 0)}
    # Without a start it is not known where the source begins, such as by Kafka's startingOffsets.
    doubtful = {s: place for s, place in applied.items() if s not in start and end[s] > place}
    kept = [_furthest(log, offset) for log, offset in zip(logs, given.end, strict=True)]
    ends = stream_ends(kept) or {}
    ahead = {s: place for s, place in had.items() if place > ends.get(s, 0)}
    return BatchPlan(Cursor(given.query, given.batch, kept, ahead), applied, doubtful)


def _followed_logs(followed: Offsets, ends: Offsets) -> list[dict[str, Any]]:
    """Tell how far each log that a query reads was followed, per file; nothing for other sources.

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
    """Check that the logs of a query are those that the graph has followed; raises `ResyncNeeded`.

    A source compares a log with its own checkpoint. So only the graph notices a log that was replaced, or
    lost a file, while another checkpoint was in use.
    """
    starts = given.start or [None] * len(given.end)
    for had, start, end in zip(logs, starts, given.end, strict=True):
        last = max(had, default="")
        if had and last not in end and any(file > last for file in end):
            raise resync(name, f"the file {last!r} is gone, and may have had more than was applied")
        for file, place in end.items() if had else ():
            before = had.get(file, {"end": 0})
            if file < last and place["end"] > before["end"]:
                raise resync(
                    name,
                    f"{place['path']} has rows that were not applied, and {last!r}, which follows it by "
                    "name, was begun",
                )
            if file in had and not _is_followed(before, (start or {}).get(file), place, still_has):
                raise resync(
                    name,
                    f"{place['path']} has changed before byte {before['end']}, up to where it was applied",
                )


def _is_followed(
    had: Mapping[str, Any], start: Mapping[str, Any] | None, end: Mapping[str, Any], still_has: StillHas
) -> bool:
    """Tell whether a file begins with the bytes that were applied."""
    for place in (start, end):
        if place is not None and place["end"] == had["end"]:
            return bool(place["check"] == had["check"])
    if start is not None and start["end"] > had["end"]:
        return True  # the caller reports it as a gap
    return still_has(end["path"], had["end"], had["check"])


def _furthest(log: Mapping[str, Any], offset: Any) -> Any:
    """Give the offset of a source, extended by what the graph has of a log beyond it."""
    if not log:
        return offset
    return {
        **offset,
        **{f: had for f, had in log.items() if f not in offset or had["end"] > offset[f]["end"]},
    }


def _is_log(offset: Any) -> bool:
    """Recognise an offset of the source "rdf_patch"."""
    return isinstance(offset, Mapping) and any(
        isinstance(place, Mapping) and "check" in place for place in offset.values()
    )


def _after(given: Given, *, repeats: bool = False) -> Cursor:
    return Cursor(given.query, given.batch, given.end, repeats=repeats)


def _are_places(offsets: Offsets) -> bool:
    """Tell offsets that mean the same in any checkpoint from those that count what one query has seen."""
    return all(
        offset is None
        or (isinstance(offset, Mapping) and _DELTA in offset)
        or (isinstance(offset, Mapping) and stream_ends([offset]) is not None)
        for offset in offsets
    )


def _listed(streams: Mapping[str, int]) -> str:
    return ", ".join(map(repr, sorted(streams)))[:200]
