"""What a delta of windows says besides its rows, as text: its instant, what expired, and when rows will."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rdflive.delivery.resume.row_texts import Row
from rdflive.model import Delta
from rdflive.time.instants import dated, to_instant

__all__ = ["read_report", "write_report"]


def write_report(delta: Delta, texts: Mapping[Row, str]) -> str:
    """Write the report of a delta, whose rows have these texts; nothing where it is of no window.

    What a subscriber missed is told as retracted: the file does not tell what of it expired.
    """
    if delta.time is None and not delta._ends:
        return ""
    expired = {} if delta.initial else delta._expired
    return json.dumps(
        {
            "time": delta.time,
            "expired": {texts[row]: weight for row, weight in expired.items()},
            "ends": {texts[row]: end for row, end in delta._ends.items() if row in texts},
        },
        default=datetime.isoformat,
    )


def read_report(text: str, rows: Mapping[str, Row]) -> dict[str, Any]:
    """Read what `write_report` wrote, as arguments of `Delta`."""
    if not text:
        return {}
    found = json.loads(text)
    return {
        "time": _instant(found["time"]),
        "expired": {rows[row]: weight for row, weight in found["expired"].items()},
        "ends": {rows[row]: _instant(end) for row, end in found["ends"].items()},
    }


def _instant(value: Any) -> Any:
    # an instant that no datetime has is in text itself
    return dated(to_instant(value)) if isinstance(value, str) else value
