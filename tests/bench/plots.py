"""Charts as SVG, written as text: lines and groups of bars over a logarithmic scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

__all__ = ["bars", "lines"]

_COLOURS: Final = ("#1d4ed8", "#ea580c", "#15803d", "#a21caf", "#6b7280")
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}"
    ".grid{stroke:#e5e7eb}.axis{stroke:#6b7280}.note{font-size:11px;fill:#555}"
)
_LEFT: Final = 70
_TOP: Final = 60
_TALL: Final = 260
"""Pixels of the scale."""


@dataclass(frozen=True)
class _Scale:
    """A logarithmic scale from one power of ten to another."""

    low: int
    high: int

    @classmethod
    def of(cls, values: Iterable[float]) -> _Scale:
        """Choose the powers of ten around some values."""
        positive = [value for value in values if value > 0] or [1.0]
        low = floor(log10(min(positive)))
        return cls(low, max(low + 1, ceil(log10(max(positive)))))

    def place(self, value: float) -> float:
        """Say how far from the bottom a value is, from 0 to 1; what is below the scale is at its bottom."""
        if value <= 0:
            return 0.0
        return max(0.0, (log10(value) - self.low) / (self.high - self.low))

    def y(self, value: float) -> float:
        """Give the pixel row of a value."""
        return _TOP + _TALL * (1 - self.place(value))


def bars(
    title: str, unit: str, names: Sequence[str], series: Mapping[str, Sequence[float | None]], note: str = ""
) -> str:
    """Draw one group of bars per name, one bar per series; None is left out."""
    scale = _Scale.of(v for values in series.values() for v in values if v is not None)
    group = max(40, 12 * len(series) + 14)
    # names are written to the left of their bars
    start = max(_LEFT, *(5.6 * len(name) - group * number - 20 for number, name in enumerate(names)))
    width = max(start + group * len(names) + 30, _LEFT + sum(30 + 7 * len(name) for name in series))
    bottom = _TOP + _TALL + 24 + 4.5 * max(map(len, names))
    parts = [_frame(title, unit, scale, width, list(series)), _note(note, bottom + 10)]
    for number, name in enumerate(names):
        left = start + number * group + 7
        for place, (colour, values) in enumerate(zip(_COLOURS, series.values(), strict=False)):
            value = values[number]
            if value is not None:
                parts.append(_bar(left + 12 * place, scale, value, colour, f"{name}: {value:,.3g} {unit}"))
        x, y = left + group / 2 - 7, _TOP + _TALL + 14
        turned = f'transform="rotate(-40 {x:.0f} {y})"'
        parts.append(f'<text x="{x:.0f}" y="{y}" text-anchor="end" {turned}>{escape(name)}</text>')
    return _image(width, bottom + 20, parts, title)


def lines(
    title: str, unit: str, across: str, series: Mapping[str, Sequence[tuple[float, float]]], note: str = ""
) -> str:
    """Draw lines through points, both scales logarithmic."""
    scale = _Scale.of(y for points in series.values() for _, y in points)
    below = _Scale.of(x for points in series.values() for x, _ in points)
    width = _LEFT + 480
    parts = [_frame(title, unit, scale, width, list(series)), _note(note, _TOP + _TALL + 62)]

    def column(value: float) -> float:
        return _LEFT + 20 + 420 * below.place(value)

    for power in range(below.low, below.high + 1):
        x = column(10.0**power)
        parts.append(f'<line class="grid" x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP}" y2="{_TOP + _TALL}"/>')
        parts.append(f'<text x="{x:.0f}" y="{_TOP + _TALL + 18}" text-anchor="middle">{_power(power)}</text>')
    for colour, points in zip(_COLOURS, series.values(), strict=False):
        places = [(column(x), scale.y(y)) for x, y in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" style="fill:none;stroke:{colour};stroke-width:2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" style="fill:{colour}"/>' for x, y in places]
    parts.append(
        f'<text x="{_LEFT + 230}" y="{_TOP + _TALL + 38}" text-anchor="middle">{escape(across)}</text>'
    )
    return _image(width, _TOP + _TALL + 75, parts, title)


def _bar(x: float, scale: _Scale, value: float, colour: str, hint: str) -> str:
    top = min(scale.y(value), _TOP + _TALL - 4)  # the least value is seen too
    size = f'y="{top:.1f}" width="11" height="{_TOP + _TALL - top:.1f}"'
    return f'<rect x="{x:.1f}" {size} style="fill:{colour}"><title>{escape(hint)}</title></rect>'


def _frame(title: str, unit: str, scale: _Scale, width: float, names: list[str]) -> str:
    """Draw the title, the legend and the scale."""
    parts = [f'<text class="title" x="10" y="20">{escape(title)}</text>']
    x = _LEFT
    for colour, name in zip(_COLOURS, names, strict=False):
        parts.append(f'<rect x="{x}" y="32" width="11" height="11" style="fill:{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="42">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    parts.append(f'<text x="10" y="{_TOP - 8}">{escape(unit)}</text>')
    for power in range(scale.low, scale.high + 1):
        y = scale.y(10.0**power)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{width - 20:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    bottom = _TOP + _TALL
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{width - 20:.0f}" y1="{bottom}" y2="{bottom}"/>')
    return "".join(parts)


def _note(text: str, y: float) -> str:
    return f'<text class="note" x="10" y="{y:.0f}">{escape(text)}</text>'


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def _image(width: float, height: float, parts: Iterable[str], label: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )
