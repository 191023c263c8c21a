"""XPath's regular expressions, parsed to trees and matched by Python's engine."""

from rdflive.regex.matching import compiled, matches, replaced
from rdflive.regex.tree import RegexError

__all__ = ["RegexError", "compiled", "matches", "replaced"]
