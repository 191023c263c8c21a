"""An SVG panel for one segment: its terms on a circle, its patterns as arrows, labels kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from math import cos, hypot, inf, pi, sin
from typing import Final, TypeAlias

from rdflive.query.bgp import TriplePattern, Variable, VarOrTerm
from rdflive.query.explain.names import VariableNames
from rdflive.query.segment import Segment

__all__ = ["Panel", "text_at"]

Point: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_RADIUS: Final = 105.0
_ROUND: Final = 140  # the least arc between two terms on the circle: they are up to 106 wide
_MARGIN: Final = 66
_LOW_MARGIN: Final = 40
"""Margin above the uppermost and below the lowest term, for its height and the bow of arrows."""
_TITLE: Final = 20
_TRIES: Final = (0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8)
"""Positions of a label along its arrow, best first."""
_ASIDE: Final = (0, -13, 13, -26, 26)
"""Offsets of a label below the arrow, best first."""


@dataclass(slots=True)
class Panel:
    """The drawing of one segment, of a size that fits its terms."""

    segment: Segment
    names: VariableNames
    nodes: tuple[VarOrTerm, ...] = ()
    taken: list[Box] = field(default_factory=list)
    """Boxes that labels must not cover."""

    def __post_init__(self) -> None:
        patterns = self.segment.patterns
        self.nodes = tuple(dict.fromkeys(term for p in patterns for term in (p.subject, p.object)))

    @property
    def width(self) -> float:
        """The width in pixels."""
        return 2 * (self._radius + _MARGIN)

    @property
    def height(self) -> float:
        """The height in pixels."""
        top, bottom = self._reach
        return _TITLE + (96 if self._is_flat else bottom - top + 2 * self._rise)

    def draw(self) -> str:
        """Return the SVG elements; a thick rim marks a centre with a match state."""
        places = {node: self._place(i) for i, node in enumerate(self.nodes)}
        # the title, which labels must not cover
        title = f"algorithm: {self.segment.algorithm}"
        self.taken = [(0, 0, 20 + 7.0 * len(title), _TITLE + 4)]
        for node, (x, y) in places.items():
            wide, high = self._half(node)
            self.taken.append((x - wide, y - high, x + wide, y + high))
        parts = [text_at(12, 20, title, "title", "start")]
        parts += [part for pattern in self._patterns() for part in self._edge(*pattern, places)]
        for node, (x, y) in places.items():
            shape = self._shape(node, x, y) + text_at(x, y + 4, _short(self.names.term(node)))
            parts.append(f"<g><title>{escape(self.names.term(node))}</title>{shape}</g>")
        return "".join(parts)

    @property
    def _is_flat(self) -> bool:
        return len(self.segment.patterns) == 1 and len(self.nodes) == 2

    @property
    def _radius(self) -> float:
        return _RADIUS if self._is_flat else max(_RADIUS, len(self.nodes) * _ROUND / (2 * pi))

    @property
    def _reach(self) -> tuple[float, float]:
        """The distances from the middle to the uppermost and lowest terms."""
        heights = [self._radius * sin(self._angle(i)) for i in range(len(self.nodes))]
        return min(heights), max(heights)

    @property
    def _rise(self) -> float:
        """The extent above the uppermost term, and below the lowest."""
        bends = [bend for _, bend in self._patterns()]
        if any(pattern.subject == pattern.object for pattern in self.segment.patterns):
            return _MARGIN + 12 * max(bends)
        return _LOW_MARGIN + 13 * (max(bends) - 1)

    @property
    def _middle(self) -> Point:
        if self._is_flat:
            return self.width / 2, _TITLE + (self.height - _TITLE) / 2
        return self.width / 2, _TITLE + self._rise - self._reach[0]

    def _angle(self, i: int) -> float:
        # the first term is on the left for a single pattern, else at the top
        turn = -pi if self._is_flat else -pi / 2
        return 2 * pi * i / len(self.nodes) + turn

    def _place(self, i: int) -> Point:
        x, y = self._middle
        angle = self._angle(i)
        return x + self._radius * cos(angle), y + self._radius * sin(angle)

    def _patterns(self) -> Iterator[tuple[TriplePattern, int]]:
        """List each pattern with its number among those between the same ends."""
        drawn: dict[frozenset[VarOrTerm], int] = {}
        for pattern in self.segment.patterns:
            # in both directions: `?a :p ?b` and `?b :q ?a` must not overlap
            ends = frozenset((pattern.subject, pattern.object))
            drawn[ends] = drawn.get(ends, 0) + 1
            yield pattern, drawn[ends]

    def _edge(self, pattern: TriplePattern, bend: int, places: dict[VarOrTerm, Point]) -> Iterator[str]:
        (x, y), (u, v) = places[pattern.subject], places[pattern.object]
        label = _short(self.names.term(pattern.predicate))
        length = hypot(u - x, v - y)
        # a loop, as for `?x :p ?x`
        if not length:
            yield _arrow(f"M{x - 12:.0f} {y - 17:.0f}c-33 -53 57 -53 24 0")
            yield self._label([(x + 4, y - 45 - 12 * bend), (x + 4, y - 33 + 12 * bend)], label)
            return
        dx, dy = (u - x) / length, (v - y) / length
        start, end = self._rim(pattern.subject, dx, dy) + 2, self._rim(pattern.object, dx, dy) + 4
        x, y, u, v = x + start * dx, y + start * dy, u - end * dx, v - end * dy
        middle = self._middle
        outwards = (middle[0] - x) * dy > (middle[1] - y) * dx
        bow = -26 * bend if outwards else 26 * bend
        cx, cy = (x + u) / 2 - dy * bow, (y + v) / 2 + dx * bow
        yield _arrow(f"M{x:.0f} {y:.0f}Q{cx:.0f} {cy:.0f} {u:.0f} {v:.0f}")
        curve = [_on_curve((x, y), (cx, cy), (u, v), t) for t in _TRIES]
        yield self._label([(a, b + aside) for aside in _ASIDE for a, b in curve], label)

    def _label(self, places: list[Point], label: str) -> str:
        """Put a label at the position where it covers least."""
        half = 3.2 * len(label)
        boxes = [(x - half, y - 10, x + half, y + 3) for x, y in places]
        covers = [sum(_overlap(box, other) for other in self.taken) for box in boxes]
        best = covers.index(min(covers))
        self.taken.append(boxes[best])
        return text_at(*places[best], label, "edge")

    def _half(self, node: VarOrTerm) -> Point:
        """Return half the width and height of a term's shape."""
        wide = 3.6 * len(_short(self.names.term(node))) + 6
        return (max(20.0, wide), 20.0) if isinstance(node, Variable) else (max(30.0, wide), 13.0)

    def _rim(self, node: VarOrTerm, dx: float, dy: float) -> float:
        """Return the distance from the middle of a term's shape to its rim in a direction."""
        wide, high = self._half(node)
        if isinstance(node, Variable):
            return 1 / hypot(dx / wide, dy / high)
        return min(wide / abs(dx) if dx else inf, high / abs(dy) if dy else inf)

    def _shape(self, node: VarOrTerm, x: float, y: float) -> str:
        wide, high = self._half(node)
        if isinstance(node, Variable):
            state = " state" if node in self.segment.centres else ""
            size = f'rx="{wide:.0f}" ry="{high:.0f}"'
            return f'<ellipse class="variable{state}" cx="{x:.0f}" cy="{y:.0f}" {size}/>'
        size = f'width="{2 * wide:.0f}" height="{2 * high:.0f}" rx="4"'
        return f'<rect class="constant" x="{x - wide:.0f}" y="{y - high:.0f}" {size}/>'


def text_at(x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> str:
    """Write a line of text in SVG."""
    mark = f' class="{kind}"' if kind else ""
    return f'<text{mark} text-anchor="{anchor}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


def _arrow(path: str) -> str:
    return f'<path class="arrow" d="{path}" marker-end="url(#rdflive-arrow)"/>'


def _on_curve(start: Point, control: Point, end: Point, t: float) -> Point:
    a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
    return (
        a * start[0] + b * control[0] + c * end[0],
        a * start[1] + b * control[1] + c * end[1] + 3,
    )


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _short(text: str) -> str:
    """Shorten a text: to the end of an IRI, or to the start of anything else."""
    if text.startswith("<"):
        text = text.strip("<>").rstrip("/#")
        text = text[max(text.rfind("/"), text.rfind("#"), text.rfind(":")) + 1 :] or text
    return text if len(text) <= 13 else text[:12] + "…"
