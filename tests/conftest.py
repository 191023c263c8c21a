"""What every test shares: no deadlines, because machines are slow at times; what is run; tables."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["support.selection", "support.w3c_report", "faults.report"]

# of the default one: that for CI would try the same examples each time, and forget those that failed
settings.register_profile("rdflive", settings.get_profile("default"), deadline=None, print_blob=True)
settings.load_profile("rdflive")
