"""The input and output values: changes and batches, solutions and deltas."""

from rdflive.model.answers import Answers, Glimpse
from rdflive.model.change import Batch, Change, Quad
from rdflive.model.delta import Changed, Delta
from rdflive.model.row_warnings import rows_are_unread, rows_unread, warn_of_hidden_names
from rdflive.model.rows import Rows
from rdflive.model.solution import Header, Origin, Solution, Terms, hidden_names
from rdflive.model.term_text import TermWriter, to_ntriples, to_printable
from rdflive.model.terms import (
    DirectionalString,
    Foreign,
    Term,
    TermPattern,
    Triple,
    TripleTerm,
    exact_literal,
    is_triple,
    python_value,
)

__all__ = [
    "Answers",
    "Batch",
    "Change",
    "Changed",
    "Delta",
    "DirectionalString",
    "Foreign",
    "Glimpse",
    "Header",
    "Origin",
    "Quad",
    "Rows",
    "Solution",
    "Term",
    "TermPattern",
    "TermWriter",
    "Terms",
    "Triple",
    "TripleTerm",
    "exact_literal",
    "hidden_names",
    "is_triple",
    "python_value",
    "rows_are_unread",
    "rows_unread",
    "to_ntriples",
    "to_printable",
    "warn_of_hidden_names",
]
