"""`rdflive thresholds`: when saturation pays off for a query on data."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console

from rdflive.api.reformulate import reformulate
from rdflive.api.thresholds import MOST_MEMBERS, Thresholds, UpdateTimes, thresholds
from rdflive.cli.load import load, open_dataset
from rdflive.cli.out_file import STDOUT, naming
from rdflive.cli.query import read_query

__all__ = ["run", "to_json", "to_text"]

_LONG: Final = 1.0
"""Seconds until a run that nobody watches says what it is doing."""
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def run(args: argparse.Namespace) -> None:
    """Load, measure and print."""
    query = read_query(args.query)
    dataset = open_dataset("memory", union=args.union)
    with query.placed():
        names = {**dict(dataset.namespaces()), **query.prefixes()}
        reformulate(query.text, (), initNs=names)  # refused before a long load
        load(dataset, [*args.data, *([] if args.schema is None else [args.schema])])
        with _progress() as on_step:
            measured = thresholds(query.text, dataset, initNs=names, on_step=on_step)
    with naming(STDOUT):
        print(json.dumps(to_json(measured)) if args.json else to_text(measured), flush=True)


@contextmanager
def _progress() -> Iterator[Callable[[str], object]]:
    """Show on standard error what is measured; on a terminal it leaves no trace."""
    if sys.stderr.isatty():
        with Console(stderr=True).status("measuring") as status:
            yield lambda step: status.update(f"measuring {step}")
        return
    start = time.perf_counter()

    def show(step: str) -> None:
        if time.perf_counter() - start > _LONG:
            print(f"measuring {step}", file=sys.stderr, flush=True)

    yield show


def to_text(measured: Thresholds) -> str:
    """Write what was measured as a table for people."""
    members = f"more than {MOST_MEMBERS:,}" if measured.members is None else f"{measured.members:,}"
    rows = [
        ("", "saturation", "reformulation", "threshold", ""),
        ("answer the query", _seconds(measured.on_saturated), _seconds(measured.reformulated), "", ""),
        ("saturate the graph", _seconds(measured.saturation), "", "st", _runs(measured.st)),
        *(_update_row(*row) for row in _updates(measured)),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"graph      {measured.explicit:,} triples, {measured.entailed:,} with those they entail",
        f"query      {measured.answers:,} answers; its reformulation is a union of {members}",
        "",
        *(_line(row, widths) for row in rows),
        "",
        "A threshold is the least number of runs of the query after which saturation has paid off.",
        f"Recommendation: {measured.recommendation}.",
    ]
    return "\n".join(lines)


def to_json(measured: Thresholds) -> dict[str, Any]:
    """Give what was measured as one JSON object: times in seconds, null for a threshold of never."""
    return {
        "explicit": measured.explicit,
        "entailed": measured.entailed,
        "answers": measured.answers,
        "members": measured.members,
        "seconds": {
            "saturation": measured.saturation,
            "on_saturated": measured.on_saturated,
            "reformulated": measured.reformulated,
            **{
                name.replace(" ", "_"): None if times is None else asdict(times)
                for name, _, times, _ in _updates(measured)
            },
        },
        "thresholds": {"st": measured.st, **{sign: runs for _, sign, _, runs in _updates(measured)}},
        "recommendation": measured.recommendation,
    }


def _updates(measured: Thresholds) -> list[tuple[str, str, UpdateTimes | None, int | None]]:
    """List the changes: their names, the names of their thresholds, times and thresholds."""
    return [
        ("instance insert", "st_i+", measured.instance_insert, measured.st_instance_insert),
        ("instance delete", "st_i-", measured.instance_delete, measured.st_instance_delete),
        ("schema insert", "st_s+", measured.schema_insert, measured.st_schema_insert),
        ("schema delete", "st_s-", measured.schema_delete, measured.st_schema_delete),
    ]


def _update_row(name: str, sign: str, times: UpdateTimes | None, runs: int | None) -> tuple[str, ...]:
    if times is None:
        return name, "none to try", "", sign, "?"
    return name, _seconds(times.maintained), _seconds(times.plain), sign, _runs(runs)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    name, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
    return "  ".join([row[0].ljust(len(name)), *rest]).rstrip()


def _runs(number: int | None) -> str:
    return "never" if number is None else f"{number:,}"


def _seconds(seconds: float) -> str:
    """Write a time with three digits.

    >>> _seconds(0.01234), _seconds(12.345), _seconds(2e-8)
    ('12.3 ms', '12.3 s', '0.02 µs')
    """
    size, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    return f"{float(f'{seconds / size:.3g}'):,g} {unit}"
