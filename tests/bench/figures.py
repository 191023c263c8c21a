"""Draw what the sections `thresholds` and `expiry` measured.

PYTHONPATH=tests python -m bench.figures build/bench.json docs
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.plots import bars, lines
from bench.thresholds import MOST_MEMBERS

__all__ = ["draw", "draw_expiry", "main"]

UPDATES = ("instance insert", "instance delete", "schema insert", "schema delete")
THRESHOLDS = {
    "st": "saturation",
    "st_instance_insert": "instance insert",
    "st_instance_delete": "instance delete",
    "st_schema_insert": "schema insert",
    "st_schema_delete": "schema delete",
}


def draw(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Make Figures 14 to 17 of Goasdoué et al. of the section's rows, by the names of their files."""
    named = {row["what"]: row for row in rows}
    queries = [row for row in rows if "ref" in row]
    sizes = [row for row in rows if row["what"] == "saturation"]
    names = [f"{row['what']} ({_members(row['members'])})" for row in queries]
    note = f"{queries[0]['triples']:,} triples; in brackets the members of the reformulation."
    return {
        "entailment-saturation.svg": lines(
            "Saturation time by size", "ms", "triples",
            {
                "supports": [(row["triples"], row["saturation"]) for row in sizes],
                "paths": [(row["triples"], row["paths"]) for row in sizes],
            },
        ),
        "entailment-queries.svg": bars(
            "Query time by strategy", "ms", names,
            {
                "over the saturation": [row["sat"] for row in queries],
                "reformulated": [row["ref"] for row in queries],
                "saturation and query": [row["sat"] + row["saturation"] for row in queries],
            },
            note,
        ),
        "entailment-updates.svg": bars(
            "Time of an update", "µs", UPDATES,
            {
                "graph alone": [named[what]["plain"] for what in UPDATES],
                "graph and its saturation": [named[what]["maintained"] for what in UPDATES],
            },
        ),
        "entailment-thresholds.svg": bars(
            "Runs of a query after which saturation has paid off", "runs", names,
            {label: [row.get(key) for row in queries] for key, label in THRESHOLDS.items()},
            note + " No bar: never.",
        ),
    }  # fmt: skip


def draw_expiry(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Make Figure 7 of IMaRS of the section's rows, once for each kind of data."""
    series = {"labels": "labels", "DRed": "dred", "keep all": "keep-all", "recompute": "recompute"}
    pictures = {}
    for what in dict.fromkeys(row["what"] for row in rows):
        points = [row for row in rows if row["what"] == what]
        pictures[f"expiry-{what.lower().replace(' ', '-')}.svg"] = lines(
            f"Time per slide of a window: {what}", "ms", "% of the background that arrives at a slide",
            {label: [(row["rate"], row[key]) for row in points] for label, key in series.items()},
            f"{min(row['held'] for row in points):,} explicit and entailed triples at the least.",
        )  # fmt: skip
    return pictures


def _members(count: int | None) -> str:
    return f"> {MOST_MEMBERS:,}" if count is None else f"{count:,}"


def main(arguments: list[str]) -> None:
    """Read a report of the benchmarks and write the figures."""
    report: Mapping[str, Any] = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    drawings = {"thresholds": draw, "expiry": draw_expiry}
    for section in report["sections"]:
        drawing = drawings.get(section["name"])
        for name, picture in drawing(section["rows"]).items() if drawing else ():
            Path(arguments[1], name).write_text(picture, encoding="utf-8")
            print(Path(arguments[1], name))


if __name__ == "__main__":
    main(sys.argv[1:])
