"""JSON schemas of the server's responses, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["SCHEMAS", "referred"]


def referred(name: str) -> dict[str, Any]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


_COUNT: Final = {"type": "integer", "minimum": 0}
_PLACE: Final = {"type": "integer", "minimum": 1}
_SECONDS: Final = {"type": "number", "minimum": 0}
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_BINDINGS: Final = {"type": "array", "items": {"type": "object"}}
"""Solutions or quads, with terms as in SPARQL 1.1 Query Results JSON."""

SCHEMAS: Final[dict[str, Any]] = {
    "Problem": _object(
        {"title": _TEXT, "status": {"type": "integer", "minimum": 400, "maximum": 599}, "detail": _TEXT},
        {"line": _PLACE, "column": _PLACE, "construct": _TEXT, "results": _BINDINGS},
    ),
    "Preview": _object(
        {"refused": {"anyOf": [referred("Problem"), {"type": "null"}]}},
        {
            "added": _BINDINGS,
            "removed": _BINDINGS,
            "subscriptions": {"type": "array", "items": referred("SubscriptionPreview")},
        },
    ),
    "SubscriptionPreview": _object(
        {"subscription": _TEXT, "query": _TEXT, "sequence": _COUNT, "initial": {"type": "boolean"}},
        {"added": _BINDINGS, "removed": _BINDINGS, "changed": _BINDINGS, "boolean": {"type": "boolean"}},
    ),
    "Health": _object({"status": {"const": "ok"}}, {"feed": {"enum": ["following", "ended", "stopped"]}}),
    "Explanation": _object(
        {
            "form": {"enum": ["SELECT", "CONSTRUCT", "ASK"]},
            "vars": _TEXTS,
            "key": {"type": ["array", "null"], "items": _TEXT},
            "text": _TEXT,
            "svg": _TEXT,
            "algorithms": _TEXTS,
            "notes": _TEXTS,
        }
    ),
    "Vocabulary": _object(
        {
            "triples": _COUNT,
            "complete": {"type": "boolean"},
            "predicates": {"type": "array", "items": referred("Use"), "maxItems": 1000},
            "classes": {"type": "array", "items": referred("Use"), "maxItems": 1000},
            "first": _TEXT,
        }
    ),
    "Use": _object({"iri": _TEXT, "uses": {"type": "integer", "minimum": 1}}),
    "Subscription": _object(
        {
            "id": _TEXT,
            "query": _TEXT,
            "entailment": {"type": ["string", "null"]},
            "key": _TEXTS,
            "node": {"type": ["string", "null"]},
            "form": {"enum": ["SELECT", "CONSTRUCT", "ASK"]},
            "vars": _TEXTS,
            "clients": _COUNT,
            "rows": _COUNT,
            "sequence": _COUNT,
            "deltas": _COUNT,
            "stats": referred("Stats"),
        }
    ),
    "Stats": _object(
        {},
        {
            "algorithms": _TEXTS,
            "updates": _COUNT,
            "matched": _COUNT,
            "deltas": _COUNT,
            "entries": _COUNT,
            "size": _COUNT,
            "seconds": _SECONDS,
            "callback_seconds": _SECONDS,
            "members": _COUNT,
        },
    ),
}
