"""What every test shares: no deadlines, because machines are slow at times."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("rdflive", deadline=None)
settings.load_profile("rdflive")
