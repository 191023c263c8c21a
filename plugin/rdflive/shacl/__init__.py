"""SHACL: shapes compiled to plans of the engine, and a subscription to their results."""

from rdflive.shacl.imports import parse_shapes, read_shapes, with_imports
from rdflive.shacl.parts import COLUMNS
from rdflive.shacl.reading import ABOUT_SHAPES
from rdflive.shacl.rules import rules_of
from rdflive.shacl.selection import SelectedShapes, read_terms
from rdflive.shacl.shapes import ShapesError
from rdflive.shacl.validation import LiveValidation

__all__ = [
    "ABOUT_SHAPES",
    "COLUMNS",
    "LiveValidation",
    "SelectedShapes",
    "ShapesError",
    "parse_shapes",
    "read_shapes",
    "read_terms",
    "rules_of",
    "with_imports",
]
