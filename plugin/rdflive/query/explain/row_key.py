"""The variables that identify the rows of an answer, if the query determines them."""

from __future__ import annotations

from typing import Final

from rdflive.query import algebra
from rdflive.query.parse import ParsedQuery

__all__ = ["row_key"]

_KEEPS_ROWS: Final = (
    algebra.Slice,
    algebra.Distinct,
    algebra.Project,
    algebra.Extend,
    algebra.Filter,
    algebra.Clocked,
)
"""Operators that output at most one row for each input row."""


def row_key(query: ParsedQuery) -> tuple[str, ...] | None:
    """Return variables for which no two rows have the same terms, whatever the data: those of GROUP BY.

    Aggregates without GROUP BY make one row, whose key has no variables. None if the query determines no key.
    Example: that a train has one delay is a property of the data, which the next triple may change.
    >>> from rdflive.query.parse import parse_query
    >>> row_key(parse_query("SELECT ?class (COUNT(?s) AS ?all) { ?s a ?class } GROUP BY ?class"))
    ('class',)
    >>> row_key(parse_query("SELECT (COUNT(?s) AS ?all) { ?s a ?class }"))
    ()
    >>> row_key(parse_query("SELECT ?train ?delay { ?train <urn:delay> ?delay }")) is None
    True
    """
    if query.form != "SELECT":
        return None
    node = query.root
    # columns for ORDER BY alone are no part of a row
    shown = frozenset(column for column in node.columns if column.name in query.names)
    while isinstance(node, _KEEPS_ROWS):
        if isinstance(node, algebra.Project):
            # outside of a subquery that does not project it, a name may be another variable's
            shown &= frozenset(node.kept)
        node = node.inputs[0]
    if not isinstance(node, algebra.Group) or not shown.issuperset(node.keys):
        return None
    return tuple(name for name in query.names if name in {key.name for key in node.keys})
