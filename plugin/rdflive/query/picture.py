"""An SVG drawing of a plan: one panel per segment, variables on a circle, patterns as arrows."""

from __future__ import annotations

from html import escape
from math import cos, hypot, pi, sin
from typing import Final

from rdflive.query.bgp import Term, TriplePattern, Variable, to_text
from rdflive.query.plan import Plan
from rdflive.query.segment import Segment

__all__ = ["draw"]

PANEL: Final = 340
RADIUS: Final = 105
CENTRE: Final = (PANEL / 2, PANEL / 2 + 10)
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.title{font-weight:bold}.edge{font-size:10px;fill:#555}"
    ".variable{fill:#dbeafe;stroke:#1d4ed8}.state{stroke-width:3}.constant{fill:#f3f4f6;stroke:#6b7280}"
    "path{stroke:#6b7280;fill:none}"
)
_ARROW: Final = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#6b7280"/></marker>'
)


def draw(plan: Plan) -> str:
    """Draw the segments of a plan side by side; a thick rim marks a centre with a match state."""
    width = PANEL * max(1, len(plan.segments))
    panels = "".join(
        f'<g transform="translate({i * PANEL} 0)">{_panel(segment)}</g>'
        for i, segment in enumerate(plan.segments)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {PANEL + 20}" width="{width}" '
        f'role="img" aria-label="{escape(plan.pattern_class)}"><style>{_STYLE}</style>'
        f'<defs>{_ARROW}</defs><rect width="100%" height="100%" fill="white"/>{panels}</svg>'
    )


def _panel(segment: Segment) -> str:
    nodes = _nodes(segment.patterns)
    places = {node: _place(i, len(nodes)) for i, node in enumerate(nodes)}
    drawn: dict[tuple[Term, Term], int] = {}
    parts = [f'<text class="title" x="12" y="20">{segment.algorithm}</text>']
    for pattern in segment.patterns:
        ends = (pattern.subject, pattern.object)
        bend = drawn[ends] = drawn.get(ends, 0) + 1
        parts.append(_edge(places[ends[0]], places[ends[1]], _short(pattern.predicate), bend))
    for node, (x, y) in places.items():
        kind = "variable" if isinstance(node, Variable) else "constant"
        state = " state" if node in segment.centres else ""
        shape = (
            f'<circle class="{kind}{state}" cx="{x:.0f}" cy="{y:.0f}" r="20"/>'
            if kind == "variable"
            else f'<rect class="{kind}" x="{x - 42:.0f}" y="{y - 13:.0f}" width="84" height="26" rx="4"/>'
        )
        parts.append(f"<g><title>{escape(to_text(node))}</title>{shape}{_label(x, y + 4, _short(node))}</g>")
    return "".join(parts)


def _nodes(patterns: tuple[TriplePattern, ...]) -> list[Term]:
    return list(dict.fromkeys(term for p in patterns for term in (p.subject, p.object)))


def _place(i: int, count: int) -> tuple[float, float]:
    angle = 2 * pi * i / count - pi / 2
    return CENTRE[0] + RADIUS * cos(angle), CENTRE[1] + RADIUS * sin(angle)


def _edge(start: tuple[float, float], end: tuple[float, float], label: str, bend: int) -> str:
    (x, y), (u, v) = start, end
    length = hypot(u - x, v - y)
    if not length:
        path = f"M{x - 12:.0f} {y - 17:.0f}c-33 -53 57 -53 24 0"
        return f'<path d="{path}" marker-end="url(#arrow)"/>{_label(x, y - 60, label, "edge")}'
    dx, dy = (u - x) / length, (v - y) / length
    x, y, u, v = x + 22 * dx, y + 22 * dy, u - 24 * dx, v - 24 * dy
    cx, cy = (x + u) / 2 - dy * 26 * bend, (y + v) / 2 + dx * 26 * bend
    path = f"M{x:.0f} {y:.0f}Q{cx:.0f} {cy:.0f} {u:.0f} {v:.0f}"
    middle = ((x + u) / 4 + cx / 2, (y + v) / 4 + cy / 2)
    return f'<path d="{path}" marker-end="url(#arrow)"/>{_label(*middle, label, "edge")}'


def _label(x: float, y: float, text: str, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<text{mark} text-anchor="middle" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


def _short(term: Term) -> str:
    """Write what fits: the end of an IRI, the start of anything else."""
    text = to_text(term)
    if text.startswith("<"):
        text = text.strip("<>").rstrip("/#")
        text = text[max(text.rfind("/"), text.rfind("#"), text.rfind(":")) + 1 :] or text
    return text if len(text) <= 13 else text[:12] + "…"
