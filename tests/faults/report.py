"""Print after a run which test of the gate detected each planted fault, and how fast."""

from __future__ import annotations

from typing import Any

__all__ = ["PROPERTY", "pytest_terminal_summary"]

PROPERTY = "fault"
"""The property that a test records: the fault, its file, the test that detected it, and the seconds."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the detected faults, the fastest first."""
    found = [
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    if not found:
        return
    terminalreporter.section(f"{len(found)} planted faults that the gate caught")
    for name, module, test, seconds in sorted(found, key=lambda each: each[3]):
        terminalreporter.write_line(f"{seconds:5.1f} s  {name} ({module})")
        terminalreporter.write_line(f"         by {test}")
    seconds = sorted(each[3] for each in found)
    terminalreporter.write_line(f"median {seconds[len(seconds) // 2]:.1f} s, all {sum(seconds):.0f} s")
