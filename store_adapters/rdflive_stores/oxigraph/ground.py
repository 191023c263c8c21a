"""Reads updates of INSERT DATA and DELETE DATA by Oxigraph's TriG parser.

That takes less time than the update itself; making the terms in Python would take several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from pyoxigraph import DefaultGraph, Quad, RdfFormat, parse

from rdflive.syntax.ground import PREFIX_OF_DATA, data_documents
from rdflive_stores.oxigraph.bulk import Changing
from rdflive_stores.oxigraph.changes import canonical_quad

__all__ = ["net_of_ground", "read_ground"]

_DEFAULT: Final = DefaultGraph()
_DECLARED: Final = re.compile(PREFIX_OF_DATA)
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]*")


def read_ground(text: str, prefixes: Mapping[str, str] | None, base_iri: str | None) -> Changing | None:
    """Read a request of INSERT DATA and DELETE DATA alone; None if the SPARQL parser must read it.

    The arguments are those of `Store.update`, which would read the same quads. Blank nodes are new.

    >>> read_ground("PREFIX e: <urn:> INSERT DATA { e:IC5 e:late true } ;", None, None).came[0].predicate
    <NamedNode value=urn:late>
    >>> read_ground("DELETE WHERE { ?train <urn:late> true }", None, None)
    """
    try:
        declared = _declared(tuple((prefixes or {}).items()))
    except TypeError:  # the store raises the error
        return None
    documents = None if declared is None or type(text) is not str else data_documents(text, declared)
    if documents is None:
        return None
    quads: dict[str, list[Quad]] = {"DELETE": [], "INSERT": []}
    try:
        for verb, document in documents:
            quads[verb] += parse(document, RdfFormat.TRIG, base_iri=base_iri, rename_blank_nodes=True)
    except (SyntaxError, ValueError, AttributeError):  # the last for a lone surrogate
        return None
    went, came = quads.values()
    if went and came and not {*map(canonical_quad, went)}.isdisjoint(map(canonical_quad, came)):
        return None  # the order of the operations matters, and an empty graph may remain
    return Changing(went, came)


def net_of_ground(
    texts: Sequence[str], prefixes: Mapping[str, str] | None
) -> dict[Quad, Literal[1, -1]] | None:
    """Return what requests of INSERT DATA and DELETE DATA alone change one after the other, by quad.

    Inserting a present quad, or deleting an absent one, has no effect. Returns None for other requests, and
    where the requests may leave an empty graph, which no quad shows.

    >>> net_of_ground(["INSERT DATA { <urn:a> <urn:p> 1 }", "DELETE DATA { <urn:a> <urn:p> 1 }"], None)
    {<Quad subject=<NamedNode value=urn:a> predicate=<NamedNode value=urn:p> object=<Literal value=1 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#integer>> graph_name=<DefaultGraph>>: -1}
    """  # noqa: E501 - the form of pyoxigraph
    net: dict[Quad, Literal[1, -1]] = {}
    for text in texts:
        read = read_ground(text, prefixes, None)
        if read is None:
            return None
        for quad in map(canonical_quad, read.went):
            if net.get(quad) == 1 and quad.graph_name != _DEFAULT:
                return None
            net[quad] = -1
        net.update(dict.fromkeys(map(canonical_quad, read.came), 1))
    return net


@lru_cache(16)
def _declared(prefixes: tuple[tuple[str, str], ...]) -> str | None:
    """Write the declarations of prefixes; None if the store may refuse one that TriG accepts."""
    lines = []
    for prefix, iri in prefixes:
        if not (_DECLARED.fullmatch(f"{prefix}:") and isinstance(iri, str) and _ABSOLUTE.fullmatch(iri)):
            return None
        lines.append(f"PREFIX {prefix}: <{iri}>\n")
    return "".join(lines)
