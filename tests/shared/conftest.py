"""The table of the W3C tests behind the summary of a run."""

from __future__ import annotations

from support.w3c_report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
