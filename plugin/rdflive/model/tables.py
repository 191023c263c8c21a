"""Solutions as tables for people: HTML for notebooks, plain text for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from rich.cells import cell_len

from rdflive.model.term_text import TermWriter, to_printable
from rdflive.model.terms import Term

__all__ = ["CELL", "SHOWN", "Line", "html_table", "text_table"]

SHOWN: Final = 20
"""So many rows are shown of an answer; the rest is counted."""
CELL: Final = 200
"""A term is cut to so many characters."""
# half transparent, so that they do on a light and on a dark page, whose own colour the text keeps
_STYLES: Final = {
    "+": ' style="background:rgba(46,160,67,.25)"',
    "−": ' style="background:rgba(248,81,73,.25);text-decoration:line-through"',
    "": "",
}
_LEFT: Final = 'style="text-align:left"'


class Line(NamedTuple):
    """A row of a table, and whether it came (+), went (−) or is there."""

    terms: tuple[Term, ...]
    sign: str = ""


def html_table(
    caption: str, names: Sequence[str], lines: Sequence[Line], write: TermWriter, more: str = ""
) -> str:
    """Write lines as a table of HTML, below it the prefixes that occur; terms cannot inject any.

    >>> html_table("1 solution", ["?x"], [Line((None,))], TermWriter({}))[-65:]
    '<tbody><tr><td style="text-align:left"></td></tr></tbody></table>'
    """
    signed = any(line.sign for line in lines)
    titles = "".join(f"<th {_LEFT}>{escape(to_printable(name))}</th>" for name in [*[""] * signed, *names])
    body = "".join(
        f"<tr{_STYLES[line.sign]}>{_cells([*[line.sign] * signed, *_texts(line, write)])}</tr>"
        for line in lines
    )
    head = f"<thead><tr>{titles}</tr></thead>" if names else ""
    below = [more] if more else []
    if write.used:
        below.append(
            " · ".join(
                f"{prefix}: &lt;{escape(to_printable(name))}&gt;"
                for prefix, name in sorted(write.used.items())
            )
        )
    notes = "".join(f'<div style="opacity:.7;font-size:85%">{note}</div>' for note in below)
    title = f'<caption style="{_LEFT[7:-1]}">{escape(to_printable(caption))}</caption>'
    return f'<table class="tex2jax_ignore mathjax_ignore">{title}{head}<tbody>{body}</tbody></table>{notes}'


def text_table(names: Sequence[str], lines: Sequence[Line], write: TermWriter, more: str = "") -> str:
    """Write lines as columns of text.

    >>> print(text_table(["?x", "?y"], [Line(("a", "b"))], TermWriter({})))
    ?x  ?y
    a   b
    """
    rows = [list(names), *(_texts(line, write) for line in lines)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    texts = [
        "  ".join(
            text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*texts, *[more] * bool(more)])


def _texts(line: Line, write: TermWriter) -> list[str]:
    return ["" if term is None else write(term) for term in line.terms]


def _cells(texts: Sequence[str]) -> str:
    return "".join(f"<td {_LEFT}>{escape(text)}</td>" for text in texts)
