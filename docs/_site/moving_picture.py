"""Draw the moving pictures of the README, docs/live.svg and docs/live-narrow.svg, from a real run.

python docs/_site/moving_picture.py docs
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from recording import Row, Run, Step, record

STEPS: Final = 9
"""Number of transactions before the picture restarts."""
STILL: Final = 6
"""The step of the still picture, in which rows come, go and stay."""
SECONDS: Final = 3.0
"""Seconds of a step."""
MOVING: Final = 0.4
"""Seconds in which rows change."""
BEHIND: Final = 0.7
"""Seconds from a change of the graph to that of the answer, so that readers see the cause first."""

LETTER: Final = 7.8
"""The width of a letter of code."""
LINE: Final = 19
ROW: Final = 25
MARGIN: Final = 20
LEFT: Final = 340
"""The width of the query and the changes."""
COLUMNS: Final = (18, 80, 164, 266)
"""The left ends of the columns of the answer; a sign precedes the first."""
RIGHT: Final = 360
CAPTION: Final = 46
"""Letters in a line of the feed's comments."""

STYLE: Final = """
svg{--ground:#fff;--text:#1b2430;--quiet:#536072;--line:#d9dfe8;--lit:#fff3bf;
--came:#d3f3dc;--came-text:#0b5a2b;--went:#fbdcd9;--went-text:#8c1d18}
@media(prefers-color-scheme:dark){svg{--ground:#18202a;--text:#e5eaf1;--quiet:#9fabba;--line:#2b3644;--lit:#4d4215;
--came:#14432a;--came-text:#9ff0bd;--went:#4a2020;--went-text:#ffc2bc}}
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--text)}
.code{white-space:pre;
font-family:ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
.title{fill:var(--quiet)}.ground{fill:var(--ground)}.ground,.rule{stroke:var(--line)}
.lit{fill:var(--lit)}
.came,.went{stroke:none}rect.came{fill:var(--came)}rect.went{fill:var(--went)}
text.came{fill:var(--came-text);font-weight:600}text.went{fill:var(--went-text);font-weight:600}
.strike{stroke:var(--went-text)}
"""


@dataclass(slots=True)
class Animations:
    """The rules of the animations so far; readers who prefer no motion see the step STILL."""

    steps: int
    rules: dict[str, str] = field(default_factory=dict)
    """The name of each animation, by its keyframes."""

    @property
    def seconds(self) -> float:
        """The length of the picture."""
        return self.steps * SECONDS

    def over(self, css: str, values: Sequence[object], behind: float = 0.0) -> str:
        """Set one value of a property per step, and return the attributes of the element."""
        still = f'style="{css}:{values[STILL]}"'
        if len(set(values)) == 1:
            return still
        stops = [(0.0, values[0])]
        for number, (old, new) in enumerate(pairwise(values), 1):
            if old != new:
                at = number * SECONDS + behind
                stops += [(at, old), (at + MOVING, new)]
        # the last step changes to the first before the picture restarts
        stops += [(self.seconds - MOVING, values[-1]), (self.seconds, values[0])]
        rule = "".join(f"{at / self.seconds:.2%}{{{css}:{value}}}" for at, value in stops)
        name = self.rules.setdefault(rule, f"m{len(self.rules)}")
        return f'class="{name}" {still}'

    def style(self) -> str:
        """Return the rules, for readers without a preference for reduced motion."""
        rules = [
            f"@keyframes {name}{{{rule}}}.{name}{{animation:{name} {self.seconds:g}s infinite}}"
            for rule, name in self.rules.items()
        ]
        return "\n".join(["@media(prefers-reduced-motion:no-preference){", *rules, "}"])


def draw(run: Run, *, narrow: bool) -> str:
    """Draw the query, the writes to the graph, and the answer, side by side or below each other."""
    steps, moves = run.steps[: STEPS + 1], Animations(STEPS + 1)
    asked = _query(run, steps, moves, MARGIN)
    changes_top = MARGIN + LINE * (len(run.query.splitlines()) + 2)
    written = _changes(steps, moves, changes_top)
    deepest = max(_lines(step) for step in steps)
    left_end = changes_top + LINE * (deepest + 1)
    x, top = (MARGIN, left_end + 10) if narrow else (MARGIN + LEFT + 30, MARGIN)
    right_end = top + 40 + ROW * max(len(step.rows) for step in steps)
    width = 2 * MARGIN + (RIGHT if narrow else LEFT + 30 + RIGHT)
    height = max(left_end, right_end) + 12
    content = [*asked, *written, *_answer(run, steps, moves, x, top)]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    label = "A query, what is written to its graph, and its answer, which changes with each transaction"
    ground = f'<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">',
        f"<style>{STYLE}{moves.style()}</style>",
        ground,
        *content,
        "</svg>\n",
    ]
    return "\n".join(lines)


def _query(run: Run, steps: Sequence[Step], moves: Animations, top: int) -> Iterator[str]:
    """Draw the query; highlight a pattern while a matching triple comes or goes."""
    yield _text(MARGIN, top + 8, "The query", "title")
    for number, line in enumerate(run.query.splitlines(), 1):
        y = top + 8 + LINE * number
        lit = [int(any(f" {name} " in line for name in step.touched)) for step in steps]
        if any(lit):
            size = f'width="{len(line) * LETTER - 6:.0f}" height="{LINE}"'
            ground = f'<rect class="lit" x="{MARGIN + 10}" y="{y - 14}" {size} rx="3"/>'
            yield f"<g {moves.over('opacity', lit)}>{ground}</g>"
        yield _text(MARGIN, y, line, "code")


def _changes(steps: Sequence[Step], moves: Animations, top: int) -> Iterator[str]:
    """Draw the writes, one step in place of the other."""
    yield _text(MARGIN, top, "What is written to the graph", "title")
    for step in steps:
        seen = [int(step is each) for each in steps]
        parts = [_text(MARGIN, top + LINE * i, line, "") for i, line in enumerate(_caption(step), 1)]
        for i, (sign, triple) in enumerate(step.changes, len(parts) + 1):
            kind = "came" if sign == "+" else "went"
            parts.append(_text(MARGIN, top + LINE * i, sign, f"code {kind}"))
            parts.append(_text(MARGIN + 18, top + LINE * i, triple, "code"))
        yield f"<g {moves.over('opacity', seen)}>{''.join(parts)}</g>"


def _answer(run: Run, steps: Sequence[Step], moves: Animations, x: int, top: int) -> Iterator[str]:
    """Draw the answer: each row is one element, which appears, moves, disappears, and may reappear."""
    yield _text(x, top + 8, "Its answer, kept up to date", "title")
    for column, name in zip(COLUMNS, run.variables, strict=True):
        yield _text(x + column, top + 8 + LINE, f"?{name}", "code title")
    yield f'<path class="rule" d="M{x} {top + 35}h{RIGHT}"/>'
    for row in dict.fromkeys(row for step in steps for row in step.rows):
        places = _places(row, steps, top + 40)
        parts = [
            _mark(moves, [row in step.came for step in steps], "came", "+", x),
            _mark(moves, [row in step.went for step in steps], "went", "−", x),
            *(_text(x + column, 17, term, "code") for column, term in zip(COLUMNS, row, strict=True)),
        ]
        shown = moves.over("opacity", [int(row in step.rows) for step in steps], BEHIND)
        moved = moves.over("transform", [f"translateY({place}px)" for place in places], BEHIND)
        yield f"<g {moved}><g {shown}>{''.join(parts)}</g></g>"


def _places(row: Row, steps: Sequence[Step], top: int) -> list[int]:
    """Return the vertical position of a row in each step; a hidden row is where it is before or after."""
    found: list[int | None] = [
        top + ROW * step.rows.index(row) if row in step.rows else None for step in steps
    ]
    for order in (range(1, len(found)), range(len(found) - 2, -1, -1)):
        towards = -1 if order.step > 0 else 1
        for i in order:
            if found[i] is None:
                found[i] = found[i + towards]
    return [place for place in found if place is not None]


def _mark(moves: Animations, marked: Sequence[bool], kind: str, sign: str, x: int) -> str:
    """Draw the background and the sign of an added or removed row."""
    if not any(marked):
        return ""
    ground = f'<rect class="{kind}" x="{x}" width="{RIGHT}" height="{ROW - 1}" rx="3"/>'
    strike = f'<path class="strike" d="M{x + COLUMNS[0]} 12.5H{x + RIGHT - 6}"/>' if kind == "went" else ""
    parts = f"{ground}{_text(x + 5, 17, sign, f'code {kind}')}{strike}"
    return f"<g {moves.over('opacity', list(map(int, marked)), BEHIND)}>{parts}</g>"


def _lines(step: Step) -> int:
    return len(_caption(step)) + len(step.changes)


def _caption(step: Step) -> list[str]:
    return textwrap.wrap(step.words, CAPTION)


def _text(x: int, y: int, text: str, kind: str) -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<text{mark} x="{x}" y="{y}">{escape(text, quote=False)}</text>'


def main(folder: Path) -> None:
    """Write both pictures into a folder."""
    run = record()
    for name, narrow in {"live.svg": False, "live-narrow.svg": True}.items():
        (folder / name).write_text(draw(run, narrow=narrow), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
