"""SHACL: shapes compiled to plans of the engine, and their results as a subscription."""

from rdflive.shacl.parts import COLUMNS
from rdflive.shacl.reading import ABOUT_SHAPES
from rdflive.shacl.rules import rules_of
from rdflive.shacl.shapes import ShapesError
from rdflive.shacl.validation import LiveValidation

__all__ = ["ABOUT_SHAPES", "COLUMNS", "LiveValidation", "ShapesError", "rules_of"]
