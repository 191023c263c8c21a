"""Property paths of shapes (SHACL, Section 2.3.1), in the terms of rdflib and of SPARQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib import URIRef
from rdflib.paths import InvPath, MulPath, SequencePath

from rdflive.shacl.vocabulary import SH

__all__ = ["PATHS", "REPEATED", "path_text"]

REPEATED: Final[dict[URIRef, Any]] = {SH.zeroOrMorePath: "*", SH.oneOrMorePath: "+", SH.zeroOrOnePath: "?"}
PATHS: Final = (SH.inversePath, SH.alternativePath, *REPEATED)
"""What a node says that is a path and no list."""


def path_text(path: Any, write: Callable[[Any], str], depth: int = 0) -> str:
    """Write a path as SPARQL does, by what writes IRIs."""
    if isinstance(path, URIRef):
        return write(path)
    if isinstance(path, InvPath):
        return f"^{path_text(path.arg, write, 2)}"
    if isinstance(path, MulPath):
        return f"{path_text(path.path, write, 2)}{path.mod}"
    mark, own = ("/", 1) if isinstance(path, SequencePath) else ("|", 0)
    text = mark.join(path_text(each, write, own + 1) for each in path.args)
    return f"({text})" if depth > own else text
