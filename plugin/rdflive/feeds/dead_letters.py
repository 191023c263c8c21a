"""The file that receives the bad records that a mirror skips."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from rdflive.errors import FeedError, ValidationError
from rdflive.feeds.decoder import Frame
from rdflive.model import to_ntriples

__all__ = ["DeadLetters"]


class DeadLetters:
    """Appends the unit of a bad record to a file, after a comment with the error.

    If a guard refuses the unit, one comment per violation follows, with terms in N-Triples syntax.
    Once its units are corrected by hand, the file is a feed of the same format. A line that is not UTF-8
    appears only in the comment. The unit is written before the mirror continues, so a crash in between can
    write it twice.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.count = 0
        """Number of appended units."""
        with open(self.path, "a", encoding="utf-8"):
            pass  # an unwritable path fails before the first bad record

    def __call__(self, error: FeedError, frame: Frame) -> None:
        """Append one unit."""
        reason = " ".join(str(error).split())
        cause = error.__cause__
        results = cause.results if isinstance(cause, ValidationError) else ()
        shown = map(_show, filter(None, results))  # an ASK has a row without terms
        # not the line ends of the system: once corrected, the file is read as a feed
        with open(self.path, "a", encoding="utf-8", newline="\n") as stream:
            stream.write("\n".join([f"# {reason}", *shown, *(line.text for line in frame), ""]))
            stream.flush()
            with suppress(OSError):  # /dev/null and pipes cannot be synced
                os.fsync(stream.fileno())
        self.count += 1


def _show(result: Any) -> str:
    """Return a SHACL result, or a row of a guard's query, as one line."""
    terms = result.asdict().items()
    return "#   " + ", ".join(f"{name} {to_ntriples(term)}" for name, term in terms if term is not None)
