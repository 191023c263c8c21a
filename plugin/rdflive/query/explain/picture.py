"""An SVG drawing of a plan: the operators as a tree, and below them the patterns as panels."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final

from rdflive.query.explain.flowchart import OutlineBranch, outline
from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.panel import Panel, text_at
from rdflive.query.explain.words import Words, describe
from rdflive.query.plan import Plan
from rdflive.query.segment import BasicPlan

__all__ = ["draw"]

_GAP: Final = 28
"""Pixels between boxes, in both directions."""
_BOX: Final = 300
_LINE: Final = 16
_LETTERS: Final = 42
"""Characters in a line of a box."""
_MOST: Final = 3
"""Most lines of a box that describe the operator."""
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}",
    ".title{font-weight:bold}",
    ".edge{font-size:10px;fill:#555;paint-order:stroke;stroke:white;stroke-width:3px}",
    ".words{font:11px monospace}",
    ".keeps{fill:#666}",
    ".variable{fill:#dbeafe;stroke:#1d4ed8}",
    ".state{stroke-width:3}",
    ".constant{fill:#f3f4f6;stroke:#6b7280}",
    ".box{fill:#fef9c3;stroke:#a16207}",
    ".leaf{fill:none;stroke:#9ca3af}",
    ".again{fill:none;stroke:#a16207;stroke-dasharray:4 3}",
    ".arrow{stroke:#6b7280;fill:none}",
)
_ARROW: Final = (
    '<marker id="rdflive-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#6b7280"/></marker>'
)


def draw(plan: Plan) -> str:
    """Draw a plan; the segments of a pattern are side by side.

    Every box has its own horizontal range, which contains everything below it, so nothing overlaps. A step
    that feeds several others is drawn once, and dashed boxes refer to it by its number.
    """
    names = VariableNames(plan)
    last = plan.steps[-1].basic
    if last is not None:
        panels = [Panel(segment, names) for segment in last.segments]
        width, height = sum(p.width for p in panels), max(p.height for p in panels)
        return _image(width, height, _row(panels, 0, 0), last.pattern_class)
    tree = _Tree(outline(plan), plan, names)
    label = f"plan of {len(plan.steps)} steps"
    return _image(tree.width + 2 * _GAP, tree.depth + 2 * _GAP, tree.draw(_GAP, _GAP), label)


def _image(width: float, height: float, content: str, label: str) -> str:
    style = "".join(f".rdflive-plan {rule}" for rule in _STYLE)  # a page has other drawings too
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rdflive-plan" {size} '
        f'role="img" aria-label="{escape(label)}">'
        f"<style>{style}</style><defs>{_ARROW}</defs>"
        f'<rect width="100%" height="100%" fill="white"/>{content}</svg>'
    )


def _row(panels: list[Panel], x: float, y: float) -> str:
    parts = []
    for panel in panels:
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{panel.draw()}</g>')
        x += panel.width
    return "".join(parts)


@dataclass(frozen=True)
class _Tree:
    """A step with everything below it; its position is the upper left corner of the whole."""

    branch: OutlineBranch
    plan: Plan
    names: VariableNames

    @cached_property
    def words(self) -> Words:
        return describe(self.branch.step, self.plan, self.names)

    @cached_property
    def below(self) -> tuple[_Tree, ...]:
        return tuple(_Tree(branch, self.plan, self.names) for branch in self.branch.branches)

    @cached_property
    def panels(self) -> list[Panel]:
        basic = self.branch.step.basic
        if basic is None or self.branch.again:
            return []
        return [Panel(segment, self.names) for segment in basic.segments]

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """The lines of the box, each with its class."""
        if self.branch.again:
            return [("title", f"{self.branch.number} {self.words.name}, as there")]
        basic = self.branch.step.basic
        detail = self.words.detail if basic is None else _leaf_detail(basic, self.words.detail)
        lines = [("title", f"{self.branch.number} {self.words.name}")]
        lines += [("words", line) for line in _wrap(detail, _MOST)]
        if basic is None and self.words.keeps != "nothing":
            lines += [("words keeps", line) for line in _wrap(f"keeps {self.words.keeps}", 2)]
        return lines

    @cached_property
    def box_width(self) -> float:
        return max(float(_BOX), sum(panel.width for panel in self.panels))

    @cached_property
    def box_height(self) -> float:
        panels = max((panel.height for panel in self.panels), default=0)
        return 14 + _LINE * len(self.lines) + panels

    @cached_property
    def width(self) -> float:
        children = sum(tree.width for tree in self.below) + _GAP * max(0, len(self.below) - 1)
        return max(self.box_width, children)

    @cached_property
    def depth(self) -> float:
        below = max((tree.depth + _GAP for tree in self.below), default=0)
        return self.box_height + below

    @cached_property
    def centre(self) -> float:
        """The middle of the box, from the left end: between those of its outermost inputs."""
        if not self.below:
            return self.width / 2
        places = [start + tree.centre for start, tree in self._starts()]
        half = self.box_width / 2
        # if the outer inputs differ in width, the box could leave its range
        return min(max((places[0] + places[-1]) / 2, half), self.width - half)

    def _starts(self) -> list[tuple[float, _Tree]]:
        """Place the inputs beside each other, in the middle."""
        # the box may be wider than all its inputs together
        used = sum(tree.width for tree in self.below) + _GAP * (len(self.below) - 1)
        start, starts = (self.width - used) / 2, []
        for tree in self.below:
            starts.append((start, tree))
            start += tree.width + _GAP
        return starts

    def draw(self, x: float, y: float) -> str:
        """Draw everything, with the upper left corner at x, y."""
        parts = [self._box(x + self.centre - self.box_width / 2, y)]
        low = y + self.box_height
        for i, (start, tree) in enumerate(self._starts() if self.below else (), 1):
            child = x + start + tree.centre
            # spread along the lower edge, so that left and right input can be distinguished
            end = x + self.centre + self.box_width * (i / (len(self.below) + 1) - 0.5)
            path = f"M{child:.0f} {low + _GAP:.0f}L{end:.0f} {low:.0f}"
            parts.append(f'<path class="arrow" d="{path}" marker-end="url(#rdflive-arrow)"/>')
            parts.append(tree.draw(x + start, low + _GAP))
        return "".join(parts)

    def _box(self, x: float, y: float) -> str:
        kind = "again" if self.branch.again else "box" if self.branch.step.basic is None else "leaf"
        size = f'width="{self.box_width:.0f}" height="{self.box_height:.0f}"'
        hint = f"{self.words.title}\nkeeps: {self.words.keeps}\nan update costs: {self.words.costs}"
        title = "" if self.panels or self.branch.again else f"<title>{escape(hint)}</title>"
        parts = [f'<g>{title}<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" {size} rx="6"/>']
        for i, (style, line) in enumerate(self.lines, 1):
            parts.append(text_at(x + 10, y + 4 + _LINE * i, line, style, "start"))
        top = y + 8 + _LINE * len(self.lines)
        return "".join([*parts, "</g>", _row(self.panels, x, top)])


def _leaf_detail(basic: BasicPlan, where: str) -> str:
    return f"{basic.pattern_class}; {where}" if where else basic.pattern_class


def _wrap(text: str, most: int) -> list[str]:
    return textwrap.wrap(text, _LETTERS, max_lines=most, placeholder=" …", break_on_hyphens=False)
