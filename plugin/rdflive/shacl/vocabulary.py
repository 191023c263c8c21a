"""The names of SHACL."""

from __future__ import annotations

from typing import Final

from rdflib import Namespace

__all__ = ["SH"]

SH: Final = Namespace("http://www.w3.org/ns/shacl#")
"""All of them: rdflib's own list lacks some."""
