"""Replays recorded acts of streams, to restore their progress and the content of windows."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from rdflive.engine.dictionary import Dictionary
from rdflive.time.group import WindowGroup
from rdflive.time.instants import Instant
from rdflive.time.pane import Pane, Unseen
from rdflive.time.timeline import Timeline
from rdflive.time.watermark import Act, Come, Watermark
from rdflive.time.windows import Window

__all__ = ["Course", "load", "play", "play_window", "state_of", "timelines_of"]


class Course(NamedTuple):
    """A record of streams: their progress, the later acts, and the instant of the last report."""

    state: list[Any]
    acts: list[Act]
    current: Instant | None = None


def timelines_of(watermark: Watermark) -> list[Timeline]:
    """List the streams of a watermark."""
    return [timeline for timeline in watermark.timelines if isinstance(timeline, Timeline)]


def state_of(watermark: Watermark) -> list[Any]:
    """Return the progress of streams, without the content of windows; see `load`."""
    timelines = [timeline.state for timeline in timelines_of(watermark)]
    instants = [watermark.done, watermark.arrived, watermark.current, watermark.come]
    return [*instants, watermark.is_dated, watermark.last, timelines]


def load(watermark: Watermark, state: list[Any]) -> None:
    """Restore the progress that `state_of` returned; open windows stay empty."""
    watermark.done, watermark.arrived, watermark.current, come = state[:4]
    watermark.is_dated, watermark.last, timelines = state[4:]
    watermark.come = None if come is None else Come(*come)
    for timeline, each in zip(timelines_of(watermark), timelines, strict=True):
        timeline.load(each)
    if watermark.done is not None:
        for group in watermark.groups:
            for pane in group.panes:
                pane.begin_time(watermark.done)


def play(watermark: Watermark, course: Course) -> list[Any]:
    """Return the progress of streams with these options after the recorded acts."""
    played = _like(watermark)
    _play(played, course)
    return state_of(played)


def play_window(
    watermark: Watermark, course: Course, stream: int, window: Window, dictionary: Dictionary
) -> WindowGroup:
    """Return the group of a window over one of the streams, as of the window's last report."""
    played = _like(watermark)
    timeline = timelines_of(played)[stream]
    group = timeline.group(window, dictionary)
    unseen: Any = Unseen()  # commits nothing, so it needs no callbacks
    # opened before the streams begin, so that it makes all reports of the record
    pane = Pane(
        window,
        group.explicit,
        unseen,
        ahead=partial(timeline.ahead, group),
        current=lambda: None,
        every=False,
    )
    group.open(pane, None)
    _play(played, course)
    group.leave_to_others(pane)
    return group


def _like(watermark: Watermark) -> Watermark:
    """Return streams with the same options."""
    alike = Watermark()
    for timeline in timelines_of(watermark):
        Timeline(delay=timeline.delay, lateness=timeline.lateness, watermark=alike)
    return alike


def _play(played: Watermark, course: Course) -> None:
    load(played, course.state)
    if played.done is not None:
        played.follow(played.done)
    timelines = timelines_of(played)
    # After an interruption the record may have an act twice, or an element that the stream did not take and
    # whose number the next one has. Of different acts with one number, the last was taken.
    taken: dict[tuple[int, int], Any] = {}
    for act in course.acts:
        if taken.get((act.stream, act.number)) != act:
            taken[act.stream, act.number] = act
    for act in course.acts:
        timeline = timelines[act.stream]
        if act.kind in ("add", "remove"):
            if act.number > timeline.given and taken[act.stream, act.number] == act:
                timeline.insert(1 if act.kind == "add" else -1, act.triples, act.instant, act.number)
        elif act.kind == "rest":
            timeline.rest()
        else:
            timeline.advance(act.instant, closes=act.kind == "advance")
    played.current = course.current
