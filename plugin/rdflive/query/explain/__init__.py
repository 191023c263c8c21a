"""What a plan is and costs, for people: text, Mermaid, and SVG in notebooks."""

from rdflive.query.explain.explanation import Explanation

__all__ = ["Explanation"]
