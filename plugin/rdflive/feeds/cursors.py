"""Cursors of files: how far one was read, as text that says which form it has."""

from __future__ import annotations

import re
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.feeds.lines import Line

__all__ = ["read_cursor", "write_cursor"]

_FORM: Final = 2
_CURSOR: Final = re.compile(rf"(?:{_FORM}:)?(\d+):(\d+):([0-9a-f]{{8}})")
_OTHER: Final = re.compile(r"(\d+):\d+:\d+:.+")


def write_cursor(last: Line) -> str:
    """Write the cursor behind a line: `form:byte:line:check`, the check being that of all bytes before.

    >>> write_cursor(Line("", 3, end=120, check=0xBADCAFE))
    '2:120:3:0badcafe'
    """
    return f"{_FORM}:{last.end}:{last.number}:{last.check:08x}"


def read_cursor(cursor: str) -> Line:
    """Read a cursor as the line that it stands behind, also one of form 1, which did not say its form.

    Raises `RdfliveError` for any other text.

    >>> read_cursor("120:3:0badcafe").end
    120
    """
    match = _CURSOR.fullmatch(cursor)
    if match is not None:
        return Line("", int(match[2]), end=int(match[1]), check=int(match[3], 16))
    # looks like one of a later version, for which the advice is another
    other = _OTHER.fullmatch(cursor)
    if other is not None:
        raise RdfliveError(
            f"{cursor!r} is a cursor of form {other[1]}, and this rdflive knows {_FORM} and before: use the "
            'version that made it, or begin anew with cursor="" and an empty graph, or with a snapshot'
        )
    raise RdfliveError(
        f"{cursor!r} is no cursor of a file: it would be form:byte:line:check, as mirror gives it"
    )
