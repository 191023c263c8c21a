"""Tables of solutions: HTML for notebooks, plain text for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from rich.cells import cell_len

from rdflive.model.term_text import TermWriter, to_printable
from rdflive.model.terms import Term

__all__ = ["CELL", "SHOWN", "TableLine", "html_table", "text_table"]

SHOWN: Final = 20
"""Maximum number of shown rows; the rest is counted."""
CELL: Final = 200
"""Maximum characters of a term; longer ones are truncated."""
# translucent, for light and dark pages; the text keeps the colour of the page
_COLOURS: Final = {"+": "background:rgba(46,160,67,.25)", "−": "background:rgba(248,81,73,.25)", "": ""}
_LEFT: Final = "text-align:left"
_STRUCK: Final = f"{_LEFT};text-decoration:line-through"
_TITLE: Final = f"{_LEFT};white-space:nowrap"


class TableLine(NamedTuple):
    """A row of a table with a sign: added (+), removed (−) or unchanged (empty)."""

    terms: tuple[Term, ...]
    sign: str = ""


def html_table(
    caption: str, names: Sequence[str], lines: Sequence[TableLine], write: TermWriter, more: str = ""
) -> str:
    """Return an escaped HTML table, with the used prefixes below it.

    >>> html_table("1 solution", ["?x"], [TableLine((None,), "+")], TermWriter({}))[-88:-16]
    '<td style="text-align:left">+</td><td style="text-align:left"></td></tr>'
    """
    signed = any(line.sign for line in lines)
    titles = "".join(_element("th", _TITLE, name) for name in [*[""] * signed, *names])
    body = ""
    for line in lines:
        cells = [_element("td", _LEFT, line.sign)] * signed
        style = _STRUCK if line.sign == "−" else _LEFT
        cells += [_element("td", style, text) for text in _texts(line, write)]
        body += f'<tr style="{_COLOURS[line.sign]}">{"".join(cells)}</tr>'
    head = f"<thead><tr>{titles}</tr></thead>" if names else ""
    below = [more] if more else []
    if write.used:
        below.append(" · ".join(f"{prefix}: <{name}>" for prefix, name in sorted(write.used.items())))
    notes = "".join(_element("div", "opacity:.7;font-size:85%", note) for note in below)
    inner = f"{_element('caption', _TITLE, caption)}{head}<tbody>{body}</tbody>"
    # a notebook would render text between two dollar signs as a formula
    return f'<table class="tex2jax_ignore mathjax_ignore" style="color:inherit">{inner}</table>{notes}'


def text_table(names: Sequence[str], lines: Sequence[TableLine], write: TermWriter, more: str = "") -> str:
    """Return lines as columns of text.

    >>> print(text_table(["?x", "?y"], [TableLine(("a", "b"))], TermWriter({})))
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


def _texts(line: TableLine, write: TermWriter) -> list[str]:
    return ["" if term is None else write(term) for term in line.terms]


def _element(tag: str, style: str, text: str) -> str:
    return f'<{tag} style="{style}">{escape(to_printable(text))}</{tag}>'
