"""What every test shares: no deadlines, because machines are slow at times; the table of the W3C tests."""

from __future__ import annotations

from hypothesis import settings

from support.w3c_report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

settings.register_profile("rdflive", deadline=None)
settings.load_profile("rdflive")
