"""What every test shares: no deadlines, because machines are slow at times; what is run; tables."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["support.selection", "support.w3c_report", "faults.report"]

settings.register_profile("rdflive", deadline=None, print_blob=True)
settings.load_profile("rdflive")
