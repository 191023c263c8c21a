"""Notes on literals in a query that rdflib's parsers would spell differently, so that they match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import rdflib
from rdflib import Literal
from rdflib.term import Node

from rdflive.model import to_ntriples, to_printable
from rdflive.query import algebra
from rdflive.query.plan import Plan
from rdflive.store import Adapter
from rdflive.values import as_parsed, equal

__all__ = ["spelling_notes"]


def spelling_notes(adapter: Adapter, plan: Plan, rows: Iterable[tuple[Node, ...]]) -> Iterator[str]:
    """List notes on literals of patterns that an rdflib store holds only in the spelling of rdflib's parsers.

    The parsers turn `"2024-05-01T10:00:00Z"` in a file into `"2024-05-01T10:00:00+00:00"`, so a pattern with
    the first literal matches nothing. `rows` are terms for the parameters of the plan. Called under the
    store's lock.
    """
    if not rdflib.NORMALIZE_LITERALS or adapter.to_rdflib() is not None:
        return
    for literal in dict.fromkeys(_literals(plan, rows)):
        spelt = as_parsed(literal)
        if str(spelt) != str(literal) and not _is_held(adapter, literal) and _is_held(adapter, spelt):
            yield (
                f"nothing in the data has the literal {_shown(literal)}, but some of it has "
                f"{_shown(spelt)}, as rdflib's parsers spell it: write that"
                + (", or compare values with FILTER(?x = …)" if equal(literal, spelt) else "")
            )


def _literals(plan: Plan, rows: Iterable[tuple[Node, ...]]) -> Iterator[Literal]:
    given: list[Mapping[Any, Node]] = [dict(zip(plan.parameters, row, strict=False)) for row in rows]
    for step in plan.steps:
        if isinstance(step.node, algebra.Basic):
            for pattern in step.node.patterns:
                for values in given:
                    term = values.get(pattern.object, pattern.object)
                    if isinstance(term, Literal) and term.datatype is not None:
                        yield term


def _shown(literal: Literal) -> str:
    # rdflib's n3() would write INF for inf
    return to_printable(to_ntriples(literal))


def _is_held(adapter: Adapter, literal: Literal) -> bool:
    return any(True for _ in adapter.quads((None, None, adapter.to_native(literal))))
