"""Requests to follow or explain a query, with its options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import BNode, Node
from starlette.requests import Request

from rdflive.delivery.question import read_key
from rdflive.entail.regimes import ENTAILMENTS
from rdflive.entail.rules import Program
from rdflive.errors import QuerySyntaxError
from rdflive.server.failures import Problem
from rdflive.server.sparql.operations import read_fields
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import walk

__all__ = ["LiveQuery", "read_live_query"]

RULES: Final = "rules"
"""The entailment by the rules of the server."""
_LONGEST: Final = 50_000
"""Characters of the longest query for a subscription."""
_CHANGING: Final = frozenset(f"Builtin_{name}" for name in ("RAND", "UUID", "STRUUID", "BNODE", "NOW"))
_KNOWN: Final = frozenset({"query", "entailment", "key", "node"})


@dataclass(frozen=True, slots=True)
class LiveQuery:
    """A query with its entailment regime and the key of its rows."""

    query: str
    entailment: str | None = None
    """`"rules"` stands for the rules of the server."""
    key: tuple[str, ...] = ()
    """The variables by which events pair removed and added rows."""
    node: str | None = None
    """The label of a blank node for the variable ?node, as SPARQL cannot name blank nodes."""

    def entailed(self, rules: Program | None) -> Mapping[str, Any]:
        """Return the options of `subscribe` for the entailment, given the rules of the server."""
        return {"rules": rules} if self.entailment == RULES else {"entailment": self.entailment}

    def depends_on_graph_alone(self, prefixes: Mapping[str, str]) -> bool:
        """Return True if the same graph always has the same answer, also in another process.

        Not so with NOW(), RAND(), UUID() and the like, functions of the application, rules, and blank nodes
        of a template.
        """
        if self.entailment == RULES:
            return False
        try:
            tree = read_query(self.query, prefixes).query
        except QuerySyntaxError:
            return False
        template = tree.template or (tree.where if tree.name == "ConstructQuery" else None)
        if any(isinstance(term, BNode) for node in walk(template) for term in _terms(node.fields.values())):
            return False
        return not any(
            node.name in _CHANGING or (node.name == "Function" and not str(node.iri).startswith(str(XSD)))
            for node in walk(tree)
        )

    @property
    def bindings(self) -> Mapping[str, Node]:
        """The terms bound to variables of the query."""
        return {} if self.node is None else {"node": BNode(self.node)}


def _terms(fields: Iterable[Any]) -> Iterator[Any]:
    """Yield the terms of a node, without those of the nodes in it."""
    for field in fields:
        if isinstance(field, tuple):
            yield from _terms(field)
        else:
            yield field


async def read_live_query(request: Request) -> LiveQuery:
    """Return the query of a GET with parameters, or of a POST of a form or the query; raise `Problem`."""
    fields = await read_fields(request, "application/sparql-query", "query")
    names = [name for name, _ in fields]
    unknown = sorted(set(names) - _KNOWN)
    if unknown:
        raise Problem(400, f"unknown parameter {unknown[0]!r}; known: {', '.join(sorted(_KNOWN))}")
    # two values would be ambiguous
    if len(names) > len(set(names)):
        raise Problem(400, "a parameter is given more than once")
    given = dict(fields)
    if not given.get("query", "").strip():
        raise Problem(400, "the parameter query is missing or empty")
    if len(given["query"]) > _LONGEST:  # it would take long to plan
        raise Problem(413, f"the query of a subscription has at most {_LONGEST:,} characters")
    entailment = given.get("entailment") or None
    has_rules = request.app.state.service.rules is not None
    accepted = (*ENTAILMENTS, RULES) if has_rules else ENTAILMENTS
    if entailment not in (None, *accepted):
        raise Problem(400, f"entailment must be one of {', '.join(accepted)}, got {entailment!r}")
    names = [name.strip() for name in given.get("key", "").split(",")]
    key = read_key([name for name in names if name] or None)
    return LiveQuery(given["query"], entailment, key, given.get("node") or None)
