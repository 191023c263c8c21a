"""Expiry: how windows take back what they entailed, when time removes their content (IMaRS)."""

from rdflive.time.expiry.choice import Expiry, choose, program_of, regime_for

__all__ = ["Expiry", "choose", "program_of", "regime_for"]
