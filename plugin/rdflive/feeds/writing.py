"""Terms and quads as N-Triples and N-Quads: what `RowReader` reads back as the same terms."""

from __future__ import annotations

import re
from typing import Any, Final

from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.model import Quad

__all__ = ["UnwritableError", "write_quad", "write_term"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LABEL: Final = re.compile(r"\w(?:[\w.:\-]*[\w:\-])?")


class UnwritableError(RdfliveError, ValueError):
    """A term is valid in the store, but a line of N-Triples cannot hold it."""


def write_term(term: Any) -> str:
    r"""Write an rdflib term as N-Triples does; `UnwritableError` for what could not be read again.

    >>> write_term(Literal('a "b"\n', lang="en"))
    '"a \\"b\\"\\n"@en'
    """
    if isinstance(term, Literal) and not _SURROGATE.search(term):
        text = f'"{term.translate(_ESCAPES)}"'
        if term.language:
            return f"{text}@{term.language}"
        return text if term.datatype is None else f"{text}^^{write_term(term.datatype)}"
    if isinstance(term, BNode) and _LABEL.fullmatch(term):
        return f"_:{term}"
    if isinstance(term, URIRef) and _IRI.fullmatch(term):
        return f"<{term}>"
    raise UnwritableError(
        f"{term!r} cannot be written as N-Triples: it must be an absolute IRI without spaces and quotes, a "
        "blank node with a plain label, or a literal without half a surrogate pair, which has no UTF-8"
    )


def write_quad(quad: Quad) -> str:
    """Write a quad as a line of N-Quads, without the line's end; a graph that is None is left out."""
    return " ".join([*(write_term(term) for term in quad if term is not None), "."])
