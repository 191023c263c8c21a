"""The plugin that offers the rule sets shipped with rdflive."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_rule_sets"]


@hookimpl
def rdflive_rule_sets() -> dict[str, str]:
    """Offer what is shipped."""
    return _shipped()


@cache
def _shipped() -> dict[str, str]:
    folder = files("rdflive.entail.rules").joinpath("sets")
    texts = (entry for entry in folder.iterdir() if entry.name.endswith(".n3"))
    return {entry.name.removesuffix(".n3"): entry.read_text(encoding="utf-8") for entry in texts}
