"""Logs the streams of subscriptions that resume, and restores streams from their logs."""

from __future__ import annotations

from collections.abc import Iterable

from rdflib import RDF

from rdflive.api.stream import Stream
from rdflive.delivery.resume import Journal, ResumeError, StreamLog
from rdflive.delivery.resume.outbox import texts_for
from rdflive.delivery.subscription import Subscription
from rdflive.store import Adapter
from rdflive.time.course import load, play, state_of
from rdflive.time.view import WindowView
from rdflive.time.watermark import Watermark

__all__ = ["join", "keep"]


def keep(streams: Iterable[tuple[Stream, str]], journal: Journal, adapter: Adapter) -> list[StreamLog]:
    """Log streams in the file of a subscriber; restore the streams that have not started.

    Each stream comes with a name, in case it has none of its own. Called under the store's lock. Then the
    windows are opened, and `join` follows.
    """
    logs: list[StreamLog] = []
    journal.streams = logs
    for stream, name in streams:
        watermark = stream.timeline.watermark
        log = watermark.log
        if log in logs:
            continue
        if log is None:
            log = _begin(watermark, watermark.name or name, journal, adapter)
        elif not isinstance(log, StreamLog) or log.path != journal.path:
            raise ResumeError(
                f"subscription {journal.name!r} cannot be resumed from {journal.path!r}: its stream is kept "
                f"in {getattr(log, 'path', None)!r}; all resumed subscriptions of a stream must use one file"
            )
        else:
            log.course = log.read()
        logs.append(log)
    return logs


def join(logs: Iterable[StreamLog], subscription: Subscription, name: str) -> None:
    """Keep the elements that a subscription needs, after its windows are opened."""
    panes = {
        pane for view in subscription._views() if isinstance(view, WindowView) for pane in view.content.panes
    }
    for log in logs:
        log.course = None
        log.join(name, panes, subscription._fail)


def _begin(watermark: Watermark, name: str, journal: Journal, adapter: Adapter) -> StreamLog:
    log = StreamLog(journal.path, name, watermark, texts_for(adapter.to_native(RDF.type)))
    try:
        course = log.read()
        if course is None and watermark.holds:
            raise _refused(journal, "what it holds is not in the file")
        if course is not None:
            played = play(watermark, course)
            if watermark.has_begun and state_of(watermark) != played:
                raise _refused(journal, "its position differs from the one in the file")
            load(watermark, played)
            log.settle()
    except BaseException:
        log.leave(journal.name)
        raise
    watermark.log, log.course = log, course
    return log


def _refused(journal: Journal, reason: str) -> ResumeError:
    return ResumeError(
        f"subscription {journal.name!r} cannot be resumed from {journal.path!r}: the stream has continued "
        f"without it, and {reason}; subscribe with resume= to a new stream, before its first element"
    )
