"""`rdflive explain`: how a query would be kept up to date."""

from __future__ import annotations

import argparse
from pathlib import Path

import rdflib

import rdflive
from rdflive.cli.query import read_query

__all__ = ["run"]


def run(args: argparse.Namespace) -> None:
    """Print the explanation of a query, or draw it."""
    query = read_query(args.query)
    with query.placed():
        # a new graph binds the prefixes that `watch` may use as well
        explanation = rdflive.explain(
            query.text, initNs=dict(rdflib.Graph().namespaces()), algorithm=args.algorithm
        )
    if args.svg:
        Path(args.svg).write_text(explanation.svg(), encoding="utf-8")
    else:
        print(explanation.mermaid() if args.mermaid else explanation, flush=True)
