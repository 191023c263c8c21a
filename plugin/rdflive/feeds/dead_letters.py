"""The file that bad records go to, so that nothing is lost when a mirror skips them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from rdflive.errors import FeedError, ValidationError
from rdflive.feeds.decoder import Frame
from rdflive.model import to_ntriples

__all__ = ["DeadLetters"]


class DeadLetters:
    """Appends the unit that a bad record is in to a file, under a comment that says what is wrong.

    Results for which a guard refuses an entry follow, each a comment with its terms as N-Triples has them.
    Mended by hand, the file is a feed of the same format. A line that is not text is only told of. It is
    written before the mirror goes on, so after a kill in between the unit is there twice.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.count = 0
        """How many units were appended."""
        with open(self.path, "a", encoding="utf-8"):
            pass  # that it can be written is known before the first one

    def __call__(self, error: FeedError, frame: Frame) -> None:
        """Append one unit."""
        reason = " ".join(str(error).split())
        cause = error.__cause__
        results = cause.results if isinstance(cause, ValidationError) else ()
        told = map(_told, filter(None, results))  # an ASK has a row without terms
        # no line ends of the system: mended, it is read as a feed
        with open(self.path, "a", encoding="utf-8", newline="\n") as stream:
            stream.write("\n".join([f"# {reason}", *told, *(line.text for line in frame), ""]))
            stream.flush()
            with suppress(OSError):  # /dev/null and pipes cannot be synced
                os.fsync(stream.fileno())
        self.count += 1


def _told(result: Any) -> str:
    """Write a result, or a row of a query that is a guard, in one line."""
    terms = result.asdict().items()
    return "#   " + ", ".join(f"{name} {to_ntriples(term)}" for name, term in terms if term is not None)
