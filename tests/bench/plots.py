"""Charts as SVG, written as text: dots and spans over a logarithmic scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from textwrap import wrap
from typing import Final

__all__ = ["dots", "spans"]

_COLOURS: Final = ("#1d4ed8", "#ea580c", "#15803d", "#a21caf", "#6b7280")
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}"
    ".grid{stroke:#e5e7eb}.axis{stroke:#6b7280}.note{font-size:11px;fill:#555}"
)
_TOP: Final = 60


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


def spans(
    title: str,
    rows: Sequence[tuple[str, float, float]],
    left: str,
    right: str,
    note: str = "",
    *,
    narrow: bool = False,
) -> str:
    """Draw from where to where each row goes, to the left and to the right of 1."""
    values = [1.0, *(v for _, *ends in rows for v in ends)]
    page = _Rows(title, [name for name, _, _ in rows], values, 20, note, narrow=narrow)
    page.write(page.column(1) - 8, _TOP - 14, left, "end")
    page.write(page.column(1) + 8, _TOP - 14, right)
    for number, (_, low, high) in enumerate(rows):
        start, end = page.column(low), max(page.column(high), page.column(low) + 6)
        colour = _COLOURS[0] if low >= 1 else _COLOURS[1] if high < 1 else _COLOURS[4]
        size = f'y="{page.middle(number) - 6}" width="{end - start:.1f}" height="12" rx="3"'
        page.parts.append(f'<rect x="{start:.1f}" {size} style="fill:{colour}"/>')
        texts = [f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in (low, high)]
        text = " to ".join(dict.fromkeys(texts))
        if end + 6 + 6.5 * len(text) < page.width:
            page.write(end + 6, page.middle(number) + 4, text)
        else:
            page.write(start - 6, page.middle(number) + 4, text, "end")
    return page.image()


def dots(
    title: str,
    names: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    unit: str,
    note: str = "",
    *,
    narrow: bool = False,
) -> str:
    """Draw one row per name, with a dot per series and its value beside it; None is left out."""
    values = [value for points in series.values() for value in points if value is not None]
    page = _Rows(title, names, values, 26, note, narrow=narrow)
    x = 16.0 if narrow else float(page.left)
    for colour, (label, points) in zip(_COLOURS, series.items(), strict=False):
        page.parts.append(f'<circle cx="{x}" cy="{_TOP - 20}" r="6" style="fill:{colour}"/>')
        page.write(x + 12, _TOP - 16, label)
        x += (24 if narrow else 36) + (5.8 if narrow else 7) * len(label)
        for number, value in enumerate(points):
            if value is not None:
                at, y = page.column(value), page.middle(number)
                page.parts.append(f'<circle cx="{at:.1f}" cy="{y}" r="6" style="fill:{colour}"/>')
                others = (page.column(v) - at for them in series.values() if (v := them[number]) is not None)
                is_near = any(0 < right < 50 for right in others)  # its text goes to the other side
                place, anchor = (at - 10, "end") if is_near else (at + 10, "start")
                page.write(place, y + 4, f"{value:.2g}" if value < 10 else f"{value:,.0f}", anchor)
    page.write(page.column(10.0**page.scale.high) + (18 if narrow else 30), page.bottom + 18, unit)
    return page.image()


class _Rows:
    """A picture of rows over a logarithmic scale, with their names on the left or, if narrow, above them."""

    def __init__(
        self, title: str, names: Sequence[str], values: Iterable[float], tall: int, note: str, *, narrow: bool
    ) -> None:
        self.scale = _Scale.of(values)
        self.left = 22 if narrow else 6 * max(map(len, names)) + 24
        self._wide = 290 if narrow else 480
        self.width = 360 if narrow else self.left + self._wide + 140
        self._names = 16 if narrow else 0
        """Height of the line for a name."""
        self._tall = tall + self._names
        self._title = title
        self.bottom = _TOP + self._tall * len(names)
        self.parts = [f'<text class="title" x="10" y="20">{escape(title)}</text>']
        for line, text in enumerate(wrap(note, 64) if narrow else [note]):
            self.parts.append(
                f'<text class="note" x="10" y="{self.bottom + 42 + 14 * line}">{escape(text)}</text>'
            )
            self._end = self.bottom + 52 + 14 * line
        for power in range(self.scale.low, self.scale.high + 1):
            x, style = self.column(10.0**power), "axis" if power == 0 else "grid"
            self.parts.append(
                f'<line class="{style}" x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 8}" y2="{self.bottom}"/>'
            )
            if not narrow or power % 2 == 0:
                self.write(x, self.bottom + 18, _short(power), "middle")
        for number, name in enumerate(names):
            if narrow:
                self.parts.append(_behind(self.middle(number) - 12, name))
                self.write(10, self.middle(number) - 12, name)
            else:
                self.write(self.left - 12, self.middle(number) + 4, name, "end")

    def column(self, value: float) -> float:
        """Give the pixel column of a value."""
        return self.left + self._wide * self.scale.place(value)

    def middle(self, number: int) -> float:
        """Give the pixel row in the middle of a row, below its name."""
        return _TOP + self._tall * number + (self._tall + self._names) / 2 - 2

    def write(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """Write a text that begins, ends or has its middle at a place."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>')

    def image(self) -> str:
        """Give the picture."""
        return _image(self.width, self._end, self.parts, self._title)


def _short(power: int) -> str:
    return _power(power) if power < 6 else f"{_power(power - 6)} M"


def _behind(y: float, text: str) -> str:
    """Cover the lines of the scale behind a text that begins on the left."""
    return f'<rect x="8" y="{y - 11}" width="{5.8 * len(text) + 6:.0f}" height="14" fill="white"/>'


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def _image(width: float, height: float, parts: Iterable[str], label: str) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )
