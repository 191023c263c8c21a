"""What cannot be maintained, where it stands in the text, and what to use instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdflive.errors import UnsupportedQueryError
from rdflive.tokens import Token

__all__ = ["refused"]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """How a refused construct is called, which words open it, why it is refused, and the way around."""

    name: str
    words: tuple[str, ...]
    reason: str
    advice: str


_BY_ITSELF: Final = "its value changes although the graph does not"
_RANDOM: Final = "add it in the callback"
_REFUSALS: Final = {
    "ServiceGraphPattern": _Refusal(
        "SERVICE",
        ("SERVICE",),
        "changes of a remote endpoint are not seen",
        "bring the remote triples into the graph and subscribe without SERVICE",
    ),
    "DescribeQuery": _Refusal(
        "DESCRIBE",
        ("DESCRIBE",),
        "SPARQL leaves open which triples describe a resource",
        "say so with CONSTRUCT { ?s ?p ?o } WHERE { ... }",
    ),
    "NOW": _Refusal(
        "NOW()",
        ("NOW",),
        _BY_ITSELF,
        "pass the time as initBindings and subscribe again when it is to move on",
    ),
    "RAND": _Refusal("RAND()", ("RAND",), _BY_ITSELF, _RANDOM),
    "UUID": _Refusal("UUID()", ("UUID",), _BY_ITSELF, _RANDOM),
    "STRUUID": _Refusal("STRUUID()", ("STRUUID",), _BY_ITSELF, _RANDOM),
    "BNODE": _Refusal(
        "BNODE()",
        ("BNODE",),
        "each evaluation makes other blank nodes",
        "use a blank node in a CONSTRUCT template",
    ),
    "PresetExtend": _Refusal(
        "a variable that initBindings fixes",
        ("BIND", "AS"),
        "the query assigns it too",
        "leave it out of initBindings",
    ),
    "DistinctOrder": _Refusal(
        "ORDER BY",
        ("ORDER",),
        "with DISTINCT it sorts by a variable that is not projected, which has no single value per row",
        "project that variable, or group by the others and order by its MIN",
    ),
    "OrderExists": _Refusal(
        "EXISTS in ORDER BY", ("ORDER",), "it is no value of a row", "BIND it to a variable and order by that"
    ),
}


def refused(construct: str, tokens: list[Token]) -> UnsupportedQueryError:
    """Make the error for a construct, by rdflib's name for it."""
    refusal = _REFUSALS.get(construct)
    if refusal is None:
        refusal = _Refusal(construct, (), "rdflive does not know it", "run graph.query() after each change")
    place = next((t for t in tokens if t.kind == "word" and t.text.upper() in refusal.words), None)
    where = f" (line {place.line}, column {place.column})" if place else ""
    return UnsupportedQueryError(
        f"{refusal.name}{where} cannot be maintained: {refusal.reason}. Instead: {refusal.advice}.",
        construct=refusal.name,
        line=place.line if place else 0,
        column=place.column if place else 0,
    )
