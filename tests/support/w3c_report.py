"""The outcomes of the W3C tests per class and engine, printed after the summary of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from support.shared import ROOT

Outcome: TypeAlias = Literal["pass", "left out", "refused", "fail"]
OUTCOMES: tuple[Outcome, ...] = ("pass", "left out", "refused", "fail")
PROPERTY = "w3c"
"""The property that a test records: its class, engine and outcome."""
REPORT = ROOT / "build" / "w3c.txt"
BASELINE = ROOT / "tests" / "shared" / "w3c_baseline.json"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table, and after a run of all tests write it to build/w3c.txt; pytest calls this.

    The gate runs each test on one engine, so its numbers differ from the baseline.
    """
    table = tally(
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    )
    if not table:
        return
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    whole = sum(map(Counter.total, table.values())) >= sum(baseline["all"].values())
    lines = list(draw(table, baseline if whole else {}))
    terminalreporter.section("W3C query tests" if whole else "W3C query tests that were run")
    for line in lines:
        terminalreporter.write_line(line)
    if whole:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tally(outcomes: Iterable[Any]) -> dict[str, Counter[str]]:
    """Count outcomes per class and engine."""
    table: dict[str, Counter[str]] = {}
    for cls, engine, outcome in outcomes:
        table.setdefault(f"{cls} ({engine})", Counter())[outcome] += 1
    return dict(sorted(table.items()))


def draw(table: dict[str, Counter[str]], baseline: dict[str, Any]) -> Iterable[str]:
    """Yield the lines of the table; a star marks fewer passes than the baseline."""
    width = max(map(len, table))
    yield f"{'':{width}} " + " ".join(f"{name:>8}" for name in OUTCOMES)
    for name, counts in [*table.items(), ("all", sum(table.values(), Counter()))]:
        fell = counts["pass"] < baseline.get(name, {}).get("pass", 0)
        yield f"{name:{width}} " + " ".join(f"{counts[o]:8}" for o in OUTCOMES) + (" *" if fell else "")
