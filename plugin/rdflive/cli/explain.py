"""`rdflive explain`: the plan by which rdflive would maintain a query."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import rdflib

import rdflive
from rdflive.cli.out_file import STDOUT, naming
from rdflive.cli.query import read_query

__all__ = ["folded", "run"]

_GUIDE: Final = re.compile("[│├└─ ]*")
_LEAST: Final = 24
"""The least width of a line's text, at any depth in a narrow terminal."""


def run(args: argparse.Namespace) -> None:
    """Print or draw the explanation of a query."""
    query = read_query(args.query)
    with query.placed():
        # a new graph binds the prefixes that `watch` knows too
        explanation = rdflive.explain(
            query.text, initNs=dict(rdflib.Graph().namespaces()), algorithm=args.algorithm
        )
    if args.svg:
        with naming(args.svg):
            Path(args.svg).write_text(explanation.svg(), encoding="utf-8")
        return
    with naming(STDOUT):
        if args.mermaid:
            print(explanation.mermaid(), flush=True)
        elif sys.stdout.isatty():
            print(*folded(str(explanation), shutil.get_terminal_size().columns), sep="\n", flush=True)
        else:
            print(explanation, flush=True)


def folded(text: str, width: int) -> Iterator[str]:
    """Fold the lines of an explanation, and continue the guides of its tree on the folded lines.

    >>> text = "├─ [2] Filter ?x > 1 && ?x < 9\\n│  │   keeps nothing; it costs little"
    >>> print(*folded(text, 32), sep="\\n")
    ├─ [2] Filter ?x > 1 && ?x < 9
    │  │   keeps nothing; it costs
    │  │     little
    """
    for line, after in pairwise([*text.splitlines(), ""]):
        guide = _GUIDE.match(line)[0]  # type: ignore[index]  # it matches everywhere
        onwards = guide
        if line.startswith("[", len(guide)):  # a box: its own guide starts in the next line
            onwards = _GUIDE.match(after)[0]  # type: ignore[index]
        # at words only: half an IRI looks like another IRI
        yield from textwrap.wrap(
            line[len(guide) :],
            max(width, len(onwards) + _LEAST),
            initial_indent=guide,
            subsequent_indent=f"{onwards}  ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [line]
