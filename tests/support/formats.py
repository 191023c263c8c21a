"""Every feed format, with a mapping for those of rows, and their golden files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rdflive.feeds import FeedFormat, debezium, delta_lake, feed_formats

__all__ = ["FORMATS", "GOLDEN", "golden_inputs"]

GOLDEN: Final = Path(__file__).resolve().parents[1] / "feeds" / "golden"
_OUTPUTS: Final = (".expected", ".written", ".mapping.json")

FORMATS: Final[dict[str, FeedFormat]] = {
    **feed_formats(),
    "debezium": debezium(GOLDEN / "debezium-postgres.mapping.json"),
    "delta-lake": delta_lake(GOLDEN / "delta-lake.mapping.json"),
}


def golden_inputs(name: str) -> list[bytes]:
    """Return the contents of the golden feeds of a format."""
    return [
        path.read_bytes()
        for path in sorted(GOLDEN.glob(f"{name}*"))
        if not path.name.endswith(_OUTPUTS) and (path.suffix != ".rdfp" or name == "rdf-patch")
    ]
