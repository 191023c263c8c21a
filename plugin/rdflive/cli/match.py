"""`rdflive match`: a query over each event of a file of N-Quads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, Final

import rdflib

from rdflive.api.matching import Match, match
from rdflive.cli.load import load
from rdflive.cli.outputs import STDOUT, naming
from rdflive.cli.query import read_query
from rdflive.cli.texts import to_ntriples
from rdflive.sinks.ndjson import solution_text

__all__ = ["FORMATS", "run", "to_lines", "to_ndjson"]


def run(args: argparse.Namespace) -> None:
    """Match, and print what each event gives as soon as it is found."""
    query = read_query(args.query)
    background = None
    if args.background:
        dataset = rdflib.Dataset(default_union=True)
        load(dataset, args.background)
        background = rdflib.Graph()
        for triple in dataset.triples((None, None, None)):
            background.add(triple)
    with query.placed():
        found = match(
            query.text,
            args.events,
            background=background,
            workers=args.workers,
            initNs=dict(rdflib.Graph().namespaces()),
        )
    write = FORMATS[args.format]
    with naming(STDOUT):
        for one in found:
            for line in write(one):
                print(line)
            # what was found is shown at once: the events may come from a pipe that stays open
            if one:
                print(end="", flush=True)


def to_lines(found: Match) -> list[str]:
    """Write each solution as a line behind the number and the name of its event.

    >>> from rdflive.model import Header
    >>> found = Match(Header("SELECT", ("x",)), 7, [(rdflib.Literal(1),)], name=rdflib.URIRef("http://e/g"))
    >>> to_lines(found)
    ['7 <http://e/g> ?x="1"^^<http://www.w3.org/2001/XMLSchema#integer>']
    """
    head = str(found.number) if found.name is None else f"{found.number} {to_ntriples(found.name)}"
    if found.answer is not None:
        return [f"{head} {json.dumps(found.answer)}"]
    if found.triples:
        return [f"{head} {' '.join(map(to_ntriples, triple))} ." for triple in found.triples]
    return [
        " ".join([head, *(f"?{name}={to_ntriples(term)}" for name, term in solution.asdict().items())])
        for solution in found.solutions
    ]


def to_ndjson(found: Match) -> list[str]:
    """Write an event that has solutions as one JSON object; of ASK every event.

    The name is an IRI, or a blank node as `_:b`.
    """
    name = f"_:{found.name}" if isinstance(found.name, rdflib.BNode) else found.name
    head = f'{{"event": {found.number}, "name": {json.dumps(name)}, '
    if found.answer is not None:
        return [f'{head}"boolean": {json.dumps(found.answer)}}}']
    solutions: tuple[Any, ...] = found.triples or found.solutions
    return [f'{head}"solutions": [{", ".join(map(solution_text, solutions))}]}}'] if found else []


FORMATS: Final[dict[str, Callable[[Match], list[str]]]] = {"text": to_lines, "ndjson": to_ndjson}
