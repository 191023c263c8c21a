"""Hook of mkdocs: replace the moving picture of the front page by a run to step through."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from recording import Row, Run, Step, record

PAGE = "index.md"
PICTURE = re.compile(r'<p>(<img [^>]*src="live\.svg"[^>]*>)</p>')
TEMPLATE = Path(__file__).parent / "live.html"


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Hide the table of contents of the front page, which needs the room."""
    if page.file.src_uri == PAGE:
        page.meta["hide"] = ["toc"]
    return markdown


def on_page_content(html: str, page: Any, **_: object) -> str:
    """Replace the picture by the run; browsers without scripts keep the picture."""
    if page.file.src_uri != PAGE:
        return html
    content, places = PICTURE.subn(lambda found: shown(record(), found[1]), html)
    if places != 1:
        raise ValueError(f"{PAGE} shows live.svg {places} times, not once")
    return content


def shown(run: Run, picture: str) -> str:
    """Write the HTML that live.js shows."""
    steps = json.dumps([in_json(step) for step in run.steps], ensure_ascii=False, separators=(",", ":"))
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        picture=picture,
        query="\n".join(f"<span>{escape(line)}</span>" for line in run.query.splitlines()),
        names="".join(f'<th scope="col">?{name}</th>' for name in run.variables),
        most=max(len(step.rows) for step in run.steps),
        plan=run.plan,
        steps=steps.replace("</", "<\\/"),  # nothing in it may end the script
    )


def in_json(step: Step) -> dict[str, object]:
    """Return the data of a step for the page; each row follows its sign."""
    return {
        "words": step.words,
        "changes": step.changes,
        "touched": step.touched,
        "rows": [(sign_of(row, step), *row) for row in step.rows],
    }


def sign_of(row: Row, step: Step) -> str:
    """Return the sign of an added or removed row, or an empty text."""
    return "+" if row in step.came else "−" if row in step.went else ""
