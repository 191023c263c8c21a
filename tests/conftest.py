"""What every test shares: no deadlines, because machines are slow at times; what is run; the W3C table."""

from __future__ import annotations

from hypothesis import settings

from support.w3c_report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

pytest_plugins = ["support.selection"]

settings.register_profile("rdflive", deadline=None, print_blob=True)
settings.load_profile("rdflive")
