"""Explanations of plans and their costs: text, Mermaid, and SVG in notebooks."""

from rdflive.query.explain.explanation import Explanation

__all__ = ["Explanation"]
