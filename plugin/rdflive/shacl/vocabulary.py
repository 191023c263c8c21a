"""The vocabulary of SHACL, and its property paths (SHACL, Section 2.3.1) in terms of rdflib and SPARQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib import Namespace, URIRef
from rdflib.paths import InvPath, MulPath, SequencePath

__all__ = ["PATHS", "REPEATED", "SH", "path_text"]

SH: Final = Namespace("http://www.w3.org/ns/shacl#")
"""Not rdflib's own namespace, which lacks some terms."""


REPEATED: Final[dict[URIRef, Any]] = {SH.zeroOrMorePath: "*", SH.oneOrMorePath: "+", SH.zeroOrOnePath: "?"}
PATHS: Final = (SH.inversePath, SH.alternativePath, *REPEATED)
"""The predicates of nodes that are paths but not lists."""


def path_text(path: Any, write: Callable[[Any], str], depth: int = 0) -> str:
    """Write a path as SPARQL does; `write` writes IRIs."""
    if isinstance(path, URIRef):
        return write(path)
    if isinstance(path, InvPath):
        return f"^{path_text(path.arg, write, 2)}"
    if isinstance(path, MulPath):
        return f"{path_text(path.path, write, 2)}{path.mod}"
    mark, own = ("/", 1) if isinstance(path, SequencePath) else ("|", 0)
    text = mark.join(path_text(each, write, own + 1) for each in path.args)
    return f"({text})" if depth > own else text
