"""Expiration: what windows entail, when time takes their content away (paper 002)."""

from rdflive.time.expiry.choice import Expiry, choose, program_of, regime_for

__all__ = ["Expiry", "choose", "program_of", "regime_for"]
