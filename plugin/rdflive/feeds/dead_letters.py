"""The file that bad records go to, so that nothing is lost when a mirror skips them."""

from __future__ import annotations

import os
from contextlib import suppress

from rdflive.errors import FeedError
from rdflive.feeds.decoder import Frame

__all__ = ["DeadLetters"]


class DeadLetters:
    """Appends the unit that a bad record is in to a file, under a comment that says what is wrong.

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
        # no line ends of the system: mended, it is read as a feed
        with open(self.path, "a", encoding="utf-8", newline="\n") as stream:
            stream.write("\n".join([f"# {reason}", *(line.text for line in frame), ""]))
            stream.flush()
            with suppress(OSError):  # /dev/null and pipes cannot be synced
                os.fsync(stream.fileno())
        self.count += 1
