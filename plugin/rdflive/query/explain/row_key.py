"""Which variables tell the rows of an answer apart, where the text of the query says so."""

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
"""Operators that give at most one row for each row that they take."""


def row_key(query: ParsedQuery) -> tuple[str, ...] | None:
    """Give variables of which no two rows have the same terms, whatever the data: those of GROUP BY.

    Aggregates without GROUP BY make one row, whose key is of no variables. None where the query does not say:
    that a train has one delay is known to the author of the data, and may end with the next triple.

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
    # columns that only ORDER BY reads are no part of a row
    shown = frozenset(column for column in node.columns if column.name in query.names)
    while isinstance(node, _KEEPS_ROWS):
        if isinstance(node, algebra.Project):
            # outside of a subquery that does not show it, a name may be another variable's
            shown &= frozenset(node.kept)
        node = node.inputs[0]
    if not isinstance(node, algebra.Group) or not shown.issuperset(node.keys):
        return None
    return tuple(name for name in query.names if name in {key.name for key in node.keys})
